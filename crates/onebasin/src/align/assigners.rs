//! The assignment problems of coordinates, solved side by side: one for a group alone, and for a family one for each pair of blocks
//! of each child, then one of the blocks.
//!
//! Whatever blocks are paired, the best order inside of each pair is known from the first problems. So the last one, whose gains are
//! the values of these, finds the best permutations of the whole family.

use super::coordinates::Coordinate;
use crate::assign::{Assigner, Assignment, Goal};
use crate::error::Result;
use crate::progress::Monitor;
use crate::symmetry::Permutation;
use onebasin_kernels::{Isa, ThreadPool};
use std::borrow::Cow;
use std::sync::Mutex;

/// Problems of each thread between two reports of progress: few, so that work stops soon, and enough to balance the threads.
const TOGETHER: usize = 4;
const NO_PANIC: &str = "nobody panics while holding an assigner";

/// The last column duals of each problem: where its next assignment starts.
pub(super) type Duals = Vec<Option<Vec<f64>>>;

/// A coordinate whose permutations are to be found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problem<'c> {
    pub(super) coordinate: &'c Coordinate,
    /// Number of the matrix of group 0; those of the other groups follow.
    pub(super) first: usize,
}

impl Problem<'_> {
    /// Number of the matrix of the group alone, or of the parent.
    fn outer(&self) -> usize {
        self.first + self.coordinate.outer
    }
}

/// The best permutations of a coordinate for some gains.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Of each group of the coordinate, in their order.
    pub(super) permutations: Vec<Permutation>,
    /// The sum of all gains.
    pub(super) value: f64,
    /// For each child, the best order inside of every pair of blocks: (block, partner, unit).
    pub(super) inner: Vec<Vec<u32>>,
}

/// The memory of problems, each warm-started from the duals of the one before it, and how many were solved.
pub(super) struct Assigners {
    problems: Vec<Mutex<Assigner>>,
    pub(super) solved: usize,
}

impl Assigners {
    /// For so many matrices.
    pub(super) fn new(count: usize) -> Self {
        Self { problems: (0..count).map(|_| Mutex::new(Assigner::new(Isa::detect()))).collect(), solved: 0 }
    }

    /// Solves some problems; `gains` are the matrix of each number, (units that stay, units that move).
    pub(super) fn solve(
        &mut self,
        pool: &ThreadPool,
        problems: &[Problem<'_>],
        gains: &[Vec<f32>],
        duals: &mut Duals,
        monitor: &mut Monitor<'_>,
    ) -> Result<Vec<Step>> {
        let start = |number: usize, _: &[f32], _| duals[number].as_deref().map(Cow::from);
        let found = self.solve_outer(pool, problems, gains, start, monitor)?;
        let mut steps = Vec::with_capacity(found.len());
        for (problem, (step, assignment)) in problems.iter().zip(found) {
            duals[problem.outer()] = Some(assignment.column_duals);
            steps.push(step);
        }
        Ok(steps)
    }

    /// The same, each from the column duals that `start` makes of its gains and their number of rows.
    pub(super) fn solve_from(
        &mut self,
        pool: &ThreadPool,
        problems: &[Problem<'_>],
        gains: &[Vec<f32>],
        start: impl Fn(&[f32], usize) -> Option<Vec<f64>> + Sync,
        monitor: &mut Monitor<'_>,
    ) -> Result<Vec<Step>> {
        let start = |_, gains: &[f32], units| start(gains, units).map(Cow::from);
        let found = self.solve_outer(pool, problems, gains, start, monitor)?;
        Ok(found.into_iter().map(|(step, _)| step).collect())
    }

    fn solve_outer<'s>(
        &mut self,
        pool: &ThreadPool,
        problems: &[Problem<'_>],
        gains: &[Vec<f32>],
        start: impl Fn(usize, &[f32], usize) -> Option<Cow<'s, [f64]>> + Sync,
        monitor: &mut Monitor<'_>,
    ) -> Result<Vec<(Step, Assignment)>> {
        let inner = self.solve_inner(pool, problems, gains, monitor)?;
        let found: Vec<Mutex<Option<Result<Assignment>>>> = problems.iter().map(|_| Mutex::new(None)).collect();
        let together = TOGETHER * pool.threads();
        for first in (0..problems.len()).step_by(together) {
            let count = together.min(problems.len() - first);
            pool.for_each(count, |index| {
                let number = problems[first + index].outer();
                let mut assigner = self.problems[number].lock().expect(NO_PANIC);
                let gains = inner[first + index].as_ref().map_or(&gains[number], |inner| &inner.gains);
                let units = gains.len().isqrt();
                let solved = assigner.solve(Goal::Maximise, gains, units, start(number, gains, units).as_deref());
                *found[first + index].lock().expect(NO_PANIC) = Some(solved);
            });
            self.solved += count;
            monitor.at(self.solved, 0)?;
        }
        let found = found.into_iter().map(|found| found.into_inner().expect(NO_PANIC).expect("each was solved"));
        let steps = found.zip(inner).map(|(found, inner)| {
            let assignment = found?;
            Ok((step(&assignment, inner), assignment))
        });
        steps.collect()
    }

    /// Solves the problems of all pairs of blocks of the families among some problems. A piece is a block of a child with all its partners.
    fn solve_inner(
        &mut self,
        pool: &ThreadPool,
        problems: &[Problem<'_>],
        gains: &[Vec<f32>],
        monitor: &mut Monitor<'_>,
    ) -> Result<Vec<Option<Inner>>> {
        let blocks = |problem: &Problem<'_>| gains[problem.outer()].len().isqrt();
        let pieces: Vec<(usize, usize, usize)> = problems
            .iter()
            .enumerate()
            .flat_map(|(index, problem)| {
                let block = move |child: usize| (0..blocks(problem)).map(move |block| (index, child, block));
                problem.coordinate.children.iter().flat_map(move |child| block(problem.first + child))
            })
            .collect();
        let mut inner: Vec<Option<Inner>> = problems
            .iter()
            .map(|problem| {
                let children = &problem.coordinate.children;
                (!children.is_empty()).then(|| Inner::new(&gains[problem.outer()], children.len()))
            })
            .collect();
        let together = TOGETHER * pool.threads();
        for pieces in pieces.chunks(together) {
            let found: Vec<Mutex<Option<Result<Row>>>> = pieces.iter().map(|_| Mutex::new(None)).collect();
            pool.for_each(pieces.len(), |at| {
                let (index, child, block) = pieces[at];
                let row = Row::solve(&gains[child], blocks(&problems[index]), block);
                *found[at].lock().expect(NO_PANIC) = Some(row);
            });
            for (&(index, child, block), found) in pieces.iter().zip(found) {
                let Problem { coordinate, first } = problems[index];
                let slot = coordinate.children.iter().position(|own| first + own == child);
                let row = found.into_inner().expect(NO_PANIC).expect("each was solved")?;
                self.solved += row.values.len();
                let inner = inner[index].as_mut().expect("only families have pieces");
                inner.add(slot.expect("a piece is of a child"), block, row);
            }
            monitor.at(self.solved, 0)?;
        }
        for inner in inner.iter_mut().flatten() {
            inner.gains = inner.values.iter().map(|value| *value as f32).collect();
        }
        Ok(inner)
    }
}

/// The best orders of the units of one block of a child, for each partner of the block.
struct Row {
    values: Vec<f64>,
    /// (partner, unit)
    orders: Vec<u32>,
}

impl Row {
    fn solve(gains: &[f32], blocks: usize, block: usize) -> Result<Self> {
        let units = gains.len().isqrt();
        let len = units / blocks;
        let mut assigner = Assigner::new(Isa::detect());
        let mut row = Self { values: Vec::with_capacity(blocks), orders: Vec::with_capacity(units) };
        let mut part = vec![0.0; len * len];
        for partner in 0..blocks {
            for (unit, part) in part.chunks_exact_mut(len).enumerate() {
                part.copy_from_slice(&gains[(block * len + unit) * units + partner * len..][..len]);
            }
            let found = assigner.solve(Goal::Maximise, &part, len, None)?;
            row.values.push(found.value);
            row.orders.extend(found.columns);
        }
        Ok(row)
    }
}

/// What the pairs of blocks of a family gain, each in the best order of its units.
struct Inner {
    /// (block, partner)
    values: Vec<f64>,
    /// The same, as the gains of the assignment of blocks.
    gains: Vec<f32>,
    /// For each child: (block, partner, unit).
    orders: Vec<Vec<u32>>,
}

impl Inner {
    /// With the gains of the parent alone.
    fn new(gains: &[f32], children: usize) -> Self {
        let values = gains.iter().copied().map(f64::from).collect();
        Self { values, gains: Vec::new(), orders: vec![Vec::new(); children] }
    }

    /// Adds the next block of a child.
    fn add(&mut self, child: usize, block: usize, row: Row) {
        let blocks = row.values.len();
        let sums = &mut self.values[block * blocks..][..blocks];
        sums.iter_mut().zip(row.values).for_each(|(sum, value)| *sum += value);
        self.orders[child].extend(row.orders);
    }
}

fn step(assignment: &Assignment, inner: Option<Inner>) -> Step {
    let outer = Permutation::new(assignment.columns.clone()).expect("an assignment is a permutation");
    let orders = inner.map(|inner| inner.orders).unwrap_or_default();
    let children: Vec<Permutation> = orders
        .iter()
        .map(|orders| {
            let composed = Permutation::of_blocks(&outer, |block| order(orders, &outer, block));
            composed.expect("assignments inside of blocks")
        })
        .collect();
    Step { permutations: [outer].into_iter().chain(children).collect(), value: assignment.value, inner: orders }
}

/// The best order of a child's block and its partner by a permutation of blocks; `orders`: (block, partner, unit).
pub(super) fn order<'o>(orders: &'o [u32], blocks: &Permutation, block: usize) -> &'o [u32] {
    let count = blocks.len();
    let len = orders.len() / (count * count);
    &orders[(block * count + blocks.as_slice()[block] as usize) * len..][..len]
}
