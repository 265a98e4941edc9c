//! What can be typed behind `onebasin barrier`.

use super::named;
use super::pair::PairArgs;
use crate::commands::barrier;
use crate::commands::barrier::Way;
use onebasin::align::Channel;
use onebasin::measure::BarrierSettings;

#[derive(Debug, clap::Args)]
pub(super) struct BarrierArgs {
    #[command(flatten)]
    pair: PairArgs,
    /// What makes two units alike; several give a curve each [default: w2, if there is no --alignment]
    #[arg(long = "channel", value_name = "NAME", value_delimiter = ',')]
    #[arg(value_parser = named::<Channel>(&["mean", "w2", "kl", "jeffreys"]))]
    channels: Vec<Channel>,
    /// Measure the posteriors only as they are
    #[arg(long, conflicts_with_all = ["channels", "alignment"])]
    no_alignment: bool,
    /// Ways from A to the aligned B; several give a curve each. `natural` is straight in precisions, the others restore the
    /// strength that units lose on the way: their signal (`rescaled` from weights, from moments or on data), or on data
    /// their standard deviation (`scale-only`) and mean (`repair`)
    #[arg(long = "path", value_name = "NAME", value_delimiter = ',', default_value = "geodesic")]
    #[arg(value_parser = named::<Way>(&Way::NAMES))]
    paths: Vec<Way>,
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
}

impl BarrierArgs {
    pub(super) fn resolve(self) -> barrier::Settings {
        let Self { pair, channels, no_alignment, paths, calibrate, points, samples, replicates } = self;
        let by_default = channels.is_empty() && pair.alignment.is_none() && !no_alignment;
        let method = barrier::Method {
            dataset: pair.dataset.clone(),
            splits: pair.splits.clone(),
            images: pair.images,
            test_images: pair.test_images,
            channels: if by_default { vec![Channel::default()] } else { channels },
            solver: pair.solver,
            paths,
            calibrate,
            points,
            samples,
            replicates,
            seed: pair.seed,
        };
        pair.resolve(method)
    }
}
