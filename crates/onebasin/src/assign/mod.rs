//! Exact linear assignment: the pairs of rows and columns with the smallest or largest sum of costs, and the proof that they are.
//!
//! The method is that of Jonker and Volgenant (1987), with short lists of columns in place of most scans of rows.

mod duals;
mod matrix;
mod path;
mod shortlist;
mod start;

use crate::error::{Error, Result};
use duals::Duals;
use matrix::Costs;
use onebasin_kernels::Isa;
use path::{Search, State};
use shortlist::{Shortlists, TwoSmallest};

pub use matrix::Matrix;
pub use onebasin_kernels::assignment::Cost;

/// Marks a row without a column in [`Assignment::columns`].
pub const NONE: u32 = u32::MAX;

/// Whether the sum of the chosen costs is minimised or maximised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The sum is minimised.
    Minimise,
    /// The sum is maximised.
    Maximise,
}

/// An optimal assignment, and the duals that prove it.
///
/// All rows have a column, or all columns have a row if there are fewer columns.
///
/// To minimise, uᵢ + vⱼ ≤ cᵢⱼ for all rows i and columns j. If there are more columns than rows, also v ≤ 0, and v = 0 where a column
/// has no row; if there are more rows, the same holds for u. So no assignment has a smaller value than Σu + Σv, which is
/// the value of this one. To maximise, all inequalities are turned round.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Assignment {
    /// Row i is given column `columns[i]`, or none if that is [`NONE`].
    pub columns: Vec<u32>,
    /// The sum of the chosen costs.
    pub value: f64,
    /// The duals of rows, u.
    pub row_duals: Vec<f64>,
    /// The duals of columns, v.
    pub column_duals: Vec<f64>,
}

impl Assignment {
    /// All rows that have a column, in their order, and these columns.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let pairs = self.columns.iter().enumerate();
        pairs.filter(|(_, column)| **column != NONE).map(|(row, column)| (row, *column as usize))
    }

    /// How far the duals are from proving anything: the most that one of the inequalities is violated by, at least 0.
    ///
    /// `costs`: (row, column)
    pub fn violation<T: Cost>(&self, goal: Goal, costs: &[T]) -> f64 {
        let (rows, columns) = (self.row_duals.len(), self.column_duals.len());
        assert_eq!(costs.len(), rows * columns, "the costs are not those of this assignment");
        let sign: f64 = goal.sign::<T>().into();
        let signed: &[f64] = match rows.cmp(&columns) {
            std::cmp::Ordering::Less => &self.column_duals,
            std::cmp::Ordering::Equal => &[],
            std::cmp::Ordering::Greater => &self.row_duals,
        };
        let mut largest = signed.iter().fold(0.0, |largest, dual| f64::max(largest, sign * dual));
        for (row, u) in costs.chunks_exact(columns.max(1)).zip(&self.row_duals) {
            for (cost, v) in row.iter().zip(&self.column_duals) {
                largest = f64::max(largest, sign * (u + v - (*cost).into()));
            }
        }
        largest
    }

    /// How far the value is from the sum of the duals.
    pub fn gap(&self) -> f64 {
        let duals: f64 = self.row_duals.iter().chain(&self.column_duals).sum();
        (self.value - duals).abs()
    }
}

/// Solves assignments, with buffers that are kept from one to the next.
#[derive(Debug, Default)]
pub struct Assigner<T = f32> {
    duals: Duals<T>,
    /// (column)
    row_of: Vec<u32>,
    /// (row)
    column_of: Vec<u32>,
    /// Rows without a column.
    free: Vec<u32>,
    later: Vec<u32>,
    /// The smallest cost of each column, and its row.
    minima: Vec<T>,
    minima_rows: Vec<u32>,
    /// Where a rectangular problem starts, the best column of each row.
    choices: Vec<TwoSmallest>,
    lists: Shortlists<T>,
    search: Search,
    /// (column, row), of a matrix with more rows than columns.
    transposed: Vec<T>,
}

impl<T: Cost> Assigner<T> {
    /// For an instruction set of this machine.
    pub fn new(isa: Isa) -> Self {
        let mut assigner = Self::default();
        assigner.lists.isa = isa;
        assigner
    }

    /// The best assignment of columns to as many rows; all costs must be finite.
    ///
    /// `costs`: (row, column), `n` of each. `start` may be the column duals of the solution for similar costs with the
    /// same goal; the nearer they are, the less is left to do, and whatever they are, the solution is exact.
    pub fn solve(&mut self, goal: Goal, costs: &[T], n: usize, start: Option<&[f64]>) -> Result<Assignment> {
        Error::unless_zero("the size of an assignment", n)?;
        self.solve_any(goal, Matrix { costs, rows: n, columns: n }, start, false)
    }

    /// The best assignment of any number of rows and columns, perhaps none. A cost of ∞, or −∞ to maximise, forbids its pair.
    ///
    /// If forbidden pairs leave no assignment, the error is [`Error::Infeasible`]. `start` is as for [`Self::solve`].
    pub fn solve_matrix(&mut self, goal: Goal, matrix: Matrix<'_, T>, start: Option<&[f64]>) -> Result<Assignment> {
        self.solve_any(goal, matrix, start, true)
    }

    fn solve_any(
        &mut self,
        goal: Goal,
        matrix: Matrix<'_, T>,
        start: Option<&[f64]>,
        may_forbid: bool,
    ) -> Result<Assignment> {
        matrix.check(start)?;
        let Matrix { costs: values, rows, columns } = matrix;
        if rows == 0 || columns == 0 {
            let (row_duals, column_duals) = (vec![0.0; rows], vec![0.0; columns]);
            return Ok(Assignment { columns: vec![NONE; rows], value: 0.0, row_duals, column_duals });
        }
        let sign = goal.sign();
        if rows <= columns {
            return self.solve_wide(Costs { values, rows, columns, sign, transposed: false, may_forbid }, start);
        }
        let mut transposed = std::mem::take(&mut self.transposed);
        matrix.transpose(&mut transposed);
        let (rows, columns) = (columns, rows);
        let costs = Costs { values: &transposed, rows, columns, sign, transposed: true, may_forbid };
        let start = start.map(|start| costs.column_duals(start));
        let solution = self.solve_wide(costs, start.as_deref());
        self.transposed = transposed;
        solution
    }

    /// Solves a problem that has no more rows than columns.
    fn solve_wide(&mut self, costs: Costs<'_, T>, start: Option<&[f64]>) -> Result<Assignment> {
        self.start(costs, start)?;
        self.reduce_rows(costs);
        self.search.reset(&self.row_of);
        let (duals, lists) = (&mut self.duals, &mut self.lists);
        let (row_of, column_of) = (&mut self.row_of, &mut self.column_of);
        let mut state = State { costs, duals, row_of, column_of, lists };
        for row in &self.free {
            self.search.augment(&mut state, *row as usize)?;
        }
        Ok(self.assignment(costs))
    }

    fn assignment(&self, costs: Costs<'_, T>) -> Assignment {
        let sign: f64 = costs.sign.into();
        let chosen = || {
            self.column_of.iter().enumerate().map(|(row, column)| (*column as usize, costs.at(row, *column as usize)))
        };
        let value = sign * chosen().map(|(_, cost)| cost).sum::<f64>();
        let row_duals = chosen().map(|(column, cost)| sign * (cost - self.duals.exact[column])).collect();
        let column_duals = self.duals.exact.iter().map(|dual| sign * dual).collect();
        if costs.transposed {
            let (row_duals, column_duals) = (column_duals, row_duals);
            Assignment { columns: self.row_of.clone(), value, row_duals, column_duals }
        } else {
            Assignment { columns: self.column_of.clone(), value, row_duals, column_duals }
        }
    }
}
