//! The values of checkpoints as criteria compare them: points without standard deviations, or Gaussians.

use crate::align::{Criterion, Feature, Members, Values};
use crate::error::Result;
use crate::foreign::{Member, TensorSource};
use crate::params::{Layout, Params};
use crate::posterior::Gaussian;
use crate::symmetry::Spec;
use onebasin_checkpoint::DType;
use std::borrow::Cow;
use std::sync::Arc;

/// The values of one checkpoint.
#[derive(Debug)]
pub(in crate::experiment::stages) enum Loaded {
    /// A point, for which no standard deviations are kept in memory.
    Point(Params),
    /// A point in the type of its file, because that is smaller.
    Stored(DType, Vec<u8>),
    /// A posterior.
    Gaussian(Gaussian),
}

impl Loaded {
    /// Without `statistics`, tensors whose values are left out of the comparison.
    ///
    /// Running statistics of a batch normalisation have the scale of activations, which no parameter depends on: a variance of 100 would
    /// outweigh all weights of its unit.
    pub(in crate::experiment::stages) fn new<S: TensorSource>(
        member: &Member<S>,
        spec: &Spec,
        statistics: &[usize],
    ) -> Result<Self> {
        if member.has_std() {
            return gaussian(member, spec, statistics).map(Self::Gaussian);
        }
        let layout = spec.layout();
        if let Some(dtype) = member.narrow() {
            let mut bytes = member.stored(layout)?;
            let size = bytes.len() / layout.len().max(1);
            for range in statistics.iter().map(|tensor| layout.tensors()[*tensor].range()) {
                bytes[range.start * size..range.end * size].fill(0);
            }
            return Ok(Self::Stored(dtype.clone(), bytes));
        }
        let mut mean = member.mean(layout)?;
        leave_out(&mut mean, statistics);
        Ok(Self::Point(mean))
    }

    /// What a criterion compares of this checkpoint, which stays, and another.
    pub(in crate::experiment::stages) fn features<'a>(
        &'a self,
        moved: &'a Self,
        criterion: Criterion,
        layout: &Arc<Layout>,
    ) -> Result<Vec<Feature<'a>>> {
        match (self, moved) {
            (Self::Gaussian(fixed), Self::Gaussian(moved)) => return criterion.features(fixed, moved),
            // Of points, W2 is the distance of the means.
            _ if matches!(criterion, Criterion::Mean | Criterion::W2) => {
                if let (Some(fixed), Some(moved)) = (self.point(), moved.point()) {
                    return Ok(vec![Feature { fixed, moved }]);
                }
            }
            _ => {}
        }
        let [fixed, moved] = [self, moved].map(|side| side.with_std(layout));
        let (fixed, moved) = (fixed?, moved?);
        let features = criterion.features(&fixed, &moved)?;
        Ok(features.into_iter().map(Feature::into_owned).collect())
    }

    /// The values of a point.
    fn point(&self) -> Option<Values<'_>> {
        match self {
            Self::Point(point) => Some(point.values().into()),
            Self::Stored(dtype, bytes) => Some(Values::Stored { dtype: dtype.clone(), bytes: Cow::Borrowed(bytes) }),
            Self::Gaussian(_) => None,
        }
    }

    fn with_std(&self, layout: &Arc<Layout>) -> Result<Gaussian> {
        match self {
            Self::Gaussian(gaussian) => Ok(gaussian.clone()),
            Self::Point(point) => Gaussian::new(point.clone(), Params::zeros(layout)),
            Self::Stored(dtype, bytes) => {
                let mut point = Params::zeros(layout);
                dtype.decode(bytes, point.values_mut()).expect("as many values as the layout has");
                Gaussian::new(point, Params::zeros(layout))
            }
        }
    }
}

fn gaussian<S: TensorSource>(member: &Member<S>, spec: &Spec, statistics: &[usize]) -> Result<Gaussian> {
    let mut mean = member.mean(spec.layout())?;
    let std = member.std(&mean)?;
    leave_out(&mut mean, statistics);
    Gaussian::new(mean, std)
}

/// Makes the values of some tensors zero, so that they are not compared.
pub(in crate::experiment::stages) fn leave_out(mean: &mut Params, statistics: &[usize]) {
    for tensor in statistics {
        let range = mean.layout().tensors()[*tensor].range();
        mean.values_mut()[range].fill(0.0);
    }
}

/// Checkpoints, each of which is read when it is needed.
#[derive(Debug)]
pub(in crate::experiment::stages) struct Gaussians<'a, S> {
    pub(in crate::experiment::stages) members: &'a [Member<S>],
    pub(in crate::experiment::stages) spec: &'a Spec,
    /// Tensors whose values are left out.
    pub(in crate::experiment::stages) statistics: &'a [usize],
}

impl<S: TensorSource> Members for Gaussians<'_, S> {
    fn count(&self) -> usize {
        self.members.len()
    }

    fn read(&self, index: usize) -> Result<Cow<'_, Gaussian>> {
        gaussian(&self.members[index], self.spec, self.statistics).map(Cow::Owned)
    }
}
