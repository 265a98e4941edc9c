//! Turns classes into groups and segments; where they cannot be written so, some units are fixed.

use super::classes::ClassId;
use super::expand::{Factor, Part, expand, free};
use super::families::{Parts, may_follow};
use super::name::Names;
use super::propagate::Axes;
use super::{FixedUnits, Group, Segment, Symmetry, TensorAxes, Tie};
use crate::graph::{Graph, Kind};
use std::collections::{BTreeMap, BTreeSet};

/// Units whose order within each block may differ, each with the units that its blocks follow.
type Families = BTreeMap<ClassId, ClassId>;

/// Groups and segments of a graph.
pub(super) fn resolve(graph: &Graph, ties: &[Tie]) -> Symmetry {
    let mut axes = Axes::of(graph, ties);
    let nested = axes.classes.reason("parts of it are nested in units that are permuted".to_owned());
    let crowded = axes.classes.reason("other units of the same tensor are permuted instead".to_owned());
    loop {
        let parts: Parts = axes
            .of
            .clone()
            .iter()
            .map(|own| own.iter().map(|class| expand(&mut axes.classes, *class, nested)).collect())
            .collect();
        // Fixing parts in an expansion may change those expanded before.
        let settled = parts.iter().zip(&axes.of.clone()).all(|(parts, own)| {
            own.iter().zip(parts).all(|(class, parts)| expand(&mut axes.classes, *class, nested) == *parts)
        });
        if !settled {
            continue;
        }
        let families = families(graph, &parts);
        let fixed = conflicts(graph, &axes, &parts, &families);
        if fixed.is_empty() {
            return describe(graph, &axes, &parts, &families);
        }
        for class in fixed {
            axes.classes.fix(class, crowded);
        }
    }
}

/// Indices of the tensors of the checkpoint.
fn tensors(graph: &Graph) -> impl Iterator<Item = usize> {
    (0..graph.values().len()).filter(|value| graph.values()[*value].kind == Kind::Tensor)
}

/// The units that always come right behind others, in every tensor, and may follow them.
fn families(graph: &Graph, parts: &Parts) -> Families {
    let mut before: BTreeMap<ClassId, BTreeSet<Option<ClassId>>> = BTreeMap::new();
    for value in tensors(graph) {
        for (axis, own) in parts[value].iter().enumerate() {
            for part in own {
                for (at, factor) in part.iter().enumerate() {
                    let Factor::Free(class) = factor else { continue };
                    let outer = match at.checked_sub(1).map(|at| part[at]) {
                        Some(Factor::Free(outer)) => Some(outer),
                        Some(Factor::Fixed(_)) => None,
                        None => neighbour(&parts[value], axis),
                    };
                    before.entry(*class).or_default().insert(outer);
                }
            }
        }
    }
    let single = |(inner, outers): (&ClassId, &BTreeSet<Option<ClassId>>)| match outers.iter().collect::<Vec<_>>()[..] {
        [Some(outer)] if outer != inner => Some((*inner, *outer)),
        _ => None,
    };
    let candidates: Families = before.iter().filter_map(single).collect();
    let follows = |(inner, outer): &(ClassId, ClassId)| {
        // A family has two generations.
        !candidates.contains_key(outer) && may_follow(graph, parts, *inner, *outer)
    };
    candidates.clone().into_iter().filter(follows).collect()
}

/// The units of the axis before this one, if both axes can be made one.
fn neighbour(axes: &[Vec<Part>], axis: usize) -> Option<ClassId> {
    let single = |axis: usize| match &axes[axis][..] {
        [part] => match part[..] {
            [Factor::Free(class)] => Some(class),
            _ => None,
        },
        _ => None,
    };
    single(axis)?;
    single(axis.checked_sub(1)?)
}

/// Units to fix, because a tensor would have more permuted axes, or a part more permuted factors, than can be aligned.
fn conflicts(graph: &Graph, axes: &Axes, parts: &Parts, families: &Families) -> BTreeSet<ClassId> {
    let mut fixed = BTreeSet::new();
    let merged = |value: usize| merge(&graph.values()[value].shape, &parts[value], families).1;
    let of_part = |part: &Part| free(part).collect::<Vec<ClassId>>();
    let mut crowded: Vec<Vec<ClassId>> =
        tensors(graph).flat_map(|value| merged(value).iter().flatten().map(of_part).collect::<Vec<_>>()).collect();
    // Parts with few factors first: what is fixed in them may be all that is too much in others.
    crowded.sort_by_key(Vec::len);
    for classes in crowded {
        match classes[..] {
            [] | [_] => {}
            [outer, inner] if families.get(&inner) == Some(&outer) => {}
            // Where one of them is fixed already, the others may stay; the next round tells.
            _ if classes.iter().any(|class| fixed.contains(class)) => {}
            // The entries of a matrix of products of units with one another.
            [outer, ..] if classes.iter().all(|class| *class == outer) => drop(fixed.insert(outer)),
            [outer, ..] => fixed.extend(classes.iter().filter(|class| **class != outer)),
        }
    }
    for value in tensors(graph) {
        let units = |parts: &Vec<Part>| -> BTreeSet<ClassId> { parts.iter().flat_map(free).collect() };
        let mut permuted: Vec<BTreeSet<ClassId>> =
            merged(value).iter().map(units).filter(|classes| !classes.is_empty()).collect();
        permuted.sort_by_key(|classes| classes.iter().map(|class| axes.classes.size(*class)).sum::<usize>());
        if permuted.len() > 2 {
            fixed.extend(permuted.swap_remove(0));
        }
    }
    fixed
}

/// Makes one axis of neighbouring ones whose units are a family.
fn merge(shape: &[usize], axes: &[Vec<Part>], families: &Families) -> (Vec<usize>, Vec<Vec<Part>>) {
    let (mut sizes, mut merged) = (Vec::new(), Vec::<Vec<Part>>::new());
    for (axis, (size, parts)) in shape.iter().zip(axes).enumerate() {
        let inner = parts.first().and_then(|part| free(part).next());
        let follows = inner.and_then(|inner| families.get(&inner)).is_some();
        if follows && neighbour(axes, axis).is_some() {
            *sizes.last_mut().expect("there is an axis before") *= size;
            let before = merged.last_mut().expect("there is an axis before");
            *before = vec![[&before[0][..], &parts[0]].concat()];
        } else {
            sizes.push(*size);
            merged.push(parts.clone());
        }
    }
    (sizes, merged)
}

/// Names the groups and writes the segments of all tensors.
fn describe(graph: &Graph, axes: &Axes, parts: &Parts, families: &Families) -> Symmetry {
    let mut groups: Vec<Group> = Vec::new();
    let (mut known, mut flat): (BTreeMap<ClassId, usize>, BTreeMap<ClassId, usize>) =
        (BTreeMap::new(), BTreeMap::new());
    let mut names = Names::default();
    let parents: BTreeSet<ClassId> = families.values().copied().collect();
    let mut found = Vec::new();
    // Rows first: a group has the name of the layer that it is the output of.
    for rows in [true, false] {
        for value in tensors(graph) {
            let merged = merge(&graph.values()[value].shape, &parts[value], families).1;
            for (axis, parts) in merged.iter().enumerate().filter(|(axis, _)| (*axis == 0) == rows) {
                found.extend(parts.iter().flat_map(free).map(|class| (class, value, axis)));
            }
        }
    }
    found.sort_by_key(|(_, value, axis)| (*axis > 0, *value));
    for (class, value, _) in found {
        let tensor = &graph.values()[value].name;
        let mut outer = |class: ClassId, groups: &mut Vec<Group>, names: &mut Names| {
            *known.entry(class).or_insert_with(|| {
                let suffix = if parents.contains(&class) { ".blocks" } else { "" };
                groups.push(Group { name: names.give(tensor, suffix), units: axes.classes.size(class), within: None });
                groups.len() - 1
            })
        };
        if let Some(parent) = families.get(&class) {
            let within = outer(*parent, &mut groups, &mut names);
            flat.entry(class).or_insert_with(|| {
                let units = groups[within].units * axes.classes.size(class);
                groups.push(Group { name: names.give(tensor, ""), units, within: Some(within) });
                groups.len() - 1
            });
        } else {
            outer(class, &mut groups, &mut names);
        }
    }
    let mut all = Vec::new();
    for value in tensors(graph) {
        let (shape, merged) = merge(&graph.values()[value].shape, &parts[value], families);
        let segments = |parts: &Vec<Part>| parts.iter().map(|part| segment(part, axes, &known, &flat)).collect();
        let axes = merged.iter().map(segments).collect();
        let name = graph.values()[value].name.clone();
        let statistics = graph.statistics().contains(&name);
        all.push(TensorAxes { name, shape, axes, statistics });
    }
    let fixed = fixed_units(graph, axes);
    Symmetry { groups, tensors: all, fixed }
}

fn segment(part: &Part, axes: &Axes, known: &BTreeMap<ClassId, usize>, flat: &BTreeMap<ClassId, usize>) -> Segment {
    let size = |factor: &Factor| match factor {
        Factor::Fixed(size) => *size,
        Factor::Free(class) => axes.classes.size(*class),
    };
    let product = |factors: &[Factor]| factors.iter().map(size).product::<usize>();
    let Some(first) = part.iter().position(|factor| matches!(factor, Factor::Free(_))) else {
        return Segment { group: None, units: product(part), repeat: 1, blocks: 1 };
    };
    let last = part.iter().rposition(|factor| matches!(factor, Factor::Free(_))).expect("there is a first one");
    let class = free(part).last().expect("there is a first one");
    let group = if first == last { known[&class] } else { flat[&class] };
    Segment {
        group: Some(group),
        units: product(&part[first..=last]),
        repeat: product(&part[last + 1..]),
        blocks: product(&part[..first]),
    }
}

/// All leaves of tensors that are fixed, with their reasons.
fn fixed_units(graph: &Graph, axes: &Axes) -> Vec<FixedUnits> {
    let mut all = Vec::new();
    for value in tensors(graph) {
        for (axis, class) in axes.of[value].clone().into_iter().enumerate() {
            let mut open = vec![class];
            let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
            while let Some(class) = open.pop() {
                let children = axes.classes.children(class);
                match axes.classes.fixed(class) {
                    _ if !children.is_empty() => open.extend(children),
                    Some(reason) => *reasons.entry(reason.to_owned()).or_default() += axes.classes.size(class),
                    None => {}
                }
            }
            let tensor = &graph.values()[value].name;
            all.extend(reasons.into_iter().filter(|(_, units)| *units > 1).map(|(reason, units)| FixedUnits {
                tensor: tensor.clone(),
                axis,
                units,
                reason,
            }));
        }
    }
    all
}
