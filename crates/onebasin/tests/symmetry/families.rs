//! Groups in the blocks of another: which permutations they have, what is refused, and that attention does not notice.

use onebasin::params::{Layout, Params};
use onebasin::rng::Stream;
use onebasin::symmetry::{
    Action, Family, Group, Permutation, Permutations, Segment, Spec, change_of_logits, distance_from_prior,
    prior_like_units,
};
use proptest::prelude::*;
use std::sync::Arc;

const TEXT: &str = r#"{"groups":[{"name":"heads","units":2},{"name":"qk","units":6,"within":"heads"},{"name":"v","units":4,"within":"heads"}],"tensors":[{"name":"q","shape":[6,3],"axes":[[{"group":"qk"}],[{"fixed":3}]]},{"name":"v","shape":[4,3],"axes":[[{"group":"v"}],[{"fixed":3}]]}]}"#;

fn spec() -> Spec {
    serde_json::from_str(TEXT).unwrap()
}

fn permutation(indices: &[u32]) -> Permutation {
    Permutation::new(indices.to_vec()).unwrap()
}

#[test]
fn a_family_is_written_by_the_name_of_its_parent() {
    let spec = spec();
    assert_eq!(serde_json::to_string(&spec).unwrap(), TEXT);
    assert_eq!(spec.groups()[1], Group::new("qk", 6).within("heads"));
    assert_eq!(spec.families(), [Family { parent: 0, children: vec![1, 2] }]);
}

#[test]
fn parents_that_do_not_fit_are_refused() {
    for (from, to, said) in [
        (r#""qk","units":6,"within":"heads""#, r#""qk","units":6,"within":"head""#, "there is no such group"),
        (r#""qk","units":6,"within":"heads""#, r#""qk","units":6,"within":"v""#, "`v`, which is within a group itself"),
        (r#""qk","units":6,"within":"heads""#, r#""qk","units":6,"within":"qk""#, "which is within a group itself"),
        (
            r#""heads","units":2"#,
            r#""heads","units":4"#,
            "`qk` has 6 units, not the same number for each of the 4 of `heads`",
        ),
        (r#""heads","units":2"#, r#""heads","units":0"#, "not the same number for each of the 0 of `heads`"),
        (r#"{"name":"heads","units":2},"#, r#"{"name":"heads","units":2},{"name":"idle","units":2},"#, "group `idle`"),
    ] {
        assert!(TEXT.contains(from));
        let error = serde_json::from_str::<Spec>(&TEXT.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn permutations_that_break_blocks_are_refused() {
    let spec = spec();
    let good = r#"{"heads":[1,0],"qk":[5,3,4,0,1,2],"v":[2,3,1,0]}"#;
    assert_eq!(Permutations::from_json(&spec, good).unwrap().to_json(), good);
    for (bad, said) in [
        // Its units are in whole blocks, but not in the order of the heads.
        (
            r#"{"heads":[0,1],"qk":[5,3,4,0,1,2],"v":[0,1,2,3]}"#,
            "unit 0 of `qk` comes from block 1, but block 0 from unit 0 of `heads`",
        ),
        (
            r#"{"heads":[1,0],"qk":[5,3,4,0,1,2],"v":[2,0,1,3]}"#,
            "unit 1 of `v` comes from block 0, but block 0 from unit 1 of `heads`",
        ),
    ] {
        let message = Permutations::from_json(&spec, bad).unwrap_err().to_string();
        assert_eq!(message, format!("the permutations do not fit the network: {said}"));
    }
    let error = Permutations::with_transpositions(&spec, 1, 0).unwrap_err().to_string();
    assert!(error.contains("`qk` moves in the blocks of `heads`"), "{error}");
}

#[test]
fn permutations_of_the_same_groups_without_blocks_are_refused() {
    let alone = serde_json::from_str::<Spec>(
        &TEXT.replace(r#","within":"heads""#, "").replace(r#"{"name":"heads","units":2},"#, ""),
    );
    let params = Params::zeros(spec().layout());
    assert!(spec().apply(&Permutations::identity(&alone.unwrap()), &params).is_err());
}

#[test]
fn one_permutation_of_a_family_is_replaced_inside_of_its_blocks() {
    let mut permutations = Permutations::identity(&spec());
    permutations.set(1, permutation(&[2, 0, 1, 3, 5, 4]));
    let broken = std::panic::catch_unwind(move || permutations.set(0, permutation(&[1, 0])));
    assert!(broken.is_err());
}

#[test]
fn blocks_are_composed_of_their_order_and_the_orders_inside() {
    let inner: [&[u32]; 2] = [&[2, 0, 1], &[0, 2, 1]];
    let composed = Permutation::of_blocks(&permutation(&[1, 0]), |block| inner[block]).unwrap();
    assert_eq!(composed.as_slice(), [5, 3, 4, 0, 2, 1]);
    assert!(Permutation::of_blocks(&permutation(&[1, 0]), |_| &[0, 0]).is_err());
}

proptest! {
    #[test]
    fn random_permutations_their_products_and_their_inverses_keep_blocks(seeds: [u64; 2]) {
        let spec = spec();
        let [a, b] = seeds.map(|seed| Permutations::random(&spec, seed));
        for one in [&a, &a.inverse(), &a.after(&b), &Permutations::identity(&spec)] {
            let again = Permutations::new(&spec, one.as_slice().to_vec()).unwrap();
            prop_assert_eq!(&again, one);
            prop_assert_eq!(&Permutations::from_json(&spec, &one.to_json()).unwrap(), one);
        }
        prop_assert_eq!(a.after(&a.inverse()), Permutations::identity(&spec));
    }
}

/// All 2 · 6² · 2² permutations come up, each as often as any.
#[test]
fn random_permutations_are_uniform() {
    let spec = spec();
    let mut counts = std::collections::BTreeMap::new();
    let draws = 288 * 60;
    for seed in 0..draws {
        *counts.entry(Permutations::random(&spec, seed).to_json()).or_insert(0u64) += 1;
    }
    assert_eq!(counts.len(), 288);
    // χ² of 287 degrees of freedom: mean 287, standard deviation 24.
    let square: f64 = counts.values().map(|count| (*count as f64 - 60.0).powi(2) / 60.0).sum();
    assert!((square - 287.0).abs() < 5.0 * 24.0, "{square}");
}

/// `y[t, o] = Σᵢ w[o, i] x[t, i]`
fn linear(x: &[f32], inputs: usize, w: &[f32]) -> Vec<f32> {
    let dot = |x: &[f32], w: &[f32]| x.iter().zip(w).map(|(x, w)| x * w).sum::<f32>();
    x.chunks(inputs).flat_map(|x| w.chunks(inputs).map(move |w| dot(x, w))).collect()
}

#[test]
fn attention_does_not_notice() {
    let (heads, head, value, stream, tokens) = (3, 4, 2, 5, 6);
    let shapes = [[heads * head, stream], [heads * head, stream], [heads * value, stream], [stream, heads * value]];
    let layout = ["q", "k", "v", "out"].into_iter().zip(shapes.iter().map(|shape| &shape[..]));
    let layout = Arc::new(Layout::new(layout).unwrap());
    let groups = vec![
        Group::new("heads", heads),
        Group::new("qk", heads * head).within("heads"),
        Group::new("v", heads * value).within("heads"),
    ];
    let of = |group: usize, units| vec![Segment::new(Action::Permuted(group), units)];
    let fixed = || vec![Segment::new(Action::Fixed, stream)];
    let [qk, v] = [of(1, heads * head), of(2, heads * value)];
    let axes = vec![vec![qk.clone(), fixed()], vec![qk, fixed()], vec![v.clone(), fixed()], vec![fixed(), v]];
    let spec = Spec::new(&layout, groups, axes).unwrap();
    let mut params = Params::zeros(&layout);
    Stream::new(1, "weights", 0).fill_normal(params.values_mut());
    let mut x = vec![0.0; tokens * stream];
    Stream::new(2, "tokens", 0).fill_normal(&mut x);
    let logits = |params: &Params| {
        let tensor = |index: usize| &params.values()[params.layout().tensors()[index].range()];
        let [q, k, v] = [0, 1, 2].map(|index| linear(&x, stream, tensor(index)));
        let mut mixed = vec![0.0; tokens * heads * value];
        for own in 0..heads {
            for t in 0..tokens {
                let at = |t: usize| &q[(t * heads + own) * head..][..head];
                let scores = (0..tokens).map(|s| {
                    let k = &k[(s * heads + own) * head..][..head];
                    at(t).iter().zip(k).map(|(q, k)| q * k).sum::<f32>().exp()
                });
                let scores: Vec<f32> = scores.collect();
                let total: f32 = scores.iter().sum();
                for (s, score) in scores.iter().enumerate() {
                    for unit in 0..value {
                        mixed[(t * heads + own) * value + unit] += score / total * v[(s * heads + own) * value + unit];
                    }
                }
            }
        }
        Ok(linear(&mixed, heads * value, tensor(3)))
    };
    for seed in 0..5 {
        let change = change_of_logits(&spec, &params, seed, logits).unwrap();
        assert!(change < 1e-5, "{change}");
    }
    // A unit of another head is no symmetry.
    let moved = spec.apply(&Permutations::random(&spec, 1), &params).unwrap();
    assert_ne!(moved, params);
}

#[test]
fn a_parent_without_parameters_is_never_like_the_prior() {
    let spec = spec();
    let [mean, mut std] = [0, 1].map(|_| Params::zeros(spec.layout()));
    std.values_mut().fill(1.0);
    let distances = distance_from_prior(&spec, &mean, &std, &[1.0, 1.0]).unwrap();
    assert_eq!(distances[0], [f64::INFINITY; 2]);
    assert_eq!(prior_like_units(&distances, 0.02), [vec![false; 2], vec![true; 6], vec![true; 4]]);
}
