//! The values of checkpoints as criteria compare them: points without standard deviations, or Gaussians.

use crate::align::{Criterion, Feature, Members};
use crate::error::Result;
use crate::foreign::Member;
use crate::params::Params;
use crate::posterior::Gaussian;
use crate::symmetry::Spec;
use std::borrow::Cow;

/// The values of one checkpoint.
#[derive(Debug)]
pub(in crate::experiment::stages) enum Loaded {
    /// A point, for which no standard deviations are kept in memory.
    Point(Params),
    /// A posterior.
    Gaussian(Gaussian),
}

impl Loaded {
    pub(in crate::experiment::stages) fn new(member: &Member, spec: &Spec) -> Result<Self> {
        if member.has_std() {
            gaussian(member, spec).map(Self::Gaussian)
        } else {
            member.mean(spec.layout()).map(Self::Point)
        }
    }

    /// What a criterion compares of this checkpoint, which stays, and another.
    pub(in crate::experiment::stages) fn features<'a>(
        &'a self,
        moved: &'a Self,
        criterion: Criterion,
    ) -> Result<Vec<Feature<'a>>> {
        match (self, moved) {
            // Of points, W2 is the distance of the means.
            (Self::Point(fixed), Self::Point(moved)) if matches!(criterion, Criterion::Mean | Criterion::W2) => {
                Ok(vec![Feature { fixed: Cow::Borrowed(fixed.values()), moved: Cow::Borrowed(moved.values()) }])
            }
            (Self::Gaussian(fixed), Self::Gaussian(moved)) => criterion.features(fixed, moved),
            _ => {
                let [fixed, moved] = [self, moved].map(Self::with_std);
                let (fixed, moved) = (fixed?, moved?);
                let features = criterion.features(&fixed, &moved)?;
                let owned = |Feature { fixed, moved }: Feature<'_>| Feature {
                    fixed: Cow::Owned(fixed.into_owned()),
                    moved: Cow::Owned(moved.into_owned()),
                };
                Ok(features.into_iter().map(owned).collect())
            }
        }
    }

    fn with_std(&self) -> Result<Gaussian> {
        match self {
            Self::Point(point) => Gaussian::new(point.clone(), Params::zeros(point.layout())),
            Self::Gaussian(gaussian) => Ok(gaussian.clone()),
        }
    }
}

fn gaussian(member: &Member, spec: &Spec) -> Result<Gaussian> {
    let mean = member.mean(spec.layout())?;
    let std = member.std(&mean)?;
    Gaussian::new(mean, std)
}

/// Checkpoints, each of which is read when it is needed.
#[derive(Clone, Copy, Debug)]
pub(in crate::experiment::stages) struct Gaussians<'a> {
    pub(in crate::experiment::stages) members: &'a [Member],
    pub(in crate::experiment::stages) spec: &'a Spec,
}

impl Members for Gaussians<'_> {
    fn count(&self) -> usize {
        self.members.len()
    }

    fn read(&self, index: usize) -> Result<Cow<'_, Gaussian>> {
        gaussian(&self.members[index], self.spec).map(Cow::Owned)
    }
}
