//! Alignment problems whose solution is known: noisy copies with permuted units, and how many units each solver finds.

use super::config::from_table;
use super::config::read_table;
use crate::align;
use crate::align::Channel;
use crate::align::Settings;
use crate::align::Solver;
use crate::arch::Arch;
use crate::arch::Preset;
use crate::error::Error;
use crate::error::Result;
use crate::kernels::Team;
use crate::params::Params;
use crate::posterior::Gaussian;
use crate::rng::Stream;
use crate::symmetry::Permutations;
use crate::symmetry::Spec;
use serde::Deserialize;
use serde::Serialize;
use std::ops::ControlFlow;

/// Planted problems, from easy to hopeless.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlantedConfig {
    /// The seed that all random numbers come from.
    #[serde(default)]
    pub seed: u64,
    /// Problems of each kind.
    pub instances: usize,
    /// Correlations of the copy's parameters with the original's.
    pub correlations: Vec<f32>,
    /// The network.
    pub arch: Preset,
}

/// What one solver found of the problems of one correlation; means over the instances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// Of the copy's parameters with the original's.
    pub correlation: f32,
    /// The solver.
    pub solver: Solver,
    /// The share of all units that it put in their place.
    pub recovered: f64,
    /// Its objective as a part of that of the planted permutations.
    pub objective: f64,
    /// Assignment problems it solved.
    pub assignments: f64,
}

/// The solvers that are compared.
const SOLVERS: [Solver; 4] = [Solver::Descent, Solver::Forward, Solver::FrankWolfe, Solver::Best];

impl PlantedConfig {
    /// Reads TOML, then applies overrides such as `instances=10`; `name` is how the text is called in errors.
    pub fn from_toml(name: &str, text: &str, overrides: &[String]) -> Result<Self> {
        let config: Self = from_table(name, &read_table(name, text, overrides)?)?;
        if config.instances == 0 {
            return Err(Error::Zero { what: "instances".to_owned() });
        }
        if let Some(value) = config.correlations.iter().find(|value| !(0.0..=1.0).contains(*value)) {
            let value = value.to_string();
            return Err(Error::OutOfRange { what: "a number of correlations", value, expected: "from 0 to 1" });
        }
        Arch::new(config.arch.clone())?;
        Ok(config)
    }

    /// Solves all problems with all solvers; `watch` hears how many of how many are done, and may break off: then the result
    /// is `None`.
    pub fn run(
        &self,
        team: &Team,
        watch: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
    ) -> Result<Option<Vec<Recovery>>> {
        let arch = Arch::new(self.arch.clone())?;
        let spec = Spec::of(&arch);
        let total = self.correlations.len() * self.instances;
        let mut rows = Vec::new();
        for (index, &correlation) in self.correlations.iter().enumerate() {
            let empty = |solver| Recovery { correlation, solver, recovered: 0.0, objective: 0.0, assignments: 0.0 };
            let mut found = SOLVERS.map(empty);
            for instance in 0..self.instances {
                let problem = Problem::new(&arch, &spec, correlation, self.seed, instance as u64)?;
                for row in &mut found {
                    problem.solve(&spec, row, self, team)?;
                }
                if watch(index * self.instances + instance + 1, total).is_break() {
                    return Ok(None);
                }
            }
            rows.extend(found);
        }
        Ok(Some(rows))
    }
}

struct Problem {
    original: Gaussian,
    copy: Gaussian,
    /// What brings the copy back.
    planted: Permutations,
    /// The objective there.
    value: f64,
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
        let value = original.dot(&copy)?;
        let hidden = Permutations::random(spec, seed.wrapping_add(instance));
        let point = |params: Params| {
            let std = Params::zeros(params.layout());
            Gaussian::new(params, std)
        };
        let copy = point(spec.apply(&hidden, &copy)?)?;
        Ok(Self { original: point(original)?, copy, planted: hidden.inverse(), value })
    }

    fn solve(&self, spec: &Spec, row: &mut Recovery, config: &PlantedConfig, team: &Team) -> Result<()> {
        let settings =
            Settings { channel: Channel::Mean, solver: row.solver, seed: config.seed, ..Settings::default() };
        let found = align::pair(spec, &self.original, &self.copy, settings, team, &mut |_| ())?;
        let instances = config.instances as f64;
        row.recovered += found.permutations.agreement(&self.planted) / instances;
        row.objective += found.after.total / self.value / instances;
        row.assignments += found.assignments() as f64 / instances;
        Ok(())
    }
}
