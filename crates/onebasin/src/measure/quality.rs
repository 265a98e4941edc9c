//! What predictions are worth: error and negative log-likelihood, calibration, and agreement with other predictions.

use crate::error::{Error, Result};
use crate::keys::null_is_nan;
use serde::{Deserialize, Serialize};

/// The quality of predicted probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// Number of examples it was measured on.
    pub examples: usize,
    /// Number of points of the posterior that were averaged.
    pub samples: usize,
    /// Part of the examples whose most probable class is not their label.
    pub error: f64,
    /// Minus the mean logarithm of the probability of the label.
    #[serde(deserialize_with = "null_is_nan")]
    pub nll: f64,
}

impl Quality {
    /// Measures `probabilities` (examples, classes), the mean of `samples` points, against `labels` (examples).
    pub fn of(probabilities: &[f64], labels: &[u32], samples: usize) -> Result<Self> {
        check_shapes(probabilities, labels)?;
        let score = Score::default().with_rows(probabilities, labels);
        let (error, nll) = (score.errors / labels.len() as f64, score.nll / labels.len() as f64);
        Ok(Self { examples: labels.len(), samples, error, nll })
    }
}

/// Sums over examples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Score {
    /// How many are wrong.
    pub(super) errors: f64,
    /// Minus the logarithms of the probabilities of the labels.
    pub(super) nll: f64,
}

impl Score {
    /// Adds examples: `probabilities` (examples, classes), `labels` (examples).
    #[must_use]
    pub(super) fn with_rows<T: Copy + PartialOrd + Into<f64>>(mut self, probabilities: &[T], labels: &[u32]) -> Self {
        for (row, label) in probabilities.chunks_exact(probabilities.len() / labels.len()).zip(labels) {
            self.errors += f64::from(u8::from(most_probable(row) != Some(*label as usize)));
            // Probabilities come from f32: what is below its smallest number has become zero.
            let at_label: f64 = row[*label as usize].into();
            self.nll -= if at_label.is_nan() { f64::NAN } else { at_label.max(f64::from(f32::MIN_POSITIVE)).ln() };
        }
        self
    }
}

/// The number of classes of `probabilities` (examples, classes), which must fit the labels.
fn check_shapes(probabilities: &[f64], labels: &[u32]) -> Result<usize> {
    let classes = probabilities.len() / labels.len().max(1);
    if let Some(index) = labels.iter().position(|label| *label as usize >= classes.max(1)) {
        return Err(Error::Label { index, label: labels[index], classes: classes.max(1) });
    }
    if labels.is_empty() || classes == 0 || probabilities.len() != labels.len() * classes {
        return Err(Error::Length {
            what: "the array of probabilities",
            got: probabilities.len(),
            expected: probabilities.len().next_multiple_of(labels.len().max(1)),
            why: format!("{} labels", labels.len()),
        });
    }
    Ok(classes)
}

/// The class with the largest probability, of equal ones the first; none if one of them is NaN.
fn most_probable<T: Copy + PartialOrd>(row: &[T]) -> Option<usize> {
    let mut chosen = 0;
    for (class, value) in row.iter().enumerate() {
        // Only a NaN does not compare with itself.
        value.partial_cmp(value)?;
        if *value > row[chosen] {
            chosen = class;
        }
    }
    Some(chosen)
}

/// Bins of the largest probability, of equal width.
const BINS: usize = 15;

/// How well predicted probabilities fit the labels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The mean over examples of the squared distance, summed over classes, between the probabilities and the label as a vector
    /// of zeros and a one: between 0 and 2.
    #[serde(deserialize_with = "null_is_nan")]
    pub brier: f64,
    /// The expected calibration error: in each of 15 bins of the largest probability, how far its mean is from the part of
    /// the images that it is right about, weighted by the examples in the bin.
    #[serde(deserialize_with = "null_is_nan")]
    pub ece: f64,
}

impl Calibration {
    /// Measures `probabilities` (examples, classes) against `labels` (examples).
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
        let examples = labels.len() as f64;
        Ok(Self { brier: brier / examples, ece: gaps.iter().map(|gap| gap.abs()).sum::<f64>() / examples })
    }
}

/// Two predictive distributions compared, example by example.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// Part of the examples whose most probable class is the same; of equal probabilities the first class counts.
    pub agreement: f64,
    /// The mean over examples of ½ Σ |p − q| over classes: between 0 and 1.
    #[serde(deserialize_with = "null_is_nan")]
    pub total_variation: f64,
}

impl Agreement {
    /// Compares `one` and `other`, each (examples, `classes`).
    pub fn of(one: &[f64], other: &[f64], classes: usize) -> Result<Self> {
        if classes == 0 || one.is_empty() || !one.len().is_multiple_of(classes) || one.len() != other.len() {
            return Err(Error::Length {
                what: "the array of probabilities",
                got: other.len(),
                expected: one.len().max(1).next_multiple_of(classes.max(1)),
                why: format!("{} others, {classes} classes", one.len()),
            });
        }
        let (mut same, mut variation) = (0usize, 0.0);
        for (one, other) in one.chunks_exact(classes).zip(other.chunks_exact(classes)) {
            let chosen = most_probable(one);
            same += usize::from(chosen.is_some() && chosen == most_probable(other));
            variation += 0.5 * one.iter().zip(other).map(|(one, other)| (one - other).abs()).sum::<f64>();
        }
        let examples = (one.len() / classes) as f64;
        Ok(Self { agreement: same as f64 / examples, total_variation: variation / examples })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_first_class_and_nan_is_an_error() {
        let quality = Quality::of(&[0.5, 0.5, 0.5, 0.5, 0.2, 0.8], &[0, 1, 1], 1).unwrap();
        assert!((quality.error - 1.0 / 3.0).abs() < 1e-15);
        assert!((quality.nll - (2.0 * 2f64.ln() - 0.8f64.ln()) / 3.0).abs() < 1e-15);
        let broken = Quality::of(&[f64::NAN, f64::NAN], &[0], 1).unwrap();
        assert_eq!(broken.error, 1.0);
        assert!(broken.nll.is_nan());
        let read: Quality = serde_json::from_str(&serde_json::to_string(&broken).unwrap()).unwrap();
        assert!(read.nll.is_nan() && read.error == 1.0);
        assert!(Quality::of(&[0.0, 1.0], &[0], 1).unwrap().nll.is_finite());
    }

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

    #[test]
    fn ties_go_to_the_first_class_and_nan_agrees_with_nothing() {
        let Agreement { agreement, total_variation } =
            Agreement::of(&[0.5, 0.5, 0.1, 0.9], &[0.6, 0.4, 0.5, 0.5], 2).unwrap();
        assert_eq!(agreement, 0.5);
        assert!((total_variation - 0.25).abs() < 1e-15);
        let broken = Agreement::of(&[f64::NAN, 0.5], &[f64::NAN, 0.5], 2).unwrap();
        assert_eq!(broken.agreement, 0.0);
        assert!(broken.total_variation.is_nan());
        let read: Agreement = serde_json::from_str(&serde_json::to_string(&broken).unwrap()).unwrap();
        assert!(read.total_variation.is_nan());
    }

    #[test]
    fn arrays_of_other_sizes_are_errors() {
        for (one, other, classes) in [(4, 2, 2), (3, 3, 2), (0, 0, 2), (2, 2, 0)] {
            assert!(Agreement::of(&vec![0.5; one], &vec![0.5; other], classes).is_err(), "{one} {other} {classes}");
        }
    }
}
