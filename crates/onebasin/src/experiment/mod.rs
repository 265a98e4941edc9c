//! From a configuration to results on disk: the only room that knows the whole way.

mod config;
mod planted;
mod run;
mod train;
mod transpositions;

pub use config::DataConfig;
pub use config::EvaluateConfig;
pub use config::LogConfig;
pub use config::TrainConfig;
pub use config::from_table;
pub use config::read_table;
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
pub use transpositions::Correlations;
pub use transpositions::DynamicsConfig;
pub use transpositions::LineConfig;
pub use transpositions::Moment;
pub use transpositions::OnLine;
pub use transpositions::Pair;
pub use transpositions::Rise;
pub use transpositions::Rises;
pub use transpositions::StartConfig;
pub use transpositions::Started;
pub use transpositions::Transpositions;
pub use transpositions::TranspositionsConfig;
