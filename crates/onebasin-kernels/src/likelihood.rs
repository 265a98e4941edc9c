//! The log-likelihood of labels under a network's outputs, and its gradient.

use crate::geometry::Plane;
use crate::lanes::{BLOCK, Kernel, Lanes};
use crate::math;

/// The outputs of some images, their labels, and where their log-likelihoods go.
pub struct Labelled<'a> {
    /// One column for each image.
    pub plane: Plane,
    /// Number of classes.
    pub classes: usize,
    /// (class blocks, images, 16)
    pub outputs: &'a [f32],
    /// One for each image.
    pub labels: &'a [u32],
    /// Receives the gradient at the outputs, (class blocks, images, 16); the padding is left as it is.
    pub gradient: Option<&'a mut [f32]>,
    /// Receives the log-likelihood, one for each image.
    pub log_likelihood: &'a mut [f64],
    /// Buffer for the outputs of one image.
    pub row: &'a mut [f32],
}

/// For each image: log softmax at its label; the gradient is (one at the label) - softmax.
pub struct LogSoftmax<'a>(pub Labelled<'a>);

impl Kernel for LogSoftmax<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Labelled { plane, classes, outputs, labels, mut gradient, log_likelihood, row } = self.0;
        let row = &mut row[..classes];
        for (image, (label, log_likelihood)) in labels.iter().zip(log_likelihood).enumerate() {
            let at = |class: usize| class / BLOCK * plane.block() + image * BLOCK + class % BLOCK;
            let label = *label as usize;
            let mut largest = f32::NEG_INFINITY;
            for (class, value) in row.iter_mut().enumerate() {
                *value = outputs[at(class)];
                largest = largest.max(*value);
            }
            let at_label = row[label] - largest;
            for value in row.iter_mut() {
                *value = math::exp(*value - largest);
            }
            let sum: f32 = row.iter().sum();
            *log_likelihood = f64::from(at_label) - f64::from(sum).ln();
            if let Some(gradient) = &mut gradient {
                let scale = 1.0 / sum;
                for (class, value) in row.iter().enumerate() {
                    gradient[at(class)] = f32::from(u8::from(class == label)) - value * scale;
                }
            }
        }
    }
}

/// For each image: log of a Gaussian around the outputs, at one for the label, else zero; its gradient at the outputs.
pub struct LogGaussian<'a> {
    /// The variance of each output.
    pub variance: f64,
    /// What to compute; the buffer is not used.
    pub labelled: Labelled<'a>,
}

impl Kernel for LogGaussian<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Labelled { plane, classes, outputs, labels, mut gradient, log_likelihood, .. } = self.labelled;
        let precision = 1.0 / self.variance;
        let of_one = -0.5 * (std::f64::consts::TAU * self.variance).ln();
        for (image, (label, log_likelihood)) in labels.iter().zip(log_likelihood).enumerate() {
            let at = |class: usize| class / BLOCK * plane.block() + image * BLOCK + class % BLOCK;
            *log_likelihood = 0.0;
            for class in 0..classes {
                let rest = f32::from(u8::from(class == *label as usize)) - outputs[at(class)];
                *log_likelihood += of_one - 0.5 * precision * f64::from(rest) * f64::from(rest);
                if let Some(gradient) = &mut gradient {
                    gradient[at(class)] = rest * precision as f32;
                }
            }
        }
    }
}

/// Replaces each row of `classes` outputs by softmax(scale · outputs).
pub struct Softmax<'a> {
    /// (images, classes)
    pub rows: &'a mut [f32],
    /// Number of classes.
    pub classes: usize,
    /// Multiplies the outputs; positive.
    pub scale: f32,
}

impl Kernel for Softmax<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        for row in self.rows.chunks_exact_mut(self.classes) {
            let largest = row.iter().fold(f32::NEG_INFINITY, |largest, value| largest.max(*value));
            for value in row.iter_mut() {
                // Scaled last: the largest exponent is exactly 0, whatever is lost in the others.
                *value = math::exp(self.scale * (*value - largest));
            }
            let inverse = 1.0 / row.iter().sum::<f32>();
            for value in row {
                *value *= inverse;
            }
        }
    }
}
