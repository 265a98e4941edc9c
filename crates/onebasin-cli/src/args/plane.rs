//! What can be typed behind `onebasin plane`.

use super::DataArgs;
use super::named;
use crate::commands::plane;
use onebasin::align::Channel;
use onebasin::align::Solver;
use onebasin::data::Split;
use onebasin::measure::PlaneSettings;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct PlaneArgs {
    /// The posterior that stays: a file, or the folder of a run
    #[arg(value_name = "A")]
    from: PathBuf,
    /// The posterior whose units are permuted
    #[arg(value_name = "B")]
    to: PathBuf,
    /// The folder that is written: measures.json and plane.csv [default: none]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// What makes two units alike
    #[arg(long, value_name = "NAME", default_value = "w2", conflicts_with = "alignment")]
    #[arg(value_parser = named::<Channel>(&["mean", "w2", "kl", "jeffreys"]))]
    channel: Channel,
    /// How permutations are sought; `best` tries all
    #[arg(long, value_name = "NAME", default_value = "best")]
    #[arg(value_parser = named::<Solver>(&["descent", "forward", "frank-wolfe", "best"]))]
    solver: Solver,
    /// Permutations of B that `onebasin align` wrote, or its alignment.json
    #[arg(long, value_name = "FILE")]
    alignment: Option<PathBuf>,
    /// Points of the grid along each axis
    #[arg(long, value_name = "N", default_value_t = PlaneSettings::default().points)]
    points: usize,
    /// How far the grid goes beyond the three, as a part of the longer side of the rectangle around them
    #[arg(long, value_name = "PART", default_value_t = PlaneSettings::default().margin)]
    margin: f64,
    /// Draws for the predictive distribution at each point; 0 for none
    #[arg(long, value_name = "N", default_value_t = PlaneSettings::default().samples)]
    samples: usize,
    /// Of draws and the search for permutations
    #[arg(long, value_name = "N", default_value_t = PlaneSettings::default().seed)]
    seed: u64,
    /// Which images to measure on
    #[arg(long = "split", value_name = "NAMES", value_delimiter = ',', default_value = "train,test")]
    #[arg(value_parser = named::<Split>(&["train", "test"]))]
    splits: Vec<Split>,
    /// At most so many training images, from the first on; the log posterior is scaled up from these
    #[arg(long, value_name = "N", default_value = "10000")]
    images: usize,
    #[command(flatten)]
    data: DataArgs,
    /// Number of threads, which does not change the result [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Replace what an earlier measurement left in the folder
    #[arg(long, requires = "output")]
    force: bool,
    /// Print measures.json instead of a table and a map
    #[arg(long)]
    json: bool,
}

impl PlaneArgs {
    pub(super) fn resolve(self) -> plane::Settings {
        plane::Settings {
            posteriors: [self.from, self.to],
            output: self.output,
            data: self.data.resolve(),
            splits: self.splits,
            images: self.images,
            order: match self.alignment {
                Some(file) => plane::Order::Known(file),
                None => plane::Order::Sought { channel: self.channel, solver: self.solver },
            },
            measure: PlaneSettings { points: self.points, margin: self.margin, samples: self.samples, seed: self.seed },
            threads: self.threads,
            force: self.force,
            json: self.json,
        }
    }
}
