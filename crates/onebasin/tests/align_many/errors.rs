//! What cannot be aligned is refused.

use crate::{independent, settings, spec};
use onebasin::align::{Criterion, Points, relabel, to_mean, to_reference, to_universe};
use onebasin::posterior::{Gaussian, Posterior};
use onebasin::progress::Monitor;
use onebasin_kernels::ThreadPool;

/// What each method says to these members.
fn errors(members: &[Gaussian], criterion: Criterion) -> Vec<Option<String>> {
    let (spec, pool, settings) = (spec(0), ThreadPool::alone(), settings(criterion));
    let monitor = &mut Monitor::silent();
    [
        relabel(&spec, members, settings, &pool, monitor).map(|_| ()),
        to_mean(&spec, members, settings, &pool, monitor).map(|_| ()),
        to_universe(&spec, members, settings, &pool, monitor).map(|_| ()),
        to_reference(&spec, members, 0, settings, &pool, monitor).map(|_| ()),
    ]
    .map(|result| result.err().map(|error| error.to_string()))
    .into()
}

#[test]
fn one_posterior_is_not_many() {
    for members in [vec![], vec![independent(&spec(0), 0)]] {
        for error in errors(&members, Criterion::W2) {
            assert!(error.unwrap().contains("at least 2"));
        }
    }
}

#[test]
fn endless_draws_are_refused() {
    let (spec, posterior) = (spec(0), Posterior::Gaussian(independent(&spec(0), 0)));
    let aligned = |wanted| {
        let points = Points::new(&posterior, 0, wanted);
        to_reference(&spec, &points, 0, settings(Criterion::Mean), &ThreadPool::alone(), &mut Monitor::silent())
    };
    assert_eq!(aligned(3).unwrap().permutations.len(), 3);
    assert!(aligned(usize::MAX).unwrap_err().to_string().contains("less than 2^32"));
}

#[test]
fn posteriors_of_other_networks_are_refused() {
    for members in [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]] {
        let members: Vec<Gaussian> = members.into_iter().map(|network| independent(&spec(network), 0)).collect();
        assert!(errors(&members, Criterion::W2).iter().all(Option::is_some));
    }
}

#[test]
fn divergences_have_no_mean_of_many() {
    let members: Vec<Gaussian> = (0..3).map(|index| independent(&spec(0), index)).collect();
    for criterion in [Criterion::Kl, Criterion::Jeffreys] {
        let errors = errors(&members, criterion);
        let (reference, others) = errors.split_last().unwrap();
        assert_eq!(*reference, None);
        for error in others {
            assert!(error.as_ref().unwrap().contains("it must be one of mean, w2"), "{error:?}");
        }
    }
}

#[test]
fn diverged_posteriors_are_refused() {
    for index in 0..3 {
        let mut members: Vec<Gaussian> = (0..3).map(|index| independent(&spec(0), index)).collect();
        let (mut mean, std) = (members[index].mean().clone(), members[index].std().clone());
        mean.values_mut()[5] = f32::NAN;
        members[index] = Gaussian::new(mean, std).unwrap();
        for error in errors(&members, Criterion::W2) {
            assert!(error.unwrap().contains("diverged"));
        }
    }
}

#[test]
fn the_one_that_stays_must_be_there() {
    let members: Vec<Gaussian> = (0..3).map(|index| independent(&spec(0), index)).collect();
    let error =
        to_reference(&spec(0), &members[..], 3, settings(Criterion::W2), &ThreadPool::alone(), &mut Monitor::silent())
            .unwrap_err();
    assert!(error.to_string().contains("3 of 3"), "{error}");
}
