//! How near two predictive distributions are: agreement and total variation.

use super::quality::most_probable;
use crate::error::Error;
use crate::error::Result;
use serde::Deserialize;
use serde::Serialize;

/// Two predictive distributions compared, image by image.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// Part of the images whose most probable class is the same; of equal probabilities the first class counts.
    pub agreement: f64,
    /// The mean over images of ½ Σ |p − q| over classes: between 0 and 1.
    #[serde(deserialize_with = "super::null_is_nan")]
    pub total_variation: f64,
}

impl Agreement {
    /// Compares `one` and `other`, each (images, `classes`).
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
        let images = (one.len() / classes) as f64;
        Ok(Self { agreement: same as f64 / images, total_variation: variation / images })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
