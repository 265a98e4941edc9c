//! The solvers: coordinate descent, greedy layer-wise matching, Frank-Wolfe, and the best of all.

use super::costs::Costs;
use super::objective::{Objective, Value, chosen};
use super::subtask;
use crate::assign::{Assigner, Assignment, Goal};
use crate::error::Result;
use crate::progress::Monitor;
use crate::rng::Stream;
use crate::symmetry::Permutation;
use onebasin_kernels::{Isa, ThreadPool};
use std::borrow::Cow;
use std::sync::Mutex;

/// A gain that is a smaller part of the sum than this may be rounding, and is looked at in f64.
const CLEAR: f64 = 1e-5;
/// And so is one within so many standard deviations of the rounding of costs.
const SURE: f64 = 6.0;
/// Sweeps after which no gain is clear: errors that are not independent could make descent cycle.
const TRUSTED: u64 = 10;
/// Steps of Frank-Wolfe, at most.
pub(super) const STEPS: usize = 40;
/// Frank-Wolfe ends when all that a step can still gain is this part of the objective.
pub(super) const GAP: f64 = 1e-4;
/// Problems of each thread between two reports of progress: few, so that work stops soon, and enough to balance the threads.
const TOGETHER: usize = 4;
const NO_PANIC: &str = "nobody panics while holding an assigner";

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
        /// The best of four: greedy from the input on, greedy from the output on, Frank-Wolfe, coordinate descent.
        #[default]
        Best = "best",
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
        let groups = self.objective().groups();
        Ok(match solver {
            Solver::CoordinateDescent => vec![self.descent(start)?],
            Solver::Greedy => vec![self.greedy("greedy", 0..groups)?],
            Solver::FrankWolfe => vec![self.frank_wolfe()?],
            Solver::Best => {
                let mut attempts = vec![
                    self.greedy("greedy", 0..groups)?,
                    self.frank_wolfe()?,
                    self.greedy("greedy-backward", (0..groups).rev())?,
                    self.descent(start)?,
                ];
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
        self.begin("coordinate-descent");
        let objective = self.objective();
        let sizes = (0..objective.groups()).map(|group| objective.size(group));
        let permutations = match start {
            Start::Identity => sizes.map(Permutation::identity).collect(),
            Start::Random => sizes
                .enumerate()
                .map(|(group, size)| Permutation::random(size, &Stream::new(self.seed, "align/start", group as u64)))
                .collect(),
        };
        let costs = self.costs.fork();
        let duals = vec![None; objective.groups()];
        self.descend(costs, permutations, duals)
    }

    /// Assigns group after group, those not yet assigned being at the centre of the Birkhoff polytope; then descends.
    fn greedy(&mut self, name: &'static str, order: impl Iterator<Item = usize>) -> Result<Attempt> {
        self.begin(name);
        let objective = self.objective();
        let mut costs = self.costs.fork();
        let mut duals: Duals = vec![None; objective.groups()];
        let mut known: Vec<Option<Permutation>> = vec![None; objective.groups()];
        for batch in independent(objective, order) {
            for &group in &batch {
                costs.update(group, |other| known[other].as_ref());
            }
            for (group, assignment) in batch.iter().zip(self.solve(&batch, &costs.matrices, &mut duals)?) {
                known[*group] = Some(permutation(assignment));
            }
        }
        let permutations = known.into_iter().map(|known| known.expect("every group was assigned")).collect();
        self.descend(costs, permutations, duals)
    }

    /// Coordinate ascent of the objective: assigns groups in random order until none gains.
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
        let mut settled = vec![false; objective.groups()];
        for sweep in 0..sweeps {
            let order = Permutation::random(objective.groups(), &Stream::new(self.seed, "align/order", sweep));
            let order = order.as_slice().iter().map(|group| *group as usize);
            for batch in independent(objective, order) {
                let batch: Vec<usize> = batch.into_iter().filter(|group| !settled[*group]).collect();
                for &group in &batch {
                    costs.update(group, |other| Some(&permutations[other]));
                    settled[group] = true;
                }
                for (&group, assignment) in batch.iter().zip(self.solve(&batch, &costs.matrices, duals)?) {
                    let trusted = sweep < TRUSTED;
                    if let Some(new) = better(&costs, group, permutation(assignment), permutations, trusted) {
                        permutations[group] = new;
                        objective.neighbours[group].iter().for_each(|other| settled[*other] = false);
                    }
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
        let mut costs = self.costs.fork();
        let mut duals: Duals = vec![None; groups.len()];
        let mut points: Vec<Vec<f32>> = groups
            .iter()
            .map(|group| vec![1.0 / objective.size(*group) as f32; objective.size(*group).pow(2)])
            .collect();
        let mut gradients: Vec<Vec<f32>> = groups.iter().map(|group| costs.matrices[*group].clone()).collect();
        for _ in 0..STEPS {
            let found = self.solve(&groups, &gradients, &mut duals)?;
            let vertices: Vec<Permutation> = found.into_iter().map(permutation).collect();
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
        let rounded = self.solve(&groups, &points, &mut vec![None; groups.len()])?;
        let permutations = rounded.into_iter().map(permutation).collect();
        self.descend(costs, permutations, duals)
    }

    /// Solves the problems of some groups, side by side.
    fn solve(&mut self, groups: &[usize], matrices: &[Vec<f32>], duals: &mut Duals) -> Result<Vec<Assignment>> {
        let objective = self.objective();
        let problem = |group: usize| (&matrices[group][..], objective.size(group));
        let found = self.assigners.solve(self.costs.pool, groups, problem, duals, self.monitor);
        found.map_err(|error| objective.explain(error))
    }

    /// Solves the problems of all groups, each from column duals that are made of its matrix and the number of its units.
    pub(super) fn assign_from(
        &mut self,
        costs: &Costs<'_>,
        start: impl Fn(&[f32], usize) -> Option<Vec<f64>> + Sync,
    ) -> Result<Vec<Assignment>> {
        let objective = self.objective();
        let groups: Vec<usize> = (0..objective.groups()).collect();
        let problem = |group: usize| (&costs.matrices[group][..], objective.size(group));
        let start = |_, gains: &[f32], units| start(gains, units).map(Cow::from);
        let found = self.assigners.solve_from(self.costs.pool, &groups, problem, start, self.monitor);
        found.map_err(|error| objective.explain(error))
    }
}

/// The last column duals of each problem: where its next assignment starts.
pub(super) type Duals = Vec<Option<Vec<f64>>>;

/// Problems that are solved side by side, each warm-started from the duals of the one before it: their memory, and how many were solved.
pub(super) struct Assigners {
    problems: Vec<Mutex<Assigner>>,
    pub(super) solved: usize,
}

impl Assigners {
    pub(super) fn new(count: usize) -> Self {
        Self { problems: (0..count).map(|_| Mutex::new(Assigner::new(Isa::detect()))).collect(), solved: 0 }
    }

    /// Solves some of the problems; `problem` gives the gains, (rows, columns), and their number of rows.
    pub(super) fn solve<'m>(
        &mut self,
        pool: &ThreadPool,
        problems: &[usize],
        problem: impl Fn(usize) -> (&'m [f32], usize) + Sync,
        duals: &mut Duals,
        monitor: &mut Monitor<'_>,
    ) -> Result<Vec<Assignment>> {
        let start = |number: usize, _: &[f32], _| duals[number].as_deref().map(Cow::from);
        let found = self.solve_from(pool, problems, problem, start, monitor)?;
        for (number, assignment) in problems.iter().zip(&found) {
            duals[*number] = Some(assignment.column_duals.clone());
        }
        Ok(found)
    }

    /// The same, each from the column duals that `start` makes of its number, its gains and their number of rows.
    pub(super) fn solve_from<'m, 's>(
        &mut self,
        pool: &ThreadPool,
        problems: &[usize],
        problem: impl Fn(usize) -> (&'m [f32], usize) + Sync,
        start: impl Fn(usize, &[f32], usize) -> Option<Cow<'s, [f64]>> + Sync,
        monitor: &mut Monitor<'_>,
    ) -> Result<Vec<Assignment>> {
        let found: Vec<Mutex<Option<Result<Assignment>>>> = problems.iter().map(|_| Mutex::new(None)).collect();
        let together = TOGETHER * pool.threads();
        for (problems, found) in problems.chunks(together).zip(found.chunks(together)) {
            pool.for_each(problems.len(), |index| {
                let number = problems[index];
                let mut assigner = self.problems[number].lock().expect(NO_PANIC);
                let (gains, rows) = problem(number);
                let solved = assigner.solve(Goal::Maximise, gains, rows, start(number, gains, rows).as_deref());
                *found[index].lock().expect(NO_PANIC) = Some(solved);
            });
            self.solved += problems.len();
            monitor.at(self.solved, 0)?;
        }
        let found = found.into_iter().map(|found| found.into_inner().expect(NO_PANIC).expect("each was solved"));
        found.collect()
    }
}

pub(super) fn permutation(assignment: Assignment) -> Permutation {
    Permutation::new(assignment.columns).expect("an assignment is a permutation")
}

/// The new permutation of a group as far as it is truly better than the present one, not by rounding only; none if it is not at all.
///
/// With the others as they are, what is gained is the sum over the cycles in which units exchange their partners, so each is taken or left.
fn better(
    costs: &Costs<'_>,
    group: usize,
    new: Permutation,
    permutations: &[Permutation],
    trusted: bool,
) -> Option<Permutation> {
    let (old, own) = (permutations[group].as_slice(), new.as_slice());
    let (mut gain, mut size, mut count) = (0.0, 0.0, 0.0);
    for (row, (new, old)) in costs.matrices[group].chunks_exact(old.len()).zip(own.iter().zip(old)) {
        if new != old {
            let (new, old) = (f64::from(row[*new as usize]), f64::from(row[*old as usize]));
            gain += new - old;
            size += new.abs() + old.abs();
            count += 1.0;
        }
    }
    let rounding = SURE * costs.errors[group] * f64::sqrt(2.0 * count);
    if trusted && gain > CLEAR * size + rounding {
        return Some(new);
    }
    let holder = permutations[group].inverse();
    let (mut kept, mut seen) = (old.to_vec(), vec![false; old.len()]);
    for start in 0..old.len() {
        let (mut cycle, mut unit) = (Vec::new(), start);
        while !seen[unit] {
            seen[unit] = true;
            cycle.push((unit, own[unit], old[unit]));
            unit = holder.as_slice()[own[unit] as usize] as usize;
        }
        if cycle.len() > 1 && costs.objective.gain(group, &cycle, permutations) > 0.0 {
            for (unit, new, _) in cycle {
                kept[unit] = new;
            }
        }
    }
    (kept != old).then(|| Permutation::new(kept).expect("whole cycles of a permutation"))
}

/// Sum of the products of two matrices, entry by entry.
pub(super) fn inner(a: &[f32], b: &[f32]) -> f64 {
    // Short sums in f32 lanes would be faster, but this is far from being the longest part of a step.
    a.iter().zip(b).fold(0.0, |total, (a, b)| total + f64::from(*a) * f64::from(*b))
}

/// The order as batches of groups that share no tensor. Groups that do keep their order: the result stays the same.
fn independent(objective: &Objective<'_>, order: impl Iterator<Item = usize>) -> Vec<Vec<usize>> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    for group in order {
        let meets = |batch: &Vec<usize>| batch.iter().any(|other| objective.neighbours[group].contains(other));
        match batches.iter().rposition(meets).map_or(0, |last| last + 1) {
            at if at < batches.len() => batches[at].push(group),
            _ => batches.push(vec![group]),
        }
    }
    batches
}
