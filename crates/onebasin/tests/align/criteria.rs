//! The objective is what each criterion says it is.

use crate::posteriors::CHANNELS;
use crate::posteriors::SOLVERS;
use crate::posteriors::gaussian;
use crate::posteriors::networks;
use crate::posteriors::pair;
use crate::posteriors::permuted;
use onebasin::align::Channel;
use onebasin::align::Solver;
use onebasin::posterior::Gaussian;
use onebasin::symmetry::Spec;

/// −½ |μ₀ − μ₁|², −½ W₂², −KL[q₁ ‖ q₀], and that of both directions; term by term, in f64.
fn closeness(channel: Channel, fixed: &Gaussian, moved: &Gaussian) -> f64 {
    let values = |gaussian: &Gaussian| -> Vec<(f64, f64)> {
        let pairs = gaussian.mean().values().iter().zip(gaussian.std().values());
        pairs.map(|(mean, std)| (f64::from(*mean), f64::from(*std))).collect()
    };
    let divergence = |(m1, s1): (f64, f64), (m0, s0): (f64, f64)| {
        (s0 / s1).ln() + (s1 * s1 + (m1 - m0).powi(2)) / (2.0 * s0 * s0) - 0.5
    };
    let pairs = values(fixed).into_iter().zip(values(moved));
    pairs
        .map(|(fixed, moved)| match channel {
            Channel::Mean => -0.5 * (fixed.0 - moved.0).powi(2),
            Channel::W2 => -0.5 * ((fixed.0 - moved.0).powi(2) + (fixed.1 - moved.1).powi(2)),
            Channel::Kl => -divergence(moved, fixed),
            Channel::Jeffreys => -divergence(moved, fixed) - divergence(fixed, moved),
            Channel::Activation => unreachable!("it looks at data"),
        })
        .sum()
}

#[test]
fn a_gain_of_the_objective_is_one_of_the_criterion() {
    for arch in networks() {
        let spec = Spec::of(&arch);
        let (fixed, moved) = (gaussian(&arch, 1), gaussian(&arch, 2));
        for channel in CHANNELS {
            let found = pair(&spec, &fixed, &moved, channel, Solver::Forward);
            let aligned = permuted(&spec, &found.permutations, &moved);
            let expected = closeness(channel, &fixed, &aligned) - closeness(channel, &fixed, &moved);
            let gain = found.after.total - found.before.total;
            assert!((gain - expected).abs() <= 1e-6 * found.after.total.abs(), "{channel:?}: {gain}, {expected}");
        }
    }
}

#[test]
fn the_objective_never_falls_and_stays_below_the_bound() {
    for arch in networks() {
        let spec = Spec::of(&arch);
        let (fixed, moved) = (gaussian(&arch, 1), gaussian(&arch, 2));
        for channel in CHANNELS {
            let mut best = f64::NEG_INFINITY;
            for solver in SOLVERS {
                let found = pair(&spec, &fixed, &moved, channel, solver);
                assert!(found.after.total > found.before.total, "{channel:?} {solver:?}");
                assert!(found.after.total <= found.bound);
                if solver == Solver::Best {
                    assert!(found.after.total >= best, "{channel:?}: the pool is below one of its members");
                }
                best = best.max(found.after.total);
            }
        }
    }
}

#[test]
fn the_parts_add_up() {
    for arch in networks() {
        let spec = Spec::of(&arch);
        let found = pair(&spec, &gaussian(&arch, 1), &gaussian(&arch, 2), Channel::W2, Solver::Forward);
        let size = found.after.total.abs();
        assert!((found.after.tensors.iter().sum::<f64>() - found.after.total).abs() <= 1e-12 * size);
        // The bias of the last layer belongs to no permutation.
        let head = arch.layout().tensors().len() - 1;
        let permuted = found.after.groups.iter().sum::<f64>() + found.after.tensors[head];
        assert!((permuted - found.after.total).abs() <= 1e-12 * size);
    }
}
