//! What can be typed behind `onebasin compact`.

use super::DataArgs;
use super::named;
use crate::commands::compact;
use onebasin::align::Solver;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch that can be typed")]
pub(super) struct CompactArgs {
    /// Samples of Markov chains or ensembles: files, or folders of runs
    #[arg(value_name = "SAMPLES", required = true, num_args = 1..)]
    samples: Vec<PathBuf>,
    /// The folder that is written
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// What samples are aligned with before: nothing, the first, the mean of all others in turn, or the Gaussian that fits
    /// them
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "none,first,mean,relabel")]
    #[arg(value_parser = named::<compact::To>(&["none", "first", "mean", "relabel"]))]
    to: Vec<compact::To>,
    /// Directions in which parameters are correlated; 0 for a diagonal Gaussian
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', default_value = "0,20")]
    rank: Vec<usize>,
    /// The posterior that predictions are compared with [default: the samples]
    #[arg(long, value_name = "POSTERIOR")]
    reference: Option<PathBuf>,
    /// Balance the scales of the relu units of each sample before
    #[arg(long)]
    balance: bool,
    /// How permutations are sought; `best` tries all
    #[arg(long, value_name = "NAME", default_value = "best")]
    #[arg(value_parser = named::<Solver>(&["descent", "forward", "frank-wolfe", "best"]))]
    solver: Solver,
    /// At most about so many samples, at equal distances in each chain [default: all]
    #[arg(long = "samples", value_name = "N")]
    most_samples: Option<usize>,
    /// At most so many test images, from the first on [default: all]
    #[arg(long, value_name = "N")]
    images: Option<usize>,
    /// Points that are drawn of each Gaussian
    #[arg(long, value_name = "N", default_value = "100")]
    draws: usize,
    /// Of draws and of the order in which samples are aligned
    #[arg(long, value_name = "N", default_value = "0")]
    seed: u64,
    /// Keep fewer and fewer parameters, those with the smallest standard deviations or the largest ratio of mean to it
    #[arg(long)]
    prune: bool,
    /// Diagonal Gaussians go on to learn what the samples predict, in so many passes over all images of the training part,
    /// without their labels [default: not at all]
    #[arg(long, value_name = "EPOCHS")]
    distil: Option<f64>,
    #[command(flatten)]
    data: DataArgs,
    /// Number of threads, which does not change the result [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Remove what an earlier `onebasin compact` left in the folder
    #[arg(long)]
    force: bool,
    /// Print measures.json instead of tables
    #[arg(long)]
    json: bool,
}

impl CompactArgs {
    pub(super) fn resolve(self) -> compact::Settings {
        compact::Settings {
            samples: self.samples,
            output: self.output,
            data: self.data.resolve(),
            method: compact::Method {
                to: self.to,
                ranks: self.rank,
                reference: self.reference,
                balance: self.balance,
                solver: self.solver,
                samples: self.most_samples,
                images: self.images,
                draws: self.draws,
                seed: self.seed,
                prune: self.prune,
                distil: self.distil,
            },
            threads: self.threads,
            force: self.force,
            json: self.json,
        }
    }
}
