//! Reads any text as an experiment and as the configuration of a training; lines behind a NUL are settings that override it.

use crate::seeds::{Seed, files};
use onebasin::experiment::{Experiment, TrainConfig};

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut parts = text.split('\0');
    let text = parts.next().unwrap_or_default();
    let overrides: Vec<String> = parts.map(str::to_owned).collect();
    if let Ok(experiment) = Experiment::read("experiment.toml", text, &overrides) {
        assert!(!experiment.cells.is_empty(), "an experiment has a cell");
    }
    if let Ok(config) = TrainConfig::from_toml("training.toml", text, &overrides) {
        let again = TrainConfig::from_toml("training.toml", &config.to_toml(), &[]);
        assert_eq!(again.as_ref(), Ok(&config), "what is written is read again");
    }
}

/// All experiments and configurations of trainings, one of each kind also with settings that override it.
pub(crate) fn seeds() -> Vec<Seed> {
    let folders = ["experiments", "crates/onebasin-cli/src/templates", "crates/onebasin/src/experiment"];
    let mut all: Vec<Seed> = folders.iter().flat_map(|folder| files(folder, &[".toml"])).collect();
    let changed: Vec<Seed> = all
        .iter()
        .filter(|seed| ["digits.toml", "digits-vi.toml", "digits-hmc.toml"].contains(&&*seed.name))
        .map(|seed| Seed {
            name: format!("changed-{}", seed.name),
            bytes: [&seed.bytes[..], b"\0seed=3\0train.seed=3\0infer.optimise.epochs=2"].concat(),
        })
        .collect();
    all.extend(changed);
    all
}
