//! What cannot be aligned is refused, and the message says why.

use crate::posteriors::{gaussian, mlp};
use onebasin::align;
use onebasin::align::{Criterion, Objective, Settings};
use onebasin::arch::Arch;
use onebasin::params::{Layout, Params};
use onebasin::posterior::Gaussian;
use onebasin::progress::Monitor;
use onebasin::symmetry::{Action, Group, Segment, Spec};
use onebasin_kernels::ThreadPool;
use std::sync::Arc;

fn error(arch: &Arch, fixed: &Gaussian, moved: &Gaussian, criterion: Criterion) -> String {
    let settings = Settings { criterion, ..Settings::default() };
    align::pair(&Spec::of(arch), fixed, moved, settings, &ThreadPool::alone(), &mut Monitor::silent())
        .unwrap_err()
        .to_string()
}

#[test]
fn a_value_that_is_not_finite_is_named() {
    let arch = mlp("2x2x1", &[5, 4]);
    let good = gaussian(&arch, 1);
    for tensor in arch.layout().tensors() {
        for bad in [f32::NAN, f32::INFINITY] {
            let mut mean = good.mean().clone();
            mean.values_mut()[tensor.range()][1] = bad;
            let diverged = Gaussian::new(mean, good.std().clone()).unwrap();
            let expected = format!("a value of tensor `{}` is {bad}; the posterior has diverged", tensor.name());
            assert_eq!(error(&arch, &good, &diverged, Criterion::W2), expected);
            assert_eq!(error(&arch, &diverged, &good, Criterion::Mean), expected);
        }
    }
}

#[test]
fn criteria_that_divide_by_standard_deviations_refuse_points() {
    let arch = mlp("2x2x1", &[5, 4]);
    let good = gaussian(&arch, 1);
    let point = Gaussian::new(good.mean().clone(), Params::zeros(arch.layout())).unwrap();
    let message = error(&arch, &point, &good, Criterion::Kl);
    assert!(message.starts_with("a standard deviation of tensor `hidden1.weight` is 0"), "{message}");
    for criterion in [Criterion::Jeffreys, Criterion::Snr, Criterion::Mahalanobis] {
        for [fixed, moved] in [[&good, &point], [&point, &good]] {
            let message = error(&arch, fixed, moved, criterion);
            assert!(message.starts_with("a standard deviation of tensor `hidden1.weight` is 0"), "{message}");
            assert!(message.ends_with("the criteria mean and w2 do not"), "{message}");
        }
    }
}

#[test]
fn other_networks_are_refused() {
    let (arch, other) = (mlp("2x2x1", &[5, 4]), mlp("2x2x1", &[5, 3]));
    let message = error(&arch, &gaussian(&arch, 1), &gaussian(&other, 2), Criterion::W2);
    assert!(message.contains("`hidden2.weight` [5, 3] where `hidden2.weight` [5, 4] is expected"), "{message}");
}

#[test]
fn activations_need_data() {
    let arch = mlp("2x2x1", &[5, 4]);
    let message = error(&arch, &gaussian(&arch, 1), &gaussian(&arch, 2), Criterion::Activation);
    assert_eq!(message, "the criterion `activation` needs data; others are: mean, w2, kl, jeffreys, snr, mahalanobis");
}

#[test]
fn three_permuted_axes_are_refused() {
    let layout = Arc::new(Layout::new([("cube", &[3, 2, 3][..])]).unwrap());
    let [stream, other] = [(0, 3), (1, 2)].map(|(group, units)| vec![Segment::new(Action::Permuted(group), units)]);
    let groups = vec![Group::new("stream", 3), Group::new("other", 2)];
    let spec = Spec::new(&layout, groups, vec![vec![stream.clone(), other, stream]]).unwrap();
    let message = Objective::new(&spec, Vec::new(), None).unwrap_err().to_string();
    assert_eq!(
        message,
        "tensor `cube` is permuted by stream, other, stream; alignment needs at most two permuted axes of each"
    );
}
