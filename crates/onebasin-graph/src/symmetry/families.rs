//! Which units may be reordered differently in every block: dimensions within each head of an attention.
//!
//! Units `inner` may follow units `outer`, with a permutation of their own for each of these, if every value with `inner` has `outer` in
//! one place too, and every node that has them on different axes works alone at each entry of the axis of `outer`.

use super::classes::ClassId;
use super::expand::{Part, free};
use crate::graph::{Graph, Index, Kind, Node, Op};

/// For each value, the parts of each of its axes.
pub(super) type Parts = Vec<Vec<Vec<Part>>>;

/// Whether `inner` may have a permutation of its own for each unit of `outer`.
pub(super) fn may_follow(graph: &Graph, parts: &Parts, inner: ClassId, outer: ClassId) -> bool {
    let mut places: Vec<Vec<(usize, usize)>> = Vec::with_capacity(parts.len());
    for (value, axes) in graph.values().iter().zip(parts) {
        // What is equal everywhere may be permuted in any way.
        let constant = matches!(value.kind, Kind::Constant(_));
        match if constant { Some(Vec::new()) } else { places_of(axes, inner, outer) } {
            Some(found) => places.push(found),
            None => return false,
        }
    }
    graph.nodes().iter().all(|node| fits(node, &places))
}

/// For each axis that has `inner`, the axis that has `outer` for it; `None` if that is not one place.
fn places_of(axes: &[Vec<Part>], inner: ClassId, outer: ClassId) -> Option<Vec<(usize, usize)>> {
    let count = |part: &Part, class: ClassId| free(part).filter(|own| *own == class).count();
    let mut places = Vec::new();
    for (axis, own) in axes.iter().enumerate() {
        let mut place = None;
        for part in own.iter().filter(|part| count(part, inner) > 0) {
            let elsewhere = axes
                .iter()
                .enumerate()
                .filter(|(other, parts)| *other != axis && parts.iter().any(|part| count(part, outer) > 0));
            let elsewhere: Vec<usize> = elsewhere.map(|(other, _)| other).collect();
            let here = match (count(part, inner), count(part, outer), &elsewhere[..]) {
                (1, 1, []) => axis,
                (1, 0, [other]) if matches!(&axes[*other][..], [only] if count(only, outer) == 1) => *other,
                _ => return None,
            };
            if place.replace(here).is_some_and(|before| before != here) {
                return None;
            }
        }
        places.extend(place.map(|other| (axis, other)));
    }
    Some(places)
}

/// Whether a node treats the axes of `inner` and of `outer` in all operands alike.
fn fits(node: &Node, places: &[Vec<(usize, usize)>]) -> bool {
    let Op::Indexed(indices) = &node.op else { return true };
    let mut known: Vec<(usize, usize)> = Vec::new();
    for (value, indices) in node.inputs.iter().chain(&node.outputs).zip(indices) {
        for &(inner, outer) in &places[value.0] {
            let (Index::Any(inner), Index::Any(outer)) = (indices[inner], indices[outer]) else { return false };
            if inner != outer && !node.separate.contains(&outer) {
                return false;
            }
            match known.iter().find(|(own, _)| *own == inner) {
                Some((_, other)) if *other != outer => return false,
                Some(_) => {}
                None => known.push((inner, outer)),
            }
        }
    }
    true
}
