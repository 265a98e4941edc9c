//! Exact linear assignment: the permutation with the smallest or largest sum of costs, and the proof that it is.
//!
//! The method is that of Jonker and Volgenant (1987), with short lists of columns in place of most scans of rows.

mod duals;
mod path;
mod shortlist;

use crate::error::{Error, Result};
use duals::{Costs, Duals, refill};
use onebasin_kernels::Isa;
use onebasin_kernels::assignment::{ColumnMinima, LargestMagnitude};
use path::{Search, State};
use shortlist::{NONE, Shortlists};

const REDUCTIONS: usize = 2;
/// Steps of augmenting row reduction for each row, on average; costs that are nearly equal would need very many.
const STEPS: usize = 16;
/// Duals that are so many times the largest cost apart would drown the costs in rounding. No solution has such.
const SPREAD: f64 = 8.0;
/// The most rows.
const LARGEST: usize = 16_384;

/// Whether the sum of the chosen costs is minimised or maximised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The sum is minimised.
    Minimise,
    /// The sum is maximised.
    Maximise,
}

impl Goal {
    /// The sign that turns costs of this goal into costs to minimise.
    fn sign(self) -> f32 {
        if self == Self::Minimise { 1.0 } else { -1.0 }
    }
}

/// An optimal assignment, and the duals that prove it.
///
/// To minimise, uᵢ + vⱼ ≤ cᵢⱼ for all rows i and columns j, so no assignment has a smaller value than Σu + Σv, which is
/// the value of this one. To maximise, uᵢ + vⱼ ≥ cᵢⱼ.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Assignment {
    /// Row i is given column `columns[i]`.
    pub columns: Vec<u32>,
    /// The sum of the chosen costs.
    pub value: f64,
    /// The duals of rows, u.
    pub row_duals: Vec<f64>,
    /// The duals of columns, v.
    pub column_duals: Vec<f64>,
}

impl Assignment {
    /// How far the duals are from proving anything: the most that one of the inequalities is violated by, at least 0.
    ///
    /// `costs`: (row, column)
    pub fn violation(&self, goal: Goal, costs: &[f32]) -> f64 {
        let n = self.columns.len();
        assert_eq!(costs.len(), n * n, "the costs are not those of this assignment");
        let sign = f64::from(goal.sign());
        let mut largest = 0.0;
        for (row, u) in costs.chunks_exact(n).zip(&self.row_duals) {
            for (cost, v) in row.iter().zip(&self.column_duals) {
                largest = f64::max(largest, sign * (u + v - f64::from(*cost)));
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
pub struct Assigner {
    duals: Duals,
    /// (column)
    row_of: Vec<u32>,
    /// (row)
    column_of: Vec<u32>,
    /// Rows without a column.
    free: Vec<u32>,
    later: Vec<u32>,
    /// The smallest cost of each column, and its row.
    minima: Vec<f32>,
    minima_rows: Vec<u32>,
    lists: Shortlists,
    search: Search,
}

impl Assigner {
    /// For an instruction set of this machine.
    pub fn new(isa: Isa) -> Self {
        let mut assigner = Self::default();
        assigner.lists.isa = isa;
        assigner
    }

    /// The best assignment of columns to rows.
    ///
    /// `costs`: (row, column), `n` of each. `start` may be the column duals of the solution for similar costs with the
    /// same goal; the nearer they are, the less is left to do, and whatever they are, the solution is exact.
    pub fn solve(&mut self, goal: Goal, costs: &[f32], n: usize, start: Option<&[f64]>) -> Result<Assignment> {
        check_sizes(costs, n, start)?;
        let costs = Costs { values: costs, n, sign: goal.sign() };
        refill(&mut self.row_of, n, NONE);
        refill(&mut self.column_of, n, NONE);
        self.free.clear();
        self.lists.reset(n);
        if !start.map_or(Ok(false), |start| self.warm(costs, start))? {
            self.cold(costs)?;
        }
        if n > 1 {
            self.reduce_rows(costs);
        }
        self.search.reset(&self.row_of);
        let (duals, lists) = (&mut self.duals, &mut self.lists);
        let (row_of, column_of) = (&mut self.row_of, &mut self.column_of);
        let mut state = State { costs, duals, row_of, column_of, lists };
        for row in &self.free {
            self.search.augment(&mut state, *row as usize);
        }
        Ok(self.assignment(costs))
    }

    /// Starts with the smallest cost of each column as its dual; a row with such a cost takes the column.
    fn cold(&mut self, costs: Costs<'_>) -> Result<()> {
        let n = costs.n;
        refill(&mut self.minima, n, f32::INFINITY);
        self.minima_rows.resize(n, 0);
        for index in 0..n {
            let row = costs.row(index);
            self.check_row(row, index)?;
            let (minima, rows) = (&mut self.minima[..], &mut self.minima_rows[..]);
            self.lists.isa.run(ColumnMinima { row, sign: costs.sign, index: index as u32, minima, rows });
        }
        self.duals.set(self.minima.iter().copied().map(f64::from));
        // How many columns have their smallest cost in a row.
        let counts = &mut self.later;
        refill(counts, n, 0);
        for column in (0..n).rev() {
            let row = self.minima_rows[column] as usize;
            counts[row] += 1;
            if self.column_of[row] == NONE {
                self.column_of[row] = column as u32;
                self.row_of[column] = row as u32;
            }
        }
        self.free.extend((0..n as u32).filter(|row| self.column_of[*row as usize] == NONE));
        if n == 1 {
            return Ok(());
        }
        // Where a row has the smallest cost of one column only, the dual of its column falls until the second best is as good.
        for row in 0..n {
            if self.later[row] == 1 {
                let column = self.column_of[row] as usize;
                let two = self.lists.two_smallest(costs, row, &self.duals, &self.row_of);
                let other = if two.column == column { two.second } else { two.smallest };
                self.duals.lower(column, self.duals.exact[column] - other);
            }
        }
        Ok(())
    }

    /// Starts with the given duals: every row takes its best column if no other has. False if the duals are useless.
    fn warm(&mut self, costs: Costs<'_>, start: &[f64]) -> Result<bool> {
        let sign = f64::from(costs.sign);
        // Only differences matter, and small numbers are rounded least.
        let highest = start.iter().fold(f64::NEG_INFINITY, |highest, dual| highest.max(sign * dual));
        self.duals.set(start.iter().map(|dual| sign * dual - highest));
        let spread = self.duals.exact.iter().fold(0.0, |spread, dual| f64::max(spread, -dual));
        let mut largest = 0.0f32;
        for index in 0..costs.n {
            largest = largest.max(self.check_row(costs.row(index), index)?);
            let two = self.lists.two_smallest(costs, index, &self.duals, &self.row_of);
            if self.row_of[two.column] == NONE {
                self.row_of[two.column] = index as u32;
                self.column_of[index] = two.column as u32;
            } else {
                self.free.push(index as u32);
            }
        }
        if spread <= SPREAD * f64::from(largest) {
            return Ok(true);
        }
        self.row_of.fill(NONE);
        self.column_of.fill(NONE);
        self.free.clear();
        self.lists.reset(costs.n);
        Ok(false)
    }

    /// The largest magnitude in a row, which must be finite.
    fn check_row(&self, row: &[f32], index: usize) -> Result<f32> {
        let largest = self.lists.isa.run(LargestMagnitude { values: row });
        if largest.is_finite() {
            return Ok(largest);
        }
        let column = row.iter().position(|cost| !cost.is_finite()).expect("one of them is not finite");
        let what = format!("the cost of row {index} and column {column}");
        Err(Error::out_of_range(what, row[column], "finite"))
    }

    /// A free row takes its best column, whose dual falls until the second is as good; the row that had it is free.
    fn reduce_rows(&mut self, costs: Costs<'_>) {
        let mut steps = STEPS * costs.n;
        for _ in 0..REDUCTIONS {
            self.later.clear();
            for index in 0..self.free.len() {
                let mut next = self.free[index];
                while next != NONE {
                    let row = std::mem::replace(&mut next, NONE);
                    if steps == 0 {
                        self.later.push(row);
                        continue;
                    }
                    steps -= 1;
                    let two = self.lists.two_smallest(costs, row as usize, &self.duals, &self.row_of);
                    let dual = self.duals.exact[two.column];
                    let lowered = dual - (two.second - two.smallest);
                    let owner = self.row_of[two.column];
                    if lowered < dual {
                        self.duals.lower(two.column, lowered);
                    } else if owner != NONE {
                        self.later.push(row);
                        continue;
                    }
                    self.row_of[two.column] = row;
                    self.column_of[row as usize] = two.column as u32;
                    if owner != NONE {
                        self.column_of[owner as usize] = NONE;
                        next = owner;
                    }
                }
            }
            std::mem::swap(&mut self.free, &mut self.later);
        }
    }

    fn assignment(&self, costs: Costs<'_>) -> Assignment {
        let sign = f64::from(costs.sign);
        let chosen = || {
            self.column_of.iter().enumerate().map(|(row, column)| (*column as usize, costs.at(row, *column as usize)))
        };
        Assignment {
            columns: self.column_of.clone(),
            value: sign * chosen().map(|(_, cost)| cost).sum::<f64>(),
            row_duals: chosen().map(|(column, cost)| sign * (cost - self.duals.exact[column])).collect(),
            column_duals: self.duals.exact.iter().map(|dual| sign * dual).collect(),
        }
    }
}

/// Everything about the arguments of a solution but the costs themselves.
fn check_sizes(costs: &[f32], n: usize, start: Option<&[f64]>) -> Result<()> {
    if n == 0 {
        return Err(Error::Zero { what: "the size of an assignment".to_owned() });
    }
    if n > LARGEST {
        return Err(Error::TooLarge { what: format!("an assignment of more than {LARGEST} rows"), size: n });
    }
    if costs.len() != n * n {
        let why = format!("{n} rows and columns");
        return Err(Error::Length { what: "the matrix of costs", got: costs.len(), expected: n * n, why });
    }
    let Some(start) = start else { return Ok(()) };
    if start.len() != n {
        let why = "one for each column".to_owned();
        return Err(Error::Length { what: "the start of an assignment", got: start.len(), expected: n, why });
    }
    let Some(column) = start.iter().position(|dual| !dual.is_finite()) else { return Ok(()) };
    Err(Error::out_of_range(format!("the dual of column {column} to start from"), start[column], "finite"))
}
