//! From a configuration to results on disk: stages, and experiments that are made of them.
//!
//! A [`Stage`] is one kind of work with its settings, its run and its result: [`Train`], [`Align`], [`Barrier`] and so on.
//! An [`Experiment`] is read from TOML, becomes tasks (a stage in a folder each), and runs them in the order of what they
//! read, skipping those that are up to date.

pub mod config;
mod alone;
mod context;
mod data_config;
mod folder;
mod inputs;
mod literature;
mod made;
mod measures;
mod names;
mod pairing;
mod parts;
mod plan;
mod read;
pub mod reference;
mod run;
mod stage;
pub mod stages;
mod status;
mod tasks;
mod train_config;
mod work;

pub use alone::run_alone;
pub use context::{Context, Host, Owner, Silent};
pub use data_config::{DataConfig, DataSource};
pub use folder::{json, write_text};
pub use inputs::{POSTERIOR, posterior_file};
pub use literature::Literature;
pub use made::{Input, MADE, Made};
pub use measures::{Failure, MEASURES, Measured as MeasuredCell, Measures, TIMES, Times, Trained};
pub use pairing::Pairs;
pub use plan::{Member, Plan, PlannedPair, Section};
pub use read::{Cell, Experiment};
pub use run::EXPERIMENT;
pub use stage::{Existing, Folder, Stage, Task};
pub use stages::align::{Align, AlignSettings};
pub use stages::align_network::AlignNetwork;
pub use stages::barrier::{Barrier, BarrierSettings};
pub use stages::barrier_network::{BarrierNetwork, BatchNorm};
pub use stages::compact::{Compact, CompactSettings};
pub use stages::compact_network::CompactNetwork;
pub use stages::plane::{Plane, PlaneSettings};
pub use stages::plane_network::PlaneNetwork;
pub use stages::train::Train;
pub use stages::{Known, NetworkInputs, PairInputs, Sections};
pub use status::{Kind, Share, State, Status};
pub use train_config::{EvaluateConfig, LogConfig, TrainConfig};
