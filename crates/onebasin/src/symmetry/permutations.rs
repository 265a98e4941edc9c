//! Permutations: of one group of units with its algebra and random ones, and one for each group of a network.

use super::family::check_blocks;
use super::{Family, Group, Spec};
use crate::error::{Error, List, Result};
use crate::keys::Members;
use crate::rng::{Stream, below};
use crate::wording::plain;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Serialize, Serializer};
use std::sync::Arc;

/// A reordering of n units: `new[i] = old[p[i]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u32>")]
pub struct Permutation(Vec<u32>);

impl Permutation {
    /// The one that changes nothing.
    pub fn identity(n: usize) -> Self {
        assert!(u32::try_from(n).is_ok(), "a permutation of {n} units does not fit 32 bits");
        Self((0..n as u32).collect())
    }

    /// The permutation with these indices, each of 0 to n - 1 once.
    pub fn new(indices: Vec<u32>) -> Result<Self> {
        let len = indices.len();
        let mut seen = vec![false; len];
        for (place, &value) in indices.iter().enumerate() {
            let fault = match seen.get_mut(value as usize) {
                None => "is too large",
                Some(true) => "is there twice",
                Some(unseen) => {
                    *unseen = true;
                    continue;
                }
            };
            return Err(Error::NotAPermutation { place, value, fault, len });
        }
        Ok(Self(indices))
    }

    /// A uniformly random one.
    pub fn random(n: usize, stream: &Stream) -> Self {
        let mut permutation = Self::identity(n);
        stream.fill_permutation(&mut permutation.0);
        permutation
    }

    /// Uniformly random among those that are a product of `transpositions` transpositions and of no fewer.
    ///
    /// Units come one by one; unit i begins a cycle of its own with probability θ/(θ + i), else it is put behind a random
    /// earlier one. This is the distribution of Ewens, under which permutations with equally many cycles are equally
    /// probable whatever θ is. So θ is chosen for the right number of cycles on average, and what has another number is
    /// thrown away: after about √(2n) attempts, at worst, one is right.
    pub fn with_transpositions(n: usize, transpositions: usize, stream: &Stream) -> Result<Self> {
        if transpositions >= n.max(1) {
            let value = format_args!("{transpositions} for {n} units");
            return Err(Error::out_of_range("the number of transpositions", value, "less than the number of units"));
        }
        let mut permutation = Self::identity(n);
        if transpositions == 0 {
            return Ok(permutation);
        }
        let mut generator = stream.generator();
        let begins = cycle_beginnings(n, n - transpositions, &mut generator);
        for (unit, begins) in begins.into_iter().enumerate() {
            if !begins {
                permutation.0.swap(unit, below(&mut generator, unit));
            }
        }
        Ok(permutation)
    }

    /// The order `blocks` of equal blocks, with the units of block b, where they come from, in the order `inner(b)`.
    ///
    /// Unit u of block b comes from unit `inner(b)[u]` of block `blocks[b]`.
    pub fn of_blocks<'i>(blocks: &Self, inner: impl Fn(usize) -> &'i [u32]) -> Result<Self> {
        let each = blocks.0.iter().enumerate().flat_map(|(block, from)| {
            let inner = inner(block);
            inner.iter().map(move |unit| from * inner.len() as u32 + unit)
        });
        Self::new(each.collect())
    }

    /// Number of units.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// Whether there are no units.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The indices p.
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }

    /// The one that undoes this one.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let mut indices = vec![0; self.len()];
        for (place, &from) in (0..).zip(&self.0) {
            indices[from as usize] = place;
        }
        Self(indices)
    }

    /// The one that acts like `first` and then this one.
    #[must_use]
    pub fn after(&self, first: &Self) -> Self {
        assert_eq!(self.len(), first.len(), "permutations of different lengths do not follow one another");
        Self(self.apply(&first.0))
    }

    /// Number of cycles, fixed points among them.
    pub fn cycles(&self) -> usize {
        let mut seen = vec![false; self.len()];
        let mut cycles = 0;
        for start in 0..self.len() {
            cycles += usize::from(!seen[start]);
            let mut place = start;
            while !seen[place] {
                seen[place] = true;
                place = self.0[place] as usize;
            }
        }
        cycles
    }

    /// The number of transpositions (`NoT`), n minus the number of cycles: how many swaps of two units it takes at least.
    pub fn transpositions(&self) -> usize {
        self.len() - self.cycles()
    }

    /// Number of units that stay in their place.
    pub fn fixed_points(&self) -> usize {
        (0..).zip(&self.0).filter(|(place, from)| place == *from).count()
    }

    /// The reordered values, `new[i] = old[p[i]]`.
    pub fn apply<T: Copy>(&self, old: &[T]) -> Vec<T> {
        assert_eq!(self.len(), old.len(), "a permutation reorders as many values as it has units");
        self.0.iter().map(|&from| old[from as usize]).collect()
    }
}

impl TryFrom<Vec<u32>> for Permutation {
    type Error = Error;
    fn try_from(indices: Vec<u32>) -> Result<Self> {
        Self::new(indices)
    }
}

/// Which of n units begin a cycle, `cycles` of them, 1 <= `cycles` < n: independent but for their number.
fn cycle_beginnings(n: usize, cycles: usize, generator: &mut ChaCha8Rng) -> Vec<bool> {
    if cycles == 1 {
        return (0..n).map(|unit| unit == 0).collect();
    }
    let expected = |theta: f64| (0..n).map(|unit| theta / (theta + unit as f64)).sum::<f64>();
    // The number of cycles rises with θ; with n² it is above n - ½, with 1/n² below 1.1 or so.
    let (mut low, mut high) = ((n as f64).powi(-2), (n as f64).powi(2));
    while high > low * 1.001 {
        let middle = (low * high).sqrt();
        *(if expected(middle) < cycles as f64 { &mut low } else { &mut high }) = middle;
    }
    loop {
        let begins: Vec<bool> = (0..n).map(|unit| uniform(generator) * (high + unit as f64) < high).collect();
        if begins.iter().filter(|begins| **begins).count() == cycles {
            return begins;
        }
    }
}

/// Uniform in 0..1, with 53 bits.
fn uniform(generator: &mut ChaCha8Rng) -> f64 {
    (generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

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

    /// Uniformly random ones; that of a group depends on the seed, its name and its size only, and on those of its parent.
    pub fn random(spec: &Spec, seed: u64) -> Self {
        let groups = spec.groups();
        let random = |group: &Group, size: usize, index: usize| {
            Permutation::random(size, &Stream::new(seed, &format!("permutation/{}", group.name), index as u64))
        };
        let mut permutations: Vec<Permutation> = groups.iter().map(|group| random(group, group.size, 0)).collect();
        for Family { parent, children } in spec.families() {
            for child in children {
                let blocks = &permutations[parent];
                let len = groups[child].size / blocks.len();
                let inner: Vec<_> = (0..blocks.len()).map(|block| random(&groups[child], len, block)).collect();
                let composed = Permutation::of_blocks(blocks, |block| inner[block].as_slice());
                permutations[child] = composed.expect("permutations inside of blocks");
            }
        }
        Self { groups: Arc::clone(spec.shared_groups()), permutations }
    }

    /// Uniformly random ones with `transpositions` in all, divided in proportion to the most that each group can have.
    ///
    /// Refuses families: a swap of two blocks takes several transpositions at once, so not every number is possible.
    pub fn with_transpositions(spec: &Spec, transpositions: usize, seed: u64) -> Result<Self> {
        let groups = spec.shared_groups();
        if let Some(Group { name, within: Some(parent), .. }) = groups.iter().find(|group| group.within.is_some()) {
            let difference = format!("`{name}` moves in the blocks of `{parent}`, not by any number of transpositions");
            return Err(Error::Permutations { difference });
        }
        let most: usize = groups.iter().map(|group| group.size - 1).sum();
        if transpositions > most {
            let value = format_args!("{transpositions} where {most} are possible");
            let expected = "what the groups can have together";
            return Err(Error::out_of_range("the number of transpositions", value, expected));
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

    /// The permutations given, in the order of the groups; those of a family keep its blocks.
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
        check_blocks(groups, &permutations).map_err(|difference| Error::Permutations { difference })?;
        Ok(Self { groups: Arc::clone(groups), permutations })
    }

    /// Reads what [`Self::to_json`] writes, the groups in any order.
    pub fn from_json(spec: &Spec, text: &str) -> Result<Self> {
        let fault = |difference: String| Error::Permutations { difference };
        let Members(entries) = serde_json::from_str(text).map_err(|error| fault(plain(&error.to_string())))?;
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

    /// Replaces the permutation of group `index` by one of as many units.
    ///
    /// # Panics
    /// If it has another number of units, or does not keep the blocks of a family.
    pub fn set(&mut self, index: usize, permutation: Permutation) {
        assert_eq!(permutation.len(), self.groups[index].size, "a permutation of group `{}`", self.groups[index].name);
        self.permutations[index] = permutation;
        let kept = check_blocks(&self.groups, &self.permutations);
        assert!(kept.is_ok(), "a permutation of a family: {kept:?}");
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

impl Serialize for Permutations {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.groups.iter().map(|group| &group.name).zip(&self.permutations))
    }
}
