//! Alignment problems whose solution is known: noisy copies with permuted units, and how many units each solver recovers.

use crate::align;
use crate::align::{Criterion, Solver};
use crate::arch::{Arch, Preset};
use crate::error::{Error, Result};
use crate::experiment::{Context, Folder, Plan, Section, Stage};
use crate::params::Params;
use crate::posterior::Gaussian;
use crate::progress::Monitor;
use crate::rng::Stream;
use crate::symmetry::{Permutations, Spec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Planted problems, from easy to hopeless: the table `[planted]` of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlantedSettings {
    /// Seed that all random numbers come from.
    #[serde(default)]
    pub seed: u64,
    /// Number of problems for each correlation.
    pub instances: usize,
    /// Correlations of the copy's parameters with the original's.
    pub correlations: Vec<f32>,
    /// The network.
    pub arch: Preset,
}

impl Section for PlantedSettings {
    fn check(&self) -> Result<()> {
        Error::unless_counted("instances", self.instances)?;
        let allowed = |value: &f32| (0.0..=1.0).contains(value);
        Error::unless_all("correlations", &self.correlations, allowed, "a list of numbers from 0 to 1")?;
        Arch::new(self.arch.clone()).map(drop)
    }

    fn plan(&self, plan: &mut Plan<'_>) -> Result<()> {
        plan.add(Self::NAME, self.clone());
        Ok(())
    }
}

/// What all solvers recovered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlantedResult {
    /// Version of onebasin.
    pub version: String,
    /// The problems.
    pub settings: PlantedSettings,
    /// One row for each correlation and solver.
    pub rows: Vec<Recovery>,
}

/// What one solver recovered in the problems of one correlation; means over the instances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// Correlation of the copy's parameters with the original's.
    pub correlation: f32,
    /// The solver.
    pub solver: Solver,
    /// Share of all units that it put back in their place.
    pub recovered: f64,
    /// Its objective, divided by that of the planted permutations.
    pub objective: f64,
    /// Number of assignment problems that it solved.
    pub assignments: f64,
}

impl Stage for PlantedSettings {
    const NAME: &'static str = "planted";
    const REVISION: u32 = 1;
    type Result = PlantedResult;

    fn run(&self, context: &Context<'_>, _: Option<&Folder>) -> Result<PlantedResult> {
        self.check()?;
        let rows = context.monitored("planted problems", |monitor| self.solve(context, monitor))?;
        Ok(PlantedResult { version: env!("CARGO_PKG_VERSION").to_owned(), settings: self.clone(), rows })
    }
}

impl PlantedSettings {
    fn solve(&self, context: &Context<'_>, monitor: &mut Monitor<'_>) -> Result<Vec<Recovery>> {
        let Self { seed, instances, correlations, arch } = self;
        let arch = Arch::new(arch.clone())?;
        let spec = Spec::of(&arch);
        let total = correlations.len() * instances;
        let mut rows = Vec::new();
        for (index, &correlation) in correlations.iter().enumerate() {
            let empty = |solver| Recovery { correlation, solver, recovered: 0.0, objective: 0.0, assignments: 0.0 };
            let mut found: Vec<Recovery> = Solver::ALL.iter().copied().map(empty).collect();
            for instance in 0..*instances {
                let done = index * instances + instance;
                let problem = Problem::new(&arch, &spec, correlation, *seed, instance as u64)?;
                for row in &mut found {
                    let (criterion, solver) = (Criterion::Mean, row.solver);
                    let settings = align::Settings { criterion, solver, seed: *seed, ..align::Settings::default() };
                    let [fixed, moved] = [&problem.original, &problem.copy];
                    let alignment = monitor.unit(done, total, |monitor| {
                        align::pair(&spec, fixed, moved, settings, &context.pool, monitor)
                    })?;
                    let count = *instances as f64;
                    row.recovered += alignment.permutations.agreement(&problem.planted) / count;
                    row.objective += alignment.after.total / problem.objective / count;
                    row.assignments += alignment.assignments() as f64 / count;
                }
                monitor.at(done + 1, total)?;
            }
            rows.extend(found);
        }
        Ok(rows)
    }
}

/// A network, a noisy copy of it with permuted units, and what undoes the permutation.
struct Problem {
    original: Gaussian,
    copy: Gaussian,
    /// What brings the units of the copy back.
    planted: Permutations,
    /// Objective of the planted permutations.
    objective: f64,
}

impl Problem {
    /// All parameters of the original are N(0, 1); those of the copy ρ times these and √(1 − ρ²) N(0, 1), permuted.
    fn new(arch: &Arch, spec: &Spec, correlation: f32, seed: u64, instance: u64) -> Result<Self> {
        let normal = |label: &str| {
            let mut params = Params::zeros(arch.layout());
            Stream::new(seed, label, instance).fill_normal(params.values_mut());
            params
        };
        let original = normal("planted/original");
        let mut copy = original.clone();
        copy.scale(correlation);
        copy.add_scaled((1.0 - correlation * correlation).sqrt(), &normal("planted/noise"))?;
        let objective = original.dot(&copy)?;
        let hidden = Permutations::random(spec, seed.wrapping_add(instance));
        let point = |params: Params| {
            let std = Params::zeros(params.layout());
            Gaussian::new(params, std)
        };
        let copy = point(spec.apply(&hidden, &copy)?)?;
        Ok(Self { original: point(original)?, copy, planted: hidden.inverse(), objective })
    }
}
