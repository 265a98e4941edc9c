//! What can be typed behind `onebasin plane`.

use super::named;
use super::pair::PairArgs;
use crate::commands::plane;
use onebasin::align::Channel;
use onebasin::measure::PlaneSettings;

#[derive(Debug, clap::Args)]
pub(super) struct PlaneArgs {
    #[command(flatten)]
    pair: PairArgs,
    /// What makes two units alike
    #[arg(long, value_name = "NAME", default_value = "w2", conflicts_with = "alignment")]
    #[arg(value_parser = named::<Channel>(&["mean", "w2", "kl", "jeffreys"]))]
    channel: Channel,
    /// Points of the grid along each axis
    #[arg(long, value_name = "N", default_value_t = PlaneSettings::default().points)]
    points: usize,
    /// How far the grid goes beyond the three, as a part of the longer side of the rectangle around them
    #[arg(long, value_name = "PART", default_value_t = PlaneSettings::default().margin)]
    margin: f64,
    /// Draws for the predictive distribution at each point; 0 for none
    #[arg(long, value_name = "N", default_value_t = PlaneSettings::default().samples)]
    samples: usize,
}

impl PlaneArgs {
    pub(super) fn resolve(self) -> plane::Settings {
        let Self { pair, channel, points, margin, samples } = self;
        let method = plane::Method {
            dataset: pair.dataset.clone(),
            splits: pair.splits.clone(),
            images: pair.images,
            test_images: pair.test_images,
            channel,
            solver: pair.solver,
            points,
            margin,
            samples,
            seed: pair.seed,
        };
        pair.resolve(method)
    }
}
