//! Specs are what they should be for every preset, cover every parameter once, and are refused where they contradict.

use crate::networks::{cnn, every_network, generic, mlp, resnet};
use onebasin::arch::{Activation, Normalisation, Shortcut};
use onebasin::params::{Layout, Params};
use onebasin::symmetry::{Action, Group, Permutation, Permutations, Segment, Spec};
use proptest::prelude::*;
use std::sync::Arc;

fn names(spec: &Spec) -> Vec<(&str, usize)> {
    spec.groups().iter().map(|group| (&*group.name, group.size)).collect()
}

fn axes<'a>(spec: &'a Spec, tensor: &str) -> &'a [Vec<Segment>] {
    let index = spec.layout().tensors().iter().position(|known| known.name() == tensor).unwrap();
    spec.axes(index)
}

fn permuted(group: usize, units: usize) -> Segment {
    Segment::new(Action::Permuted(group), units)
}

#[test]
fn groups_of_dense_networks_and_stacks_are_their_hidden_layers() {
    let spec = Spec::of(&mlp(&[33, 20], Activation::Tanh));
    assert_eq!(names(&spec), [("hidden1", 33), ("hidden2", 20)]);
    assert_eq!(axes(&spec, "hidden2.weight"), [vec![permuted(0, 33)], vec![permuted(1, 20)]]);
    assert_eq!(axes(&spec, "head.bias"), [vec![Segment::new(Action::Fixed, 5)]]);

    let spec = Spec::of(&cnn(&["17", "max", "6/2"], &[30], Activation::Relu));
    assert_eq!(names(&spec), [("conv1", 17), ("conv2", 6), ("hidden1", 30)]);
    // 9x11 pixels, then 4x5, then 2x3.
    let flattened = Segment { blocks: 6, ..permuted(1, 6) };
    assert_eq!(axes(&spec, "hidden1.weight"), [vec![flattened], vec![permuted(2, 30)]]);
    let taps = vec![Segment::new(Action::Free, 3)];
    assert_eq!(axes(&spec, "conv2.weight"), [taps.clone(), taps, vec![permuted(0, 17)], vec![permuted(1, 6)]]);

    assert_eq!(names(&Spec::of(&mlp(&[], Activation::Relu))), []);
}

#[test]
fn a_resnet20_has_three_streams_and_nine_inner_groups() {
    let expected = [
        ("stem", 16),
        ("stage1.block1.inner", 16),
        ("stage1.block2.inner", 16),
        ("stage1.block3.inner", 16),
        ("stage2.block1.inner", 32),
        ("stage2", 32),
        ("stage2.block2.inner", 32),
        ("stage2.block3.inner", 32),
        ("stage3.block1.inner", 64),
        ("stage3", 64),
        ("stage3.block2.inner", 64),
        ("stage3.block3.inner", 64),
    ];
    let spec = Spec::of(&resnet(20, Normalisation::Frn, Shortcut::Projection));
    assert_eq!(names(&spec), expected);
    assert_eq!(axes(&spec, "stage2.block1.shortcut.weight")[2..], [vec![permuted(0, 16)], vec![permuted(5, 32)]]);
    assert_eq!(axes(&spec, "stage2.block3.norm2.tau"), [vec![permuted(5, 32)]]);

    let spec = Spec::of(&resnet(20, Normalisation::Frn, Shortcut::Padded));
    let padded = expected.map(|(name, size)| (name, if matches!(name, "stage2" | "stage3") { size / 2 } else { size }));
    assert_eq!(names(&spec), padded);
    let stream = vec![permuted(0, 16), permuted(5, 16), permuted(9, 32)];
    assert_eq!(axes(&spec, "stage3.block2.conv2.bias"), std::slice::from_ref(&stream));
    assert_eq!(axes(&spec, "head.weight"), [stream, vec![Segment::new(Action::Fixed, 5)]]);
}

#[test]
fn patches_cover_every_parameter_once() {
    let specs = every_network(Activation::Relu).iter().map(Spec::of).chain([odd_spec()]).collect::<Vec<_>>();
    for spec in specs {
        let mut covered = vec![0; spec.layout().len()];
        for patch in spec.patches() {
            let range = spec.layout().tensors()[patch.tensor].range();
            patch.for_each(spec.groups(), |place, units| {
                assert!(range.contains(&place) && units.len() == patch.axes.len());
                covered[place] += 1;
            });
        }
        assert!(covered.iter().all(|count| *count == 1));
    }
}

/// Repeats, blocks, several segments, one group twice in a tensor, three permuted axes and axes of one index.
fn odd_spec() -> Spec {
    let layout = Layout::new([("a", &[14, 3, 2][..]), ("b", &[1, 2, 1]), ("c", &[3, 2, 3]), ("d", &[])]).unwrap();
    let groups = [("three", 3), ("two", 2), ("one", 1)].map(|(name, size)| Group::new(name, size));
    let first = Segment { action: Action::Permuted(1), units: 2, repeat: 2, blocks: 3 };
    let axes = vec![
        vec![
            vec![first, Segment { repeat: 2, ..Segment::new(Action::Free, 1) }],
            vec![permuted(0, 3)],
            vec![Segment::new(Action::Fixed, 2)],
        ],
        vec![vec![permuted(2, 1)], vec![permuted(1, 2)], vec![permuted(2, 1)]],
        vec![vec![permuted(0, 3)], vec![permuted(1, 2)], vec![permuted(0, 3)]],
        vec![],
    ];
    Spec::new(&Arc::new(layout), groups.to_vec(), axes).unwrap()
}

/// What [`Spec::apply`] must do, straight from the definition of segments: index by index, axis by axis.
fn plainly_permuted(spec: &Spec, permutations: &Permutations, params: &Params) -> Params {
    let mut out = Params::zeros(spec.layout());
    for (index, tensor) in spec.layout().tensors().iter().enumerate() {
        let sources: Vec<Vec<usize>> =
            spec.axes(index).iter().map(|segments| sources(segments, permutations)).collect();
        for place in 0..tensor.range().len() {
            let (mut left, mut stride, mut from) = (place, 1, 0);
            for (sources, size) in sources.iter().zip(tensor.shape()).rev() {
                from += sources[left % size] * stride;
                left /= size;
                stride *= size;
            }
            out.values_mut()[tensor.range().start + place] = params.values()[tensor.range().start + from];
        }
    }
    out
}

/// Where each index of an axis comes from.
fn sources(segments: &[Segment], permutations: &Permutations) -> Vec<usize> {
    let mut sources = Vec::new();
    for segment in segments {
        let start = sources.len();
        for index in 0..segment.blocks * segment.units * segment.repeat {
            let (r, unit) = (index % segment.repeat, index / segment.repeat % segment.units);
            let block = index / segment.repeat / segment.units;
            let from = match segment.action {
                Action::Permuted(group) => permutations.as_slice()[group].as_slice()[unit] as usize,
                Action::Fixed | Action::Free => unit,
            };
            sources.push(start + (block * segment.units + from) * segment.repeat + r);
        }
    }
    sources
}

#[test]
fn applying_is_what_the_definition_says() {
    for (index, arch) in every_network(Activation::Relu).iter().enumerate() {
        let (spec, params) = (Spec::of(arch), generic(arch, 1));
        let permutations = Permutations::random(&spec, index as u64);
        assert!(spec.apply(&permutations, &params).unwrap() == plainly_permuted(&spec, &permutations, &params));
    }
}

proptest! {
    #[test]
    fn applying_is_a_group_action(seeds: [u64; 2], kind in 0..8usize) {
        let (spec, params) = if kind == 7 {
            let spec = odd_spec();
            let values = (0..spec.layout().len()).map(|value| value as f32).collect();
            (spec.clone(), Params::from_values(spec.layout(), values).unwrap())
        } else {
            let arch = &every_network(Activation::Tanh)[kind];
            (Spec::of(arch), generic(arch, 1))
        };
        let [first, then] = seeds.map(|seed| Permutations::random(&spec, seed));
        let once = spec.apply(&first, &params).unwrap();
        prop_assert!(once == plainly_permuted(&spec, &first, &params));
        prop_assert!(spec.apply(&then, &once).unwrap() == spec.apply(&then.after(&first), &params).unwrap());
        prop_assert!(spec.apply(&first.inverse(), &once).unwrap() == params);
        prop_assert!(spec.apply(&Permutations::identity(&spec), &params).unwrap() == params);
        let total: usize = first.as_slice().iter().map(Permutation::transpositions).sum();
        prop_assert_eq!(first.transpositions(), total);
    }
}

#[test]
fn contradictions_are_refused() {
    let layout = Arc::new(Layout::new([("w", &[4, 3][..])]).unwrap());
    let group = |name: &str, size| Group::new(name, size);
    let fixed = |units| vec![Segment::new(Action::Fixed, units)];
    let refused = |groups: &[Group], axes: Vec<Vec<Vec<Segment>>>| {
        let error = Spec::new(&layout, groups.to_vec(), axes).unwrap_err().to_string();
        error.strip_prefix("the permutation spec is wrong: ").unwrap().to_owned()
    };
    for (groups, axes, said) in [
        (vec![], vec![], "it has 0 tensors, the layout 1"),
        (vec![], vec![vec![fixed(4)]], "it has 1 axes for tensor `w` [4, 3]"),
        (vec![], vec![vec![fixed(4), fixed(2)]], "the segments of axis 1 of `w` have 2 indices, the axis 3"),
        (vec![], vec![vec![vec![permuted(0, 4)], fixed(3)]], "axis 0 of `w` names group 0 of 0"),
        (
            vec![group("a", 3)],
            vec![vec![vec![permuted(0, 4)], fixed(3)]],
            "axis 0 of `w` has 4 units of group `a`, which has 3",
        ),
        (vec![group("a", 3)], vec![vec![fixed(4), fixed(3)]], "no tensor has the units of group `a`"),
        (vec![group("a", 3), group("a", 4)], vec![vec![fixed(4), fixed(3)]], "two groups are named `a`"),
    ] {
        assert_eq!(refused(&groups, axes), said);
    }
    let huge = Segment { repeat: usize::MAX, ..Segment::new(Action::Fixed, 2) };
    for bad in [huge, Segment::new(Action::Fixed, 0)] {
        let said = refused(&[], vec![vec![vec![Segment::new(Action::Fixed, 4), bad], fixed(3)]]);
        assert!(said.starts_with("axis 0 of `w` has a segment of no or too many indices"), "{said}");
    }
}
