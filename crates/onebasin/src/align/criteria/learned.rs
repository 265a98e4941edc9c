//! The criterion `learned`: the loss between the posteriors, which [`crate::align::learn`] minimises.

use super::Rule;

pub(super) struct Learned;

impl Rule for Learned {
    fn needs_data(&self) -> bool {
        true
    }
}
