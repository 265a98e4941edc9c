//! Networks, random posteriors of them, and how to align two.

use onebasin::align;
use onebasin::align::{Alignment, Criterion, Settings, Solver};
use onebasin::arch::{Arch, Preset};
use onebasin::params::Params;
use onebasin::posterior::Gaussian;
use onebasin::progress::Monitor;
use onebasin::rng::Stream;
use onebasin::symmetry::{Permutations, Spec};
use onebasin_kernels::ThreadPool;

pub(crate) fn arch(json: &str) -> Arch {
    Arch::new(serde_json::from_str::<Preset>(json).unwrap()).unwrap()
}

pub(crate) fn mlp(input: &str, hidden: &[usize]) -> Arch {
    arch(&format!(r#"{{"preset": "mlp", "input": "{input}", "classes": 3, "hidden": {hidden:?}}}"#))
}

/// One of each kind; the residual networks have both kinds of shortcut.
pub(crate) fn networks() -> Vec<Arch> {
    vec![
        mlp("4x3x1", &[20, 17, 33]),
        arch(r#"{"preset": "cnn", "input": "8x8x2", "classes": 3, "stack": ["6", "max", "18/2"], "hidden": [10]}"#),
        arch(r#"{"preset": "resnet", "input": "8x8x3", "classes": 4, "depth": 8, "normalisation": "frn"}"#),
        arch(
            r#"{"preset": "resnet", "input": "8x8x3", "classes": 4, "depth": 8, "normalisation": "layer",
                "shortcut": "padded"}"#,
        ),
    ]
}

/// Means of standard deviation one, standard deviations of about one half.
pub(crate) fn gaussian(arch: &Arch, seed: u64) -> Gaussian {
    let (mut mean, mut std) = (Params::zeros(arch.layout()), Params::zeros(arch.layout()));
    Stream::new(seed, "mean", 0).fill_normal(mean.values_mut());
    Stream::new(seed, "std", 0).fill_normal(std.values_mut());
    std.values_mut().iter_mut().for_each(|std| *std = 0.5 + 0.1 * std.clamp(-3.0, 3.0));
    Gaussian::new(mean, std).unwrap()
}

pub(crate) fn permuted(spec: &Spec, permutations: &Permutations, gaussian: &Gaussian) -> Gaussian {
    let apply = |params: &Params| spec.apply(permutations, params).unwrap();
    Gaussian::new(apply(gaussian.mean()), apply(gaussian.std())).unwrap()
}

/// A noisy copy: `share` of the original, the rest new.
pub(crate) fn noisy(gaussian: &Gaussian, arch: &Arch, share: f32, seed: u64) -> Gaussian {
    let other = self::gaussian(arch, seed);
    let rest = (1.0 - share * share).sqrt();
    let mut mean = gaussian.mean().clone();
    mean.scale(share);
    mean.add_scaled(rest, other.mean()).unwrap();
    Gaussian::new(mean, gaussian.std().clone()).unwrap()
}

pub(crate) fn pair(spec: &Spec, fixed: &Gaussian, moved: &Gaussian, criterion: Criterion, solver: Solver) -> Alignment {
    let settings = Settings { criterion, solver, ..Settings::default() };
    align::pair(spec, fixed, moved, settings, &ThreadPool::new(2).unwrap(), &mut Monitor::silent()).unwrap()
}

/// All that compare weights.
pub(crate) const CRITERIA: [Criterion; 6] =
    [Criterion::Mean, Criterion::W2, Criterion::Kl, Criterion::Jeffreys, Criterion::Snr, Criterion::Mahalanobis];
