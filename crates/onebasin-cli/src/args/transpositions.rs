//! What can be typed behind `onebasin transpositions`.

use super::DataArgs;
use crate::commands::transpositions;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct TranspositionsArgs {
    /// The configuration, such as experiments/transpositions.toml
    #[arg(value_name = "CONFIG.toml")]
    config: PathBuf,
    /// Change one setting of the configuration; may be given several times
    #[arg(long = "set", value_name = "A.B=C")]
    overrides: Vec<String>,
    /// The folder that is written: measures.json, starts.csv, line.csv and dynamics.csv [default: none]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    data: DataArgs,
    /// Number of threads, which does not change the result [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Replace what an earlier measurement left in the folder
    #[arg(long, requires = "output")]
    force: bool,
    /// Print measures.json instead of tables
    #[arg(long)]
    json: bool,
}

impl TranspositionsArgs {
    pub(super) fn resolve(self) -> transpositions::Settings {
        transpositions::Settings {
            config: self.config,
            overrides: self.overrides,
            output: self.output,
            data: self.data.resolve(),
            threads: self.threads,
            force: self.force,
            json: self.json,
        }
    }
}
