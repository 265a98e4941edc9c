//! Searches end where nothing is left to gain, and the number of threads does not change where.

use crate::posteriors::{gaussian, mlp, networks};
use onebasin::align;
use onebasin::align::{Feature, Objective, Settings, Solver, Start};
use onebasin::progress::Monitor;
use onebasin::symmetry::{Permutation, Spec};
use onebasin_kernels::ThreadPool;

#[test]
fn threads_change_no_bit() {
    for arch in networks() {
        let spec = Spec::of(&arch);
        let (fixed, moved) = (gaussian(&arch, 1), gaussian(&arch, 2));
        for &solver in Solver::ALL {
            let settings = Settings { solver, start: Start::Random, seed: 5, ..Settings::default() };
            let run = |threads: usize| {
                let pool = ThreadPool::new(threads).unwrap();
                let found = align::pair(&spec, &fixed, &moved, settings, &pool, &mut Monitor::silent()).unwrap();
                (found.permutations, found.after, found.bound.to_bits(), found.attempts.len())
            };
            assert_eq!(run(1), run(3), "{solver:?}");
        }
    }
}

#[test]
fn no_permutation_of_one_group_is_better() {
    let arch = mlp("3x2x1", &[5, 4, 5]);
    let spec = Spec::of(&arch);
    let pool = ThreadPool::alone();
    for seed in 0..20 {
        let (fixed, moved) = (gaussian(&arch, 2 * seed), gaussian(&arch, 2 * seed + 1));
        let feature = Feature { fixed: fixed.mean().values().into(), moved: moved.mean().values().into() };
        let objective = Objective::new(&spec, vec![feature], None).unwrap();
        for &solver in Solver::ALL {
            let settings = Settings { solver, seed, ..Settings::default() };
            let found = align::maximise(&objective, settings, &pool, &mut Monitor::silent()).unwrap();
            for group in 0..3 {
                for other in all(spec.groups()[group].size) {
                    let mut changed = found.permutations.as_slice().to_vec();
                    changed[group] = other;
                    let value = objective.value(&pool, &changed).total;
                    assert!(value <= found.after.total + 1e-4, "{solver:?}: {value} above {}", found.after.total);
                }
            }
        }
    }
}

/// Every triple of permutations is tried: the bound is above the best of them, and the pool is rarely below it.
#[test]
fn the_bound_holds_and_the_pool_is_near_the_optimum() {
    let arch = mlp("2x2x1", &[4, 3, 4]);
    let spec = Spec::of(&arch);
    let pool = ThreadPool::alone();
    let (mut optimal, seeds) = (0, 30);
    for seed in 0..seeds {
        let (fixed, moved) = (gaussian(&arch, 2 * seed), gaussian(&arch, 2 * seed + 1));
        let feature = Feature { fixed: fixed.mean().values().into(), moved: moved.mean().values().into() };
        let objective = Objective::new(&spec, vec![feature], None).unwrap();
        let mut best = f64::NEG_INFINITY;
        for first in all(4) {
            for second in all(3) {
                for third in all(4) {
                    let value = objective.value(&pool, &[first.clone(), second.clone(), third]).total;
                    best = best.max(value);
                }
            }
        }
        let settings = Settings { solver: Solver::Best, ..Settings::default() };
        let found = align::maximise(&objective, settings, &pool, &mut Monitor::silent()).unwrap();
        assert!(found.bound >= best - 1e-5 && found.after.total <= best + 1e-9, "{} {best}", found.bound);
        optimal += u64::from(found.after.total >= best - 1e-9);
    }
    assert!(optimal > seeds / 2, "optimal in {optimal} of {seeds}");
}

/// All permutations of `n` units.
fn all(n: usize) -> Vec<Permutation> {
    let mut orders = vec![vec![]];
    for unit in 0..n as u32 {
        let longer = |order: &Vec<u32>| {
            (0..=order.len()).map(|at| [&order[..at], &[unit], &order[at..]].concat()).collect::<Vec<_>>()
        };
        orders = orders.iter().flat_map(longer).collect();
    }
    orders.into_iter().map(|order| Permutation::new(order).unwrap()).collect()
}

#[test]
fn memory_counts_the_matrices_of_each_group_and_neighbour() {
    // Each of both groups has one neighbour: the other.
    let spec = Spec::of(&mlp("3x2x1", &[5, 3]));
    let entries = 4 * (5 * 5 + 3 * 3);
    assert_eq!(Solver::CoordinateDescent.bytes(&spec, 0).unwrap(), 3 * entries);
    assert_eq!(Solver::Best.bytes(&spec, 0).unwrap(), 5 * entries);
    // What neighbours contribute is not kept for wide layers.
    let spec = Spec::of(&mlp("3x2x1", &[4000, 4000]));
    assert_eq!(Solver::Best.bytes(&spec, 0).unwrap(), 4 * 2 * 4000 * 4000);
    // Of wider ones no more than one matrix at a time, but for the points, gradients and vertices of Frank-Wolfe.
    let spec = Spec::of(&mlp("3x2x1", &[6000, 2000]));
    let (largest, all) = (4 * 6000 * 6000, 4 * (6000 * 6000 + 2000 * 2000));
    for solver in [Solver::CoordinateDescent, Solver::Greedy, Solver::Best] {
        assert_eq!(solver.bytes(&spec, 0).unwrap(), largest);
    }
    assert_eq!(Solver::FrankWolfe.bytes(&spec, 0).unwrap(), largest + 3 * all);
}
