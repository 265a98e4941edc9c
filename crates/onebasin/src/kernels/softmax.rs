//! The log-likelihood of labels under logits, and its gradient.

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
