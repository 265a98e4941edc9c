//! The criterion `activation`: the correlations of activations on data, which [`crate::align::by_activation`] computes.

use super::Rule;

pub(super) struct Activation;

impl Rule for Activation {
    fn needs_data(&self) -> bool {
        true
    }
}
