//! The start of an assignment: duals of columns, and as many rows with a column as these allow.

use super::duals::refill;
use super::matrix::{Checked, Costs};
use super::{Assigner, NONE};
use crate::error::{Error, Result};
use onebasin_kernels::assignment::{ColumnMinima, Cost};

const REDUCTIONS: usize = 2;
/// Steps of augmenting row reduction for each row, on average; costs that are nearly equal would need very many.
const STEPS: usize = 16;
/// Duals that are so many times the largest cost apart would drown the costs in rounding. No solution without forbidden pairs has such.
const SPREAD: f64 = 8.0;

impl<T: Cost> Costs<'_, T> {
    /// The column duals of the solution whose row duals these are.
    pub(super) fn column_duals(&self, row_duals: &[f64]) -> Vec<f64> {
        let sign: f64 = self.sign.into();
        let mut duals = vec![0.0; self.columns];
        for (row, row_dual) in row_duals.iter().enumerate() {
            for (dual, cost) in duals.iter_mut().zip(self.row(row)) {
                let cost: f64 = (*cost).into();
                // A cost that is not finite is refused later, or forbids.
                *dual = f64::min(*dual, sign * (cost - row_dual));
            }
        }
        for dual in &mut duals {
            *dual = if dual.is_finite() { sign * *dual } else { 0.0 };
        }
        duals
    }
}

impl<T: Cost> Assigner<T> {
    /// Starts from the given duals unless they are useless.
    pub(super) fn start(&mut self, costs: Costs<'_, T>, start: Option<&[f64]>) -> Result<()> {
        let square = costs.rows == costs.columns;
        if let Some(start) = start
            && self.warm(costs, start.iter().copied())?
        {
            return Ok(());
        }
        if square {
            return self.cold(costs);
        }
        // A column that has no row must keep the dual 0.
        let zeros = std::iter::repeat_n(0.0, costs.columns);
        self.warm(costs, zeros).map(|_| ())
    }

    fn clear(&mut self, costs: Costs<'_, T>) {
        refill(&mut self.row_of, costs.columns, NONE);
        refill(&mut self.column_of, costs.rows, NONE);
        self.free.clear();
        self.choices.clear();
        self.lists.reset(costs.rows);
    }

    /// Starts with the smallest cost of each column as its dual; a row with such a cost takes the column.
    fn cold(&mut self, costs: Costs<'_, T>) -> Result<()> {
        self.clear(costs);
        let n = costs.columns;
        refill(&mut self.minima, n, T::INFINITY);
        self.minima_rows.resize(n, 0);
        let mut checked = Checked::default();
        for index in 0..n {
            costs.check_row(self.lists.isa, index, &mut checked)?;
            let (minima, rows) = (&mut self.minima[..], &mut self.minima_rows[..]);
            self.lists.isa.run(ColumnMinima {
                row: costs.row(index),
                sign: costs.sign,
                index: index as u32,
                minima,
                rows,
            });
        }
        if checked.infeasible || self.minima.contains(&T::INFINITY) {
            return Err(Error::Infeasible);
        }
        self.duals.fit(checked.largest);
        self.duals.set(self.minima.iter().map(|minimum| (*minimum).into()));
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
        // Where a row has the smallest cost of one column only, the dual of its column falls until the second best is as good.
        for row in 0..n {
            if self.later[row] == 1 {
                let column = self.column_of[row] as usize;
                let two = self.lists.two_smallest(costs, row, &self.duals, &self.row_of);
                let other = if two.column == column { two.second } else { two.smallest };
                if other < f64::INFINITY {
                    self.duals.move_to(column, self.duals.exact[column] - other);
                }
            }
        }
        Ok(())
    }

    /// Starts with the given duals: every row takes its best column if no other has. False if the duals are useless.
    fn warm(&mut self, costs: Costs<'_, T>, start: impl Iterator<Item = f64> + Clone) -> Result<bool> {
        let sign: f64 = costs.sign.into();
        // Only differences matter, and small numbers are rounded least.
        let highest = start.clone().fold(f64::NEG_INFINITY, |highest, dual| highest.max(sign * dual));
        let start = start.map(|dual| sign * dual - highest);
        self.duals.fit(0.0);
        let mut checked = self.take_best(costs, start.clone())?;
        if self.duals.fit(checked.largest) {
            checked = self.take_best(costs, start)?;
        }
        if checked.infeasible {
            return Err(Error::Infeasible);
        }
        let spread = self.duals.exact.iter().fold(0.0, |spread, dual| f64::max(spread, -dual));
        if costs.rows < costs.columns {
            self.release(costs);
        }
        Ok(spread <= SPREAD * checked.largest)
    }

    /// Every row takes its best column if no other has.
    fn take_best(&mut self, costs: Costs<'_, T>, start: impl Iterator<Item = f64>) -> Result<Checked> {
        self.clear(costs);
        self.duals.set(start);
        let mut checked = Checked::default();
        for index in 0..costs.rows {
            costs.check_row(self.lists.isa, index, &mut checked)?;
            let two = self.lists.two_smallest(costs, index, &self.duals, &self.row_of);
            if costs.rows < costs.columns {
                self.choices.push(two);
            }
            self.take(index as u32, two.column);
        }
        Ok(checked)
    }

    /// A row takes a column if no other has it, or else is free.
    fn take(&mut self, row: u32, column: usize) {
        if self.row_of[column] == NONE {
            self.row_of[column] = row;
            self.column_of[row as usize] = column as u32;
        } else {
            self.free.push(row);
        }
    }

    /// Raises the duals of columns that are the best of no row to 0, which they must have if no row ever takes them.
    fn release(&mut self, costs: Costs<'_, T>) {
        loop {
            let raised = |column: &usize| self.row_of[*column] == NONE && self.duals.exact[*column] < 0.0;
            let raised: Vec<usize> = (0..costs.columns).filter(raised).collect();
            if raised.is_empty() {
                return;
            }
            for column in &raised {
                self.duals.move_to(*column, 0.0);
            }
            let mut choices = std::mem::take(&mut self.choices);
            self.clear(costs);
            for (row, choice) in choices.iter_mut().enumerate() {
                for column in &raised {
                    let reduced = costs.at(row, *column);
                    if reduced < choice.smallest {
                        (choice.column, choice.smallest) = (*column, reduced);
                    }
                }
                self.take(row as u32, choice.column);
            }
            self.choices = choices;
        }
    }

    /// A free row takes its best column, whose dual falls until the second is as good; the row that had it is free.
    pub(super) fn reduce_rows(&mut self, costs: Costs<'_, T>) {
        let mut steps = STEPS * costs.rows;
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
                    // A row with one allowed column only would lower its dual without end.
                    if lowered < dual && lowered > f64::NEG_INFINITY {
                        self.duals.move_to(two.column, lowered);
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
}
