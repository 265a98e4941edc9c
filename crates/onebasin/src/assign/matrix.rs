//! The matrix of costs as it is given, and as one to minimise that has no more rows than columns.

use super::Goal;
use crate::error::{Error, Result};
use onebasin_kernels::Isa;
use onebasin_kernels::assignment::{Cost, FindAllowed, LargestMagnitude};

/// The most rows, and the most columns.
const LARGEST: usize = 1 << 20;
/// The largest magnitude of a cost: sums of so many must not overflow.
const LARGEST_COST: f64 = 1e300;
/// Rows and columns of the pieces in which a matrix is transposed.
const PIECE: usize = 32;

/// Costs, one for each pair of a row and a column.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, T> {
    /// (row, column)
    pub costs: &'a [T],
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
}

impl<T: Cost> Matrix<'_, T> {
    /// Refuses sizes that do not fit together, and duals of columns to start from that are none.
    pub(super) fn check(&self, start: Option<&[f64]>) -> Result<()> {
        let Self { costs, rows, columns } = *self;
        let size = rows.max(columns);
        if size > LARGEST {
            return Err(Error::TooLarge {
                what: format!("an assignment of more than {LARGEST} rows or columns"),
                size,
            });
        }
        Error::unless_length(
            "the matrix of costs",
            costs.len(),
            rows * columns,
            format_args!("{rows} rows and {columns} columns"),
        )?;
        let Some(start) = start else { return Ok(()) };
        Error::unless_length("the start of an assignment", start.len(), columns, "one for each column")?;
        let Some(column) = start.iter().position(|dual| !dual.is_finite()) else { return Ok(()) };
        Err(Error::out_of_range(format!("the dual of column {column} to start from"), start[column], "finite"))
    }

    /// Writes the transposed costs: (column, row)
    pub(super) fn transpose(&self, to: &mut Vec<T>) {
        let Self { costs, rows, columns } = *self;
        to.resize(costs.len(), T::default());
        // By way of a small piece, so that whole cache lines are read and written.
        let mut piece = [[T::default(); PIECE]; PIECE];
        for first_row in (0..rows).step_by(PIECE) {
            let height = PIECE.min(rows - first_row);
            for first_column in (0..columns).step_by(PIECE) {
                let width = PIECE.min(columns - first_column);
                for row in 0..height {
                    let from = &costs[(first_row + row) * columns + first_column..][..width];
                    for (column, cost) in from.iter().enumerate() {
                        piece[column][row] = *cost;
                    }
                }
                for (column, from) in piece[..width].iter().enumerate() {
                    to[(first_column + column) * rows + first_row..][..height].copy_from_slice(&from[..height]);
                }
            }
        }
    }
}

/// The matrix, seen as one to minimise, with no more rows than columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs<'a, T> {
    /// (row, column)
    pub values: &'a [T],
    pub rows: usize,
    pub columns: usize,
    /// −1 to maximise.
    pub sign: T,
    /// Whether rows and columns have changed places.
    pub transposed: bool,
    /// Whether costs of ∞ forbid their pair, or are refused.
    pub may_forbid: bool,
}

/// What was found in the rows that were checked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Checked {
    /// The largest magnitude of a cost that is finite.
    pub largest: f64,
    /// Whether all pairs of a row are forbidden.
    pub infeasible: bool,
}

impl<'a, T: Cost> Costs<'a, T> {
    pub(super) fn row(&self, row: usize) -> &'a [T] {
        &self.values[row * self.columns..][..self.columns]
    }

    pub(super) fn at(&self, row: usize, column: usize) -> f64 {
        (self.sign * self.values[row * self.columns + column]).into()
    }

    /// Checks one row: all costs must be finite or, where they may forbid a pair, not −∞ nor NaN.
    pub(super) fn check_row(&self, isa: Isa, index: usize, checked: &mut Checked) -> Result<()> {
        let row = self.row(index);
        let mut largest: f64 = isa.run(LargestMagnitude { values: row }).into();
        if !largest.is_finite() {
            let allowed = isa.run(FindAllowed { row, sign: self.sign });
            if !self.may_forbid || !allowed.valid {
                return Err(self.invalid(index));
            }
            checked.infeasible |= allowed.count == 0;
            largest = allowed.largest.into();
        }
        if largest > LARGEST_COST {
            return Err(Error::out_of_range("the largest magnitude of costs", largest, "at most 1e300"));
        }
        checked.largest = checked.largest.max(largest);
        Ok(())
    }

    /// The error of a row that has an invalid cost.
    fn invalid(&self, index: usize) -> Error {
        let infinity: f64 = T::INFINITY.into();
        let invalid = |cost: f64| !cost.is_finite() && (!self.may_forbid || cost != infinity);
        let row = self.row(index);
        let place = row.iter().position(|cost| invalid((self.sign * *cost).into())).expect("one of them is invalid");
        let expected = match (self.may_forbid, self.sign < T::from(0)) {
            (false, _) => "finite",
            (true, false) => "finite, or inf where the pair is forbidden",
            (true, true) => "finite, or -inf where the pair is forbidden",
        };
        let (given_row, given_column) = if self.transposed { (place, index) } else { (index, place) };
        let what = format!("the cost of row {given_row} and column {given_column}");
        Error::out_of_range(what, row[place], expected)
    }
}

impl Goal {
    /// The sign that turns costs of this goal into costs to minimise.
    pub(super) fn sign<T: Cost>(self) -> T {
        T::from(if self == Self::Minimise { 1 } else { -1 })
    }
}
