//! The Gaussian likelihood and the probabilities of classes against their formulas.

use crate::plain::{close, normals};
use onebasin_kernels::geometry::{Plane, blocks};
use onebasin_kernels::lanes::BLOCK;
use onebasin_kernels::likelihood::{Labelled, LogGaussian, Softmax};
use onebasin_kernels::{Isa, pack};
use proptest::prelude::*;

/// Runs [`LogGaussian`] on `outputs` (image, class); returns the values and the gradient (class block, image, 16), NaN where
/// nothing was written.
fn log_gaussian(isa: Isa, classes: usize, variance: f64, outputs: &[f32], labels: &[u32]) -> (Vec<f64>, Vec<f32>) {
    let plane = Plane::vectors(labels.len());
    let mut blocked = vec![0.0; blocks(classes) * plane.block()];
    pack::vectors(plane, classes, 0..blocks(classes), outputs, &mut blocked);
    let mut gradient = vec![f32::NAN; blocked.len()];
    let mut log_likelihood = vec![f64::NAN; labels.len()];
    let mut again = vec![f64::NAN; labels.len()];
    for (values, gradient) in [(&mut log_likelihood, Some(&mut gradient[..])), (&mut again, None)] {
        let (outputs, row, log_likelihood) = (&blocked, &mut [], values);
        let labelled = Labelled { plane, classes, outputs, labels, gradient, log_likelihood, row };
        isa.run(LogGaussian { variance, labelled });
    }
    assert_eq!(again, log_likelihood, "the gradient changes the value");
    (log_likelihood, gradient)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn log_gaussian_and_its_gradient(classes in 2..40usize, images in 1..20usize, variance in 0.01..10.0f64) {
        let outputs = normals("outputs", images * classes);
        let labels: Vec<u32> = (0..images).map(|image| (image * 7 % classes) as u32).collect();
        let rest = |index: usize| f64::from(u8::from(index % classes == labels[index / classes] as usize)) - f64::from(outputs[index]);
        for isa in Isa::available() {
            let (values, gradient) = log_gaussian(isa, classes, variance, &outputs, &labels);
            for (image, value) in values.iter().enumerate() {
                let squares: f64 = (0..classes).map(|class| rest(image * classes + class).powi(2)).sum();
                let constant = 0.5 * classes as f64 * (std::f64::consts::TAU * variance).ln();
                let expected = -0.5 * squares / variance - constant;
                // The difference of target and output is an f32.
                prop_assert!((value - expected).abs() < 3e-7 * (squares / variance + constant.abs()), "{value}, not {expected}");
            }
            for (index, found) in gradient.iter().enumerate() {
                let (image, class) = (index / BLOCK % images, index / BLOCK / images * BLOCK + index % BLOCK);
                if class < classes {
                    let expected = rest(image * classes + class) / variance;
                    prop_assert!((f64::from(*found) - expected).abs() < 3e-7 * (expected.abs() + 1.0), "{found}, not {expected}");
                } else {
                    prop_assert!(found.is_nan(), "the padding was written");
                }
            }
        }
    }

    #[test]
    fn probabilities_are_a_softmax(classes in 2..40usize, images in 1..20usize, scale in 0.01..100.0f32) {
        let outputs = normals("outputs", images * classes);
        let expected: Vec<f64> = outputs
            .chunks_exact(classes)
            .flat_map(|row| {
                let exponentials: Vec<f64> = row.iter().map(|value| (f64::from(scale) * f64::from(*value)).exp()).collect();
                let sum: f64 = exponentials.iter().sum();
                exponentials.into_iter().map(move |value| value / sum)
            })
            .collect();
        for isa in Isa::available() {
            let mut rows = outputs.clone();
            isa.run(Softmax { rows: &mut rows, classes, scale });
            // What is exponentiated is at most 800 in size and rounded once, which only matters where the result is small.
            close(&rows, &expected, 1.0, 3e-6)?;
            for row in rows.chunks_exact(classes) {
                prop_assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            }
        }
    }
}

#[test]
fn the_gradient_of_log_gaussian_is_its_slope() {
    const CLASSES: usize = 19;
    const STEP: f32 = 1.0 / 64.0;
    let outputs = normals("outputs", 3 * CLASSES);
    for isa in Isa::available() {
        let value = |outputs: &[f32]| log_gaussian(isa, CLASSES, 0.3, outputs, &[0, 18, 5]).0.iter().sum::<f64>();
        let (_, gradient) = log_gaussian(isa, CLASSES, 0.3, &outputs, &[0, 18, 5]);
        for index in 0..outputs.len() {
            let moved = |step: f32| {
                let mut outputs = outputs.clone();
                outputs[index] += step;
                value(&outputs)
            };
            // Exact for a square, but for outputs rounded to 1e-7 over twice the step.
            let slope = (moved(STEP) - moved(-STEP)) / f64::from(2.0 * STEP);
            let (image, class) = (index / CLASSES, index % CLASSES);
            let found = gradient[class / BLOCK * 3 * BLOCK + image * BLOCK + class % BLOCK];
            assert!((f64::from(found) - slope).abs() < 2e-4, "{isa:?}: {found}, not {slope}");
        }
    }
}

#[test]
fn huge_outputs_have_probabilities() {
    for isa in Isa::available() {
        let mut rows = [3e37, -3e37, 0.0, -1e4, -1e4, -2e4];
        isa.run(Softmax { rows: &mut rows, classes: 3, scale: 10.0 });
        assert_eq!(rows, [1.0, 0.0, 0.0, 0.5, 0.5, 0.0], "{isa:?}");
    }
}
