//! The objective is what each criterion says it is.

use crate::posteriors::{CRITERIA, gaussian, mlp, networks, pair, permuted};
use onebasin::align::{Criterion, Solver};
use onebasin::posterior::Gaussian;
use onebasin::symmetry::{Permutations, Spec};

/// −½ |μ₀ − μ₁|², −½ W₂², −KL[q₁ ‖ q₀], that of both directions, −½ |μ₀/σ₀ − μ₁/σ₁|², and −½ Σ (μ₀ − μ₁)² / (σ₀ σ₁); term by
/// term, in f64.
fn closeness(criterion: Criterion, fixed: &Gaussian, moved: &Gaussian) -> f64 {
    let values = |gaussian: &Gaussian| -> Vec<(f64, f64)> {
        let pairs = gaussian.mean().values().iter().zip(gaussian.std().values());
        pairs.map(|(mean, std)| (f64::from(*mean), f64::from(*std))).collect()
    };
    let divergence = |(m1, s1): (f64, f64), (m0, s0): (f64, f64)| {
        (s0 / s1).ln() + (s1 * s1 + (m1 - m0).powi(2)) / (2.0 * s0 * s0) - 0.5
    };
    let pairs = values(fixed).into_iter().zip(values(moved));
    pairs
        .map(|(fixed, moved)| match criterion {
            Criterion::Mean => -0.5 * (fixed.0 - moved.0).powi(2),
            Criterion::W2 => -0.5 * ((fixed.0 - moved.0).powi(2) + (fixed.1 - moved.1).powi(2)),
            Criterion::Kl => -divergence(moved, fixed),
            Criterion::Jeffreys => -divergence(moved, fixed) - divergence(fixed, moved),
            Criterion::Snr => -0.5 * (fixed.0 / fixed.1 - moved.0 / moved.1).powi(2),
            Criterion::Mahalanobis => -0.5 * (fixed.0 - moved.0).powi(2) / (fixed.1 * moved.1),
            other => unreachable!("{other} compares no weights"),
        })
        .sum()
}

#[test]
fn a_gain_of_the_objective_is_one_of_the_criterion() {
    for arch in networks() {
        let spec = Spec::of(&arch);
        let (fixed, moved) = (gaussian(&arch, 1), gaussian(&arch, 2));
        for criterion in CRITERIA {
            let found = pair(&spec, &fixed, &moved, criterion, Solver::Greedy);
            let aligned = permuted(&spec, &found.permutations, &moved);
            let expected = closeness(criterion, &fixed, &aligned) - closeness(criterion, &fixed, &moved);
            let gain = found.after.total - found.before.total;
            assert!((gain - expected).abs() <= 1e-6 * found.after.total.abs(), "{criterion:?}: {gain}, {expected}");
        }
    }
}

#[test]
fn the_objective_never_falls_and_stays_below_the_bound() {
    for arch in networks() {
        let spec = Spec::of(&arch);
        let (fixed, moved) = (gaussian(&arch, 1), gaussian(&arch, 2));
        for criterion in CRITERIA {
            let mut best = f64::NEG_INFINITY;
            for &solver in Solver::ALL {
                let found = pair(&spec, &fixed, &moved, criterion, solver);
                assert!(found.after.total > found.before.total, "{criterion:?} {solver:?}");
                assert!(found.after.total <= found.bound);
                if solver == Solver::Best {
                    assert!(found.after.total >= best, "{criterion:?}: the pool is below one of its members");
                }
                best = best.max(found.after.total);
            }
        }
    }
}

#[test]
fn a_posterior_gains_nothing_from_itself_and_everything_from_a_permuted_copy() {
    let arch = mlp("4x3x1", &[20]);
    let (spec, original) = (Spec::of(&arch), gaussian(&arch, 1));
    let copy = permuted(&spec, &Permutations::random(&spec, 3), &original);
    for moved in [&original, &copy] {
        let found = pair(&spec, &original, moved, Criterion::W2, Solver::Best);
        let [missed, possible] = [&found.after, &found.before].map(|value| found.bound - value.total);
        assert!(missed <= 1e-5 * possible, "{missed} of {possible}");
    }
}

#[test]
fn the_parts_add_up() {
    for arch in networks() {
        let spec = Spec::of(&arch);
        let found = pair(&spec, &gaussian(&arch, 1), &gaussian(&arch, 2), Criterion::W2, Solver::Greedy);
        let size = found.after.total.abs();
        assert!((found.after.tensors.iter().sum::<f64>() - found.after.total).abs() <= 1e-12 * size);
        // The bias of the last layer belongs to no permutation.
        let head = arch.layout().tensors().len() - 1;
        let permuted = found.after.groups.iter().sum::<f64>() + found.after.tensors[head];
        assert!((permuted - found.after.total).abs() <= 1e-12 * size);
    }
}
