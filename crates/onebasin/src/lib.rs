//! Brings neural-network posteriors into one basin: networks, inference, alignment, measures and experiments.
//!
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

#[macro_use]
mod named;
mod wording;
pub mod error;
pub mod hash;
pub mod keys;
pub mod progress;
pub mod threads;
pub mod rng;
pub mod params;
pub mod arch;
pub mod data;
pub mod model;
pub mod assign;
pub mod symmetry;
pub mod net;
pub mod posterior;
pub mod infer;
pub mod store;
pub mod align;
pub mod path;
pub mod foreign;
pub mod measure;
pub mod experiment;
