//! The criterion `mean`: the squared distance of the mean weights.

use super::{Rule, Side};

pub(super) struct Mean;

impl Rule for Mean {
    fn side(&self) -> Option<Side> {
        Some(|gaussian| vec![gaussian.mean().values()])
    }
}
