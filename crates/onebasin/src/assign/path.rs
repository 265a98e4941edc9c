//! Shortest augmenting paths: Dijkstra's search from a free row to a free column, along reduced costs.

use super::NONE;
use super::duals::{Duals, refill};
use super::matrix::Costs;
use super::shortlist::{MANY, Shortlists};
use crate::error::{Error, Result};
use onebasin_kernels::assignment::{Cost, Relax};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A search gives its lists up once it has looked beyond them so often, and once more for each `SETTLED_PER_LOOK` columns
/// that it has settled. Costs of low rank need it: there paths lead through columns that are the best of no row.
const LOOKS: usize = 32;
const SETTLED_PER_LOOK: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Event {
    distance: f64,
    kind: EventKind,
}

/// At equal distances columns come first: they may make a look at the whole row needless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EventKind {
    /// A column is reached, and with it the row that has it.
    Column(u32),
    /// Columns beyond the list of a row might be reached.
    Beyond(u32),
}

impl Eq for Event {}

impl Ord for Event {
    /// The nearest is the largest, since a `BinaryHeap` yields that first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.distance.total_cmp(&self.distance).then_with(|| other.kind.cmp(&self.kind))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Debug, Default)]
pub(super) struct Search {
    /// Infinite where not reached, negatively so where settled: (column)
    distances: Vec<f64>,
    /// The row before a column that was reached: (column)
    before: Vec<u32>,
    /// Distance less the dual of a row that was reached: (row)
    offsets: Vec<f64>,
    events: BinaryHeap<Event>,
    reached: Vec<u32>,
    settled: Vec<(u32, f64)>,
    /// The free columns, and perhaps some that were.
    free: Vec<u32>,
    /// The nearest free column, and how far it is.
    end: u32,
    end_distance: f64,
}

/// What a search reads and, in the end, changes.
#[derive(Debug)]
pub(super) struct State<'a, T> {
    pub costs: Costs<'a, T>,
    pub duals: &'a mut Duals<T>,
    pub row_of: &'a mut [u32],
    pub column_of: &'a mut [u32],
    pub lists: &'a mut Shortlists<T>,
}

impl Search {
    pub(super) fn reset(&mut self, row_of: &[u32]) {
        let n = row_of.len();
        self.events.clear();
        self.reached.clear();
        self.settled.clear();
        refill(&mut self.distances, n, f64::INFINITY);
        self.before.resize(n, NONE);
        self.offsets.resize(n, 0.0);
        self.free.clear();
        self.free.extend((0..n as u32).filter(|column| row_of[*column as usize] == NONE));
    }

    /// Gives `start`, a free row, a column, so that reduced costs stay at least zero and zero where assigned.
    pub(super) fn augment<T: Cost>(&mut self, state: &mut State<'_, T>, start: usize) -> Result<()> {
        self.end_distance = f64::INFINITY;
        // Whatever its dual, the nearest column is the same.
        self.visit(state, start, 0.0);
        let mut looks = 0;
        while let Some(event) = self.events.pop() {
            if event.distance >= self.end_distance {
                break;
            }
            if looks > LOOKS + self.settled.len() / SETTLED_PER_LOOK {
                self.search_rows(state, start);
                break;
            }
            match event.kind {
                EventKind::Column(column) => {
                    let column = column as usize;
                    if event.distance != self.distances[column] {
                        continue; // it was reached by a shorter path, or is settled
                    }
                    self.distances[column] = f64::NEG_INFINITY;
                    self.settled.push((column as u32, event.distance));
                    let row = state.row_of[column] as usize;
                    let dual = state.costs.at(row, column) - state.duals.exact[column];
                    self.visit(state, row, event.distance - dual);
                }
                EventKind::Beyond(row) => {
                    looks += 1;
                    self.look_beyond(state, row as usize);
                }
            }
        }
        self.finish(state, start)
    }

    /// Reaches columns from a row, by its list.
    fn visit<T: Cost>(&mut self, state: &mut State<'_, T>, row: usize, offset: f64) {
        self.offsets[row] = offset;
        if state.lists.list(row).is_empty() {
            state.lists.make(state.costs, row, state.duals, MANY);
        }
        for candidate in state.lists.list(row) {
            let column = candidate.column as usize;
            let distance = offset + (candidate.cost.into() - state.duals.exact[column]);
            self.reach(state.row_of, row, column, distance);
        }
        let distance = offset + state.lists.bound(row);
        if distance < self.end_distance {
            self.events.push(Event { distance, kind: EventKind::Beyond(row as u32) });
        }
    }

    #[inline]
    fn reach(&mut self, row_of: &[u32], row: usize, column: usize, distance: f64) {
        let known = self.distances[column];
        if distance >= known || distance >= self.end_distance {
            return;
        }
        if known == f64::INFINITY {
            self.reached.push(column as u32);
        }
        self.distances[column] = distance;
        self.before[column] = row as u32;
        if row_of[column] == NONE {
            self.end = column as u32;
            self.end_distance = distance;
        } else {
            self.events.push(Event { distance, kind: EventKind::Column(column as u32) });
        }
    }

    /// Rebuilds the list of a row or, if that leads no further, reaches all its columns.
    fn look_beyond<T: Cost>(&mut self, state: &mut State<'_, T>, row: usize) {
        let bound = state.lists.bound(row);
        let offset = self.offsets[row];
        state.lists.make(state.costs, row, state.duals, MANY);
        if state.lists.bound(row) > bound {
            self.visit(state, row, offset);
            return;
        }
        // Free columns first: no column beyond the nearest of them matters.
        let (costs, row_of, duals) = (state.costs, &*state.row_of, &*state.duals);
        let mut free = std::mem::take(&mut self.free);
        free.retain(|column| row_of[*column as usize] == NONE);
        let distance = |column: usize| offset + (costs.at(row, column) - duals.exact[column]);
        for column in &free {
            self.reach(row_of, row, *column as usize, distance(*column as usize));
        }
        self.free = free;
        for column in state.lists.below(costs, row, duals, self.end_distance - offset) {
            self.reach(row_of, row, *column as usize, distance(*column as usize));
        }
    }

    /// Finds the nearest free column by scans of whole rows, from wherever a search by lists has come.
    fn search_rows<T: Cost>(&mut self, state: &mut State<'_, T>, start: usize) {
        self.events.clear();
        let row_of = &*state.row_of;
        self.free.retain(|column| row_of[*column as usize] == NONE);
        let mut nearest = self.relax(state, start);
        for index in 0..self.settled.len() {
            nearest = self.relax(state, state.row_of[self.settled[index].0 as usize] as usize);
        }
        while nearest.1 < f64::INFINITY && state.row_of[nearest.0] != NONE {
            let (column, distance) = nearest;
            // Where many columns are as near, a free one ends the search.
            if let Some(free) = self.free.iter().find(|free| self.distances[**free as usize] == distance) {
                nearest.0 = *free as usize;
                break;
            }
            self.distances[column] = f64::NEG_INFINITY;
            self.settled.push((column as u32, distance));
            let row = state.row_of[column] as usize;
            self.offsets[row] = distance - (state.costs.at(row, column) - state.duals.exact[column]);
            nearest = self.relax(state, row);
        }
        (self.end, self.end_distance) = (nearest.0 as u32, nearest.1);
        self.reached.clear();
        self.reached.extend(0..state.costs.columns as u32);
    }

    /// Reaches all columns from a row; the nearest that is not settled, and its distance.
    fn relax<T: Cost>(&mut self, state: &State<'_, T>, row: usize) -> (usize, f64) {
        let (costs, duals, offset) = (state.costs, &state.duals.exact[..], self.offsets[row]);
        let (distances, before) = (&mut self.distances[..], &mut self.before[..]);
        let (row, index) = (costs.row(row), row as u32);
        state.lists.isa.run(Relax { row, sign: costs.sign, index, duals, offset, distances, before })
    }

    /// Lowers the duals of settled columns and flips the assignments along the path.
    fn finish<T: Cost>(&mut self, state: &mut State<'_, T>, start: usize) -> Result<()> {
        if self.end_distance == f64::INFINITY {
            return Err(Error::Infeasible);
        }
        for (column, distance) in self.settled.drain(..) {
            let column = column as usize;
            state.duals.move_to(column, state.duals.exact[column] - (self.end_distance - distance));
        }
        let mut column = self.end;
        loop {
            let row = self.before[column as usize];
            state.row_of[column as usize] = row;
            let next = std::mem::replace(&mut state.column_of[row as usize], column);
            if row as usize == start {
                break;
            }
            column = next;
        }
        self.events.clear();
        self.reached.drain(..).for_each(|column| self.distances[column as usize] = f64::INFINITY);
        Ok(())
    }
}
