//! Reports of small experiments that the library runs.

mod damage;
mod folders;
mod pages;
mod stages;

use onebasin::experiment::{Context, Experiment, Measures, Silent};
use onebasin::threads;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Two different posteriors of the built-in digits, and all stages that compare a pair.
const PAIR: &str = r#"
    title = "Pair"
    about = "Two posteriors, few samples."

    [train]
    data = { name = "digits", subsets = ["half:a"], scaling = "standard" }
    arch = { preset = "mlp", hidden = [14, 11] }
    prior.variance = 0.1
    evaluate.samples = 1
    infer = { method = "vi", std = 0.05, optimise = { epochs = 4, batch = 50, learning_rate = 1e-2 } }

    [align]
    criteria = ["w2", "kl"]
    solvers = ["coordinate-descent"]

    [barrier]
    paths = ["geodesic", "natural"]
    calibrate = true
    points = 5
    samples = 6
    replicates = 10
    train_examples = 80
    test_examples = 80

    [plane]
    points = 3
    samples = 2
    train_examples = 80
    test_examples = 80
"#;

/// A folder that is removed when the test ends.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Runs an experiment that stands in a file, in a folder inside this one.
    fn run(&self, name: &str, file: &str, text: &str, overrides: &[&str]) -> Measures {
        let overrides: Vec<String> = overrides.iter().map(|setting| (*setting).to_owned()).collect();
        let context = Context { pool: threads::pool(1).unwrap(), data: Path::new(""), host: &Silent };
        let experiment = Experiment::read(file, text, &overrides).unwrap();
        experiment.run(&self.path(name), "a machine".to_owned(), BTreeMap::new(), &context).unwrap()
    }
}
