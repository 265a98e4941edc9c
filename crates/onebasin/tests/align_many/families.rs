//! Many posteriors of networks with recurrent tensors and families.

use crate::structured::{lstm, noisy_copy, random_gaussian, small, transformer};
use crate::{assert_close, over_pairs, planted, settings};
use onebasin::align::{Criterion, Many, relabel, to_mean, to_reference, to_universe};
use onebasin::posterior::Gaussian;
use onebasin::progress::Monitor;
use onebasin::symmetry::{Permutations, Spec};
use onebasin_kernels::ThreadPool;

fn methods(spec: &Spec, members: &[Gaussian], criterion: Criterion, pool: &ThreadPool) -> [Many; 4] {
    let (settings, monitor) = (settings(criterion), &mut Monitor::silent());
    [
        to_reference(spec, members, 0, settings, pool, monitor).unwrap(),
        to_mean(spec, members, settings, pool, monitor).unwrap(),
        to_universe(spec, members, settings, pool, monitor).unwrap(),
        relabel(spec, members, settings, pool, monitor).unwrap().many,
    ]
}

#[test]
fn permuted_copies_are_brought_together() {
    for spec in [lstm(24), transformer(4, 5, 13, 17)] {
        let (members, switches) = planted(&spec, 4, 0.02);
        for many in methods(&spec, &members, Criterion::Mean, &ThreadPool::alone()) {
            for (own, switch) in many.permutations.iter().zip(&switches) {
                assert_eq!(own.after(switch), switches[0], "{}", many.method);
            }
        }
    }
}

#[test]
fn objectives_never_decrease_on_any_number_of_threads() {
    for (name, spec) in small() {
        let members: Vec<Gaussian> = (0..4).map(|seed| random_gaussian(&spec, seed)).collect();
        for criterion in [Criterion::Mean, Criterion::W2] {
            let found = methods(&spec, &members, criterion, &ThreadPool::alone());
            for many in &found {
                assert!(many.history.is_sorted(), "{name} {}: {:?}", many.method, many.history);
                for own in &many.permutations {
                    assert!(Permutations::new(&spec, own.as_slice().to_vec()).is_ok(), "{name} {}", many.method);
                }
            }
            for many in &found[1..3] {
                let direct = over_pairs(&spec, &members, &many.permutations, criterion);
                assert_close(many.objective(), direct, 1e-9);
            }
            for threads in [2, 3] {
                let again = methods(&spec, &members, criterion, &ThreadPool::new(threads).unwrap());
                for (again, many) in again.iter().zip(&found) {
                    assert_eq!((&again.permutations, &again.history), (&many.permutations, &many.history), "{name}");
                }
            }
        }
    }
}

/// The gradients and steps of relaxed members are checked by assertions of unoptimised builds on the way.
#[test]
fn noisy_members_are_brought_together_all_at_once() {
    let spec = transformer(3, 4, 12, 15);
    let original = random_gaussian(&spec, 1);
    let switches: Vec<Permutations> = (0..5).map(|seed| Permutations::random(&spec, seed)).collect();
    let members: Vec<Gaussian> =
        (0..).zip(&switches).map(|(seed, switch)| noisy_copy(&spec, &original, switch, 0.8, seed)).collect();
    let [.., universe, _] = methods(&spec, &members, Criterion::Mean, &ThreadPool::alone());
    for (own, switch) in universe.permutations.iter().zip(&switches) {
        assert!(own.after(switch).agreement(&switches[0]) > 0.9);
    }
}
