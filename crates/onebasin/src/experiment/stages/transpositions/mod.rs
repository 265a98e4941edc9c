//! How far apart in permutations networks are: from a common start, on the line between them, and while they are trained.

mod results;

pub use results::{
    Correlations, LinePoint, MidpointBarrier, MidpointBarriers, Pair, Snapshot, Start, TranspositionsResult,
};

use crate::align::Criterion;
use crate::arch::{Arch, Preset};
use crate::data::{Examples, Split, Subset};
use crate::error::{Error, Result};
use crate::experiment::{Context, DataConfig, Folder, Plan, Section, Stage};
use crate::infer::{Inference, Map, MapConfig, Prior, Problem, member_seed};
use crate::keys::number;
use crate::measure::{BarrierSettings, Barriers, Curves};
use crate::net::{Likelihood, Precision};
use crate::params::Params;
use crate::path::{Geodesic, Path, grid};
use crate::posterior::{Gaussian, Predictor};
use crate::progress::Monitor;
use crate::symmetry::{Permutations, Spec};
use crate::threads::ThreadPool;
use crate::{align, threads};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Number of steps that each network takes before all wait for each other.
const STRIDE: u64 = 10;
/// The ends and the midpoint: all that barriers at the midpoint need.
const MIDPOINT: BarrierSettings = BarrierSettings { points: 3, samples: 1, replicates: 2, seed: 0 };

/// Experiments with the number of transpositions, at least one: the table `[transpositions]` of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TranspositionsSettings {
    /// Seed that all random numbers come from.
    #[serde(default)]
    pub seed: u64,
    /// Number of repetitions, each with other networks.
    pub runs: usize,
    /// Precision of activations and weights where they are multiplied.
    #[serde(default, skip_serializing_if = "Precision::is_default")]
    pub precision: Precision,
    /// Number of training examples that loss and error are measured on at most, from the first on.
    #[serde(default = "number::<10_000, usize>")]
    #[schemars(extend("x-unit" = "examples"))]
    pub train_examples: usize,
    /// Networks that start as permuted copies of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<StartSettings>,
    /// The line between two independent networks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<LineSettings>,
    /// Two independent networks while they are trained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamics: Option<DynamicsSettings>,
    /// The data set.
    pub data: DataConfig,
    /// The network; `input` and `classes` are those of the data unless given.
    pub arch: Preset,
    /// Likelihood of the network's outputs.
    #[serde(default)]
    pub likelihood: Likelihood,
    /// Prior of the network's parameters.
    pub prior: Prior,
    /// Optimisation that trains each network.
    pub infer: MapConfig,
}

/// Networks that start as permuted copies of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartSettings {
    /// Number of transpositions of each copy.
    pub transpositions: Vec<usize>,
    /// Whether all see the examples in the same order, so that only rounding can change the planted permutation.
    #[serde(default)]
    pub same_order: bool,
}

/// The line between two networks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LineSettings {
    /// Number of points of the line, ends included; odd, so that the midpoint is one of them.
    pub points: usize,
}

/// When two networks are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DynamicsSettings {
    /// Numbers of epochs after which they are compared.
    #[schemars(extend("x-unit" = "epochs"))]
    pub epochs: Vec<f64>,
}

impl Section for TranspositionsSettings {
    fn check(&self) -> Result<()> {
        self.data.check().map_err(|error| error.within("data"))?;
        let spec = Spec::of(&Arch::new(self.arch.clone())?);
        self.likelihood.check().map_err(|error| error.within("likelihood"))?;
        self.prior.check().map_err(|error| error.within("prior"))?;
        self.infer.optimise.check().map_err(|error| error.within("infer.optimise"))?;
        Error::unless_counted("runs", self.runs)?;
        Error::unless_counted("train_examples", self.train_examples)?;
        if spec.groups().is_empty() {
            let arch = serde_json::to_string(&self.arch).expect("a network is plain data");
            return Err(Error::setting("arch", arch, "a network with hidden units, which can be permuted"));
        }
        let any = self.start.is_some() || self.independent();
        Error::unless(any, "start, line, dynamics", "missing", "given, at least one of them")?;
        for transpositions in self.planted() {
            Permutations::with_transpositions(&spec, *transpositions, 0)?;
        }
        if let Some(line) = &self.line {
            grid(line.points)?;
        }
        let range = 0.0..=self.infer.optimise.epochs;
        let expected = "a list of numbers from 0 to infer.optimise.epochs";
        Error::unless_all("dynamics.epochs", &self.epochs(), |epoch| range.contains(epoch), expected)
    }

    fn plan(&self, plan: &mut Plan<'_>) -> Result<()> {
        plan.add(Self::NAME, self.clone());
        Ok(())
    }

    fn datasets(&self) -> Vec<String> {
        self.data.name.iter().cloned().collect()
    }
}

impl TranspositionsSettings {
    fn planted(&self) -> &[usize] {
        self.start.as_ref().map_or(&[], |start| &start.transpositions)
    }

    /// Numbers of epochs after which networks are compared, in increasing order.
    fn epochs(&self) -> Vec<f64> {
        let mut epochs = self.dynamics.as_ref().map_or_else(Vec::new, |dynamics| dynamics.epochs.clone());
        epochs.sort_by(f64::total_cmp);
        epochs
    }

    /// Whether there is a second, independent network.
    fn independent(&self) -> bool {
        self.line.is_some() || self.dynamics.is_some()
    }

    /// Number of networks in each repetition.
    fn networks(&self) -> usize {
        1 + usize::from(self.independent()) + self.planted().len()
    }
}

impl Stage for TranspositionsSettings {
    const NAME: &'static str = "transpositions";
    const REVISION: u32 = 2;
    const FILES: &'static [&'static str] = results::TABLES;
    type Result = TranspositionsResult;

    fn run(&self, context: &Context<'_>, _: Option<&Folder>) -> Result<TranspositionsResult> {
        self.check()?;
        let training = self.data.training(context.data)?;
        let test = self.data.whole(Split::Test, context.data, training.standardisation())?;
        let problem = Problem {
            arch: Arch::new(self.arch.clone())?,
            likelihood: self.likelihood,
            prior: self.prior,
            temperature: 1.0,
            precision: self.precision,
            training: Arc::new(training),
        };
        let mut runner = Runner::new(self, &problem, test, &context.pool)?;
        let sizes = runner.spec.groups().iter().map(|group| group.size);
        let expected = |size: usize| size as f64 - (1..=size).map(|cycle| 1.0 / cycle as f64).sum::<f64>();
        let mut result = TranspositionsResult {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings: self.clone(),
            units: sizes.clone().sum(),
            unrelated: sizes.map(expected).sum(),
            starts: Vec::new(),
            line: Vec::new(),
            dynamics: Vec::new(),
            correlations: None,
        };
        context.monitored("training", |monitor| {
            (0..self.runs).try_for_each(|run| self.repeat(run, &problem, &mut runner, &mut result, monitor))
        })?;
        result.correlate();
        Ok(result)
    }

    fn tables(result: &TranspositionsResult) -> Vec<(&'static str, String)> {
        result.tables()
    }
}

impl TranspositionsSettings {
    /// Trains all networks of one repetition side by side, and compares them.
    fn repeat(
        &self,
        run: usize,
        problem: &Problem,
        runner: &mut Runner,
        result: &mut TranspositionsResult,
        monitor: &mut Monitor<'_>,
    ) -> Result<()> {
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
            let permutations = Permutations::with_transpositions(&runner.spec, transpositions, own)?;
            let same_order = self.start.as_ref().is_some_and(|start| start.same_order);
            networks.push((runner.spec.apply(&permutations, &start)?, if same_order { first } else { own }));
            planted.push(permutations);
        }
        let count = networks.len();
        let maps = networks
            .into_iter()
            .map(|(point, order)| Map::at(&self.infer, problem, point, order, &threads::inner(&runner.pool, count)?));
        let mut maps = maps.collect::<Result<Vec<_>>>()?;

        let mut snapshots = Vec::new();
        for epoch in self.epochs() {
            let step = (epoch * self.infer.optimise.steps_per_epoch(problem.training.len())).round() as u64;
            runner.train(&mut maps, step, monitor)?;
            snapshots.push((epoch, [point(&maps[0]), point(&maps[1])]));
        }
        runner.train(&mut maps, u64::MAX, monitor)?;

        for (permutations, map) in planted.iter().zip(&maps[copies..]) {
            let (pair, found) = runner.compare(&point(&maps[0]), &point(map), monitor)?;
            result.starts.push(Start {
                run,
                planted: permutations.transpositions(),
                recovered: found.agreement(&permutations.inverse()),
                off: found.after(permutations).transpositions(),
                pair,
            });
        }
        for (epoch, [first, second]) in snapshots {
            let (pair, _) = runner.compare(&first, &second, monitor)?;
            result.dynamics.push(Snapshot { run, epoch, pair });
        }
        if let Some(LineSettings { points }) = self.line {
            let [first, second] = [0, 1].map(|index: usize| point(&maps[index]));
            result.line.extend(runner.line(run, [&first, &second], &grid(points)?, monitor)?);
        }
        Ok(())
    }
}

/// What all runs share, and how much of the work is done.
struct Runner {
    spec: Spec,
    predictor: Predictor,
    pool: ThreadPool,
    /// Training and test examples.
    examples: [Examples; 2],
    seed: u64,
    /// Cost of a comparison in steps: it evaluates all examples six times, and a step its batch about three times.
    comparison: u64,
    /// Steps done.
    done: u64,
    /// Steps in all.
    total: u64,
}

impl Runner {
    fn new(settings: &TranspositionsSettings, problem: &Problem, test: Examples, pool: &ThreadPool) -> Result<Self> {
        problem.check()?;
        test.check_fits(&problem.arch)?;
        let training = &problem.training;
        let some = Subset::First(settings.train_examples.min(training.len())).apply(training.dataset())?;
        let train = Examples::new(some, training.standardisation().clone())?;
        let comparison = (2 * (train.len() + test.len()) / settings.infer.optimise.batch) as u64;
        let each = settings.networks() as u64 * settings.infer.optimise.steps(training.len())
            + (settings.planted().len() + settings.epochs().len()) as u64 * comparison;
        Ok(Self {
            spec: Spec::of(&problem.arch),
            predictor: Predictor::new(&problem.arch, problem.likelihood, problem.precision, pool)?,
            pool: pool.clone(),
            examples: [train, test],
            seed: settings.seed,
            comparison,
            done: 0,
            total: settings.runs as u64 * each,
        })
    }

    /// Trains all networks, which are at the same step, up to another one or their last.
    fn train(&mut self, maps: &mut [Map], until: u64, monitor: &mut Monitor<'_>) -> Result<()> {
        monitor.set_task("training");
        let until = until.min(maps[0].total());
        while maps[0].done() < until {
            let steps = STRIDE.min(until - maps[0].done());
            self.pool.chunks(maps, 1, |_, map| (0..steps).for_each(|_| map[0].step()));
            self.done += steps * maps.len() as u64;
            monitor.at(self.done as usize, self.total as usize)?;
        }
        Ok(())
    }

    /// Aligns one network with another and measures the barriers between them, before and after.
    fn compare(
        &mut self,
        fixed: &Gaussian,
        moved: &Gaussian,
        monitor: &mut Monitor<'_>,
    ) -> Result<(Pair, Permutations)> {
        monitor.set_task("measuring");
        let (done, total) = (self.done as usize, self.total as usize);
        let compared = monitor.unit(done, total, |monitor| {
            let permutations = self.align(fixed, moved, monitor)?;
            let mean = self.spec.apply(&permutations, moved.mean())?;
            let aligned = Gaussian::new(mean, moved.std().clone())?;
            let mut barriers = Vec::with_capacity(self.examples.len());
            for examples in &self.examples {
                let mut along = |to: &Gaussian| {
                    let path = Geodesic::new(fixed, to)?;
                    Curves::along(&path, &mut self.predictor, examples, false, MIDPOINT, monitor)
                };
                let [before, after] = [along(moved)?.path, along(&aligned)?.path];
                let ends = [before.points[0], before.points[2]];
                let barrier = |before: Barriers, after: Barriers, ends: [f64; 2]| MidpointBarrier {
                    ends: 0.5 * (ends[0] + ends[1]),
                    before: before.midpoint.value,
                    after: after.midpoint.value,
                };
                barriers.push(MidpointBarriers {
                    loss: barrier(before.loss, after.loss, ends.map(|end| end.loss.value)),
                    error: barrier(before.error, after.error, ends.map(|end| end.error.value)),
                });
            }
            let pair = Pair {
                transpositions: permutations.transpositions(),
                distance_before: fixed.distance(moved)?,
                distance_after: fixed.distance(&aligned)?,
                train: barriers[0],
                test: barriers[1],
            };
            Ok((pair, permutations))
        })?;
        self.done += self.comparison;
        Ok(compared)
    }

    /// Number of transpositions that align points of a line with each of its ends.
    fn line(
        &self,
        run: usize,
        [first, second]: [&Gaussian; 2],
        grid: &[f64],
        monitor: &mut Monitor<'_>,
    ) -> Result<Vec<LinePoint>> {
        let path = Geodesic::new(first, second)?;
        monitor.unit(self.done as usize, self.total as usize, |monitor| {
            let mut points = Vec::with_capacity(grid.len());
            for &tau in grid {
                let here = path.at(tau)?;
                let from_first = self.align(first, &here, monitor)?.transpositions();
                let from_second = self.align(second, &here, monitor)?.transpositions();
                points.push(LinePoint { run, tau, from_first, from_second });
            }
            Ok(points)
        })
    }

    fn align(&self, fixed: &Gaussian, moved: &Gaussian, monitor: &mut Monitor<'_>) -> Result<Permutations> {
        let settings = align::Settings { criterion: Criterion::Mean, seed: self.seed, ..align::Settings::default() };
        Ok(align::pair(&self.spec, fixed, moved, settings, &self.pool, monitor)?.permutations)
    }
}

/// The parameters of a network, with standard deviations of zero.
fn point(map: &Map) -> Gaussian {
    let std = Params::zeros(map.point().layout());
    Gaussian::new(map.point().clone(), std).expect("zeros are standard deviations of any layout")
}
