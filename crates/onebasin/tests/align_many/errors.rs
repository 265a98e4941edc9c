//! What cannot be aligned is refused.

use crate::independent;
use crate::settings;
use crate::spec;
use onebasin::align::Channel;
use onebasin::align::Points;
use onebasin::align::relabel;
use onebasin::align::to_mean;
use onebasin::align::to_reference;
use onebasin::align::to_universe;
use onebasin::kernels::Team;
use onebasin::posterior::Gaussian;
use onebasin::posterior::Posterior;

/// What each method says to these members.
fn errors(members: &[Gaussian], channel: Channel) -> Vec<Option<String>> {
    let (spec, team, settings) = (spec(0), Team::alone(), settings(channel));
    let watch = &mut |_| {};
    [
        relabel(&spec, members, settings, &team, watch).map(|_| ()),
        to_mean(&spec, members, settings, &team, watch).map(|_| ()),
        to_universe(&spec, members, settings, &team, watch).map(|_| ()),
        to_reference(&spec, members, 0, settings, &team, watch).map(|_| ()),
    ]
    .map(|result| result.err().map(|error| error.to_string()))
    .into()
}

#[test]
fn one_posterior_is_not_many() {
    for members in [vec![], vec![independent(&spec(0), 0)]] {
        for error in errors(&members, Channel::W2) {
            assert!(error.unwrap().contains("at least 2"));
        }
    }
}

#[test]
fn endless_draws_are_refused() {
    let (spec, posterior) = (spec(0), Posterior::Gaussian(independent(&spec(0), 0)));
    let aligned = |wanted| {
        let points = Points::new(&posterior, 0, wanted);
        to_reference(&spec, &points, 0, settings(Channel::Mean), &Team::alone(), &mut |_| {})
    };
    assert_eq!(aligned(3).unwrap().permutations.len(), 3);
    assert!(aligned(usize::MAX).unwrap_err().to_string().contains("less than 2^32"));
}

#[test]
fn posteriors_of_other_networks_are_refused() {
    for members in [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]] {
        let members: Vec<Gaussian> = members.into_iter().map(|network| independent(&spec(network), 0)).collect();
        assert!(errors(&members, Channel::W2).iter().all(Option::is_some));
    }
}

#[test]
fn divergences_have_no_mean_of_many() {
    let members: Vec<Gaussian> = (0..3).map(|index| independent(&spec(0), index)).collect();
    for channel in [Channel::Kl, Channel::Jeffreys] {
        let errors = errors(&members, channel);
        let (reference, others) = errors.split_last().unwrap();
        assert_eq!(*reference, None);
        for error in others {
            assert!(error.as_ref().unwrap().contains("it must be mean or w2"), "{error:?}");
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
        for error in errors(&members, Channel::W2) {
            assert!(error.unwrap().contains("diverged"));
        }
    }
}

#[test]
fn the_one_that_stays_must_be_there() {
    let members: Vec<Gaussian> = (0..3).map(|index| independent(&spec(0), index)).collect();
    let error =
        to_reference(&spec(0), &members[..], 3, settings(Channel::W2), &Team::alone(), &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("3 of 3"), "{error}");
}
