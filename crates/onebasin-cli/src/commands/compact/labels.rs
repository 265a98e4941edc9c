//! The permutations that are applied to samples before a Gaussian is fitted to them.

use super::Method;
use super::To;
use indicatif::ProgressBar;
use onebasin::align;
use onebasin::align::Many;
use onebasin::align::Points;
use onebasin::align::Progress;
use onebasin::error::Error;
use onebasin::kernels::Team;
use onebasin::posterior::Draws;
use onebasin::symmetry::Permutations;
use onebasin::symmetry::Spec;
use serde::Deserialize;
use serde::Serialize;
use std::time::Instant;

/// One for each sample.
#[derive(Debug)]
pub(super) struct Labels {
    pub(super) permutations: Vec<Permutations>,
    pub(super) summary: Summary,
}

/// What is known of them.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Summary {
    /// How many samples have other labels than before.
    changed: usize,
    /// The mean over samples of the number of transpositions of all groups.
    mean_transpositions: f64,
    /// The objective before and after each round, if something was sought.
    history: Vec<f64>,
    #[serde(default)]
    seconds: f64,
}

impl Labels {
    pub(super) fn find(
        to: To,
        spec: &Spec,
        samples: &dyn Draws,
        method: &Method,
        team: &Team,
        spinner: &ProgressBar,
    ) -> Result<Self, Error> {
        let begun = Instant::now();
        let points = Points::new(samples, method.seed, usize::MAX);
        let settings = align::Settings { solver: method.solver, seed: method.seed, ..align::Settings::default() };
        let mut watch = |Progress { member, round, .. }: Progress| {
            spinner.set_message(format!("{}: round {round}, sample {member}", to.name()));
        };
        let (permutations, history) = match to {
            To::None => (vec![Permutations::identity(spec); samples.draws(usize::MAX)], Vec::new()),
            To::First => parts(align::to_reference(spec, &points, 0, settings, team, &mut watch)?),
            To::Mean => parts(align::to_mean(spec, &points, settings, team, &mut watch)?),
            To::Relabel => parts(align::relabel(spec, &points, settings, team, &mut watch)?.many),
        };
        let transpositions: Vec<usize> = permutations.iter().map(Permutations::transpositions).collect();
        let summary = Summary {
            changed: transpositions.iter().filter(|transpositions| **transpositions > 0).count(),
            mean_transpositions: transpositions.iter().sum::<usize>() as f64 / transpositions.len() as f64,
            history,
            seconds: begun.elapsed().as_secs_f64(),
        };
        Ok(Self { permutations, summary })
    }
}

fn parts(many: Many) -> (Vec<Permutations>, Vec<f64>) {
    (many.permutations, many.history)
}
