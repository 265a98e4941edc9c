//! For every row a few columns of small reduced cost, which stand for the whole row as long as that is exact.
//!
//! While an assignment is sought, the duals of columns only fall, so reduced costs only rise. Those of a row's columns
//! beyond its list therefore stay above the bound that they had when the list was made: whatever is found below the
//! bound in the list is the smallest of the row, without a look at the row.

use crate::kernels::Isa;
use crate::kernels::assignment;
use crate::kernels::assignment::FindTwoSmallest;
use crate::kernels::assignment::GroupMinima;
use crate::kernels::assignment::TwoSmallest;

/// Columns in a list.
const LENGTH: usize = 24;
/// Fewer columns are scanned faster than a list is made and kept.
const WORTH_A_LIST: usize = 256;

/// Marks a row or column without a partner.
pub(super) const NONE: u32 = u32::MAX;

/// The matrix, seen as one to minimise.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs<'a> {
    /// (row, column)
    pub values: &'a [f32],
    pub n: usize,
    /// −1 to maximise.
    pub sign: f32,
}

impl<'a> Costs<'a> {
    pub(super) fn row(&self, row: usize) -> &'a [f32] {
        &self.values[row * self.n..][..self.n]
    }

    pub(super) fn at(&self, row: usize, column: usize) -> f64 {
        f64::from(self.sign * self.values[row * self.n + column])
    }
}

/// One column of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// The reduced cost when the list was made: it is not smaller now.
    pub floor: f64,
    /// The cost, negated to maximise.
    pub cost: f32,
    pub column: u32,
}

/// The lists of all rows.
#[derive(Debug)]
pub(super) struct Shortlists {
    isa: Isa,
    /// (row, `LENGTH`), the smallest floor first.
    candidates: Vec<Candidate>,
    /// How many there are of each row.
    lengths: Vec<u32>,
    /// No column beyond the list has a smaller reduced cost: (row)
    bounds: Vec<f64>,
    /// Of the row scanned last: (group)
    minima: Vec<f64>,
    sorted: Vec<f64>,
    found: Vec<Candidate>,
}

impl Shortlists {
    pub(super) fn new(isa: Isa) -> Self {
        let (candidates, lengths, bounds) = (Vec::new(), Vec::new(), Vec::new());
        Self { isa, candidates, lengths, bounds, minima: Vec::new(), sorted: Vec::new(), found: Vec::new() }
    }

    pub(super) fn isa(&self) -> Isa {
        self.isa
    }

    /// Forgets all lists.
    pub(super) fn reset(&mut self, n: usize) {
        self.candidates
            .resize(if n < WORTH_A_LIST { 0 } else { n * LENGTH }, Candidate { floor: 0.0, cost: 0.0, column: 0 });
        self.lengths.clear();
        self.lengths.resize(n, 0);
        self.bounds.clear();
        self.bounds.resize(n, f64::NEG_INFINITY);
        self.minima.resize(assignment::groups(n), 0.0);
    }

    /// Whether lists are worth while for this many rows.
    pub(super) fn are_used(&self) -> bool {
        self.bounds.len() >= WORTH_A_LIST
    }

    pub(super) fn list(&self, row: usize) -> &[Candidate] {
        &self.candidates[row * LENGTH..][..self.lengths[row] as usize]
    }

    pub(super) fn bound(&self, row: usize) -> f64 {
        self.bounds[row]
    }

    /// Makes the list of a row anew, and leaves the minima of its groups behind.
    pub(super) fn make(&mut self, costs: Costs<'_>, row: usize, duals: &[f64]) {
        let values = costs.row(row);
        let minima = &mut self.minima[..];
        self.isa.run(GroupMinima { row: values, sign: costs.sign, duals, minima });
        // At least LENGTH columns are not above the LENGTH-th smallest minimum, and not many more.
        let mut limit = f64::INFINITY;
        if minima.len() > LENGTH {
            self.sorted.clear();
            self.sorted.extend_from_slice(minima);
            limit = *self.sorted.select_nth_unstable_by(LENGTH - 1, f64::total_cmp).1;
        }
        let found = &mut self.found;
        found.clear();
        let mut collect = |group: usize| {
            for column in assignment::columns_of(group, costs.n) {
                let cost = costs.sign * values[column];
                let floor = f64::from(cost) - duals[column];
                if floor <= limit {
                    found.push(Candidate { floor, cost, column: column as u32 });
                }
            }
            found.len()
        };
        let mut count = 0;
        for (group, minimum) in minima.iter().enumerate() {
            if *minimum < limit {
                count = collect(group);
            }
        }
        // Equal costs are taken from the diagonal on: else all rows would crowd into the same columns.
        let first = row % minima.len();
        for group in (first..minima.len()).chain(0..first) {
            if count >= LENGTH {
                break;
            }
            if minima[group] == limit {
                count = collect(group);
            }
        }
        let from_diagonal = |column: u32| (column as usize + costs.n - row) % costs.n;
        found.sort_unstable_by(|a, b| {
            a.floor.total_cmp(&b.floor).then_with(|| from_diagonal(a.column).cmp(&from_diagonal(b.column)))
        });
        self.bounds[row] = found.get(LENGTH).map_or(limit, |next| next.floor);
        found.truncate(LENGTH);
        self.lengths[row] = found.len() as u32;
        self.candidates[row * LENGTH..][..found.len()].copy_from_slice(found);
    }

    /// Calls `take` with the columns of a row whose reduced cost may lie below `limit`. The row was scanned last.
    pub(super) fn below(&self, n: usize, limit: f64, mut take: impl FnMut(usize)) {
        for (group, minimum) in self.minima.iter().enumerate() {
            if *minimum < limit {
                assignment::columns_of(group, n).for_each(&mut take);
            }
        }
    }

    /// The smallest reduced costs of a row; of several smallest, one whose column is free, if the list has such.
    pub(super) fn two_smallest(&mut self, costs: Costs<'_>, row: usize, duals: &[f64], row_of: &[u32]) -> TwoSmallest {
        if !self.are_used() {
            return self.two_in_row(costs, row, duals);
        }
        let two = self.two_in_list(row, duals, row_of);
        if two.second <= self.bounds[row] && self.lengths[row] > 0 {
            return two;
        }
        self.make(costs, row, duals);
        self.two_in_list(row, duals, row_of)
    }

    /// The same by a scan of the row.
    fn two_in_row(&self, costs: Costs<'_>, row: usize, duals: &[f64]) -> TwoSmallest {
        self.isa.run(FindTwoSmallest { row: costs.row(row), sign: costs.sign, duals })
    }

    fn two_in_list(&self, row: usize, duals: &[f64], row_of: &[u32]) -> TwoSmallest {
        let mut two = TwoSmallest::none();
        for candidate in self.list(row) {
            if candidate.floor > two.second {
                break;
            }
            let column = candidate.column as usize;
            let reduced = f64::from(candidate.cost) - duals[column];
            if reduced == two.smallest && row_of[two.column] != NONE && row_of[column] == NONE {
                two.column = column;
            }
            two.take(column, reduced);
        }
        two
    }
}
