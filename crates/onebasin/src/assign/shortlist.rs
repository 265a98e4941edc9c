//! For every row a few columns of small reduced cost, which stand for the whole row as long as that is exact.
//!
//! While an assignment problem is solved, the duals of columns only fall, so reduced costs only rise. Those of a row's columns
//! beyond its list therefore stay above the bound that they had when the list was made: whatever is found below the
//! bound in the list is the smallest of the row, without a look at the row.

use super::NONE;
use super::duals::{Duals, refill};
use super::matrix::Costs;
use onebasin_kernels::Isa;
use onebasin_kernels::assignment::{AtLeast, Cost, Threshold};

/// The most columns in a list.
const LENGTH: usize = 32;

/// How many columns are in a list at least: of a row that needs its two best, and of one that a search has looked beyond.
const FEW: usize = 4;
pub(super) const MANY: usize = 8;

/// The smallest reduced cost of a row, where it is, and the second smallest.
#[derive(Clone, Copy, Debug)]
pub(super) struct TwoSmallest {
    pub column: usize,
    pub smallest: f64,
    /// Infinite if only one column is allowed.
    pub second: f64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Candidate<T> {
    /// Negated to maximise.
    pub cost: T,
    pub column: u32,
}

#[derive(Debug, Default)]
pub(super) struct Shortlists<T> {
    pub isa: Isa,
    /// (row, `LENGTH`)
    candidates: Vec<Candidate<T>>,
    /// How many there are of each row.
    lengths: Vec<u32>,
    /// No column beyond the list has a smaller reduced cost: (row)
    bounds: Vec<f64>,
    found: Vec<u32>,
    /// Reduced costs of what was found, and how far behind the diagonal it is.
    ranked: Vec<(f64, usize)>,
}

impl<T: Cost> Shortlists<T> {
    /// Forgets all lists.
    pub(super) fn reset(&mut self, rows: usize) {
        self.candidates.resize(rows * LENGTH, Candidate::default());
        refill(&mut self.lengths, rows, 0);
        refill(&mut self.bounds, rows, f64::NEG_INFINITY);
    }

    pub(super) fn list(&self, row: usize) -> &[Candidate<T>] {
        &self.candidates[row * LENGTH..][..self.lengths[row] as usize]
    }

    pub(super) fn bound(&self, row: usize) -> f64 {
        self.bounds[row]
    }

    /// Rebuilds the list of a row.
    pub(super) fn make(&mut self, costs: Costs<'_, T>, row: usize, duals: &Duals<T>, groups: usize) {
        let gains = duals.gains(costs, row);
        let threshold = self.isa.run(Threshold { gains, groups });
        // So much lower that those above it are surely not beyond the bound.
        let (threshold, bound) = duals.bound_below(threshold);
        let found = &mut self.found;
        found.clear();
        self.isa.run(AtLeast { gains, threshold, found });
        // Only what is forbidden lies below the least of thresholds.
        let all = found.len() == costs.columns || threshold == f32::MIN;
        self.bounds[row] = if all { f64::INFINITY } else { bound };
        if found.len() > LENGTH {
            // Equal costs are taken from the diagonal on: else all rows would crowd into the same columns.
            let n = costs.columns;
            self.ranked.clear();
            self.ranked.extend(found.iter().map(|column| {
                let column = *column as usize;
                (costs.at(row, column) - duals.exact[column], (column + n - row) % n)
            }));
            let by_both = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
            let (best, next, _) = self.ranked.select_nth_unstable_by(LENGTH, by_both);
            self.bounds[row] = self.bounds[row].min(next.0);
            found.clear();
            found.extend(best.iter().map(|(_, place)| ((place + row) % n) as u32));
        }
        self.lengths[row] = found.len() as u32;
        let values = costs.row(row);
        for (candidate, column) in self.candidates[row * LENGTH..].iter_mut().zip(found) {
            *candidate = Candidate { cost: costs.sign * values[*column as usize], column: *column };
        }
    }

    /// All columns of a row whose reduced cost may lie below `limit`.
    pub(super) fn below(&mut self, costs: Costs<'_, T>, row: usize, duals: &Duals<T>, limit: f64) -> &[u32] {
        self.found.clear();
        let (gains, threshold, found) = (duals.gains(costs, row), duals.threshold(limit), &mut self.found);
        self.isa.run(AtLeast { gains, threshold, found });
        &self.found
    }

    /// The smallest reduced costs of a row; of several smallest, one whose column is free, if the list has such.
    pub(super) fn two_smallest(
        &mut self,
        costs: Costs<'_, T>,
        row: usize,
        duals: &Duals<T>,
        row_of: &[u32],
    ) -> TwoSmallest {
        let two = self.two_in_list(row, duals, row_of);
        if two.second <= self.bounds[row] {
            return two;
        }
        self.make(costs, row, duals, FEW);
        self.two_in_list(row, duals, row_of)
    }

    fn two_in_list(&self, row: usize, duals: &Duals<T>, row_of: &[u32]) -> TwoSmallest {
        let mut two = TwoSmallest { column: 0, smallest: f64::INFINITY, second: f64::INFINITY };
        for candidate in self.list(row) {
            let column = candidate.column as usize;
            let reduced = candidate.cost.into() - duals.exact[column];
            if reduced < two.smallest {
                two = TwoSmallest { column, smallest: reduced, second: two.smallest };
                continue;
            }
            two.second = if reduced < two.second { reduced } else { two.second };
            if reduced == two.smallest && row_of[two.column] != NONE && row_of[column] == NONE {
                two.column = column;
            }
        }
        two
    }
}
