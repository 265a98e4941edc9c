//! Specs of recurrent layers and of attention, and random parameters of them.

use onebasin::params::Params;
use onebasin::posterior::Gaussian;
use onebasin::rng::Stream;
use onebasin::symmetry::{Permutations, Spec};
use serde_json::{Value, json};

/// A spec of groups, each with its number of units and its parent, and of tensors. An axis is the name of a group, with the number of
/// its blocks behind a colon if there are several, or a number of fixed indices.
pub(crate) fn spec(groups: &[(&str, usize, Option<&str>)], tensors: &[(&str, &[&str])]) -> Spec {
    let size = |name: &str| groups.iter().find(|group| group.0 == name).expect("a group").1;
    let group = |&(name, units, within): &(&str, usize, Option<&str>)| match within {
        Some(parent) => json!({"name": name, "units": units, "within": parent}),
        None => json!({"name": name, "units": units}),
    };
    let axis = |text: &str| -> (usize, Value) {
        if let Ok(fixed) = text.parse::<usize>() {
            return (fixed, json!([{"fixed": fixed}]));
        }
        let (name, blocks) = text.split_once(':').unwrap_or((text, "1"));
        let blocks: usize = blocks.parse().unwrap();
        (blocks * size(name), json!([{"group": name, "blocks": blocks}]))
    };
    let tensor = |(name, axes): &(&str, &[&str])| {
        let (shape, axes): (Vec<usize>, Vec<Value>) = axes.iter().map(|text| axis(text)).unzip();
        json!({"name": name, "shape": shape, "axes": axes})
    };
    let groups: Vec<Value> = groups.iter().map(group).collect();
    let tensors: Vec<Value> = tensors.iter().map(tensor).collect();
    serde_json::from_value(json!({"groups": groups, "tensors": tensors})).unwrap()
}

/// An LSTM of so many units between 16 inputs and 10 classes.
pub(crate) fn lstm(units: usize) -> Spec {
    spec(
        &[("cell", units, None)],
        &[("w", &["cell:4", "16"]), ("r", &["cell:4", "cell"]), ("b", &["cell:4"]), ("out", &["10", "cell"])],
    )
}

/// A transformer block with heads of so many dimensions, between an embedding of 24 tokens and 24 classes.
pub(crate) fn transformer(heads: usize, head: usize, stream: usize, hidden: usize) -> Spec {
    let all = heads * head;
    let groups = [
        ("stream", stream, None),
        ("heads", heads, None),
        ("qk", all, Some("heads")),
        ("v", all, Some("heads")),
        ("hidden", hidden, None),
    ];
    let tensors: [(&str, &[&str]); 11] = [
        ("embedding", &["24", "stream"]),
        ("q", &["qk", "stream"]),
        ("k", &["qk", "stream"]),
        ("v", &["v", "stream"]),
        ("q.bias", &["qk"]),
        ("v.bias", &["v"]),
        ("out", &["stream", "v"]),
        ("up", &["hidden", "stream"]),
        ("up.bias", &["hidden"]),
        ("down", &["stream", "hidden"]),
        ("head", &["24", "stream"]),
    ];
    spec(&groups, &tensors)
}

/// Small specs with a recurrent tensor, with a family, and with both in all ways: a parent with and without a tensor, a recurrent tensor
/// of a child, and tensors of two children and of a child and its parent.
pub(crate) fn small() -> Vec<(&'static str, Spec)> {
    let family = [("heads", 3, None), ("qk", 6, Some("heads")), ("v", 3, Some("heads")), ("stream", 3, None)];
    let tall = [("heads", 2, None), ("qk", 6, Some("heads")), ("v", 4, Some("heads")), ("stream", 3, None)];
    let three: [(&str, usize, Option<&str>); 3] =
        [("heads", 3, None), ("state", 6, Some("heads")), ("stream", 3, None)];
    vec![
        (
            "lstm",
            spec(
                &[("h", 5, None)],
                &[("w", &["h:4", "2"]), ("r", &["h:4", "h"]), ("b", &["h:4"]), ("out", &["2", "h"])],
            ),
        ),
        ("recurrent", spec(&[("h", 5, None)], &[("w", &["h:2", "2"]), ("r", &["h:2", "h"]), ("out", &["2", "h"])])),
        ("only recurrent", spec(&[("h", 5, None)], &[("r", &["h", "h"])])),
        (
            "stacked recurrent",
            spec(
                &[("h", 4, None), ("g", 4, None)],
                &[("r", &["h:4", "h"]), ("w", &["g:4", "h"]), ("s", &["g:4", "g"]), ("out", &["2", "g"])],
            ),
        ),
        ("attention", spec(&family, &[("q", &["qk", "stream"]), ("v", &["v", "stream"]), ("out", &["stream", "v"])])),
        (
            "attention with gates",
            spec(&tall, &[("q", &["qk", "stream"]), ("v", &["2", "v"]), ("gate", &["heads", "stream"])]),
        ),
        (
            "recurrent heads",
            spec(&three, &[("r", &["state:2", "state"]), ("w", &["state", "stream"]), ("b", &["heads", "heads"])]),
        ),
        (
            "children that share a tensor",
            spec(&tall, &[("mix", &["qk", "v"]), ("q", &["qk", "2"]), ("gate", &["v", "heads"]), ("s", &["stream"])]),
        ),
    ]
}

pub(crate) fn normals(spec: &Spec, seed: u64, label: &str) -> Params {
    let mut params = Params::zeros(spec.layout());
    Stream::new(seed, label, 0).fill_normal(params.values_mut());
    params
}

/// Means of standard deviation one, and standard deviations of about one half.
pub(crate) fn random_gaussian(spec: &Spec, seed: u64) -> Gaussian {
    let mut std = normals(spec, seed, "std");
    std.values_mut().iter_mut().for_each(|std| *std = 0.5 + 0.1 * std.clamp(-3.0, 3.0));
    Gaussian::new(normals(spec, seed, "mean"), std).unwrap()
}

/// A permuted copy whose means are `share` the original's and for the rest new.
pub(crate) fn noisy_copy(spec: &Spec, original: &Gaussian, planted: &Permutations, share: f32, seed: u64) -> Gaussian {
    let mut mean = original.mean().clone();
    mean.scale(share);
    mean.add_scaled((1.0 - share * share).sqrt(), &normals(spec, seed, "noise")).unwrap();
    let apply = |params: &Params| spec.apply(planted, params).unwrap();
    Gaussian::new(apply(&mean), apply(original.std())).unwrap()
}
