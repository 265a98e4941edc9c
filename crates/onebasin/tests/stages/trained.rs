//! Posteriors that stages read, and the golden results of their trainings.

use crate::golden::check;
use onebasin::experiment::{Context, Existing, Silent, Stage, Train, TrainConfig};
use onebasin::threads::pool;
use std::path::{Path, PathBuf};

const VI: &str = r#"
    data.name = "digits"
    arch = { preset = "mlp", hidden = [12, 8] }
    prior.variance = 0.1
    infer = { method = "vi", std = 0.1, optimise = { epochs = 20, batch = 100, learning_rate = 2e-2 } }
    evaluate.samples = 8
"#;
const HMC: &str = r#"
    data = { name = "digits", subsets = ["first:200"] }
    arch = { preset = "mlp", hidden = [6] }
    prior.variance = 0.1
    infer = { method = "hmc", chains = 2, burn_in = 20, samples = 10 }
    evaluate.samples = 8
"#;

fn stage(text: &str, seed: u64) -> Train {
    Train::new(TrainConfig::from_toml("test", text, &[format!("seed={seed}")]).unwrap())
}

/// The folder of a training in `folder`.
fn train(text: &str, seed: u64, name: &str, folder: &Path) -> PathBuf {
    let context = Context { pool: pool(2).unwrap(), data: Path::new(""), host: &Silent };
    let own = folder.join(name);
    stage(text, seed).run_in(&own, Existing::Refuse, &context).unwrap();
    own
}

/// Two variational posteriors.
pub(crate) fn gaussians(folder: &Path) -> [PathBuf; 2] {
    [1, 2].map(|seed| train(VI, seed, &format!("seed{seed}"), folder))
}

/// Samples of two chains.
pub(crate) fn samples(folder: &Path) -> PathBuf {
    train(HMC, 0, "chains", folder)
}

#[test]
fn trainings_give_the_golden_results() {
    let folder = tempfile::tempdir().unwrap();
    check("train-vi", &stage(VI, 1), folder.path());
    check("train-hmc", &stage(HMC, 0), folder.path());
}

/// No golden file: another order of sums changes what is rounded, and that grows from step to step.
#[test]
fn a_training_in_bf16_predicts_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let context = Context { pool: pool(2).unwrap(), data: Path::new(""), host: &Silent };
    let [single, rounded] = ["f32", "bf16"].map(|precision| {
        let text = format!("precision = '{precision}'\n{VI}");
        stage(&text, 1).run_in(&folder.path().join(precision), Existing::Refuse, &context).unwrap()
    });
    let off = (rounded.test.nll - single.test.nll).abs() / single.test.nll;
    assert!(off > 0.0 && off < 0.05, "{} and {}", rounded.test.nll, single.test.nll);
}
