//! Recurrent tensors and families: every solver respects them, is near the optimum, and finds planted permutations.

use crate::posteriors::CRITERIA;
use crate::structured::{lstm, noisy_copy, normals, random_gaussian, small, transformer};
use onebasin::align;
use onebasin::align::{Alignment, Criterion, Feature, Objective, Settings, Solver, Start};
use onebasin::posterior::Gaussian;
use onebasin::progress::Monitor;
use onebasin::rng::Stream;
use onebasin::symmetry::{Group, Permutation, Permutations, Spec};
use onebasin_kernels::ThreadPool;
use proptest::prelude::*;

fn run(spec: &Spec, fixed: &Gaussian, moved: &Gaussian, settings: Settings, threads: usize) -> Alignment {
    let pool = ThreadPool::new(threads).unwrap();
    align::pair(spec, fixed, moved, settings, &pool, &mut Monitor::silent()).unwrap()
}

fn all_orders(n: usize) -> Vec<Vec<u32>> {
    let mut orders = vec![vec![]];
    for unit in 0..n as u32 {
        let longer = |order: &Vec<u32>| {
            (0..=order.len()).map(|at| [&order[..at], &[unit], &order[at..]].concat()).collect::<Vec<_>>()
        };
        orders = orders.iter().flat_map(longer).collect();
    }
    orders
}

/// All permutations that a spec allows, by trying every order inside of every block.
fn allowed(spec: &Spec) -> Vec<Permutations> {
    let groups = spec.groups();
    let mut all: Vec<Vec<Option<Vec<u32>>>> = vec![vec![None; groups.len()]];
    for (index, group) in groups.iter().enumerate().filter(|(_, group)| group.within.is_none()) {
        let with = |known: &Vec<Option<Vec<u32>>>| -> Vec<_> {
            let extended = all_orders(group.size).into_iter().map(|order| {
                let mut known = known.clone();
                known[index] = Some(order);
                known
            });
            extended.collect()
        };
        all = all.iter().flat_map(with).collect();
    }
    for (index, group) in groups.iter().enumerate() {
        let Some(parent) = &group.within else { continue };
        let parent = spec.group(parent).unwrap();
        let blocks = groups[parent].size;
        let len = group.size / blocks;
        for block in 0..blocks {
            let with = |known: &Vec<Option<Vec<u32>>>| -> Vec<_> {
                let from = known[parent].as_ref().unwrap()[block] * len as u32;
                let extended = all_orders(len).into_iter().map(|order| {
                    let mut known = known.clone();
                    known[index].get_or_insert_default().extend(order.iter().map(|unit| from + unit));
                    known
                });
                extended.collect()
            };
            all = all.iter().flat_map(with).collect();
        }
    }
    let permutations = |known: Vec<Option<Vec<u32>>>| {
        let each = known.into_iter().map(|order| Permutation::new(order.unwrap()).unwrap()).collect();
        Permutations::new(spec, each).unwrap()
    };
    all.into_iter().map(permutations).collect()
}

/// Every allowed permutation is tried: none is above the bound, and the best of all solvers rarely below the optimum.
#[test]
fn the_bound_holds_and_the_best_of_all_solvers_is_near_the_optimum() {
    let pool = ThreadPool::alone();
    for (name, spec) in small() {
        let all = allowed(&spec);
        let (mut optimal, seeds) = (0, 20);
        for seed in 0..seeds {
            let sides = [2 * seed, 2 * seed + 1].map(|seed| normals(&spec, seed, "values"));
            let feature = Feature { fixed: sides[0].values().into(), moved: sides[1].values().into() };
            let objective = Objective::new(&spec, vec![feature], None).unwrap();
            let values = all.iter().map(|own| objective.value(&pool, own.as_slice()).total);
            let best = values.fold(f64::NEG_INFINITY, f64::max);
            let found = align::maximise(&objective, Settings::default(), &pool, &mut Monitor::silent()).unwrap();
            assert!(found.bound >= best - 1e-4 && found.after.total <= best + 1e-9, "{name}: {} {best}", found.bound);
            optimal += u64::from(found.after.total >= best - 1e-9);
        }
        assert!(optimal * 10 >= seeds * 9, "{name}: optimal in {optimal} of {seeds}");
    }
}

/// With matrices of groups alone, one joint assignment of each family is all there is to solve.
#[test]
fn the_assignment_of_a_family_is_exact() {
    let pool = ThreadPool::alone();
    for (name, spec) in small() {
        let all = allowed(&spec);
        for seed in 0..20 {
            let matrix = |(group, size): (usize, usize)| {
                let mut matrix = vec![0.0; size * size];
                Stream::new(seed, "linear", group as u64).fill_normal(&mut matrix);
                matrix
            };
            let linear = spec.groups().iter().map(|group| group.size).enumerate().map(matrix).collect();
            let objective = Objective::new(&spec, Vec::new(), Some(linear)).unwrap();
            let best = all.iter().map(|own| objective.value(&pool, own.as_slice()).total).fold(f64::MIN, f64::max);
            for &solver in Solver::ALL {
                let settings = Settings { solver, ..Settings::default() };
                let found = align::maximise(&objective, settings, &pool, &mut Monitor::silent()).unwrap();
                assert!((found.after.total - best).abs() < 1e-5, "{name} {solver:?}: {} {best}", found.after.total);
                assert!((found.bound - best).abs() < 1e-5, "{name} {solver:?}: {} {best}", found.bound);
            }
        }
    }
}

/// Units of the copy that are noise are excluded, and the others found.
#[test]
fn excluded_units_are_left_to_the_others() {
    for spec in [lstm(32), transformer(4, 8, 24, 24)] {
        let original = random_gaussian(&spec, 1);
        let hidden = Permutations::random(&spec, 7);
        let copy = noisy_copy(&spec, &original, &hidden, 1.0, 2);
        let every_seventh = |group: &Group| (0..group.size).map(|unit| unit % 7 == 3).collect();
        let mask: Vec<Vec<bool>> = spec.groups().iter().map(every_seventh).collect();
        let pool = ThreadPool::alone();
        let (settings, monitor) = (Settings::default(), &mut Monitor::silent());
        let found = align::pair_masked(&spec, &original, &copy, [&mask, &[]], settings, &pool, monitor).unwrap();
        let wanted = hidden.inverse();
        let groups = found.permutations.as_slice().iter().zip(wanted.as_slice()).zip(&mask);
        for ((found, wanted), mask) in groups {
            let units = found.as_slice().iter().zip(wanted.as_slice()).zip(mask);
            assert!(units.filter(|(_, mask)| !**mask).all(|((found, wanted), _)| found == wanted));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// That the blocks are kept, `Permutations::new` checks of every result.
    #[test]
    fn solvers_never_end_below_their_start_and_threads_change_no_bit(seed: u64) {
        for (name, spec) in small() {
            let (fixed, moved) = (random_gaussian(&spec, seed), random_gaussian(&spec, seed ^ 1));
            for &solver in Solver::ALL {
                for &start in Start::ALL {
                    let settings = Settings { solver, start, seed, ..Settings::default() };
                    let found = run(&spec, &fixed, &moved, settings, 1);
                    for attempt in &found.attempts {
                        let kept = Permutations::new(&spec, attempt.permutations.clone());
                        prop_assert!(kept.is_ok(), "{name} {solver:?}: {kept:?}");
                    }
                    let above = found.after.total >= found.before.total;
                    let from_identity = [Solver::CoordinateDescent, Solver::Best].contains(&solver);
                    prop_assert!(above || !from_identity || start == Start::Random, "{name} {solver:?}");
                    prop_assert!(found.after.total <= found.bound + 1e-4 * found.bound.abs(), "{name} {solver:?}");
                    for threads in [2, 3] {
                        let again = run(&spec, &fixed, &moved, settings, threads);
                        prop_assert_eq!(&again.permutations, &found.permutations);
                        prop_assert_eq!(again.after.total.to_bits(), found.after.total.to_bits());
                        prop_assert_eq!(again.bound.to_bits(), found.bound.to_bits());
                        prop_assert_eq!(again.assignments(), found.assignments());
                    }
                }
            }
        }
    }
}

#[test]
fn a_permuted_copy_is_brought_back() {
    for (name, spec) in [("lstm", lstm(64)), ("transformer", transformer(8, 16, 48, 96))] {
        let original = random_gaussian(&spec, 1);
        let hidden = Permutations::random(&spec, 7);
        let copy = noisy_copy(&spec, &original, &hidden, 1.0, 2);
        for criterion in CRITERIA {
            for solver in [Solver::Greedy, Solver::FrankWolfe, Solver::Best] {
                let found = run(&spec, &original, &copy, Settings { criterion, solver, ..Settings::default() }, 2);
                assert_eq!(found.permutations, hidden.inverse(), "{name} {criterion:?} {solver:?}");
                if matches!(criterion, Criterion::Mean | Criterion::W2) {
                    assert!(found.bound - found.after.total <= 1e-5 * found.bound, "{name}: not tight: {criterion:?}");
                }
            }
        }
    }
}

/// And so is a copy that shares half its variance with the original.
#[test]
fn a_noisy_copy_is_brought_back() {
    for (name, spec) in [("lstm", lstm(64)), ("transformer", transformer(8, 16, 48, 96))] {
        for seed in 0..4 {
            let original = random_gaussian(&spec, seed);
            let hidden = Permutations::random(&spec, seed);
            let copy = noisy_copy(&spec, &original, &hidden, 0.7, seed);
            let settings = Settings { criterion: Criterion::Mean, seed, ..Settings::default() };
            let found = run(&spec, &original, &copy, settings, 2);
            let agreement = found.permutations.agreement(&hidden.inverse());
            assert!(agreement == 1.0, "{name}: {agreement}");
        }
    }
}
