//! Networks of other libraries as graphs, and which of their units can be permuted.

#![forbid(unsafe_code)]

mod error;
mod graph;
mod build;
pub mod onnx;
pub mod pt2;
pub mod symmetry;

pub use build::{Builder, Convolution};
pub use error::{Error, Result};
pub use graph::{Graph, Index, Kind, Node, Op, Value, ValueId};
