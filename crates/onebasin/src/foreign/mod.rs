//! Networks and checkpoints of other libraries: found, read, permuted and written again in their own format.

mod convention;
mod binding;
mod permute;
mod spec;
mod member;
mod contents;
mod network;
#[cfg(feature = "rten")]
mod run;
#[cfg(not(feature = "rten"))]
#[path = "not_run.rs"]
mod run;
mod check;
mod arrays;
mod model;
mod batchnorm;

pub use arrays::Array;
pub use batchnorm::{BatchNorms, Renewed};
pub use binding::{Binding, Bound, Header, Wanted};
pub use check::{Checked, check_random, compare};
pub use convention::{CONVENTIONS, Convention, POINTS, Transform};
pub use member::Member;
pub use model::NetworkModel;
pub use network::{Feed, Network, ReadOptions};
pub use permute::AxisMaps;
pub use run::Runner;

use crate::error::Error;
use std::fmt;

/// An error of the crates that read files of other libraries, which names the file itself.
fn fault(error: impl fmt::Display) -> Error {
    Error::Checkpoint { fault: error.to_string() }
}
