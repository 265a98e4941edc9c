//! The solvers: coordinate descent, greedy layer-wise matching, Frank-Wolfe, and the best of all.

use super::assigners::{Assigners, Duals, Problem, Step};
use super::coordinates::Coordinate;
use super::costs::{Costs, Kept, Room};
use super::moves::take;
use super::objective::{Objective, Value, chosen};
use super::subtask;
use crate::error::Result;
use crate::progress::Monitor;
use crate::rng::Stream;
use crate::symmetry::{Permutation, Spec};
use onebasin_kernels::ThreadPool;

/// Sweeps after which no gain is clear: errors that are not independent could make descent cycle.
const TRUSTED: u64 = 10;
/// Random restarts of `best` where a tensor has one group on both axes or groups come in families.
const RESTARTS: usize = 8;
/// Units of all groups, at most, for restarts. In small networks local optima differ much; in large ones they differ little and cost more.
const RESTARTED: usize = 256;
/// Steps of Frank-Wolfe, at most.
pub(super) const STEPS: usize = 40;
/// Frank-Wolfe ends when all that a step can still gain is this part of the objective.
pub(super) const GAP: f64 = 1e-4;

named_enum! {
    /// How the permutations are found.
    #[derive(Default)]
    #[non_exhaustive]
    pub enum Solver {
        /// Coordinate descent (weight matching): one assignment after the other, in random order, until none gains.
        CoordinateDescent = "coordinate-descent",
        /// Greedy layer-wise matching from the input on; then coordinate descent.
        Greedy = "greedy",
        /// Frank-Wolfe from the centre of the Birkhoff polytope, rounded; then coordinate descent.
        FrankWolfe = "frank-wolfe",
        /// The best of greedy from the input on, greedy from the output on, Frank-Wolfe and coordinate descent. Of wide networks, whose costs take
        /// much memory, Frank-Wolfe is left out; of very wide ones, greedy from the output on too.
        #[default]
        Best = "best",
    }
}

impl Solver {
    /// Bytes of the matrices that it has at once, beside features of so many bytes.
    ///
    /// Frank-Wolfe has a point and a gradient of each group beside the costs.
    pub fn bytes(self, spec: &Spec, features: u128) -> Result<u128> {
        let objective = Objective::new(spec, Vec::new(), None)?;
        let room = Room::of(&objective, features);
        let relaxed = match self {
            Self::FrankWolfe if room.kept == Kept::Nothing => 3,
            Self::FrankWolfe => 2,
            Self::Best if room.kept == Kept::Parts => 2,
            _ => 0,
        };
        Ok(room.bytes + relaxed * room.matrices)
    }
}

named_enum! {
    /// Where coordinate descent starts.
    #[derive(Default)]
    pub enum Start {
        /// No unit is permuted.
        #[default]
        Identity = "identity",
        /// Random permutations.
        Random = "random",
    }
}

/// What one solver found.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Its name.
    pub solver: &'static str,
    /// Its permutations, in the order of the groups.
    pub permutations: Vec<Permutation>,
    /// The objective there.
    pub value: Value,
    /// How many assignment problems it solved.
    pub assignments: usize,
}

pub(super) struct Workspace<'a, 'w, 'm> {
    /// With all permutations at the centre of the Birkhoff polytope, where every solver starts.
    pub(super) costs: Costs<'a>,
    assigners: Assigners,
    seed: u64,
    monitor: &'w mut Monitor<'m>,
    /// The task that the solvers are parts of.
    task: String,
    solver: &'static str,
    /// Assignment problems that had been solved when it started.
    solved_before: usize,
}

impl<'a, 'w, 'm> Workspace<'a, 'w, 'm> {
    pub(super) fn new(
        objective: &'a Objective<'a>,
        pool: &'a ThreadPool,
        seed: u64,
        monitor: &'w mut Monitor<'m>,
    ) -> Self {
        let task = monitor.task().to_owned();
        let (costs, assigners) = (Costs::new(objective, pool), Assigners::new(objective.groups()));
        Self { costs, assigners, seed, monitor, task, solver: "", solved_before: 0 }
    }

    /// Runs a solver; `Best` returns all it tried, the best first.
    pub(super) fn run(&mut self, solver: Solver, start: Start) -> Result<Vec<Attempt>> {
        let coordinates = self.objective().coordinates.len();
        Ok(match solver {
            Solver::CoordinateDescent => vec![self.descent(start)?],
            Solver::Greedy => vec![self.greedy("greedy", 0..coordinates)?],
            Solver::FrankWolfe => vec![self.frank_wolfe()?],
            Solver::Best => {
                let mut attempts = vec![self.greedy("greedy", 0..coordinates)?];
                if self.costs.kept == Kept::Parts {
                    attempts.push(self.frank_wolfe()?);
                }
                if self.costs.kept > Kept::Nothing {
                    attempts.push(self.greedy("greedy-backward", (0..coordinates).rev())?);
                }
                attempts.push(self.descent(start)?);
                for restart in 0..restarts(self.objective()) {
                    let permutations = random_start(self.objective(), self.seed, &format!("align/restart/{restart}"));
                    attempts.push(self.descent_from("random-restart", permutations)?);
                }
                // Stable: of equals the first.
                attempts.sort_by(|a, b| b.value.total.total_cmp(&a.value.total));
                attempts
            }
        })
    }

    fn objective(&self) -> &'a Objective<'a> {
        self.costs.objective
    }

    /// Number of assignment problems solved.
    pub(super) fn solved(&self) -> usize {
        self.assigners.solved
    }

    /// Names what is being solved from now on.
    pub(super) fn begin(&mut self, solver: &'static str) {
        self.solver = solver;
        self.solved_before = self.assigners.solved;
        self.monitor.set_task(subtask(&self.task, solver));
    }

    /// What the solver at work found.
    fn attempt(&self, permutations: Vec<Permutation>) -> Attempt {
        let value = self.objective().value(self.costs.pool, &permutations);
        let assignments = self.assigners.solved - self.solved_before;
        Attempt { solver: self.solver, permutations, value, assignments }
    }

    fn descent(&mut self, start: Start) -> Result<Attempt> {
        let objective = self.objective();
        let identity = |group: usize| Permutation::identity(objective.size(group));
        let permutations = match start {
            Start::Identity => (0..objective.groups()).map(identity).collect(),
            Start::Random => random_start(objective, self.seed, "align/start"),
        };
        self.descent_from("coordinate-descent", permutations)
    }

    fn descent_from(&mut self, name: &'static str, permutations: Vec<Permutation>) -> Result<Attempt> {
        self.begin(name);
        let costs = self.costs.fork();
        let duals = vec![None; self.objective().groups()];
        self.descend(costs, permutations, duals)
    }

    /// Assigns coordinate after coordinate, those not yet assigned being at the centre of the Birkhoff polytope; then descends.
    fn greedy(&mut self, name: &'static str, order: impl Iterator<Item = usize>) -> Result<Attempt> {
        self.begin(name);
        let objective = self.objective();
        let mut costs = self.costs.fork();
        let mut duals: Duals = vec![None; objective.groups()];
        let mut known: Vec<Option<Permutation>> = vec![None; objective.groups()];
        for batch in independent(objective, order) {
            for portion in costs.portions(&batch) {
                for group in portion.iter().flat_map(|coordinate| coordinate.groups()) {
                    costs.update(group, |other| known[other].as_ref());
                }
                for (coordinate, step) in portion.iter().zip(self.solve(&portion, &costs.matrices, &mut duals)?) {
                    for (group, new) in coordinate.groups().zip(step.permutations) {
                        known[group] = Some(new);
                    }
                }
                costs.release(&portion);
            }
        }
        let permutations = known.into_iter().map(|known| known.expect("every group was assigned")).collect();
        self.descend(costs, permutations, duals)
    }

    /// Coordinate ascent of the objective: assigns coordinates in random order until none gains.
    fn descend(&mut self, costs: Costs<'a>, mut permutations: Vec<Permutation>, mut duals: Duals) -> Result<Attempt> {
        self.sweep(costs, &mut permutations, &mut duals, u64::MAX)?;
        Ok(self.attempt(permutations))
    }

    /// Improves permutations by some sweeps of coordinate ascent, from the duals of a similar problem.
    pub(super) fn improve(&mut self, permutations: &mut [Permutation], duals: &mut Duals, sweeps: u64) -> Result<()> {
        let costs = self.costs.fork();
        self.sweep(costs, permutations, duals, sweeps)
    }

    fn sweep(
        &mut self,
        mut costs: Costs<'a>,
        permutations: &mut [Permutation],
        duals: &mut Duals,
        sweeps: u64,
    ) -> Result<()> {
        let objective = self.objective();
        // Of each group: whether nothing that its costs depend on has changed since it was assigned.
        let mut settled = vec![false; objective.groups()];
        for sweep in 0..sweeps {
            let count = objective.coordinates.len();
            let order = Permutation::random(count, &Stream::new(self.seed, "align/order", sweep));
            let order = order.as_slice().iter().map(|coordinate| *coordinate as usize);
            for mut batch in independent(objective, order) {
                batch.retain(|coordinate| coordinate.groups().any(|group| !settled[group]));
                for portion in costs.portions(&batch) {
                    for group in portion.iter().flat_map(|coordinate| coordinate.groups()) {
                        costs.update(group, |other| Some(&permutations[other]));
                        settled[group] = true;
                    }
                    for (coordinate, step) in portion.iter().zip(self.solve(&portion, &costs.matrices, duals)?) {
                        for changed in take(&costs, coordinate, step, permutations, sweep < TRUSTED) {
                            objective.neighbours[changed].iter().for_each(|other| settled[*other] = false);
                        }
                    }
                    costs.release(&portion);
                }
            }
            if settled.iter().all(|settled| *settled) {
                break;
            }
        }
        Ok(())
    }

    /// Frank-Wolfe over doubly stochastic matrices, from the centre of the Birkhoff polytope, with the exact step.
    ///
    /// The gradient is linear in the matrices, so that of an average is the average of those at permutations: the costs are
    /// only ever needed at permutations, and those of successive steps differ little.
    fn frank_wolfe(&mut self) -> Result<Attempt> {
        self.begin("frank-wolfe");
        let objective = self.objective();
        let groups: Vec<usize> = (0..objective.groups()).collect();
        let coordinates: Vec<&Coordinate> = objective.coordinates.iter().collect();
        let mut costs = self.costs.fork();
        let mut duals: Duals = vec![None; groups.len()];
        let mut points: Vec<Vec<f32>> = groups
            .iter()
            .map(|group| vec![1.0 / objective.size(*group) as f32; objective.size(*group).pow(2)])
            .collect();
        if costs.kept < Kept::Parts {
            for group in &groups {
                costs.begin(*group);
            }
        }
        let mut gradients: Vec<Vec<f32>> = groups.iter().map(|group| costs.matrices[*group].clone()).collect();
        for _ in 0..STEPS {
            let steps = self.solve(&coordinates, &gradients, &mut duals)?;
            let vertices = by_group(&objective.coordinates, steps);
            for &group in &groups {
                costs.update(group, |other| Some(&vertices[other]));
            }
            let (mut slope, mut curvature, mut size) = (0.0, 0.0, 0.0);
            for &group in &groups {
                let (gradient, vertex, point) = (&gradients[group], vertices[group].as_slice(), &points[group]);
                let ahead = chosen(gradient, vertex);
                let here = inner(gradient, point);
                slope += ahead - here;
                size += here.abs();
                let matrix = &costs.matrices[group];
                curvature += 0.5 * (chosen(matrix, vertex) - inner(matrix, point) - ahead + here);
            }
            if slope <= GAP * size {
                break;
            }
            let step = if curvature >= 0.0 { 1.0 } else { (-0.5 * slope / curvature).min(1.0) } as f32;
            for &group in &groups {
                for (gradient, vertex) in gradients[group].iter_mut().zip(&costs.matrices[group]) {
                    *gradient += step * (vertex - *gradient);
                }
                let rows = points[group].chunks_exact_mut(objective.size(group));
                for (row, column) in rows.zip(vertices[group].as_slice()) {
                    for value in &mut *row {
                        *value *= 1.0 - step;
                    }
                    row[*column as usize] += step;
                }
            }
        }
        costs.release(&coordinates);
        let rounded = self.solve(&coordinates, &points, &mut vec![None; groups.len()])?;
        self.descend(costs, by_group(&objective.coordinates, rounded), duals)
    }

    /// Solves the problems of some coordinates, side by side.
    fn solve(&mut self, coordinates: &[&Coordinate], matrices: &[Vec<f32>], duals: &mut Duals) -> Result<Vec<Step>> {
        let found = self.assigners.solve(self.costs.pool, &problems(coordinates), matrices, duals, self.monitor);
        found.map_err(|error| self.objective().explain(error))
    }

    /// Solves the problems of some coordinates, each from column duals that are made of its matrix and the number of its units.
    pub(super) fn assign_from(
        &mut self,
        costs: &Costs<'_>,
        coordinates: &[&Coordinate],
        start: impl Fn(&[f32], usize) -> Option<Vec<f64>> + Sync,
    ) -> Result<Vec<Step>> {
        let (pool, problems) = (self.costs.pool, problems(coordinates));
        let found = self.assigners.solve_from(pool, &problems, &costs.matrices, start, self.monitor);
        found.map_err(|error| self.objective().explain(error))
    }
}

fn problems<'c>(coordinates: &[&'c Coordinate]) -> Vec<Problem<'c>> {
    coordinates.iter().map(|coordinate| Problem { coordinate, first: 0 }).collect()
}

/// The permutations of all groups, in their order.
pub(super) fn by_group(coordinates: &[Coordinate], steps: impl IntoIterator<Item = Step>) -> Vec<Permutation> {
    let each = coordinates.iter().zip(steps).flat_map(|(coordinate, step)| coordinate.groups().zip(step.permutations));
    let mut all: Vec<(usize, Permutation)> = each.collect();
    all.sort_by_key(|(group, _)| *group);
    all.into_iter().map(|(_, permutation)| permutation).collect()
}

/// How often `best` starts again.
fn restarts(objective: &Objective<'_>) -> usize {
    let units: usize = (0..objective.groups()).map(|group| objective.size(group)).sum();
    let structured = objective.coordinates.iter().any(|own| own.coupled || !own.children.is_empty());
    if structured && units <= RESTARTED { RESTARTS } else { 0 }
}

/// Random permutations that keep the blocks of families.
fn random_start(objective: &Objective<'_>, seed: u64, label: &str) -> Vec<Permutation> {
    let stream = |group: usize| Stream::new(seed, label, group as u64);
    let mut all: Vec<Permutation> =
        (0..objective.groups()).map(|group| Permutation::random(objective.size(group), &stream(group))).collect();
    for coordinate in &objective.coordinates {
        for &child in &coordinate.children {
            let blocks = &all[coordinate.outer];
            let len = objective.size(child) / blocks.len();
            let stream = |block: usize| Stream::new(seed, &format!("{label}/{child}"), block as u64);
            let inner: Vec<_> = (0..blocks.len()).map(|block| Permutation::random(len, &stream(block))).collect();
            let composed = Permutation::of_blocks(blocks, |block| inner[block].as_slice());
            all[child] = composed.expect("permutations inside of blocks");
        }
    }
    all
}

/// Sum of the products of two matrices, entry by entry.
pub(super) fn inner(a: &[f32], b: &[f32]) -> f64 {
    // Short sums in f32 lanes would be faster, but this is far from being the longest part of a step.
    a.iter().zip(b).fold(0.0, |total, (a, b)| total + f64::from(*a) * f64::from(*b))
}

/// The order as batches of coordinates that share no tensor. Those that do keep their order: the result stays the same.
fn independent<'a>(objective: &'a Objective<'_>, order: impl Iterator<Item = usize>) -> Vec<Vec<&'a Coordinate>> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    for index in order {
        let neighbours = &objective.coordinates[index].neighbours;
        let meets = |batch: &Vec<usize>| batch.iter().any(|other| neighbours.contains(other));
        match batches.iter().rposition(meets).map_or(0, |last| last + 1) {
            at if at < batches.len() => batches[at].push(index),
            _ => batches.push(vec![index]),
        }
    }
    let coordinates = |batch: Vec<usize>| batch.into_iter().map(|index| &objective.coordinates[index]).collect();
    batches.into_iter().map(coordinates).collect()
}
