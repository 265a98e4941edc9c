//! How far apart in permutations networks are: from a common start, on the line between them, and while they are trained.

mod bench;
mod results;

pub use results::Correlations;
pub use results::Moment;
pub use results::OnLine;
pub use results::Pair;
pub use results::Rise;
pub use results::Rises;
pub use results::Started;
pub use results::Transpositions;

use super::Progress;
use super::config::DataConfig;
use super::config::read;
use crate::arch::Arch;
use crate::arch::Preset;
use crate::data::Split;
use crate::error::Error;
use crate::error::Result;
use crate::infer::Map;
use crate::infer::MapConfig;
use crate::infer::Prior;
use crate::infer::Problem;
use crate::infer::member_seed;
use crate::net::Likelihood;
use crate::params::Params;
use crate::path::grid;
use crate::posterior::Gaussian;
use crate::symmetry::Permutations;
use crate::symmetry::Spec;
use bench::Bench;
use serde::Deserialize;
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// Experiments with the number of transpositions, of which at least one is there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TranspositionsConfig {
    /// The seed that all random numbers come from.
    #[serde(default)]
    pub seed: u64,
    /// How often everything is done, each time with other networks.
    pub runs: usize,
    /// Training images that loss and error are measured on, at most, from the first on.
    #[serde(default = "default_images")]
    pub images: usize,
    /// Networks that begin as permuted copies of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<StartConfig>,
    /// The line between two networks that have nothing in common.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<LineConfig>,
    /// Two networks that have nothing in common, while they are trained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamics: Option<DynamicsConfig>,
    /// What to learn from.
    pub data: DataConfig,
    /// The network; `input` and `classes` are those of the data unless given.
    pub arch: Preset,
    /// What its outputs mean.
    #[serde(default)]
    pub likelihood: Likelihood,
    /// What is known of its parameters before.
    pub prior: Prior,
    /// How each network is trained.
    pub infer: MapConfig,
}

fn default_images() -> usize {
    10_000
}

/// Networks that begin as permuted copies of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartConfig {
    /// How many transpositions each copy is away.
    pub transpositions: Vec<usize>,
    /// Whether all see the images in the same order, in which case nothing but rounding can change what was planted.
    #[serde(default)]
    pub same_order: bool,
}

/// The line between two networks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineConfig {
    /// Where it is looked at, ends included; an odd number.
    pub points: usize,
}

/// When two networks are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DynamicsConfig {
    /// After so many passes over the training data.
    pub epochs: Vec<f64>,
}

impl TranspositionsConfig {
    /// Reads TOML, then applies overrides such as `runs=5`, then fills in what the data set implies; `name` is how the
    /// text is called in errors.
    pub fn from_toml(name: &str, text: &str, overrides: &[String]) -> Result<Self> {
        let config: Self = read(name, text, overrides)?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<()> {
        let spec = Spec::of(&Arch::new(self.arch.clone())?);
        self.likelihood.check()?;
        self.prior.check()?;
        self.infer.optimise.check()?;
        let experiments = [self.start.is_some(), self.line.is_some(), self.dynamics.is_some()];
        for (what, count) in [
            ("runs", self.runs),
            ("images", self.images),
            ("the number of groups that can be permuted", spec.groups().len()),
            ("the number of experiments (start, line, dynamics)", experiments.iter().filter(|there| **there).count()),
        ] {
            if count == 0 {
                return Err(Error::Zero { what: what.to_owned() });
            }
        }
        for transpositions in self.planted() {
            Permutations::with_transpositions(&spec, *transpositions, 0)?;
        }
        if let Some(line) = &self.line {
            grid(line.points)?;
        }
        let range = 0.0..=self.infer.optimise.epochs;
        if let Some(value) = self.epochs().into_iter().find(|epoch| !range.contains(epoch)) {
            let (what, expected) = ("a number of dynamics.epochs", "from 0 to infer.optimise.epochs");
            return Err(Error::OutOfRange { what, value: value.to_string(), expected });
        }
        Ok(())
    }

    fn planted(&self) -> &[usize] {
        self.start.as_ref().map_or(&[], |start| &start.transpositions)
    }

    /// In their order.
    fn epochs(&self) -> Vec<f64> {
        let mut epochs = self.dynamics.as_ref().map_or_else(Vec::new, |dynamics| dynamics.epochs.clone());
        epochs.sort_by(f64::total_cmp);
        epochs
    }

    /// Loads the data from the folder `data`, trains and measures.
    ///
    /// `watch` hears how far it is, and may break off: then the result is `None`.
    pub fn run(
        &self,
        data: &Path,
        threads: usize,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Option<Transpositions>> {
        if threads == 0 {
            return Err(Error::Zero { what: "the number of threads".to_owned() });
        }
        let training = self.data.training(data)?;
        let test = self.data.whole(Split::Test, data, training.standardisation())?;
        let problem = Problem {
            arch: Arch::new(self.arch.clone())?,
            likelihood: self.likelihood,
            prior: self.prior,
            temperature: 1.0,
            training: Arc::new(training),
        };
        let mut bench = Bench::new(self, &problem, test, threads, watch)?;
        let mut results = Transpositions::new(self, bench.spec());
        for run in 0..self.runs {
            if self.one(run, &problem, &mut bench, &mut results)?.is_break() {
                return Ok(None);
            }
        }
        results.correlate();
        Ok(Some(results))
    }

    /// Trains all networks of one run side by side, and compares them.
    fn one(
        &self,
        run: usize,
        problem: &Problem,
        bench: &mut Bench<'_>,
        results: &mut Transpositions,
    ) -> Result<ControlFlow<()>> {
        let seed = member_seed(self.seed, run);
        let [first, second] = [0, 1].map(|member| member_seed(seed, member));
        let start = problem.arch.initialise(first);
        let mut networks = vec![(start.clone(), first)];
        if self.independent() {
            networks.push((problem.arch.initialise(second), second));
        }
        let copies = networks.len();
        let mut planted = Vec::new();
        for &transpositions in self.planted() {
            let own = member_seed(seed, 2 + transpositions);
            let permutations = Permutations::with_transpositions(bench.spec(), transpositions, own)?;
            let same_order = self.start.as_ref().is_some_and(|start| start.same_order);
            networks.push((bench.spec().apply(&permutations, &start)?, if same_order { first } else { own }));
            planted.push(permutations);
        }
        let inner = (bench.threads() / networks.len()).max(1);
        let maps = networks.into_iter().map(|(point, order)| Map::at(&self.infer, problem, point, order, inner));
        let mut maps = maps.collect::<Result<Vec<_>>>()?;

        let mut kept = Vec::new();
        for epoch in self.epochs() {
            let step = (epoch * self.infer.optimise.steps_per_epoch(problem.training.len())).round() as u64;
            if bench.train(&mut maps, step).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            kept.push((epoch, [point(&maps[0]), point(&maps[1])]));
        }
        if bench.train(&mut maps, u64::MAX).is_break() {
            return Ok(ControlFlow::Break(()));
        }

        for (permutations, map) in planted.iter().zip(&maps[copies..]) {
            let Some((pair, found)) = bench.compare(&point(&maps[0]), &point(map))? else {
                return Ok(ControlFlow::Break(()));
            };
            results.starts.push(Started::new(run, permutations, &found, pair));
        }
        for (epoch, [first, second]) in kept {
            let Some((pair, _)) = bench.compare(&first, &second)? else { return Ok(ControlFlow::Break(())) };
            results.dynamics.push(Moment { run, epoch, pair });
        }
        if let Some(LineConfig { points }) = self.line {
            let [first, second] = [0, 1].map(|index: usize| point(&maps[index]));
            results.line.extend(bench.line(run, &first, &second, &grid(points)?)?);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Whether there is a second network with a beginning of its own.
    fn independent(&self) -> bool {
        self.line.is_some() || self.dynamics.is_some()
    }

    /// Networks in one run.
    fn networks(&self) -> usize {
        1 + usize::from(self.independent()) + self.planted().len()
    }
}

/// Where a network is now, without width.
fn point(map: &Map) -> Gaussian {
    let std = Params::zeros(map.point().layout());
    Gaussian::new(map.point().clone(), std).expect("zeros are standard deviations of any layout")
}
