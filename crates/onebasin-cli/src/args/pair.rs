//! What can be typed behind every command that measures something between two posteriors.

use super::DataArgs;
use super::named;
use crate::commands::pairs;
use onebasin::align::Solver;
use onebasin::data::Split;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct PairArgs {
    /// The posterior that stays: a file, or the folder of a run
    #[arg(value_name = "A")]
    pub(super) from: PathBuf,
    /// The posterior whose units are permuted
    #[arg(value_name = "B")]
    pub(super) to: PathBuf,
    /// The folder that is written: measures.json and all points as comma-separated values [default: none]
    #[arg(short, long, value_name = "DIR")]
    pub(super) output: Option<PathBuf>,
    /// How permutations are sought; `best` tries all
    #[arg(long, value_name = "NAME", default_value = "best")]
    #[arg(value_parser = named::<Solver>(&["descent", "forward", "frank-wolfe", "best"]))]
    pub(super) solver: Solver,
    /// Permutations of B that `onebasin align` wrote, or its alignment.json
    #[arg(long, value_name = "FILE")]
    pub(super) alignment: Option<PathBuf>,
    /// Of draws and the search for permutations
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) seed: u64,
    /// Which images to measure on
    #[arg(long = "split", value_name = "NAMES", value_delimiter = ',', default_value = "train,test")]
    #[arg(value_parser = named::<Split>(&["train", "test"]))]
    pub(super) splits: Vec<Split>,
    /// At most so many training images, from the first on
    #[arg(long, value_name = "N", default_value = "10000")]
    pub(super) images: usize,
    /// At most so many test images, from the first on [default: all]
    #[arg(long, value_name = "N")]
    pub(super) test_images: Option<usize>,
    /// Another data set than the one that A was trained on
    #[arg(long, value_name = "NAME")]
    pub(super) dataset: Option<String>,
    #[command(flatten)]
    pub(super) data: DataArgs,
    /// Number of threads, which does not change the result [default: one for each core]
    #[arg(long, value_name = "N")]
    pub(super) threads: Option<usize>,
    /// Replace what an earlier measurement left in the folder
    #[arg(long, requires = "output")]
    pub(super) force: bool,
    /// Print measures.json instead of a table
    #[arg(long)]
    pub(super) json: bool,
}

impl PairArgs {
    pub(super) fn resolve<M>(self, method: M) -> pairs::Settings<M> {
        pairs::Settings {
            posteriors: [self.from, self.to],
            output: self.output,
            data: self.data.resolve(),
            alignment: self.alignment,
            method,
            threads: self.threads,
            force: self.force,
            json: self.json,
        }
    }
}
