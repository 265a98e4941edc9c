//! Pools, elementwise passes and the softmax against plain loops.

use crate::plain::{close, normals, packed, unpacked};
use onebasin_kernels::elementwise::{AddTo, Relu, Slope, SlopeAndBias, Tanh};
use onebasin_kernels::geometry::{Plane, blocks};
use onebasin_kernels::lanes::BLOCK;
use onebasin_kernels::likelihood::{Labelled, LogSoftmax};
use onebasin_kernels::resample::{PoolBackward, PoolForward};
use onebasin_kernels::{Isa, pack};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pools(height in 2..11usize, width in 2..11usize, maximum: bool, ties: bool) {
        let (from, to) = (Plane::image(height, width), Plane::image(height / 2, width / 2));
        let (mut x, dy) = (normals("x", height * width * BLOCK), normals("dy", to.height * to.width * BLOCK));
        if ties {
            for value in &mut x {
                *value = value.round();
            }
        }
        let mut out = vec![0.0f64; dy.len()];
        let mut dx = vec![0.0f64; x.len()];
        for index in 0..out.len() {
            let (row, column, channel) = (index / BLOCK / to.width, index / BLOCK % to.width, index % BLOCK);
            let window = [(0, 0), (0, 1), (1, 0), (1, 1)]
                .map(|(r, c)| ((2 * row + r) * width + 2 * column + c) * BLOCK + channel);
            if maximum {
                // The first of the largest.
                let best = window.into_iter().reduce(|best, at| if x[at] > x[best] { at } else { best }).unwrap();
                out[index] = f64::from(x[best]);
                dx[best] = f64::from(dy[index]);
            } else {
                out[index] = window.iter().map(|at| f64::from(x[*at])).sum::<f64>() / 4.0;
                for at in window { dx[at] = f64::from(dy[index]) / 4.0; }
            }
        }
        let (x, dy) = (packed(from, BLOCK, 1, &x), packed(to, BLOCK, 1, &dy));
        for isa in Isa::available() {
            let mut ours = vec![0.0; to.block()];
            isa.run(PoolForward { maximum, from, to, x: &x, out: &mut ours });
            close(&unpacked(to, BLOCK, 1, &ours), &out, 4.0, 1e-6)?;
            let mut ours = vec![1.0; from.block()];
            isa.run(PoolBackward { maximum, from, to, x: &x, dy: &dy, dx: &mut ours });
            close(&unpacked(from, BLOCK, 1, &ours), &dx, 4.0, 1e-6)?;
        }
    }

    #[test]
    fn elementwise(positions in 1..40usize, lanes in 0..17usize) {
        let (values, gradient) = (normals("values", positions * BLOCK), normals("gradient", positions * BLOCK));
        for isa in Isa::available() {
            let mut ours = values.clone();
            isa.run(Relu { values: &mut ours });
            prop_assert!(ours.iter().zip(&values).all(|(a, b)| *a == b.max(0.0)));
            let mut ours = values.clone();
            isa.run(Tanh { values: &mut ours });
            close(&ours, &values.iter().map(|value| f64::from(*value).tanh()).collect::<Vec<_>>(), 1.0, 3e-7)?;
            let mut ours = values.clone();
            isa.run(AddTo { to: &mut ours, from: &gradient });
            prop_assert!((0..ours.len()).all(|index| ours[index] == values[index] + gradient[index]));
            for slope in [Slope::One, Slope::Relu, Slope::Tanh] {
                let (mut ours, mut bias) = (gradient.clone(), vec![1.0; lanes]);
                isa.run(SlopeAndBias { slope, out: &values, gradient: &mut ours, bias: &mut bias });
                let expected: Vec<f64> = gradient.iter().zip(&values).map(|(gradient, value)| {
                    f64::from(*gradient) * match slope {
                        Slope::One => 1.0,
                        Slope::Relu => f64::from(u8::from(*value > 0.0)),
                        Slope::Tanh => 1.0 - f64::from(*value).powi(2),
                    }
                }).collect();
                close(&ours, &expected, 20.0, 1e-6)?;
                let sums: Vec<f64> = (0..lanes)
                    .map(|lane| 1.0 + expected[lane..].iter().step_by(BLOCK).sum::<f64>())
                    .collect();
                close(&bias, &sums, 100.0, 2e-6)?;
            }
        }
    }

    #[test]
    fn log_softmax(classes in 2..40usize, images in 1..20usize, scale in 0.1..30.0f32) {
        let plane = Plane::vectors(images);
        let logits: Vec<f32> = normals("logits", images * classes).into_iter().map(|value| value * scale).collect();
        let labels: Vec<u32> = (0..images).map(|image| (image * 7 % classes) as u32).collect();
        let mut blocked = vec![0.0; blocks(classes) * plane.block()];
        pack::vectors(plane, classes, 0..blocks(classes), &logits, &mut blocked);
        for isa in Isa::available() {
            let mut gradient = vec![0.0; blocked.len()];
            let (mut values, mut row) = (vec![0.0; images], vec![0.0; classes]);
            isa.run(LogSoftmax(Labelled {
                plane, classes, outputs: &blocked, labels: &labels, gradient: Some(&mut gradient),
                log_likelihood: &mut values, row: &mut row,
            }));
            for (image, logits) in logits.chunks_exact(classes).enumerate() {
                let label = labels[image] as usize;
                let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let sum: f64 = logits.iter().map(|value| f64::from(value - largest).exp()).sum();
                let expected = f64::from(logits[label] - largest) - sum.ln();
                prop_assert!((values[image] - expected).abs() < 1e-6 * (1.0 + expected.abs()), "{} {expected}", values[image]);
                for class in 0..classes {
                    let expected = f64::from(u8::from(class == label)) - f64::from(logits[class] - largest).exp() / sum;
                    let ours = gradient[class / BLOCK * plane.block() + image * BLOCK + class % BLOCK];
                    prop_assert!((f64::from(ours) - expected).abs() < 1e-6, "{ours} {expected}");
                }
            }
        }
    }
}
