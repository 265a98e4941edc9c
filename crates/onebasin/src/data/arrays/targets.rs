//! Targets of examples: classes, or numbers of a regression.

use super::array::Array;
use crate::error::{Error, Result};
use std::path::Path;

/// More classes than this are a mistake.
pub const MAX_CLASSES: usize = 1 << 20;

/// What the inputs should be mapped to.
#[derive(Clone, Debug, PartialEq)]
pub enum Targets {
    /// Classes, counted from 0.
    Classes {
        /// The class of each example.
        labels: Vec<u32>,
        /// One more than the largest label.
        classes: usize,
    },
    /// Numbers of a regression, all of them finite.
    Numbers {
        /// (example, number)
        values: Vec<f32>,
        /// Number of targets of each example.
        each: usize,
    },
}

impl Targets {
    /// Whole numbers from 0 on are classes; other floating-point numbers, and several for each example, are numbers.
    pub(super) fn of(array: &Array) -> Result<Self> {
        let each: usize = array.shape[1..].iter().product();
        if each != 1 {
            return Ok(Self::Numbers { values: array.finite()?, each });
        }
        let (mut labels, mut classes, mut regression) = (Vec::new(), 0, false);
        array.each_number(|index, value| {
            let is_class = value >= 0.0 && value.fract() == 0.0 && value < MAX_CLASSES as f64;
            if !is_class && array.is_integer() {
                let fault = format!(
                    "is {value}; a class is a whole number from 0 to {}: number the classes from 0, or save the targets of a \
                     regression as floating-point numbers",
                    MAX_CLASSES - 1
                );
                return Err(array.wrong_at(index, &fault));
            }
            regression |= !is_class;
            if !regression {
                labels.push(value as u32);
                classes = classes.max(value as usize + 1);
            }
            Ok(())
        })?;
        if regression {
            Ok(Self::Numbers { values: array.finite()?, each })
        } else {
            Ok(Self::Classes { labels, classes })
        }
    }

    /// The labels and the number of classes; numbers of a regression are refused.
    ///
    /// `path` and `name` are what errors call the file and the array.
    pub fn into_classes(self, path: &Path, name: &str) -> Result<(Vec<u32>, usize)> {
        let what = match &self {
            Self::Classes { .. } => None,
            Self::Numbers { values, each: 1 } => {
                let is_class = |value: &f32| *value >= 0.0 && value.fract() == 0.0 && *value < MAX_CLASSES as f32;
                // In double precision the number may be no class although it rounds to one.
                let example = values.iter().position(|value| !is_class(value)).unwrap_or(0);
                Some(format!("that of example {example} is {}", values[example]))
            }
            Self::Numbers { each, .. } => Some(format!("each example has {each}")),
        };
        match (self, what) {
            (Self::Classes { labels, classes }, _) => Ok((labels, classes)),
            (_, what) => Err(Error::File {
                path: path.to_owned(),
                reason: format!(
                    "the targets `{name}` are not classes ({}), and only classifiers are trained, no regressions; a class is a \
                     whole number from 0 to {}, and one-hot targets become classes by `numpy.argmax(y, axis=1)`",
                    what.unwrap_or_default(),
                    MAX_CLASSES - 1
                ),
            }),
        }
    }
}
