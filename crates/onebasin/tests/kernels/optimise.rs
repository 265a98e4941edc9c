//! Adam and momentum, several steps of each, against their formulas in f64.

use crate::plain::{close, normals};
use onebasin_kernels::Isa;
use onebasin_kernels::optimise::{Adam, Momentum, SquarePoint, StepPoint};
use proptest::prelude::*;

const STEPS: u64 = 6;
const RATE: f64 = 0.05;

/// Adam with the corrections of the bias of step `number`, from one.
pub(crate) fn adam(rate: f64, number: u64) -> Adam {
    let correction = (1.0 - 0.999f64.powf(number as f64)).sqrt();
    Adam {
        rate: (rate * correction / (1.0 - 0.9f64.powf(number as f64))) as f32,
        decay: 0.9,
        square_decay: 0.999,
        epsilon: (1e-8 * correction) as f32,
    }
}

/// Adam as its authors print it, with both means corrected, for one parameter.
#[derive(Clone, Copy, Default)]
pub(crate) struct PlainAdam {
    first: f64,
    second: f64,
    number: i32,
}

impl PlainAdam {
    pub(crate) fn step(&mut self, rate: f64, slope: f64) -> f64 {
        self.number += 1;
        self.first = 0.9 * self.first + 0.1 * slope;
        self.second = 0.999 * self.second + 0.001 * slope * slope;
        let first = self.first / (1.0 - 0.9f64.powi(self.number));
        let second = self.second / (1.0 - 0.999f64.powi(self.number));
        rate * first / (second.sqrt() + 1e-8)
    }
}

/// Values of at least 0.3 in size, so that no slope is a difference of almost equal numbers, which Adam would magnify.
fn gradient(step: u64, len: usize) -> Vec<f32> {
    normals(&format!("gradient{step}"), len).into_iter().map(|value| value + 0.3f32.copysign(value)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn adam_is_its_formula(len in 0..700usize, scale in 0.5..2.0f32, decay in 0.0..0.01f32, shrink in 0.0..0.1f32) {
        let start = normals("point", len);
        let (mut plain, mut rules) = (start.iter().map(|value| f64::from(*value)).collect::<Vec<_>>(), vec![PlainAdam::default(); len]);
        for step in 1..=STEPS {
            for ((value, rule), gradient) in plain.iter_mut().zip(&mut rules).zip(gradient(step, len)) {
                *value += rule.step(RATE, f64::from(scale) * f64::from(gradient) - f64::from(decay) * *value) - f64::from(shrink) * *value;
            }
        }
        for isa in Isa::available() {
            let (mut params, mut first, mut second) = (start.clone(), vec![0.0; len], vec![0.0; len]);
            for step in 1..=STEPS {
                let (rule, gradient) = (adam(RATE, step), gradient(step, len));
                isa.run(StepPoint {
                    rule, params: &mut params, first: &mut first, second: &mut second, gradient: &gradient, scale, decay, shrink,
                });
            }
            // 1 − β₂ is off by 1.3e-5 as an f32, and so is v; the point is rounded at each step.
            close(&params, &plain, 1.0, STEPS as f64 * (RATE * 1e-5 + 3e-7))?;
            let (firsts, seconds): (Vec<f64>, Vec<f64>) = rules.iter().map(|rule| (rule.first, rule.second)).unzip();
            close(&first, &firsts, 4.0, 1e-6)?;
            for (second, plain) in second.iter().zip(seconds) {
                prop_assert!((f64::from(*second) / plain - 1.0).abs() < 2e-5, "{second} against {plain}");
            }
        }
    }

    #[test]
    fn momentum_is_its_formula(
        len in 0..700usize, scale in 0.5..2.0f32, decay in 0.0..1.0f32, momentum in 0.0..0.95f32, shrink in 0.0..0.1f32,
        nesterov: bool,
    ) {
        let start = normals("point", len);
        let (mut plain, mut speed) = (start.iter().map(|value| f64::from(*value)).collect::<Vec<_>>(), vec![0.0; len]);
        for step in 1..=STEPS {
            for ((value, speed), gradient) in plain.iter_mut().zip(&mut speed).zip(gradient(step, len)) {
                let slope = f64::from(scale) * f64::from(gradient) - f64::from(decay) * *value;
                *speed = f64::from(momentum) * *speed + slope;
                let ahead = if nesterov { f64::from(momentum) * *speed + slope } else { *speed };
                *value += RATE * ahead - f64::from(shrink) * *value;
            }
        }
        for isa in Isa::available() {
            let (mut params, mut first) = (start.clone(), vec![0.0; len]);
            for step in 1..=STEPS {
                let (rule, gradient) = (Momentum { rate: RATE as f32, momentum, nesterov }, gradient(step, len));
                // It has no use for second numbers.
                isa.run(StepPoint {
                    rule, params: &mut params, first: &mut first, second: &mut [], gradient: &gradient, scale, decay, shrink,
                });
            }
            close(&params, &plain, 10.0, 1e-6)?;
            close(&first, &speed, 40.0, 1e-6)?;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_squares_of_the_slopes_are_summed(len in 0..700usize, scale in 0.5..2.0f32, decay in 0.0..1.0f32) {
        let (params, gradient) = (normals("point", len), gradient(0, len));
        let slope = |(value, gradient): (&f32, &f32)| f64::from(scale) * f64::from(*gradient) - f64::from(decay) * f64::from(*value);
        let expected: f64 = params.iter().zip(&gradient).map(slope).map(|slope| slope * slope).sum();
        for isa in Isa::available() {
            let found = isa.run(SquarePoint { params: &params, gradient: &gradient, scale, decay });
            prop_assert!((found - expected).abs() <= 1e-6 * expected, "{found}, not {expected}");
        }
    }
}

#[test]
fn without_a_slope_nothing_moves() {
    let start = normals("point", 37);
    let gradient = vec![0.0; 37];
    for isa in Isa::available() {
        let (mut params, mut first, mut second) = (start.clone(), vec![0.0; 37], vec![0.0; 37]);
        for step in 1..=3 {
            let (params, first, second, gradient) = (&mut params, &mut first, &mut second, &gradient);
            isa.run(StepPoint {
                rule: adam(RATE, step),
                params,
                first,
                second,
                gradient,
                scale: 1.0,
                decay: 0.0,
                shrink: 0.0,
            });
        }
        assert_eq!((&params, &first, &second), (&start, &gradient, &gradient), "{isa:?}");
    }
}

#[test]
fn the_first_step_of_adam_is_the_rate_however_small_the_slope() {
    for isa in Isa::available() {
        for size in [1e-6f32, 1e-3, 1.0, 1e3, 1e6] {
            let gradient: Vec<f32> = (0..21).map(|index| if index % 2 == 0 { size } else { -size }).collect();
            let (mut params, mut first, mut second) = (vec![0.0; 21], vec![0.0; 21], vec![0.0; 21]);
            let (rule, gradient) = (adam(RATE, 1), &gradient);
            let arrays = (&mut params, &mut first, &mut second);
            isa.run(StepPoint {
                rule,
                params: arrays.0,
                first: arrays.1,
                second: arrays.2,
                gradient,
                scale: 1.0,
                decay: 0.0,
                shrink: 0.0,
            });
            for (value, gradient) in params.iter().zip(gradient) {
                let expected = RATE * f64::from(*gradient) / (f64::from(size) + 1e-8);
                assert!((f64::from(*value) / expected - 1.0).abs() < 2e-5, "{isa:?}: {value}, not {expected}");
            }
        }
    }
}
