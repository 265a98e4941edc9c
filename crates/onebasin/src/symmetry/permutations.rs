//! One permutation for each group of a network's units, and their exchange format.

use super::Group;
use super::Permutation;
use super::Spec;
use crate::error::Error;
use crate::error::List;
use crate::error::Result;
use crate::rng::Stream;
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::Serializer;
use serde::de::MapAccess;
use serde::de::Visitor;
use std::fmt;
use std::sync::Arc;

/// One permutation for each group of a [`Spec`], in its order.
#[derive(Clone, Debug, PartialEq)]
pub struct Permutations {
    groups: Arc<[Group]>,
    permutations: Vec<Permutation>,
}

impl Permutations {
    /// The ones that change nothing.
    pub fn identity(spec: &Spec) -> Self {
        let permutations = spec.groups().iter().map(|group| Permutation::identity(group.size)).collect();
        Self { groups: Arc::clone(spec.shared_groups()), permutations }
    }

    /// Uniformly random ones; that of a group depends on the seed, its name and its size only.
    pub fn random(spec: &Spec, seed: u64) -> Self {
        let random = |group: &Group| {
            Permutation::random(group.size, &Stream::new(seed, &format!("permutation/{}", group.name), 0))
        };
        let permutations = spec.groups().iter().map(random).collect();
        Self { groups: Arc::clone(spec.shared_groups()), permutations }
    }

    /// Uniformly random ones with `transpositions` in all, of which each group has its share: as large a part as it has of the most
    /// that there could be.
    pub fn with_transpositions(spec: &Spec, transpositions: usize, seed: u64) -> Result<Self> {
        let groups = spec.shared_groups();
        let most: usize = groups.iter().map(|group| group.size - 1).sum();
        if transpositions > most {
            return Err(Error::OutOfRange {
                what: "the number of transpositions",
                value: format!("{transpositions} where {most} are possible"),
                expected: "what the groups can have together",
            });
        }
        // The shares of the first groups together are rounded, so that those of all have the right sum.
        let (mut before, mut given) = (0, 0);
        let permutations = groups.iter().map(|group| {
            before += group.size - 1;
            let share = transpositions * before / most.max(1) - given;
            given += share;
            let stream = Stream::new(seed, &format!("transpositions/{}", group.name), 0);
            Permutation::with_transpositions(group.size, share, &stream)
        });
        Ok(Self { permutations: permutations.collect::<Result<_>>()?, groups: Arc::clone(groups) })
    }

    /// The permutations given, in the order of the groups.
    pub fn new(spec: &Spec, permutations: Vec<Permutation>) -> Result<Self> {
        let groups = spec.shared_groups();
        if permutations.len() != groups.len() {
            let difference = format!("{} where {} groups need one each", permutations.len(), groups.len());
            return Err(Error::Permutations { difference });
        }
        for (group, permutation) in groups.iter().zip(&permutations) {
            if permutation.len() != group.size {
                let (name, size, len) = (&group.name, group.size, permutation.len());
                let difference = format!("`{name}` has {size} units, its permutation {len}");
                return Err(Error::Permutations { difference });
            }
        }
        Ok(Self { groups: Arc::clone(groups), permutations })
    }

    /// Reads what [`Self::to_json`] writes, the groups in any order.
    pub fn from_json(spec: &Spec, text: &str) -> Result<Self> {
        let fault = |difference: String| Error::Permutations { difference };
        let Entries(entries) = serde_json::from_str(text).map_err(|error| fault(error.to_string()))?;
        let groups = spec.groups();
        let mut found: Vec<Option<Permutation>> = vec![None; groups.len()];
        for (name, indices) in entries {
            let index = spec.group(&name)?;
            let permutation = Permutation::new(indices).map_err(|error| fault(format!("`{name}`: {error}")))?;
            if found[index].replace(permutation).is_some() {
                return Err(fault(format!("`{name}` is there twice")));
            }
        }
        let named = found.into_iter().zip(groups);
        let permutations = named
            .map(|(found, group)| found.ok_or_else(|| fault(format!("`{}` is missing", group.name))))
            .collect::<Result<_>>()?;
        Self::new(spec, permutations)
    }

    /// `{"name": [indices], ...}`, the groups in their order.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("names and numbers can be written as JSON")
    }

    /// The permutations, in the order of the groups.
    pub fn as_slice(&self) -> &[Permutation] {
        &self.permutations
    }

    /// The permutation of the group of this name.
    pub fn get(&self, name: &str) -> Result<&Permutation> {
        Ok(&self.permutations[index_of(&self.groups, name)?])
    }

    /// Replaces the permutation of group `index` by one of as many units.
    pub fn set(&mut self, index: usize, permutation: Permutation) {
        assert_eq!(permutation.len(), self.groups[index].size, "a permutation of group `{}`", self.groups[index].name);
        self.permutations[index] = permutation;
    }

    /// The ones that undo these.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let permutations = self.permutations.iter().map(Permutation::inverse).collect();
        Self { groups: Arc::clone(&self.groups), permutations }
    }

    /// The ones that act like `first` and then these.
    #[must_use]
    pub fn after(&self, first: &Self) -> Self {
        assert_eq!(self.groups, first.groups, "permutations of different networks do not follow one another");
        let pairs = self.permutations.iter().zip(&first.permutations);
        let permutations = pairs.map(|(then, first)| then.after(first)).collect();
        Self { groups: Arc::clone(&self.groups), permutations }
    }

    /// The transpositions of all groups together.
    pub fn transpositions(&self) -> usize {
        self.permutations.iter().map(Permutation::transpositions).sum()
    }

    /// The share of all units that these and others put in the same place.
    pub fn agreement(&self, other: &Self) -> f64 {
        assert_eq!(self.groups, other.groups, "permutations of different networks do not agree");
        let pairs = self.permutations.iter().zip(&other.permutations);
        let units = pairs.flat_map(|(ours, theirs)| ours.as_slice().iter().zip(theirs.as_slice()));
        let same = units.filter(|(ours, theirs)| ours == theirs).count();
        let all: usize = self.groups.iter().map(|group| group.size).sum();
        same as f64 / all as f64
    }

    /// Says whether these are permutations of `groups`.
    pub(super) fn check(&self, groups: &Arc<[Group]>) -> Result<()> {
        if Arc::ptr_eq(&self.groups, groups) || self.groups == *groups {
            return Ok(());
        }
        let list = |groups: &[Group]| groups.iter().map(|group| format!("{} ({})", group.name, group.size)).collect();
        let difference = format!("they are of {}, not of {}", List(list(&self.groups)), List(list(groups)));
        Err(Error::Permutations { difference })
    }
}

/// Where the group of this name stands.
pub(super) fn index_of(groups: &[Group], name: &str) -> Result<usize> {
    groups.iter().position(|group| group.name == name).ok_or_else(|| Error::NoGroup {
        name: name.to_owned(),
        known: List(groups.iter().map(|group| group.name.clone()).collect()),
    })
}

impl Serialize for Permutations {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.groups.iter().map(|group| &group.name).zip(&self.permutations))
    }
}

/// The members of a JSON object in their order, so that a name that is there twice is seen.
struct Entries(Vec<(String, Vec<u32>)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Entries;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of arrays of indices")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> std::result::Result<Entries, M::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Members)
    }
}
