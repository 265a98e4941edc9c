//! Finds tensors that are views of the same bytes.

use crate::contents::Location;
use crate::view::View;
use std::collections::BTreeSet;

/// Runs of bytes that are compared in all; beyond, tensors whose hulls overlap count as sharing.
const BUDGET: usize = 1 << 20;

/// Groups of tensors that share bytes, each in ascending order, in the order of their first tensors.
///
/// Views that interleave without a common byte, as the columns of a matrix do, do not share.
pub(crate) fn groups(locations: &[Location]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..locations.len()).filter(|tensor| !locations[*tensor].view.is_empty()).collect();
    order.sort_by_key(|tensor| (locations[*tensor].storage, locations[*tensor].view.hull().start, *tensor));
    let mut budget = BUDGET;
    let mut groups = Vec::new();
    let mut cluster: Vec<usize> = Vec::new();
    let mut end = 0;
    for tensor in order {
        let Location { storage, view } = &locations[tensor];
        let hull = view.hull();
        let apart = cluster.first().is_some_and(|first| locations[*first].storage != *storage) || hull.start >= end;
        if apart {
            split(locations, &std::mem::take(&mut cluster), &mut budget, &mut groups);
            end = 0;
        }
        end = end.max(hull.end);
        cluster.push(tensor);
    }
    split(locations, &cluster, &mut budget, &mut groups);
    groups.sort_unstable();
    groups
}

/// Splits tensors whose hulls overlap into groups that share bytes.
fn split(locations: &[Location], cluster: &[usize], budget: &mut usize, groups: &mut Vec<Vec<usize>>) {
    let view = |tensor: usize| &locations[tensor].view;
    if cluster.len() < 2 {
        return;
    }
    let mut parts: Vec<Vec<usize>> = Vec::new();
    if cluster.iter().all(|tensor| view(*tensor).is_dense()) {
        parts.push(cluster.to_vec());
    } else {
        for tensor in cluster {
            // All parts that the tensor shares bytes with become one.
            let shares = |part: &Vec<usize>, budget: &mut usize| {
                part.iter().any(|other| overlap(view(*tensor), view(*other), budget))
            };
            let (joined, rest): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| shares(part, budget));
            parts = rest;
            parts.push(joined.into_iter().flatten().chain([*tensor]).collect());
            if *budget == 0 {
                parts = vec![cluster.to_vec()];
                break;
            }
        }
    }
    for mut part in parts.into_iter().filter(|part| part.len() > 1) {
        part.sort_unstable();
        groups.push(part);
    }
}

fn overlap(a: &View, b: &View, budget: &mut usize) -> bool {
    let (hull_a, hull_b) = (a.hull(), b.hull());
    *budget = budget.saturating_sub(1);
    if hull_a.end <= hull_b.start || hull_b.end <= hull_a.start {
        return false;
    }
    if a == b || a.is_dense() && b.is_dense() {
        return true;
    }
    let mut runs = BTreeSet::new();
    let collected = a.runs(|at, len| {
        *budget = budget.saturating_sub(1);
        runs.insert((at, at + len as u64));
        if *budget == 0 { Err(()) } else { Ok(()) }
    });
    if collected.is_err() {
        return true;
    }
    let met = b.runs(|at, len| {
        *budget = budget.saturating_sub(1);
        let end = at + len as u64;
        // Runs of one view have the same length, so the last that begins before the end also ends last.
        let meets = runs.range(..(end, 0)).next_back().is_some_and(|(_, other)| *other > at);
        if *budget == 0 || meets { Err(()) } else { Ok(()) }
    });
    met.is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(storage: usize, shape: &[usize], strides: &[u64], offset: u64) -> Location {
        Location { storage, view: View::new(shape, strides.to_vec(), offset, 4, 1 << 20).unwrap() }
    }

    #[test]
    fn tensors_share_if_and_only_if_a_byte_is_common() {
        let matrix = at(0, &[4, 6], &[6, 1], 0);
        let left = at(0, &[4, 3], &[6, 1], 0);
        let right = at(0, &[4, 3], &[6, 1], 12);
        let transposed = at(0, &[6, 4], &[1, 6], 0);
        let elsewhere = at(1, &[4, 6], &[6, 1], 0);
        let behind = at(0, &[3], &[1], 96);
        let empty = at(0, &[0, 3], &[3, 1], 0);
        assert_eq!(groups(&[left.clone(), right.clone()]), [[0; 0]; 0]);
        assert_eq!(groups(&[left.clone(), right.clone(), left.clone()]), [[0, 2]]);
        assert_eq!(groups(&[left, right, behind.clone(), matrix.clone()]), [[0, 1, 3]]);
        assert_eq!(groups(&[matrix.clone(), elsewhere, transposed, behind, empty]), [[0, 2]]);
        assert_eq!(groups(&[]), [[0; 0]; 0]);
        let expanded = at(0, &[1 << 30], &[0], 0);
        assert_eq!(groups(&[expanded, matrix]), [[0, 1]]);
    }

    #[test]
    fn many_views_of_one_storage_are_grouped_quickly() {
        let columns: Vec<Location> = (0..3000).map(|column| at(0, &[80], &[3000], 4 * column)).collect();
        let started = std::time::Instant::now();
        groups(&columns);
        assert!(started.elapsed().as_secs() < 20);
    }
}
