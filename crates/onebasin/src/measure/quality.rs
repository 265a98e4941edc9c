//! What predictions are worth: error and negative log-likelihood.

use crate::error::Error;
use crate::error::Result;
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;

/// The quality of predicted probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// Images it was measured on.
    pub images: usize,
    /// Points of the posterior that were averaged.
    pub samples: usize,
    /// Part of the images whose most probable class is not their label.
    pub error: f64,
    /// Minus the mean logarithm of the probability of the label.
    #[serde(deserialize_with = "null_is_nan")]
    pub nll: f64,
}

impl Quality {
    /// Measures `probabilities` (images, classes), the mean of `samples` points, against `labels` (images).
    pub fn of(probabilities: &[f64], labels: &[u32], samples: usize) -> Result<Self> {
        check_shapes(probabilities, labels)?;
        let mut score = Score::default();
        score.add_rows(probabilities, labels);
        let (error, nll) = (score.errors / labels.len() as f64, score.nll / labels.len() as f64);
        Ok(Self { images: labels.len(), samples, error, nll })
    }
}

/// Sums over images.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Score {
    /// How many are wrong.
    pub(super) errors: f64,
    /// Minus the logarithms of the probabilities of the labels.
    pub(super) nll: f64,
}

impl Score {
    /// Adds images: `probabilities` (images, classes), `labels` (images).
    pub(super) fn add_rows<T: Copy + PartialOrd + Into<f64>>(&mut self, probabilities: &[T], labels: &[u32]) {
        for (row, label) in probabilities.chunks_exact(probabilities.len() / labels.len()).zip(labels) {
            let at_label = row[*label as usize];
            self.errors += f64::from(u8::from(most_probable(row) != Some(*label as usize)));
            // Probabilities come from f32: what is below its smallest number has become zero.
            let at_label: f64 = at_label.into();
            self.nll -= if at_label.is_nan() { f64::NAN } else { at_label.max(f64::from(f32::MIN_POSITIVE)).ln() };
        }
    }
}

/// The number of classes of `probabilities` (images, classes), which must fit the labels.
pub(super) fn check_shapes(probabilities: &[f64], labels: &[u32]) -> Result<usize> {
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
pub(super) fn most_probable<T: Copy + PartialOrd>(row: &[T]) -> Option<usize> {
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

/// A number as it is written in JSON, which has no NaN: a run that diverged must be readable, too.
pub(crate) fn null_is_nan<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
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
}
