//! Whether probabilities mean what they say: Brier score and expected calibration error.

use super::quality::check_shapes;
use super::quality::most_probable;
use crate::error::Result;
use serde::Deserialize;
use serde::Serialize;

/// Bins of the largest probability, of equal width.
const BINS: usize = 15;

/// How well predicted probabilities fit the labels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The mean over images of the squared distance, summed over classes, between the probabilities and the label as a vector
    /// of zeros and a one: between 0 and 2.
    #[serde(deserialize_with = "super::null_is_nan")]
    pub brier: f64,
    /// The expected calibration error: in each of 15 bins of the largest probability, how far its mean is from the part of
    /// the images that it is right about, weighted by the images in the bin.
    #[serde(deserialize_with = "super::null_is_nan")]
    pub ece: f64,
}

impl Calibration {
    /// Measures `probabilities` (images, classes) against `labels` (images).
    pub fn of(probabilities: &[f64], labels: &[u32]) -> Result<Self> {
        let classes = check_shapes(probabilities, labels)?;
        let mut brier = 0.0;
        // Σ (1[right] − largest probability) of each bin.
        let mut gaps = [0.0; BINS];
        for (row, label) in probabilities.chunks_exact(classes).zip(labels) {
            let target = |class: usize| if class == *label as usize { 1.0 } else { 0.0 };
            brier += row.iter().enumerate().map(|(class, value)| (value - target(class)).powi(2)).sum::<f64>();
            match most_probable(row) {
                // Whatever is above the last border belongs to the last bin, 1 too.
                Some(class) => gaps[((row[class] * BINS as f64) as usize).min(BINS - 1)] += target(class) - row[class],
                None => gaps[0] = f64::NAN,
            }
        }
        let images = labels.len() as f64;
        Ok(Self { brier: brier / images, ece: gaps.iter().map(|gap| gap.abs()).sum::<f64>() / images })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-14, "{value} instead of {expected}");
    }

    #[test]
    fn a_few_images_by_hand() {
        let sure = Calibration::of(&[1.0, 0.0, 0.0, 1.0], &[0, 1]).unwrap();
        assert_eq!((sure.brier, sure.ece), (0.0, 0.0));
        let wrong = Calibration::of(&[1.0, 0.0, 0.0, 1.0], &[1, 0]).unwrap();
        assert_eq!((wrong.brier, wrong.ece), (2.0, 1.0));
        // A tie is the first class: right with 0.5.
        let tie = Calibration::of(&[0.5, 0.5], &[0]).unwrap();
        close(tie.brier, 0.5);
        close(tie.ece, 0.5);
        // Two images in one bin of [12/15, 13/15), one right: |(1 − 0.81) + (0 − 0.85)|; and one in another.
        let three = Calibration::of(&[0.81, 0.19, 0.85, 0.15, 0.4, 0.6], &[0, 1, 1]).unwrap();
        close(three.ece, ((0.19f64 - 0.85).abs() + 0.4) / 3.0);
        close(three.brier, (2.0 * 0.19f64.powi(2) + 2.0 * 0.85f64.powi(2) + 2.0 * 0.4f64.powi(2)) / 3.0);
    }

    #[test]
    fn nan_is_a_value_and_wrong_shapes_are_errors() {
        let broken = Calibration::of(&[f64::NAN, 0.5], &[0]).unwrap();
        assert!(broken.brier.is_nan() && broken.ece.is_nan());
        assert!(Calibration::of(&[0.5, 0.5, 0.5], &[0, 1]).is_err());
        assert!(Calibration::of(&[0.5, 0.5], &[2]).is_err());
    }
}
