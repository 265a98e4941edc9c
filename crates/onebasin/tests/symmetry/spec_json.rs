//! Specs in files are read back as they were, and what contradicts itself is refused.

use crate::networks::every_network;
use onebasin::arch::Activation;
use onebasin::params::Layout;
use onebasin::symmetry::{Action, Group, Segment, Spec};
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;

const SMALL: &str = r#"{"groups":[{"name":"h","units":3}],"tensors":[{"name":"w","shape":[2,6],"axes":[[{"fixed":2}],[{"group":"h","blocks":2}]]},{"name":"k","shape":[3,2],"axes":[[{"group":"h"}],[{"free":1,"repeat":2}]]}],"hidden":[[{"group":"h"}]]}"#;

fn read(json: &str) -> Result<Spec, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

#[test]
fn every_network_is_read_back() {
    for arch in every_network(Activation::Relu) {
        let spec = Spec::of(&arch);
        let back = read(&serde_json::to_string(&spec).unwrap()).unwrap();
        assert_eq!(back, spec);
        assert_eq!(back.patches(), spec.patches());
    }
}

#[test]
fn the_text_is_short_and_stays_what_it_is() {
    let spec = read(SMALL).unwrap();
    assert_eq!(serde_json::to_string(&spec).unwrap(), SMALL);
    assert_eq!(spec.axes(0)[1], [Segment { blocks: 2, ..Segment::new(Action::Permuted(0), 3) }]);
    assert_eq!(spec.hidden(), [[Segment::new(Action::Permuted(0), 3)]]);
}

#[test]
fn contradictions_in_files_are_refused() {
    for (from, to, said) in [
        ("{\"fixed\":2}", "{\"fixed\":3}", "the segments of axis 0 of `w` have 3 indices, the axis 2"),
        ("{\"fixed\":2}", "{\"fixed\":2,\"free\":2}", "a segment needs one of `group`, `fixed` and `free`"),
        ("{\"fixed\":2}", "{}", "a segment needs one of `group`, `fixed` and `free`"),
        ("{\"fixed\":2}", "{\"group\":\"g\"}", "it has no group `g`"),
        ("{\"fixed\":2}", "{\"fixes\":2}", "unknown field `fixes`"),
        ("\"units\":3", "\"units\":4", "the segments of axis 1 of `w` have 8 indices, the axis 6"),
        ("\"units\":3", "\"units\":5000000000", "more than fit 32 bits"),
        ("\"shape\":[3,2]", "\"shape\":[3]", "it has 2 axes for tensor `k` [3]"),
        ("\"shape\":[3,2]", "\"shape\":[0,2]", "is 0"),
        ("\"name\":\"k\"", "\"name\":\"w\"", "two tensors are named `w`"),
        (
            "\"hidden\":[[{\"group\":\"h\"}]]",
            "\"hidden\":[[{\"free\":0}]]",
            "hidden layer 0 has a segment of no or too many",
        ),
    ] {
        assert!(SMALL.contains(from));
        let error = read(&SMALL.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}

/// Sizes that no memory holds are only numbers until somebody brings the parameters.
#[test]
fn claims_cost_nothing() {
    let size = 1u64 << 50;
    let json = format!(r#"{{"groups":[],"tensors":[{{"name":"w","shape":[{size}],"axes":[[{{"free":{size}}}]]}}]}}"#);
    let spec = read(&json).unwrap();
    let layout = Layout::new([("w", &[4][..])]).unwrap();
    assert!(spec.layout().check_same(&layout).is_err());
}

/// A spec of up to three groups, those within the first that can be, and tensors of up to three axes, each of up to three segments.
fn specs() -> impl Strategy<Value = Spec> {
    let segment = (0..5usize, 1..4usize, 1..3usize, 1..3usize);
    let tensors = vec(vec(vec(segment, 1..4), 0..4), 0..4);
    (vec(1..5usize, 0..4), tensors, any::<bool>()).prop_map(|(sizes, tensors, nested)| {
        let group = |(index, size): (usize, &usize)| {
            let group = Group::new(format!("g{index}"), *size);
            if nested && index > 0 && size % sizes[0] == 0 { group.within("g0") } else { group }
        };
        let groups: Vec<Group> = (0..).zip(&sizes).map(group).collect();
        let segment = |&(kind, units, repeat, blocks): &(usize, usize, usize, usize)| match kind {
            0 => Segment { repeat, blocks, ..Segment::new(Action::Fixed, units) },
            kind if kind <= sizes.len() => {
                Segment { repeat, blocks, ..Segment::new(Action::Permuted(kind - 1), sizes[kind - 1]) }
            }
            _ => Segment { repeat, blocks, ..Segment::new(Action::Free, units) },
        };
        let mut axes: Vec<Vec<Vec<Segment>>> = tensors
            .iter()
            .map(|axes| axes.iter().map(|segments| segments.iter().map(segment).collect()).collect())
            .collect();
        // Every group is in some tensor.
        let all = (0..).zip(&sizes).map(|(group, size)| Segment::new(Action::Permuted(group), *size));
        axes.push(vec![all.chain([Segment::new(Action::Free, 1)]).collect()]);
        let len = |segments: &Vec<Segment>| segments.iter().map(|it| it.units * it.repeat * it.blocks).sum();
        let shapes: Vec<(String, Vec<usize>)> = (0..)
            .zip(&axes)
            .map(|(index, axes): (usize, _)| (format!("t{index}"), axes.iter().map(len).collect()))
            .collect();
        let layout = Layout::new(shapes.iter().map(|(name, shape)| (&**name, &shape[..]))).unwrap();
        Spec::new(&Arc::new(layout), groups, axes).unwrap()
    })
}

proptest! {
    #[test]
    fn any_spec_is_read_back(spec in specs()) {
        let back = read(&serde_json::to_string_pretty(&spec).unwrap()).unwrap();
        prop_assert_eq!(&back, &spec);
        prop_assert_eq!(back.patches(), spec.patches());
    }

    #[test]
    fn damage_is_an_error_or_another_spec(spec in specs(), at: prop::sample::Index, byte in 32..127u8) {
        let mut json = serde_json::to_string(&spec).unwrap().into_bytes();
        let at = at.index(json.len());
        json[at] = byte;
        if let Ok(spec) = read(std::str::from_utf8(&json).unwrap()) {
            let again = read(&serde_json::to_string(&spec).unwrap()).unwrap();
            prop_assert_eq!(again, spec);
        }
    }
}
