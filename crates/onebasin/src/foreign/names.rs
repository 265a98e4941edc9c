//! Finds the tensors of a network in a checkpoint by the names that a convention gives them.

use super::binding::{Binding, Bound, Slot, Stored};
use super::convention::{Convention, fill};
use super::listing::{Listing, Tensors};
use super::pyro;
use super::transform::Transform;
use crate::error::Result;
use onebasin_graph::symmetry::TensorAxes;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A search for the tensors of a network by names.
pub(super) struct Search<'a> {
    pub(super) network: Tensors<'a>,
    pub(super) listing: &'a Listing<'a>,
    names: BTreeMap<&'a str, usize>,
}

/// A tensor of the network, by indices of tensors of the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) mean: usize,
    pub(super) scale: Option<usize>,
    pub(super) along: Vec<usize>,
}

/// What one convention and one prefix explain.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) convention: Option<&'static Convention>,
    pub(super) prefix: String,
    pub(super) tensors: Vec<Named>,
    /// Tensors of the network that were not found.
    pub(super) missing: Vec<String>,
}

impl Found {
    /// Number of tensors that have a standard deviation.
    pub(super) fn scales(&self) -> usize {
        self.tensors.iter().filter(|tensor| tensor.scale.is_some()).count()
    }

    /// Fewest missing, then most standard deviations, then the shortest prefix.
    pub(super) fn rank(&self) -> (Reverse<usize>, usize, Reverse<usize>) {
        (Reverse(self.missing.len()), self.scales(), Reverse(self.prefix.len()))
    }
}

impl<'a> Search<'a> {
    pub(super) fn new(network: Tensors<'a>, listing: &'a Listing<'a>) -> Self {
        let names = listing.headers.iter().map(|header| &*header.name).zip(0..).collect();
        Self { network, listing, names }
    }

    /// All that a convention may explain, by what may stand before all names.
    pub(super) fn all(&self, convention: Option<&'static Convention>) -> impl Iterator<Item = Found> {
        self.prefixes(convention).into_iter().map(move |prefix| self.find(convention, prefix))
    }

    /// What may stand before all names: what stands before one of the first tensor's names.
    fn prefixes(&self, convention: Option<&'static Convention>) -> BTreeSet<String> {
        let Some(first) = self.network.symmetry.tensors.first() else { return BTreeSet::new() };
        let pairs = convention.into_iter().flat_map(|convention| convention.pairs);
        let means = pairs.filter_map(|pair| fill(pair[0], &first.name));
        let means: Vec<String> = means.chain([first.name.clone()]).collect();
        let ends = |name: &str, mean: &str| {
            let before = name.strip_suffix(mean)?;
            (before.is_empty() || before.ends_with(['.', '/'])).then(|| before.to_owned())
        };
        let names = self.names.keys();
        names.flat_map(|name| means.iter().filter_map(move |mean| ends(name, mean))).collect()
    }

    fn find(&self, convention: Option<&'static Convention>, prefix: String) -> Found {
        let index = |name: &str| self.names.get(&*format!("{prefix}{name}")).copied();
        let (mut tensors, mut missing) = (Vec::new(), Vec::new());
        for TensorAxes { name, .. } in &self.network.symmetry.tensors {
            let named = |template: &str| index(&fill(template, name)?);
            let pairs = convention.into_iter().flat_map(|convention| convention.pairs);
            let mut pairs = pairs.filter_map(|[mean, scale]| Some([named(mean)?, named(scale)?]));
            if let Some([mean, scale]) = pairs.next() {
                let along = convention.into_iter().flat_map(|convention| convention.along);
                let along = along.filter_map(|along| named(along)).collect();
                tensors.push(Named { mean, scale: Some(scale), along });
            } else if let Some(mean) = index(name) {
                tensors.push(Named { mean, scale: None, along: Vec::new() });
            } else {
                missing.push(name.clone());
            }
        }
        let convention = convention.filter(|_| tensors.iter().any(|tensor| tensor.scale.is_some()));
        Found { convention, prefix, tensors, missing }
    }

    /// Tensors of the checkpoint that a convention names but that have nothing to do with units.
    fn kept(&self, convention: &Convention, prefix: &str) -> Vec<usize> {
        let names = self.network.symmetry.tensors.iter().map(|tensor| &tensor.name);
        let filled = names.flat_map(|name| convention.kept.iter().filter_map(move |template| fill(template, name)));
        filled.filter_map(|name| self.names.get(&*format!("{prefix}{name}")).copied()).collect()
    }

    /// Complete copies of the network under other prefixes, such as averaged weights.
    pub(super) fn copies(&self, convention: Option<&'static Convention>, prefix: Option<&str>) -> Vec<Found> {
        self.all(convention).filter(|copy| copy.missing.is_empty() && Some(&*copy.prefix) != prefix).collect()
    }

    /// Turns what was found into places, with complete copies permuted along.
    pub(super) fn bind(&self, found: Found, transform: Option<Transform>) -> Result<Binding> {
        let Found { convention, prefix, mut tensors, .. } = found;
        for copy in self.copies(convention, Some(&prefix)) {
            for (named, copy) in tensors.iter_mut().zip(copy.tensors) {
                let new = [copy.mean].into_iter().chain(copy.scale).chain(copy.along);
                let own =
                    |index: &usize| *index != named.mean && Some(*index) != named.scale && !named.along.contains(index);
                let new: Vec<usize> = new.filter(own).collect();
                named.along.extend(new);
            }
        }
        let mut bound = Vec::new();
        for (named, tensor) in tensors.into_iter().zip(&self.network.symmetry.tensors) {
            let whole = |index: usize| Slot { tensor: index, offset: 0, row: tensor.shape.iter().product() };
            let std = match (named.scale, convention) {
                (Some(scale), Some(convention)) => {
                    let transform = match transform {
                        Some(transform) => transform,
                        None if convention.name == "pyro" => {
                            pyro::transform(self.listing, &self.listing.headers[scale].name, convention.transform)?
                        }
                        None => convention.transform,
                    };
                    Some(Stored { slot: whole(scale), transform, prior: None })
                }
                _ => None,
            };
            bound.push(Bound { mean: whole(named.mean), std, along: named.along.into_iter().map(whole).collect() });
        }
        let kept = convention.map_or_else(Vec::new, |convention| self.kept(convention, &prefix));
        Ok(Binding { convention: convention.map(|convention| convention.name), prefix, tensors: bound, kept })
    }

    /// Adds other names of the same bytes, such as those of tied weights, to what is permuted along.
    pub(super) fn with_tied(&self, mut binding: Binding) -> Binding {
        let headers = &self.listing.headers;
        let mut bound: BTreeSet<usize> =
            binding.tensors.iter().flat_map(Bound::permuted).map(|slot| slot.tensor).collect();
        for (own, tensor) in binding.tensors.iter_mut().zip(&self.network.symmetry.tensors) {
            let row = tensor.shape.iter().product();
            let others = self.network.aliases.iter().filter(|(_, of)| **of == tensor.name);
            let named = |other: &str| self.names.get(&*format!("{}{other}", binding.prefix)).copied();
            let new: Vec<usize> =
                others.filter_map(|(other, _)| named(other)).filter(|new| bound.insert(*new)).collect();
            own.along.extend(new.into_iter().map(|tensor| Slot { tensor, offset: 0, row }));
            let whole: Vec<usize> =
                own.permuted().filter(|slot| headers[slot.tensor].entries() == row).map(|slot| slot.tensor).collect();
            let Some(first) = whole.first() else { continue };
            let tied =
                self.listing.shared.iter().filter(|group| group.iter().any(|tensor| whole.contains(tensor))).flatten();
            let same = |tensor: &&usize| headers[**tensor].shape == headers[*first].shape;
            let new: Vec<usize> = tied.filter(same).copied().filter(|tensor| bound.insert(*tensor)).collect();
            own.along.extend(new.into_iter().map(|tensor| Slot { tensor, offset: 0, row }));
        }
        binding
    }
}
