//! Assignment problems that are solved side by side, each beginning where the one before it ended.

use crate::assign::Assigner;
use crate::assign::Assignment;
use crate::assign::Goal;
use crate::error::Result;
use crate::kernels::Isa;
use crate::kernels::Team;
use std::borrow::Cow;
use std::sync::Mutex;

/// The last column duals of each problem: where its next assignment begins.
pub(super) type Duals = Vec<Option<Vec<f64>>>;

/// The memory of some problems.
pub(super) struct Assigners(Vec<Mutex<Assigner>>);

impl Assigners {
    /// For problems 0 to `count` - 1.
    pub(super) fn new(count: usize) -> Self {
        Self((0..count).map(|_| Mutex::new(Assigner::new(Isa::detect()))).collect())
    }

    /// Solves some of the problems; `problem` gives the gains, (rows, columns), and their number of rows.
    pub(super) fn solve<'m>(
        &self,
        team: &Team,
        problems: &[usize],
        problem: impl Fn(usize) -> (&'m [f32], usize) + Sync,
        duals: &mut Duals,
    ) -> Result<Vec<Assignment>> {
        let starts = &*duals;
        let found =
            self.solve_from(team, problems, problem, |number, _, _| starts[number].as_deref().map(Cow::from))?;
        for (number, assignment) in problems.iter().zip(&found) {
            duals[*number] = Some(assignment.column_duals.clone());
        }
        Ok(found)
    }

    /// The same, each from the column duals that `start` makes of its number, its gains and their number of rows.
    pub(super) fn solve_from<'m, 's>(
        &self,
        team: &Team,
        problems: &[usize],
        problem: impl Fn(usize) -> (&'m [f32], usize) + Sync,
        start: impl Fn(usize, &[f32], usize) -> Option<Cow<'s, [f64]>> + Sync,
    ) -> Result<Vec<Assignment>> {
        let found: Vec<Mutex<Option<Result<Assignment>>>> = problems.iter().map(|_| Mutex::new(None)).collect();
        team.for_each(problems.len(), |index| {
            let number = problems[index];
            let mut assigner = self.0[number].lock().expect(NO_PANIC);
            let (gains, rows) = problem(number);
            let solved = assigner.solve(Goal::Maximise, gains, rows, start(number, gains, rows).as_deref());
            *found[index].lock().expect(NO_PANIC) = Some(solved);
        });
        let found = found.into_iter().map(|found| found.into_inner().expect(NO_PANIC).expect("each was solved"));
        found.collect()
    }
}

const NO_PANIC: &str = "nobody panics while holding an assigner";
