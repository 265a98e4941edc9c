//! Says why a network is not found in a checkpoint, what the checkpoint has instead, and what to do.

use super::binding::{Binding, Bound};
use super::convention::{CONVENTIONS, Convention, fill, names};
use super::listing::{Header, Listing};
use super::names::{Found, Search};
use crate::error::{Error, List};
use std::collections::{BTreeMap, BTreeSet};

/// Names of missing or superfluous tensors that are printed.
const SHOWN: usize = 5;
/// What to do if an exporter has folded normalisations into other layers.
const UNFOLDED: &str = "export it with torch.export.save, or with torch.onnx.export(..., dynamo=True, optimize=False)";

/// Some names, in words.
pub(super) fn shown(names: &[String]) -> String {
    let some = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{some}, …") } else { some }
}

/// Says which tensors were not found, which format came closest and what it lacks, and what there is instead.
pub(super) fn missing(search: &Search<'_>, asked: Option<&'static Convention>) -> Error {
    let all: Vec<String> = search.network.symmetry.tensors.iter().map(|tensor| tensor.name.clone()).collect();
    let closest = |conventions: &mut dyn Iterator<Item = Option<&'static Convention>>| {
        let found = conventions.flat_map(|own| search.all(own).map(move |found| (own, found)));
        found.max_by_key(|(_, found)| found.rank())
    };
    let own = asked.map_or_else(|| closest(&mut [None].into_iter()), |own| closest(&mut [Some(own)].into_iter()));
    let plain = own.map_or(all, |(_, found)| found.missing);
    let there: Vec<String> = search.listing.headers.iter().map(|header| header.name.clone()).collect();
    let folded = plain.iter().find(|name| name.contains("::") || name.starts_with("val_"));
    let cause = match folded {
        Some(folded) => format!(
            "; names such as `{folded}` are made when an exporter folds constants: export the network in training mode without \
             constant folding, or {UNFOLDED}"
        ),
        None if is_folded(search, &there) => {
            format!(
                "; it has running statistics and the network has none, so the exporter has folded normalisations: {UNFOLDED}"
            )
        }
        None => String::new(),
    };
    let closest = if asked.is_none() { closest(&mut CONVENTIONS.iter().map(Some)) } else { None };
    let closest = closest.and_then(|(convention, found)| lacking(convention?, &found, plain.len()));
    let fault = format!(
        "{} tensors of the network are not in it ({}); it has {}{}{cause}; `--format` names how it stores a posterior, one of {}",
        plain.len(),
        shown(&plain),
        if there.is_empty() { "none".to_owned() } else { format!("{} others ({})", there.len(), shown(&there)) },
        closest.unwrap_or_default(),
        List(names().map(str::to_owned).collect())
    );
    Error::Checkpoint { fault }
}

/// Names what a format lacks, if it explains more than a plain network.
fn lacking(convention: &'static Convention, found: &Found, plain: usize) -> Option<String> {
    if found.missing.len() >= plain || found.scales() == 0 {
        return None;
    }
    let [mean, scale] = convention.pairs[0];
    let names = found.missing.iter().flat_map(|name| [fill(mean, name), fill(scale, name)]).flatten();
    let names: Vec<String> = names.map(|name| format!("{}{name}", found.prefix)).collect();
    Some(format!("; the format `{}` is closest, and lacks {}", convention.name, shown(&names)))
}

fn is_folded(search: &Search<'_>, there: &[String]) -> bool {
    let statistics = |name: &str| name.ends_with("running_mean");
    let network = search.network.symmetry.tensors.iter().any(|tensor| statistics(&tensor.name));
    !network && there.iter().any(|name| statistics(name))
}

/// Names the tensors that are no part of the network, because they may depend on the order of its units.
pub(super) fn rest(search: &Search<'_>, binding: &Binding, keep: &[String]) -> Option<Error> {
    let bound: BTreeSet<usize> = binding
        .tensors
        .iter()
        .flat_map(Bound::permuted)
        .map(|slot| slot.tensor)
        .chain(binding.kept.iter().copied())
        .collect();
    // What transforms depend on, such as a prior precision of each tensor, has no units.
    let scalars = |name: &str| binding.convention == Some("laplace") && name.ends_with("prior_precision");
    let is_rest = |(index, header): &(usize, &Header)| {
        let kept = keep.iter().any(|kept| header.name.starts_with(&**kept));
        header.is_float && header.entries() > 1 && !kept && !bound.contains(index) && !scalars(&header.name)
    };
    let headers = search.listing.headers.iter().enumerate();
    let rest: Vec<String> = headers.filter(is_rest).map(|(_, header)| header.name.clone()).collect();
    let first = rest.first()?;
    let has = |part: &str| rest.iter().any(|name| name.contains(part));
    let cause = if is_folded(search, &rest) {
        format!(
            "the network has no running statistics, so its exporter has folded normalisations into other layers: {UNFOLDED}"
        )
    } else if ["optim", "exp_avg", "momentum"].into_iter().any(has) {
        "they look like the state of an optimiser, which would no longer fit the permuted weights".to_owned()
    } else {
        "the network's graph does not read them, and they may depend on the order of its units".to_owned()
    };
    let beginning = first.split_inclusive(['.', '/']).next().unwrap_or_default();
    let fault = format!(
        "{} tensors are no part of the network ({}): {cause}; `--keep {beginning}` leaves those that begin so as they are",
        rest.len(),
        shown(&rest)
    );
    Some(Error::Checkpoint { fault })
}

/// Names the copies of the network that differ in a number only, such as the members of an ensemble.
pub(super) fn ensemble(search: &Search<'_>, convention: Option<&'static Convention>) -> Option<Error> {
    let mut alike: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for copy in search.copies(convention, None) {
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let parts: Vec<&str> = copy.prefix.split('.').map(|part| if is_number(part) { "0" } else { part }).collect();
        alike.entry(parts.join(".")).or_default().push(copy.prefix);
    }
    let members = alike.into_values().find(|members| members.len() > 1)?;
    let fault = format!(
        "it holds {} networks, such as the members of an ensemble (behind {}), and each needs permutations of its own: save each in a \
         file of its own, by torch.save(member.state_dict(), file)",
        members.len(),
        shown(&members)
    );
    Some(Error::Checkpoint { fault })
}

/// Names the first tensor that has another shape or no floating-point numbers.
pub(super) fn shapes(search: &Search<'_>, binding: &Binding) -> Option<Error> {
    let Listing { headers, .. } = search.listing;
    for (tensor, bound) in search.network.symmetry.tensors.iter().zip(&binding.tensors) {
        let (expected, entries) = (&tensor.shape, tensor.shape.iter().product::<usize>());
        for slot in bound.permuted() {
            let Header { name, shape, is_float } = &headers[slot.tensor];
            if !is_float {
                let fault = format!("tensor `{name}` does not hold floating-point numbers");
                return Some(Error::Checkpoint { fault });
            }
            let is_part = slot.row != entries && shape[..] == [slot.row];
            let is_along = bound.along.contains(&slot) && matches!(shape[..], [_, row] if row == entries);
            if merges_to(shape, expected) || is_part || is_along {
                continue;
            }
            let cause = match shape.split_first() {
                _ if shape.iter().rev().eq(expected) => {
                    "; it is transposed: save it as the network reads it".to_owned()
                }
                Some((first, rest)) if merges_to(rest, expected) => {
                    format!("; its first axis looks like one of {first} samples: save each sample in a file of its own")
                }
                _ => String::new(),
            };
            let fault = format!("tensor `{name}` has the shape {shape:?} where the network has {expected:?}{cause}");
            return Some(Error::Checkpoint { fault });
        }
    }
    None
}

/// Whether a shape becomes another when neighbouring axes are made one.
fn merges_to(fine: &[usize], coarse: &[usize]) -> bool {
    let mut fine = fine.iter();
    for &size in coarse {
        let mut product = 1;
        if size == 1 {
            if fine.next() != Some(&1) {
                return false;
            }
            continue;
        }
        while product < size {
            let Some(next) = fine.next() else { return false };
            product *= next;
        }
        if product != size {
            return false;
        }
    }
    fine.all(|size| *size == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_axes_merge() {
        assert!(merges_to(&[4, 3, 2], &[4, 6]) && merges_to(&[4, 3], &[4, 3]) && merges_to(&[1, 5], &[1, 5]));
        assert!(!merges_to(&[4, 3, 2], &[6, 4]) && !merges_to(&[4, 3], &[4, 3, 2]) && !merges_to(&[4, 3, 2], &[4, 3]));
    }
}
