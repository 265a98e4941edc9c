//! Permutations form a group, and their transpositions are counted right.

use onebasin::error::Error;
use onebasin::rng::Stream;
use onebasin::symmetry::Permutation;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn stream(index: u64) -> Stream {
    Stream::new(5, "permutation", index)
}

fn permutation(n: usize, seed: u64) -> Permutation {
    Permutation::random(n, &stream(seed))
}

proptest! {
    #[test]
    fn group_laws(n in 0..60usize, seeds: [u64; 3]) {
        let [a, b, c] = seeds.map(|seed| permutation(n, seed));
        let identity = Permutation::identity(n);
        prop_assert_eq!(a.after(&b).after(&c), a.after(&b.after(&c)));
        prop_assert_eq!(&a.after(&identity), &a);
        prop_assert_eq!(&identity.after(&a), &a);
        prop_assert!(a.after(&a.inverse()) == identity && a.inverse().after(&a) == identity);
        prop_assert_eq!(a.after(&b).inverse(), b.inverse().after(&a.inverse()));
    }

    #[test]
    fn after_is_one_then_the_other(n in 0..60usize, seeds: [u64; 2]) {
        let [then, first] = seeds.map(|seed| permutation(n, seed));
        let old: Vec<usize> = (0..n).map(|place| 10 * place).collect();
        let new = first.apply(&old);
        for place in 0..n {
            prop_assert_eq!(new[place], old[first.as_slice()[place] as usize]);
        }
        prop_assert_eq!(then.after(&first).apply(&old), then.apply(&new));
        prop_assert_eq!(first.inverse().apply(&new), old);
    }

    /// Inverses and conjugates have the same cycles, and a swap changes their number by one.
    #[test]
    fn transpositions_count_swaps(n in 2..60usize, seeds: [u64; 2], places: [u64; 2]) {
        let [a, b] = seeds.map(|seed| permutation(n, seed));
        prop_assert_eq!(a.transpositions(), n - a.cycles());
        prop_assert_eq!(a.inverse().transpositions(), a.transpositions());
        prop_assert_eq!(b.after(&a).after(&b.inverse()).transpositions(), a.transpositions());
        let [one, other] = places.map(|place| place as usize % n);
        let mut indices = a.as_slice().to_vec();
        indices.swap(one, other);
        let swapped = Permutation::new(indices).unwrap();
        prop_assert_eq!(swapped.transpositions().abs_diff(a.transpositions()), usize::from(one != other));
    }

    #[test]
    fn what_is_no_permutation_is_refused(n in 1..40usize, seed: u64, place: prop::sample::Index, value in 0..80u32) {
        let mut indices = permutation(n, seed).as_slice().to_vec();
        let place = place.index(n);
        let unchanged = indices[place] == value;
        indices[place] = value;
        let text = serde_json::to_string(&indices).unwrap();
        prop_assert_eq!(Permutation::new(indices).is_ok(), unchanged);
        prop_assert_eq!(serde_json::from_str::<Permutation>(&text).is_ok(), unchanged);
    }
}

#[test]
fn a_small_example() {
    let p = Permutation::new(vec![2, 0, 1, 3, 5, 4]).unwrap();
    assert_eq!(p.apply(&['a', 'b', 'c', 'd', 'e', 'f']), ['c', 'a', 'b', 'd', 'f', 'e']);
    assert_eq!((p.len(), p.cycles(), p.transpositions(), p.fixed_points()), (6, 3, 3, 1));
    assert!(p != Permutation::identity(p.len()) && !p.is_empty() && Permutation::identity(0).is_empty());
    assert_eq!(serde_json::to_string(&p).unwrap(), "[2,0,1,3,5,4]");
    let error = Permutation::new(vec![0, 2, 2]).unwrap_err();
    assert_eq!(error.to_string(), "2 at place 2 is there twice: not a permutation of 3 units");
    let error = Permutation::new(vec![0, 3, 2]).unwrap_err();
    assert_eq!(error.to_string(), "3 at place 1 is too large: not a permutation of 3 units");
}

#[test]
fn every_number_of_transpositions_can_be_had_exactly() {
    for n in [1, 2, 3, 10, 67] {
        for transpositions in 0..n {
            let p = Permutation::with_transpositions(n, transpositions, &stream(1)).unwrap();
            assert_eq!((p.transpositions(), p.len()), (transpositions, n));
            assert!(Permutation::new(p.as_slice().to_vec()).is_ok());
        }
        let error = Permutation::with_transpositions(n, n, &stream(1)).unwrap_err();
        assert!(matches!(error, Error::OutOfRange { .. }), "{error}");
    }
    let some = Permutation::with_transpositions(512, 100, &stream(1)).unwrap();
    assert_eq!(some.transpositions(), 100);
    assert!(Permutation::with_transpositions(0, 0, &stream(1)).unwrap().is_empty());
}

/// Of 5 units there are 1, 10, 35, 50, 24 permutations with 0, 1, 2, 3, 4 transpositions.
#[test]
fn permutations_of_equally_many_transpositions_are_equally_probable() {
    for (transpositions, kinds) in [1, 10, 35, 50, 24].into_iter().enumerate() {
        let mut counts = BTreeMap::new();
        for draw in 0..kinds * 200 {
            let p = Permutation::with_transpositions(5, transpositions, &stream(draw)).unwrap();
            *counts.entry(p.as_slice().to_vec()).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len() as u64, kinds);
        // 200 expected, with a standard deviation of 14.
        assert!(counts.values().all(|count| count.abs_diff(200) < 63), "{counts:?}");
    }
}

/// The expected number of transpositions of a random permutation is n - (1 + 1/2 + ... + 1/n).
#[test]
fn random_permutations_have_few_cycles() {
    let (n, draws) = (512, 400);
    let total: usize = (0..draws).map(|draw| permutation(n, draw).transpositions()).sum();
    let expected = n as f64 - (1..=n).map(|k| 1.0 / k as f64).sum::<f64>();
    // The variance of the number of cycles is H_n - π²/6, about 5.2.
    let deviation = (total as f64 / draws as f64 - expected) / (5.2 / draws as f64).sqrt();
    assert!(deviation.abs() < 4.0, "{deviation} standard deviations from {expected}");
    assert_eq!(permutation(n, 3), permutation(n, 3));
    assert_ne!(permutation(n, 3), permutation(n, 4));
}
