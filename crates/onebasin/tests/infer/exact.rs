//! Bayesian linear regression, whose posterior is known in closed form: a network without hidden layers under a Gaussian
//! likelihood, and its exact posterior in f64.

use onebasin::arch::{Activation, Arch, Mlp, Shape};
use onebasin::data::{Dataset, Examples, Scaling, Standardisation};
use onebasin::infer::{Prior, Problem};
use onebasin::net::{Likelihood, Precision};
use onebasin::rng::Stream;
use std::sync::Arc;

const INPUTS: usize = 5;
pub(crate) const CLASSES: usize = 3;
pub(crate) const IMAGES: usize = 24;
pub(crate) const NOISE: f64 = 0.5;
/// So narrow that it counts for a fifth of what the data do.
pub(crate) const PRIOR: f64 = 0.1;
/// Rows of the parameters: one for each input, and the bias.
pub(crate) const ROWS: usize = INPUTS + 1;
pub(crate) const PARAMETERS: usize = ROWS * CLASSES;

/// A square matrix over the rows.
pub(crate) type Matrix = [[f64; ROWS]; ROWS];

/// The regression of labels, as ones and zeros, on five pixels that share a part and so are correlated.
pub(crate) fn problem(scaling: onebasin::infer::Scaling, temperature: f64) -> Problem {
    let mut noise = vec![0.0; IMAGES * ROWS];
    Stream::new(1, "pixels", 0).fill_normal(&mut noise);
    let pixels = noise.chunks_exact(ROWS).flat_map(|noise| {
        let own = noise[1..].iter();
        own.map(|own| (128.0 + 35.0 * (noise[0] + own)).round().clamp(0.0, 255.0) as u8)
    });
    let shape = Shape { height: 1, width: INPUTS, channels: 1 };
    let labels = (0..IMAGES as u32).map(|image| image * 5 % 7 % CLASSES as u32).collect();
    let dataset = Dataset::new("made up", shape, CLASSES, 255, pixels.collect(), labels).unwrap();
    let standardisation = Standardisation::of(Scaling::Standard, &dataset);
    let arch = Arch::new(Mlp { input: shape, classes: CLASSES, hidden: Vec::new(), activation: Activation::Relu });
    Problem {
        arch: arch.unwrap(),
        likelihood: Likelihood::Gaussian { variance: NOISE },
        prior: Prior { variance: PRIOR, scaling },
        temperature,
        precision: Precision::F32,
        training: Arc::new(Examples::new(dataset, standardisation).unwrap()),
    }
}

/// The data in f64: rows of inputs with a one for the bias, and the targets (image, class).
pub(crate) struct Data {
    pub(crate) inputs: Vec<[f64; ROWS]>,
    pub(crate) targets: Vec<[f64; CLASSES]>,
}

impl Data {
    pub(crate) fn of(problem: &Problem) -> Self {
        let (images, labels) = problem.training.all();
        let row = |image: &[f32]| std::array::from_fn(|row| image.get(row).map_or(1.0, |value| f64::from(*value)));
        let target = |label: &u32| std::array::from_fn(|class| f64::from(u8::from(class == *label as usize)));
        Self { inputs: images.chunks_exact(INPUTS).map(row).collect(), targets: labels.iter().map(target).collect() }
    }

    /// The log-likelihood of some images at a point (row, class), under the Gaussian likelihood.
    pub(crate) fn log_likelihood(&self, point: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (inputs, targets) in self.inputs.iter().zip(&self.targets) {
            for (class, target) in targets.iter().enumerate() {
                let output: f64 =
                    inputs.iter().enumerate().map(|(row, input)| input * point[row * CLASSES + class]).sum();
                sum -= 0.5 * (target - output).powi(2) / NOISE + 0.5 * (std::f64::consts::TAU * NOISE).ln();
            }
        }
        sum
    }

    /// Its gradient.
    pub(crate) fn gradient(&self, point: &[f64]) -> Vec<f64> {
        let mut gradient = vec![0.0; PARAMETERS];
        for (inputs, targets) in self.inputs.iter().zip(&self.targets) {
            for (class, target) in targets.iter().enumerate() {
                let output: f64 =
                    inputs.iter().enumerate().map(|(row, input)| input * point[row * CLASSES + class]).sum();
                for (row, input) in inputs.iter().enumerate() {
                    gradient[row * CLASSES + class] += input * (target - output) / NOISE;
                }
            }
        }
        gradient
    }
}

/// The exact posterior: the classes are independent and have one covariance.
///
/// ```text
/// A = XᵀX / noise + P,   covariance = T A⁻¹,   mean = A⁻¹ Xᵀ y / noise
/// ```
pub(crate) struct Exact {
    /// P, the precision of the prior: (row).
    pub(crate) prior: [f64; ROWS],
    /// A
    pub(crate) precision: Matrix,
    /// A⁻¹, without the temperature.
    pub(crate) inverse: Matrix,
    /// (row, class)
    pub(crate) mean: Vec<f64>,
    /// log |A|
    pub(crate) log_determinant: f64,
}

impl Exact {
    pub(crate) fn of(problem: &Problem) -> Self {
        let data = Data::of(problem);
        // Written out, not asked of the prior: weights, then the bias.
        let of_weight = match problem.prior.scaling {
            onebasin::infer::Scaling::One => 1.0 / PRIOR,
            onebasin::infer::Scaling::FanIn => INPUTS as f64 / PRIOR,
        };
        let prior = std::array::from_fn(|row| if row < INPUTS { of_weight } else { 1.0 / PRIOR });
        let mut precision: Matrix = [[0.0; ROWS]; ROWS];
        let mut products = [0.0; PARAMETERS];
        for (inputs, targets) in data.inputs.iter().zip(&data.targets) {
            for row in 0..ROWS {
                for column in 0..ROWS {
                    precision[row][column] += inputs[row] * inputs[column] / NOISE;
                }
                for class in 0..CLASSES {
                    products[row * CLASSES + class] += inputs[row] * targets[class] / NOISE;
                }
            }
        }
        (0..ROWS).for_each(|row| precision[row][row] += prior[row]);
        let factor = cholesky(&precision);
        let log_determinant = 2.0 * (0..ROWS).map(|row| factor[row][row].ln()).sum::<f64>();
        // The inverse is symmetric: its columns are its rows.
        let inverse =
            std::array::from_fn(|column| solve(&factor, std::array::from_fn(|row| f64::from(u8::from(row == column)))));
        let mut mean = vec![0.0; PARAMETERS];
        for class in 0..CLASSES {
            let of_class = solve(&factor, std::array::from_fn(|row| products[row * CLASSES + class]));
            (0..ROWS).for_each(|row| mean[row * CLASSES + class] = of_class[row]);
        }
        Self { prior, precision, inverse, mean, log_determinant }
    }

    /// The logarithm of the probability of the data, at temperature one:
    /// ℓ(mean) + log prior(mean) + log of the volume √|2π A⁻¹| for each class.
    pub(crate) fn log_evidence(&self, data: &Data) -> f64 {
        let tau = std::f64::consts::TAU;
        let mut sum = data.log_likelihood(&self.mean);
        for (index, mean) in self.mean.iter().enumerate() {
            let precision = self.prior[index / CLASSES];
            sum -= 0.5 * (precision * mean * mean - (precision / tau).ln());
        }
        sum + CLASSES as f64 * 0.5 * (ROWS as f64 * tau.ln() - self.log_determinant)
    }
}

/// L with L Lᵀ = matrix.
pub(crate) fn cholesky(matrix: &Matrix) -> Matrix {
    let mut factor = [[0.0; ROWS]; ROWS];
    for row in 0..ROWS {
        for column in 0..=row {
            let rest = matrix[row][column] - (0..column).map(|k| factor[row][k] * factor[column][k]).sum::<f64>();
            factor[row][column] = if row == column { rest.sqrt() } else { rest / factor[column][column] };
        }
    }
    factor
}

/// x with L Lᵀ x = right.
pub(crate) fn solve(factor: &Matrix, right: [f64; ROWS]) -> [f64; ROWS] {
    let mut x = right;
    for row in 0..ROWS {
        x[row] = (x[row] - (0..row).map(|k| factor[row][k] * x[k]).sum::<f64>()) / factor[row][row];
    }
    for row in (0..ROWS).rev() {
        x[row] = (x[row] - (row + 1..ROWS).map(|k| factor[k][row] * x[k]).sum::<f64>()) / factor[row][row];
    }
    x
}

#[test]
fn the_exact_mean_has_no_slope_and_the_exact_inverse_is_one() {
    let problem = problem(onebasin::infer::Scaling::FanIn, 1.0);
    let exact = Exact::of(&problem);
    let gradient = Data::of(&problem).gradient(&exact.mean);
    for (index, gradient) in gradient.into_iter().enumerate() {
        assert!((gradient - exact.prior[index / CLASSES] * exact.mean[index]).abs() < 1e-10);
    }
    for row in 0..ROWS {
        for column in 0..ROWS {
            let product: f64 = (0..ROWS).map(|k| exact.precision[row][k] * exact.inverse[k][column]).sum();
            assert!((product - f64::from(u8::from(row == column))).abs() < 1e-10);
        }
    }
}

#[test]
fn the_exact_posterior_is_one_that_tells_methods_apart() {
    let exact = Exact::of(&problem(onebasin::infer::Scaling::One, 1.0));
    // Correlations: mean-field standard deviations are far from the marginal ones.
    let narrower = (0..INPUTS).map(|row| (exact.inverse[row][row] * exact.precision[row][row]).sqrt());
    assert!(narrower.clone().all(|ratio| ratio > 1.1), "{:?}", narrower.collect::<Vec<_>>());
    // The prior counts.
    assert!((0..ROWS).all(|row| exact.prior[row] / exact.precision[row][row] > 0.1));
}
