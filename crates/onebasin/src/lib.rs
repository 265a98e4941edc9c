#![doc = include_str!("../../../README.md")]

pub mod error;
pub mod kernels;
pub mod rng;
pub mod params;
pub mod arch;
pub mod data;
pub mod assign;
pub mod symmetry;
pub mod net;
pub mod posterior;
pub mod infer;
pub mod store;
pub mod align;
pub mod path;
pub mod measure;
pub mod experiment;
