//! The log-likelihood of labels under a network's outputs, and its gradient.

use super::geometry::Plane;
use super::isa::Kernel;
use super::lanes::BLOCK;
use super::lanes::Lanes;
use super::math;

/// For each image: log softmax at its label; and, in place of the logits, the gradient of that.
#[derive(Debug)]
pub struct LogSoftmax<'a> {
    /// One column for each image.
    pub plane: Plane,
    /// Number of classes.
    pub classes: usize,
    /// (class blocks, images, 16)
    pub logits: &'a [f32],
    /// One for each image.
    pub labels: &'a [u32],
    /// Receives (one at the label) - softmax, (class blocks, images, 16); the padding is left as it is.
    pub gradient: Option<&'a mut [f32]>,
    /// Receives log softmax at the label, one for each image.
    pub log_likelihood: &'a mut [f64],
    /// Room for one image's logits.
    pub row: &'a mut [f32],
}

impl Kernel for LogSoftmax<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(mut self) {
        let row = &mut self.row[..self.classes];
        for (image, (label, log_likelihood)) in self.labels.iter().zip(self.log_likelihood.iter_mut()).enumerate() {
            let at = |class: usize| class / BLOCK * self.plane.block() + image * BLOCK + class % BLOCK;
            let label = *label as usize;
            let mut largest = f32::NEG_INFINITY;
            for (class, value) in row.iter_mut().enumerate() {
                *value = self.logits[at(class)];
                largest = largest.max(*value);
            }
            let at_label = row[label] - largest;
            for value in row.iter_mut() {
                *value = math::exp(*value - largest);
            }
            let sum: f32 = row.iter().sum();
            *log_likelihood = f64::from(at_label) - f64::from(sum).ln();
            if let Some(gradient) = &mut self.gradient {
                let scale = 1.0 / sum;
                for (class, value) in row.iter().enumerate() {
                    gradient[at(class)] = f32::from(u8::from(class == label)) - value * scale;
                }
            }
        }
    }
}

/// For each image: the logarithm of a Gaussian around the outputs, at one for the label and zero for the others.
#[derive(Debug)]
pub struct LogGaussian<'a> {
    /// One column for each image.
    pub plane: Plane,
    /// Number of classes.
    pub classes: usize,
    /// The variance of each output.
    pub variance: f64,
    /// (class blocks, images, 16)
    pub outputs: &'a [f32],
    /// One for each image.
    pub labels: &'a [u32],
    /// Receives (one at the label - output) / variance, (class blocks, images, 16); the padding is left as it is.
    pub gradient: Option<&'a mut [f32]>,
    /// Receives the logarithm of the density, one for each image.
    pub log_likelihood: &'a mut [f64],
}

impl Kernel for LogGaussian<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(mut self) {
        let precision = 1.0 / self.variance;
        let of_one = -0.5 * (std::f64::consts::TAU * self.variance).ln();
        for (image, (label, log_likelihood)) in self.labels.iter().zip(self.log_likelihood.iter_mut()).enumerate() {
            let at = |class: usize| class / BLOCK * self.plane.block() + image * BLOCK + class % BLOCK;
            *log_likelihood = 0.0;
            for class in 0..self.classes {
                let rest = f32::from(u8::from(class == *label as usize)) - self.outputs[at(class)];
                *log_likelihood += of_one - 0.5 * precision * f64::from(rest) * f64::from(rest);
                if let Some(gradient) = &mut self.gradient {
                    gradient[at(class)] = rest * precision as f32;
                }
            }
        }
    }
}

/// Replaces each row of `classes` outputs by softmax(scale · outputs).
#[derive(Debug)]
pub struct Softmax<'a> {
    /// (images, classes)
    pub rows: &'a mut [f32],
    /// Number of classes.
    pub classes: usize,
    /// Multiplies the outputs; positive.
    pub scale: f32,
}

impl Kernel for Softmax<'_> {
    type Output = ();
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
