//! The learning rate over time, and the batches that an epoch is made of.

use crate::exact::{Data, IMAGES, problem};
use onebasin::infer::{Inference, Map, MapConfig, Optimise, Optimiser, Scaling, Schedule};
use onebasin::threads::pool;

/// 10 epochs of 20 steps each on 1000 images.
fn optimise(schedule: Schedule, warmup: f64) -> Optimise {
    Optimise { schedule, warmup, ..Optimise::new(10.0, 50, 0.3) }
}

fn rates(optimise: &Optimise) -> Vec<f64> {
    (0..optimise.steps(1000)).map(|step| optimise.learning_rate_at(step, 1000)).collect()
}

#[test]
fn a_constant_rate_stays() {
    let rates = rates(&optimise(Schedule::Constant, 0.0));
    assert_eq!(rates, [0.3; 200]);
}

#[test]
fn a_cosine_falls_from_the_rate_to_zero() {
    let optimise = optimise(Schedule::Cosine, 0.0);
    let rates = rates(&optimise);
    assert_eq!(rates[0], 0.3);
    assert!((rates[100] - 0.15).abs() < 1e-15, "half-way is half: {}", rates[100]);
    assert!(rates.windows(2).all(|pair| pair[1] < pair[0]), "it falls");
    // ½ (1 + cos(π (1 − 1/200))) ≈ (π / 400)²
    assert!((rates[199] / (0.3 * (std::f64::consts::PI / 400.0).powi(2)) - 1.0).abs() < 1e-4, "{}", rates[199]);
    assert!(optimise.learning_rate_at(200, 1000).abs() < 1e-15);
}

#[test]
fn a_line_falls_from_the_rate_to_zero_in_equal_steps() {
    for warmup in [0.0, 2.0] {
        let optimise = optimise(Schedule::Linear, warmup);
        let (rates, first) = (rates(&optimise), (20.0 * warmup) as usize);
        assert_eq!(rates[first], 0.3);
        let step = 0.3 / (200 - first) as f64;
        assert!(rates[first..].windows(2).all(|pair| (pair[0] - pair[1] - step).abs() < 1e-15), "{rates:?}");
        assert!((rates[199] - step).abs() < 1e-15 && optimise.learning_rate_at(200, 1000) == 0.0);
    }
}

#[test]
fn a_warm_up_grows_in_equal_steps_to_the_rate() {
    for schedule in [Schedule::Constant, Schedule::Cosine, Schedule::Linear] {
        let rates = rates(&optimise(schedule, 2.0));
        for (step, rate) in rates[..40].iter().enumerate() {
            assert!((rate - 0.3 * (step + 1) as f64 / 41.0).abs() < 1e-15, "{step}: {rate}");
        }
        assert_eq!(rates[40], 0.3);
    }
    // The cosine has the rest of the time.
    let rates = rates(&optimise(Schedule::Cosine, 2.0));
    assert!((rates[120] - 0.15).abs() < 1e-15 && rates[199] < 1e-4 && rates[40..].is_sorted_by(|a, b| a > b));
}

#[test]
fn steps_are_epochs_times_batches_and_at_least_one() {
    let steps = |epochs: f64, batch: usize, images: usize| {
        Optimise { epochs, batch, ..optimise(Schedule::Constant, 0.0) }.steps(images)
    };
    assert_eq!([steps(10.0, 50, 1000), steps(1.0, 3, 10), steps(0.5, 3, 10), steps(3.0, 20, 10)], [200, 3, 2, 2]);
    assert_eq!(steps(1e-9, 10, 10), 1);
}

/// At a rate that changes nothing, the mean over whole epochs is that over all images, whatever the batches.
#[test]
fn an_epoch_sees_every_image_once() {
    let problem = problem(Scaling::One, 1.0);
    let data = Data::of(&problem);
    // Batches that divide the images, that do not, and that are larger: each whole epochs.
    for (batch, steps) in [(24, 1), (8, 3), (1, 24), (7, 24), (10, 12), (36, 2), (48, 1)] {
        let optimise =
            Optimise { batch, learning_rate: 1e-30, optimiser: Optimiser::Sgd, ..optimise(Schedule::Constant, 0.0) };
        let mut map = Map::new(&MapConfig { optimise }, &problem, 9, &pool(1).unwrap()).unwrap();
        let point: Vec<f64> = map.point().values().iter().map(|value| f64::from(*value)).collect();
        let expected = -data.log_likelihood(&point) / IMAGES as f64;
        (0..steps).for_each(|_| map.step());
        assert!((map.epoch() - map.epoch().round()).abs() < 1e-12);
        let (name, found) = map.info().0[0];
        assert_eq!(name, "nll");
        assert!((found / expected - 1.0).abs() < 1e-6, "batches of {batch}: {found}, not {expected}");
    }
}
