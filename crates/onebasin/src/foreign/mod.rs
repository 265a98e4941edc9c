//! Networks and checkpoints of other libraries: found, read, permuted and written again in their own format.

mod transform;
mod convention;
mod listing;
mod binding;
mod pyro;
mod names;
mod flat;
mod explain;
mod recognise;
mod permute;
mod spec;
mod source;
mod member;
mod contents;
mod network;
#[cfg(feature = "rten")]
mod run;
#[cfg(not(feature = "rten"))]
#[path = "not_run.rs"]
mod run;
mod check;
mod model;
mod batchnorm;

pub use batchnorm::{BatchNorms, Renewed};
pub use binding::{Binding, Bound, Slot, Stored, Wanted};
pub use check::{Checked, check_random, compare};
pub use convention::{CONVENTIONS, Convention, FLAT, POINTS};
pub use listing::{Header, Listing, Tensors};
pub use member::Member;
pub use model::NetworkModel;
pub use network::{Feed, Network, Reading};
pub use permute::AxisMaps;
pub use run::Runner;
pub use source::{Array, Arrays, TensorSource};
pub use transform::Transform;

use crate::error::Error;
use std::fmt;

/// An error of the crates that read files of other libraries, which names the file itself.
fn fault(error: impl fmt::Display) -> Error {
    Error::Checkpoint { fault: error.to_string() }
}
