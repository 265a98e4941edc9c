//! What can be typed behind `onebasin barrier`.

use super::DataArgs;
use super::named;
use crate::commands::barrier;
use crate::commands::barrier::Way;
use onebasin::align::Channel;
use onebasin::align::Solver;
use onebasin::data::Split;
use onebasin::measure::BarrierSettings;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags are bools")]
pub(super) struct BarrierArgs {
    /// The posterior that stays: a file, or the folder of a run
    #[arg(value_name = "A")]
    from: PathBuf,
    /// The posterior whose units are permuted
    #[arg(value_name = "B")]
    to: PathBuf,
    /// The folder that is written: measures.json and curves.csv [default: none]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// What makes two units alike; several give a curve each [default: w2, if there is no --alignment]
    #[arg(long = "channel", value_name = "NAME", value_delimiter = ',')]
    #[arg(value_parser = named::<Channel>(&["mean", "w2", "kl", "jeffreys"]))]
    channels: Vec<Channel>,
    /// How permutations are sought; `best` tries all
    #[arg(long, value_name = "NAME", default_value = "best")]
    #[arg(value_parser = named::<Solver>(&["descent", "forward", "frank-wolfe", "best"]))]
    solver: Solver,
    /// Permutations of B that `onebasin align` wrote, or its alignment.json
    #[arg(long, value_name = "FILE")]
    alignment: Option<PathBuf>,
    /// Measure the posteriors only as they are
    #[arg(long, conflicts_with_all = ["channels", "alignment"])]
    no_alignment: bool,
    /// Ways from A to the aligned B; several give a curve each. `natural` is straight in precisions, the others restore the
    /// strength that units lose on the way: their signal (`rescaled` from weights, from moments or on data), or on data
    /// their standard deviation (`scale-only`) and mean (`repair`)
    #[arg(long = "path", value_name = "NAME", value_delimiter = ',', default_value = "geodesic")]
    #[arg(value_parser = named::<Way>(&Way::NAMES))]
    ways: Vec<Way>,
    /// Measure each curve also with the softmax temperature that is best on training images, point by point
    #[arg(long)]
    calibrate: bool,
    /// Points of each path, an odd number
    #[arg(long, value_name = "N", default_value_t = BarrierSettings::default().points)]
    points: usize,
    /// Draws from the posterior at each point
    #[arg(long, value_name = "N", default_value_t = BarrierSettings::default().samples)]
    samples: usize,
    /// Bootstrap replicates behind the standard errors
    #[arg(long, value_name = "N", default_value_t = BarrierSettings::default().replicates)]
    replicates: usize,
    /// Of draws, replicates and the search for permutations
    #[arg(long, value_name = "N", default_value_t = BarrierSettings::default().seed)]
    seed: u64,
    /// Which images to measure on
    #[arg(long = "split", value_name = "NAMES", value_delimiter = ',', default_value = "train,test")]
    #[arg(value_parser = named::<Split>(&["train", "test"]))]
    splits: Vec<Split>,
    /// At most so many training images, from the first on
    #[arg(long, value_name = "N", default_value = "10000")]
    images: usize,
    /// Another data set than the one that A was trained on
    #[arg(long, value_name = "NAME")]
    dataset: Option<String>,
    #[command(flatten)]
    data: DataArgs,
    /// Number of threads, which does not change the result [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Replace what an earlier measurement left in the folder
    #[arg(long, requires = "output")]
    force: bool,
    /// Print measures.json instead of a table
    #[arg(long)]
    json: bool,
}

impl BarrierArgs {
    pub(super) fn resolve(self) -> barrier::Settings {
        let by_default = self.channels.is_empty() && self.alignment.is_none() && !self.no_alignment;
        barrier::Settings {
            posteriors: [self.from, self.to],
            output: self.output,
            data: self.data.resolve(),
            dataset: self.dataset,
            splits: self.splits,
            images: self.images,
            alignment: self.alignment,
            channels: if by_default { vec![Channel::default()] } else { self.channels },
            solver: self.solver,
            ways: self.ways,
            calibrate: self.calibrate,
            measure: BarrierSettings {
                points: self.points,
                samples: self.samples,
                replicates: self.replicates,
                seed: self.seed,
            },
            threads: self.threads,
            force: self.force,
            json: self.json,
        }
    }
}
