//! Each way of bringing Gaussians together.

use crate::{assert_close, independent, over_pairs, permuted, planted, settings, spec};
use onebasin::align::{Criterion, Many, Members, Settings, Solver, pair, to_mean, to_reference, to_universe};
use onebasin::error::Result;
use onebasin::posterior::Gaussian;
use onebasin::progress::{Monitor, Progress};
use onebasin::symmetry::{Permutations, Spec};
use onebasin_kernels::ThreadPool;
use std::ops::ControlFlow;

type Method = fn(&Spec, &[Gaussian], Settings, &ThreadPool) -> Result<Many>;

const REFERENCE: Method =
    |spec, members, settings, pool| to_reference(spec, members, 0, settings, pool, &mut Monitor::silent());
const MEAN: Method = |spec, members, settings, pool| to_mean(spec, members, settings, pool, &mut Monitor::silent());
const UNIVERSE: Method =
    |spec, members, settings, pool| to_universe(spec, members, settings, pool, &mut Monitor::silent());
const METHODS: [Method; 3] = [REFERENCE, MEAN, UNIVERSE];

#[test]
fn permuted_copies_are_brought_together() {
    for network in 0..3 {
        let spec = spec(network);
        let (members, switches) = planted(&spec, 3, 0.02);
        // The last network is large for an unoptimised build, and the last method begins with the one before it.
        let methods = &METHODS[if network == 2 { 2 } else { 0 }..];
        for (method, criterion) in methods.iter().zip([Criterion::W2, Criterion::Mean].into_iter().cycle()) {
            let many = method(&spec, &members, settings(criterion), &ThreadPool::alone()).unwrap();
            // All are where the first is.
            assert_eq!(many.permutations[0], Permutations::identity(&spec));
            for (own, switch) in many.permutations.iter().zip(&switches) {
                assert_eq!(own.after(switch), switches[0], "network {network}, {}", many.method);
            }
        }
    }
}

#[test]
fn objectives_never_decrease_and_are_those_of_the_result() {
    let spec = spec(0);
    let members: Vec<Gaussian> = (0..5).map(|index| independent(&spec, index)).collect();
    for criterion in [Criterion::Mean, Criterion::W2] {
        for solver in [Solver::Best, Solver::Greedy, Solver::CoordinateDescent] {
            let settings = Settings { solver, ..settings(criterion) };
            let many = MEAN(&spec, &members, settings, &ThreadPool::alone()).unwrap();
            let identity = vec![Permutations::identity(&spec); members.len()];
            assert_close(many.history[0], over_pairs(&spec, &members, &identity, criterion), 1e-9);
            assert_close(many.objective(), over_pairs(&spec, &members, &many.permutations, criterion), 1e-9);
            assert!(many.history.is_sorted(), "{:?}", many.history);
            assert!(many.objective() > many.history[0]);
        }
    }
}

#[test]
fn all_at_once_is_never_below_one_after_the_other_and_may_be_above() {
    let spec = spec(0);
    let mut above = false;
    for first in [0, 10, 20, 30, 40, 50] {
        let members: Vec<Gaussian> = (first..first + 6).map(|index| independent(&spec, index)).collect();
        let [mean, universe] = [MEAN, UNIVERSE]
            .map(|method| method(&spec, &members, settings(Criterion::W2), &ThreadPool::alone()).unwrap());
        assert!(universe.history.is_sorted(), "{:?}", universe.history);
        let direct = over_pairs(&spec, &members, &universe.permutations, Criterion::W2);
        assert_close(universe.objective(), direct, 1e-9);
        if universe.method == "mean" {
            assert_eq!(universe.permutations, mean.permutations);
        } else {
            assert!(universe.objective() > mean.objective());
            above = true;
        }
    }
    assert!(above);
}

#[test]
fn what_was_permuted_beforehand_does_not_matter_where_there_is_a_solution() {
    let spec = spec(0);
    let (members, _) = planted(&spec, 4, 0.02);
    let again: Vec<Gaussian> = (0..)
        .zip(&members)
        .map(|(index, member)| permuted(&spec, &Permutations::random(&spec, index), member))
        .collect();
    for method in METHODS {
        let [one, other] = [&members, &again]
            .map(|members| method(&spec, members, settings(Criterion::W2), &ThreadPool::alone()).unwrap());
        assert_close(one.objective(), other.objective(), 1e-9);
    }
}

#[test]
fn cycles_close() {
    let spec = spec(0);
    let members: Vec<Gaussian> = (0..3).map(|index| independent(&spec, index)).collect();
    for method in METHODS {
        let many = method(&spec, &members, settings(Criterion::W2), &ThreadPool::alone()).unwrap();
        let around = many.between(0, 1).after(&many.between(1, 2)).after(&many.between(2, 0));
        assert_eq!(around, Permutations::identity(&spec));
        assert_eq!(many.between(1, 2), many.between(2, 1).inverse());
    }
}

#[test]
fn two_are_a_pair() {
    let spec = spec(0);
    let members: Vec<Gaussian> = (0..2).map(|index| independent(&spec, index)).collect();
    let alignment =
        pair(&spec, &members[0], &members[1], settings(Criterion::W2), &ThreadPool::alone(), &mut Monitor::silent())
            .unwrap();
    for method in METHODS {
        let many = method(&spec, &members, settings(Criterion::W2), &ThreadPool::alone()).unwrap();
        assert_close(many.history[0], alignment.before.total, 1e-9);
        assert_close(many.objective(), alignment.after.total, 1e-9);
        assert_eq!(many.permutations[1], alignment.permutations);
    }
}

#[test]
fn threads_change_nothing() {
    let spec = spec(0);
    let members: Vec<Gaussian> = (0..4).map(|index| independent(&spec, index)).collect();
    let pool = ThreadPool::new(3).unwrap();
    for method in METHODS {
        let [one, other] =
            [&ThreadPool::alone(), &pool].map(|pool| method(&spec, &members, settings(Criterion::W2), pool).unwrap());
        assert_eq!(one.permutations, other.permutations);
        assert_eq!(one.history, other.history);
    }
}

#[test]
fn any_member_can_be_the_one_that_stays_and_all_others_are_reported() {
    let spec = spec(0);
    let (members, switches) = planted(&spec, 4, 0.02);
    let mut seen = Vec::new();
    let mut callback = |progress: Progress<'_>| {
        seen.push(progress.task.split(": ").take(2).collect::<Vec<_>>().join(": "));
        ControlFlow::Continue(())
    };
    let monitor = &mut Monitor::new("align", &mut callback);
    let many = to_reference(&spec, &members[..], 2, settings(Criterion::W2), &ThreadPool::alone(), monitor).unwrap();
    seen.dedup();
    assert_eq!(seen, [1, 2, 4].map(|member| format!("align: round 1, member {member} of 4")));
    for (own, switch) in many.permutations.iter().zip(&switches) {
        assert_eq!(own.after(switch), switches[2]);
    }
    assert_eq!(members[..].count(), 4);
}
