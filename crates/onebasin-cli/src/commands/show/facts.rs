//! What configurations say, and what an experiment measured.

use super::Description;
use onebasin::experiment::{Experiment, Measures, TrainConfig};
use std::collections::BTreeSet;
use std::path::Path;

/// What a configuration says.
pub(super) fn training_facts(shown: &mut Description, config: &TrainConfig) {
    let plain = serde_json::to_value(config).unwrap_or_default();
    for (name, key) in [("network", "arch"), ("data", "data"), ("prior", "prior"), ("method", "infer")] {
        shown.fact(name, plain[key].clone());
    }
    shown.fact("seed", config.seed);
    shown.maybe("started at", config.start.as_ref().map(|start| start.display().to_string()));
}

/// What an experiment asks for.
pub(super) fn experiment_facts(shown: &mut Description, experiment: &Experiment) {
    shown.fact("title", experiment.title.clone());
    let cells = &experiment.cells;
    shown.fact("cells", cells.len());
    let swept: BTreeSet<&String> = cells.iter().flat_map(|cell| cell.settings.keys()).collect();
    shown.maybe("swept", (!swept.is_empty()).then(|| swept.into_iter().cloned().collect::<Vec<_>>().join(", ")));
    let posteriors: BTreeSet<&String> =
        cells.iter().flat_map(|cell| cell.posteriors.iter().map(|own| &own.id)).collect();
    shown.fact("posteriors", posteriors.len());
    let first = cells.first();
    let stages = first.map(|cell| cell.sections.all().iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "));
    shown.maybe("stages", stages);
    let training = first.and_then(|cell| cell.posteriors.first()).map(|own| serde_json::to_value(&own.config));
    if let Some(Ok(plain)) = training {
        for (name, key) in [("network", "arch"), ("data", "data"), ("method", "infer")] {
            shown.fact(name, plain[key].clone());
        }
    }
}

/// The measures of a whole experiment.
pub(super) fn measures(path: &Path, found: &Measures) -> Description {
    let mut shown = Description::new(path, "all measures of an experiment");
    shown.fact("title", found.title.clone());
    shown.fact("written by", format!("onebasin {}", found.version));
    shown.fact("cells", found.cells.len());
    shown.fact("stages", found.cells.iter().map(|cell| cell.stages.len()).sum::<usize>());
    shown
}
