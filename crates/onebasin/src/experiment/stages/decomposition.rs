//! The parts of a loss barrier: misalignment, variance collapse, calibration, and what no method here removes.

use super::barrier::{BarrierResult, PathKind, Row, UNALIGNED};
use super::over_pairs::{barriers, same_curves};
use crate::data::Split;
use crate::measure::{Estimate, Spread};

/// The parts of a loss barrier on one part of the data set; they add up to the barrier without an alignment.
#[derive(Clone, Debug, PartialEq)]
pub struct Decomposition {
    /// Part of the data set.
    pub split: Split,
    /// The parts that were measured, the last of which is what is left.
    pub parts: Vec<Part>,
}

/// A part of a loss barrier.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Cause of the part.
    pub cause: Cause,
    /// Height in nats; negative if what should remove the part adds to the barrier.
    pub height: Spread,
    /// Name of the curve whose barrier the part is missing in; of what is left, the curve that has it.
    pub curve: String,
}

named_enum! {
    /// Why there is a part of a loss barrier.
    pub enum Cause {
        /// Units in another order, which alignment removes.
        Misalignment = "misalignment",
        /// Averaged units whose activations vary less, which restored statistics remove.
        VarianceCollapse = "variance collapse",
        /// Wrong confidence, which a softmax temperature for each point removes.
        Calibration = "calibration",
        /// All that none of the measured curves removes.
        Left = "left",
    }
}

impl Row {
    /// Whether the posteriors of a curve are aligned; the mixture of both needs no alignment.
    pub fn is_aligned(&self) -> bool {
        !self.curve.starts_with(UNALIGNED)
    }

    /// What the path of an aligned curve removes besides what is removed before; none for other curves.
    fn removes(&self) -> Option<Cause> {
        let path = self.path.filter(|_| self.is_aligned())?;
        match path {
            _ if self.temperatures.is_some() => Some(Cause::Calibration),
            PathKind::Geodesic => Some(Cause::Misalignment),
            PathKind::Natural => None,
            _ => Some(Cause::VarianceCollapse),
        }
    }
}

/// Decomposes the loss barrier between the posteriors of one pair, or the mean over pairs, on each part of the data set.
///
/// Starts from the geodesic without an alignment, and goes on to the curves with the lowest mean barrier of those that are
/// aligned, of those that also restore statistics, and of those that are also calibrated. A kind without curves is left out.
pub fn decomposition(results: &[BarrierResult]) -> Vec<Decomposition> {
    let curves = same_curves(results);
    let mut all = Vec::new();
    for first in curves.iter().filter(|rows| rows[0].curve == UNALIGNED) {
        let split = first[0].split;
        let lowest = |cause: Cause| {
            // A curve that some pair lacks cannot be compared pair by pair.
            let whole = curves.iter().filter(|rows| rows[0].split == split && rows.len() == first.len());
            let kind = whole.filter(|rows| rows[0].removes() == Some(cause));
            let measured = kind.map(|rows| (&rows[0].curve, barriers(rows, |curve| curve.loss)));
            measured.min_by(|(_, a), (_, b)| Spread::of(a).mean.total_cmp(&Spread::of(b).mean))
        };
        let (mut curve, mut before) = (&first[0].curve, barriers(first, |curve| curve.loss));
        let mut parts = Vec::new();
        for cause in [Cause::Misalignment, Cause::VarianceCollapse, Cause::Calibration] {
            let Some((name, after)) = lowest(cause) else { continue };
            let removed: Vec<Estimate> = before.iter().zip(&after).map(|(a, b)| difference(*a, *b)).collect();
            parts.push(Part { cause, height: Spread::of(&removed), curve: name.clone() });
            (curve, before) = (name, after);
        }
        parts.push(Part { cause: Cause::Left, height: Spread::of(&before), curve: curve.clone() });
        all.push(Decomposition { split, parts });
    }
    all
}

/// The difference of two estimates; its standard error is that of independent ones.
fn difference(a: Estimate, b: Estimate) -> Estimate {
    let errors = a.standard_error.zip(b.standard_error);
    Estimate { value: a.value - b.value, standard_error: errors.map(|(a, b)| a.hypot(b)) }
}
