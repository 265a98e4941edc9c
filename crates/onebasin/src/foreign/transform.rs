//! The standard deviation as a function of what a library stores in its place.

use crate::error::{Error, Result};

/// The standard deviation as a function of what is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transform {
    /// It is stored itself.
    Identity,
    /// Its logarithm is stored.
    Exp,
    /// ρ is stored, and it is ln(1 + exp ρ).
    Softplus,
    /// ρ is stored, and it is `most` / (1 + exp −ρ).
    Sigmoid {
        /// What it stays below.
        most: f64,
    },
    /// The mean of squares is stored, and it is √(mean of squares − mean²).
    MeanOfSquares {
        /// Least variance.
        least: f64,
    },
    /// A curvature h is stored, and it is (`factor` · h + `prior`)^−1/2.
    Precision {
        /// What the curvature is multiplied by.
        factor: f64,
        /// What is added.
        prior: f64,
    },
}

impl Transform {
    /// The standard deviation, given what is stored and the mean.
    pub fn std(self, stored: f32, mean: f32) -> f32 {
        let (stored, mean) = (f64::from(stored), f64::from(mean));
        let std = match self {
            Self::Identity => stored,
            Self::Exp => stored.exp(),
            Self::Softplus => stored.max(0.0) + (-stored.abs()).exp().ln_1p(),
            // exp −ρ may be infinite, and the quotient is then zero.
            Self::Sigmoid { most } => most / (1.0 + (-stored).exp()),
            Self::MeanOfSquares { least } => (stored - mean * mean).max(least).sqrt(),
            Self::Precision { factor, prior } => (factor * stored + prior).sqrt().recip(),
        };
        std as f32
    }

    /// The same with another prior precision, if it has one.
    #[must_use]
    pub fn with_prior(self, own: f64) -> Self {
        match self {
            Self::Precision { factor, .. } => Self::Precision { factor, prior: own },
            other => other,
        }
    }

    /// Reads `identity`, `exp`, `softplus` or, for the product of M and the logistic function, `sigmoid*M`.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let most = text.strip_prefix("sigmoid*").and_then(|most| most.parse().ok());
        match (text, most) {
            ("identity", _) => Ok(Self::Identity),
            ("exp", _) => Ok(Self::Exp),
            ("softplus", _) => Ok(Self::Softplus),
            (_, Some(most)) if most > 0.0 && f64::is_finite(most) => Ok(Self::Sigmoid { most }),
            _ => {
                let known = ["identity", "exp", "softplus", "sigmoid*0.1"];
                Err(Error::unknown("transform of a format", text, known.into_iter()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transforms_are_stable_on_both_sides() {
        assert_eq!(Transform::Softplus.std(100.0, 0.0), 100.0);
        assert!((Transform::Softplus.std(-50.0, 0.0) / (-50f32).exp() - 1.0).abs() < 1e-6);
        assert!((f64::from(Transform::Softplus.std(-3.0, 0.0)) - (-3f64).exp().ln_1p()).abs() < 1e-8);
        let sigmoid = |stored| Transform::Sigmoid { most: 0.5 }.std(stored, 0.0);
        assert_eq!([sigmoid(1e6), sigmoid(0.0), sigmoid(-1e6)], [0.5, 0.25, 0.0]);
        assert!((sigmoid(-60.0) / (0.5 * (-60f32).exp()) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn variances_and_precisions_become_standard_deviations() {
        let squares = Transform::MeanOfSquares { least: 1e-6 };
        assert!((squares.std(5.0, 2.0) - 1.0).abs() < 1e-6);
        assert!((squares.std(4.0, 2.0) - 1e-3).abs() < 1e-9);
        let precision = Transform::Precision { factor: 2.0, prior: 1.0 };
        assert_eq!((precision.std(1.5, 0.0), precision.with_prior(13.0).std(1.5, 0.0)), (0.5, 0.25));
        assert!(precision.std(-3.0, 0.0).is_nan());
    }

    #[test]
    fn transforms_have_names() {
        assert_eq!(Transform::parse("exp").unwrap(), Transform::Exp);
        assert_eq!(Transform::parse("sigmoid*0.1").unwrap(), Transform::Sigmoid { most: 0.1 });
        assert!(Transform::parse("sigmoid*-1").is_err() && Transform::parse("log").is_err());
    }
}
