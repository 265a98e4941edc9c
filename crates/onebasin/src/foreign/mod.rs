//! Networks and checkpoints of other libraries: found, read, permuted and written again in their own format.

mod binding;
mod convention;
mod permute;

pub use binding::{Binding, Bound, Header, Wanted};
pub use convention::{CONVENTIONS, Convention, POINTS, Transform};
pub use permute::AxisMaps;
