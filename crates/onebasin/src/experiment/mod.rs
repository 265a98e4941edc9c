//! From a configuration to results on disk: the only room that knows the whole way.

mod config;
mod planted;
mod run;
mod train;

pub use config::DataConfig;
pub use config::EvaluateConfig;
pub use config::LogConfig;
pub use config::TrainConfig;
pub use planted::PlantedConfig;
pub use planted::Recovery;
pub use run::Files;
pub use train::Next;
pub use train::Outcome;
pub use train::Phase;
pub use train::Prepared;
pub use train::Progress;
pub use train::Record;
pub use train::Summary;
pub use train::Train;
pub use train::Watcher;
