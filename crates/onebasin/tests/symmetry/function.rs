//! Permutations leave the function of every network unchanged, and a wrong spec is found out.

use crate::networks::{every_network, generic, logits, mlp, resnet};
use onebasin::arch::{Activation, Arch, Normalisation, Shortcut};
use onebasin::infer::{Prior, Scaling};
use onebasin::model::Batch;
use onebasin::net::Net;
use onebasin::params::Params;
use onebasin::posterior::Gaussian;
use onebasin::rng::Stream;
use onebasin::symmetry::{Action, Permutations, Spec, change_of_logits};
use onebasin::threads::pool;

fn change(arch: &Arch, spec: &Spec, seed: u64) -> f64 {
    change_of_logits(spec, &generic(arch, seed), seed, |params| Ok(logits(arch, params))).unwrap()
}

#[test]
fn permutations_change_no_logit() {
    for activation in [Activation::Relu, Activation::Tanh] {
        for (index, arch) in every_network(activation).iter().enumerate() {
            let (spec, seed) = (Spec::of(arch), index as u64);
            let change = change(arch, &spec, seed);
            assert!(change < 1e-5, "{change} in {:?}", arch.preset());
            let moved = Permutations::random(&spec, seed).transpositions();
            assert_eq!(moved > 0, spec.groups().iter().any(|group| group.size > 1), "nothing was moved");
        }
    }
}

/// The two parts of the evidence lower bound of a Gaussian: the mean log-likelihood of some of its points, and its divergence
/// from the prior.
fn bound(arch: &Arch, gaussian: &Gaussian, points: &[Params], prior: Prior) -> [f64; 2] {
    let labels: Vec<u32> = (0..6).map(|image| image % 5).collect();
    let mut images = vec![0.0; labels.len() * arch.input().len()];
    Stream::new(4, "images", 0).fill_normal(&mut images);
    let mut net = Net::new(arch, &pool(1).unwrap()).unwrap();
    let mut fit = |point: &Params| net.log_likelihood(point, Batch { inputs: &images, labels: &labels }).unwrap();
    let likelihood = points.iter().map(&mut fit).sum::<f64>() / points.len() as f64;
    let variances = prior.variances(arch);
    let mut divergence = 0.0;
    for (tensor, variance) in arch.layout().tensors().iter().zip(variances) {
        for at in tensor.range() {
            let [mean, std] = [gaussian.mean(), gaussian.std()].map(|params| f64::from(params.values()[at]));
            let ratio = std * std / variance;
            divergence += 0.5 * (ratio + mean * mean / variance - 1.0 - ratio.ln());
        }
    }
    [likelihood, divergence]
}

#[test]
fn permutations_change_no_evidence_lower_bound() {
    let prior = Prior { variance: 0.3, scaling: Scaling::FanIn };
    for (index, arch) in every_network(Activation::Relu).iter().enumerate() {
        let (spec, seed) = (Spec::of(arch), index as u64);
        let mut std = generic(arch, seed + 100);
        std.values_mut().iter_mut().for_each(|value| *value = 0.01 + 0.1 * value.abs());
        let gaussian = Gaussian::new(generic(arch, seed), std).unwrap();
        let points: Vec<Params> = (0..3)
            .map(|draw| {
                let mut point = Params::zeros(arch.layout());
                gaussian.draw(Stream::new(seed, "draws", draw), &mut point);
                point
            })
            .collect();
        let permutations = Permutations::random(&spec, seed);
        let apply = |params: &Params| spec.apply(&permutations, params).unwrap();
        let permuted = Gaussian::new(apply(gaussian.mean()), apply(gaussian.std())).unwrap();
        let moved: Vec<Params> = points.iter().map(apply).collect();
        let (before, after) = (bound(arch, &gaussian, &points, prior), bound(arch, &permuted, &moved, prior));
        for (before, after) in before.into_iter().zip(after) {
            assert!((before - after).abs() <= 1e-5 * before.abs(), "{before} and {after} in {:?}", arch.preset());
        }
        assert!(before[1] > 0.0 && before[0] < 0.0);
    }
}

/// The spec of a network in which one axis of one tensor is forgotten.
fn forgetful(arch: &Arch, tensor: usize, axis: usize) -> Option<Spec> {
    let right = Spec::of(arch);
    let mut axes: Vec<_> = (0..right.layout().tensors().len()).map(|tensor| right.axes(tensor).to_vec()).collect();
    let forgotten = &mut axes[tensor][axis];
    if forgotten.iter().all(|segment| segment.action == Action::Fixed || segment.action == Action::Free) {
        return None;
    }
    for segment in forgotten {
        segment.action = Action::Fixed;
    }
    Some(Spec::new(right.layout(), right.groups().to_vec(), axes).unwrap())
}

#[test]
fn a_spec_that_forgets_one_axis_of_one_tensor_is_found_out() {
    let archs = [
        mlp(&[7, 6], Activation::Tanh),
        resnet(8, Normalisation::Layer, Shortcut::Projection),
        resnet(8, Normalisation::Frn, Shortcut::Padded),
    ];
    for arch in archs {
        let mut found = 0;
        for (tensor, place) in arch.layout().tensors().iter().enumerate() {
            // Where ReLU follows at once, most thresholds of FRN have no effect; and FRN all but removes the bias before it.
            let frn = arch.layout().tensor("stem.norm.tau").is_ok();
            let faint = frn && [".tau", ".bias"].iter().any(|part| place.name().ends_with(part));
            for axis in 0..place.shape().len() {
                if let Some(wrong) = forgetful(&arch, tensor, axis).filter(|_| !faint) {
                    let change = change(&arch, &wrong, 1);
                    assert!(change > 1e-3, "axis {axis} of {} is worth {change}", place.name());
                    found += 1;
                }
            }
        }
        assert!(found >= 5, "{found}");
    }
}

#[test]
fn logits_that_are_not_a_number_are_no_agreement() {
    let arch = mlp(&[7], Activation::Relu);
    let mut params = generic(&arch, 1);
    params.view_mut("head.bias").unwrap()[2] = f32::NAN;
    let change = change_of_logits(&Spec::of(&arch), &params, 1, |params| Ok(logits(&arch, params))).unwrap();
    assert!(change.is_nan());
}
