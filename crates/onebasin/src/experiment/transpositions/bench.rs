//! The place where networks are trained side by side and compared two by two.

use super::TranspositionsConfig;
use super::results::OnLine;
use super::results::Pair;
use super::results::Rise;
use super::results::Rises;
use crate::align;
use crate::align::Channel;
use crate::data::Examples;
use crate::data::Subset;
use crate::error::Error;
use crate::error::Result;
use crate::experiment::Phase;
use crate::experiment::Progress;
use crate::infer::Inference;
use crate::infer::Map;
use crate::infer::Problem;
use crate::kernels::Team;
use crate::measure::BarrierSettings;
use crate::measure::Curves;
use crate::path::Geodesic;
use crate::path::Path;
use crate::posterior::Gaussian;
use crate::posterior::Predictor;
use crate::symmetry::Permutations;
use crate::symmetry::Spec;
use std::ops::ControlFlow;

/// Steps that each network takes before all wait for each other, as in an ensemble.
const STRIDE: u64 = 10;
/// The ends and the middle: all that barriers at the midpoint need.
const MIDPOINT: BarrierSettings = BarrierSettings { points: 3, samples: 1, replicates: 2, seed: 0 };

pub(super) struct Bench<'a> {
    spec: Spec,
    predictor: Predictor,
    team: Team,
    threads: usize,
    /// Training and test images.
    images: [Examples; 2],
    seed: u64,
    watch: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    /// What a comparison costs, in steps: it evaluates all images six times, and a step its batch about three times.
    comparison: u64,
    /// In steps.
    done: u64,
    total: u64,
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        config: &TranspositionsConfig,
        problem: &Problem,
        test: Examples,
        threads: usize,
        watch: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Self> {
        problem.check()?;
        test.check_fits(&problem.arch)?;
        let training = &problem.training;
        let some = Subset::First(config.images.min(training.len())).apply(training.dataset())?;
        let train = Examples::new(some, training.standardisation().clone())?;
        let comparison = (2 * (train.len() + test.len()) / config.infer.optimise.batch) as u64;
        let each = config.networks() as u64 * config.infer.optimise.steps(training.len())
            + (config.planted().len() + config.epochs().len()) as u64 * comparison;
        let side_by_side = threads.min(config.networks());
        Ok(Self {
            spec: Spec::of(&problem.arch),
            predictor: Predictor::new(&problem.arch, problem.likelihood, threads)?,
            team: Team::new(side_by_side).map_err(|error| Error::Threads { threads, reason: error.to_string() })?,
            threads,
            images: [train, test],
            seed: config.seed,
            watch,
            comparison,
            done: 0,
            total: config.runs as u64 * each,
        })
    }

    pub(super) fn spec(&self) -> &Spec {
        &self.spec
    }
    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Trains all networks, which are at the same step, up to another one or their last.
    pub(super) fn train(&mut self, maps: &mut [Map], until: u64) -> ControlFlow<()> {
        let until = until.min(maps[0].total());
        while maps[0].done() < until {
            let steps = STRIDE.min(until - maps[0].done());
            self.team.chunks(maps, 1, |_, map| (0..steps).for_each(|_| map[0].step()));
            self.done += steps * maps.len() as u64;
            (self.watch)(Progress { phase: Phase::Training, done: self.done, total: self.total })?;
        }
        ControlFlow::Continue(())
    }

    /// Aligns one network with another and measures both ways between them; `None` if told to stop.
    pub(super) fn compare(&mut self, fixed: &Gaussian, moved: &Gaussian) -> Result<Option<(Pair, Permutations)>> {
        let permutations = self.align(fixed, moved)?;
        let mean = self.spec.apply(&permutations, moved.mean())?;
        let aligned = Gaussian::new(mean, moved.std().clone())?;
        let mut rises = Vec::with_capacity(self.images.len());
        for images in &self.images {
            let progress = Progress { phase: Phase::Evaluating, done: self.done, total: self.total };
            let mut go_on = |_, _| (self.watch)(progress);
            let mut along = |to: &Gaussian| {
                let path = Geodesic::new(fixed, to)?;
                Curves::along(&path, &mut self.predictor, images, None, MIDPOINT, &mut go_on)
            };
            let Some(before) = along(moved)? else { return Ok(None) };
            let Some(after) = along(&aligned)? else { return Ok(None) };
            let [before, after] = [before.path, after.path];
            let ends = [before.points[0], before.points[2]];
            rises.push(Rises {
                loss: Rise::new([before.loss, after.loss], ends.map(|end| end.loss.value)),
                error: Rise::new([before.error, after.error], ends.map(|end| end.error.value)),
            });
        }
        self.done += self.comparison;
        let pair = Pair {
            transpositions: permutations.transpositions(),
            distance_before: fixed.distance(moved)?,
            distance_after: fixed.distance(&aligned)?,
            train: rises[0],
            test: rises[1],
        };
        Ok(Some((pair, permutations)))
    }

    /// How far in transpositions the points of a line are from both of its ends.
    pub(super) fn line(&self, run: usize, first: &Gaussian, second: &Gaussian, grid: &[f64]) -> Result<Vec<OnLine>> {
        let path = Geodesic::new(first, second)?;
        let mut points = Vec::with_capacity(grid.len());
        for &tau in grid {
            let here = path.at(tau)?;
            let [from_first, from_second] = [self.align(first, &here)?, self.align(second, &here)?];
            points.push(OnLine {
                run,
                tau,
                from_first: from_first.transpositions(),
                from_second: from_second.transpositions(),
            });
        }
        Ok(points)
    }

    fn align(&self, fixed: &Gaussian, moved: &Gaussian) -> Result<Permutations> {
        let settings = align::Settings { channel: Channel::Mean, seed: self.seed, ..align::Settings::default() };
        let found = align::pair(&self.spec, fixed, moved, settings, self.predictor.team(), &mut |_| ())?;
        Ok(found.permutations)
    }
}
