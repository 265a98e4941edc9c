//! The scans of linear assignment: minima along rows and columns of a matrix of costs.

use super::isa::Kernel;
use super::lanes::Lanes;

/// Columns in a group of [`GroupMinima`].
pub const DEPTH: usize = 16;
/// Groups that a scan fills at once: four vectors of eight f64, since one alone would wait for its own minimum.
pub const WIDTH: usize = 32;

/// How many groups the columns of a row make.
pub fn groups(columns: usize) -> usize {
    columns.div_ceil(WIDTH * DEPTH) * WIDTH
}

/// The columns of a group: every `WIDTH`-th of a stretch, so that a vector holds neighbours and no minimum crosses lanes.
pub fn columns_of(group: usize, columns: usize) -> impl Iterator<Item = usize> {
    let first = group / WIDTH * (WIDTH * DEPTH) + group % WIDTH;
    (first..columns).step_by(WIDTH).take(DEPTH)
}

/// The smallest reduced cost, sign · c − v, in each group of a row's columns; infinite where a group is empty.
#[derive(Debug)]
pub struct GroupMinima<'a> {
    /// c: (column)
    pub row: &'a [f32],
    /// 1, or −1 for the minima of −c.
    pub sign: f32,
    /// v: (column)
    pub duals: &'a [f64],
    /// (group)
    pub minima: &'a mut [f64],
}

impl Kernel for GroupMinima<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let columns = self.row.len();
        assert_eq!(self.minima.len(), groups(columns));
        let (rows, row_rest) = self.row.as_chunks::<WIDTH>();
        let (duals, dual_rest) = self.duals[..columns].as_chunks::<WIDTH>();
        let stretches = self.minima.as_chunks_mut::<WIDTH>().0;
        for (stretch, minima) in stretches.iter_mut().enumerate() {
            let mut least = [f64::INFINITY; WIDTH];
            let range = stretch * DEPTH..((stretch + 1) * DEPTH).min(rows.len());
            for (row, duals) in rows[range.clone()].iter().zip(&duals[range]) {
                for lane in 0..WIDTH {
                    let reduced = f64::from(self.sign * row[lane]) - duals[lane];
                    least[lane] = if reduced < least[lane] { reduced } else { least[lane] };
                }
            }
            *minima = least;
        }
        if let Some(last) = stretches.last_mut() {
            for (lane, (cost, dual)) in row_rest.iter().zip(dual_rest).enumerate() {
                last[lane] = last[lane].min(f64::from(self.sign * cost) - dual);
            }
        }
    }
}

/// The smallest reduced cost of a row, where it is, and the second smallest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoSmallest {
    /// One that has the smallest.
    pub column: usize,
    /// The smallest.
    pub smallest: f64,
    /// That of any other column; infinite if there is none.
    pub second: f64,
}

/// Finds the [`TwoSmallest`] of sign · c − v.
#[derive(Debug)]
pub struct FindTwoSmallest<'a> {
    /// c: (column)
    pub row: &'a [f32],
    /// 1, or −1 for the minima of −c.
    pub sign: f32,
    /// v: (column)
    pub duals: &'a [f64],
}

impl Kernel for FindTwoSmallest<'_> {
    type Output = TwoSmallest;
    #[inline(always)]
    fn run<V: Lanes>(self) -> TwoSmallest {
        let (rows, row_rest) = self.row.as_chunks::<WIDTH>();
        let (duals, dual_rest) = self.duals[..self.row.len()].as_chunks::<WIDTH>();
        let (mut first, mut second) = ([f64::INFINITY; WIDTH], [f64::INFINITY; WIDTH]);
        let mut chunks = [0u32; WIDTH];
        for (chunk, (row, duals)) in rows.iter().zip(duals).enumerate() {
            for lane in 0..WIDTH {
                let reduced = f64::from(self.sign * row[lane]) - duals[lane];
                let smaller = reduced < first[lane];
                let larger = if smaller { first[lane] } else { reduced };
                second[lane] = if larger < second[lane] { larger } else { second[lane] };
                first[lane] = if smaller { reduced } else { first[lane] };
                chunks[lane] = if smaller { chunk as u32 } else { chunks[lane] };
            }
        }
        let mut two = TwoSmallest::none();
        for lane in 0..WIDTH {
            two.take(chunks[lane] as usize * WIDTH + lane, first[lane]);
            two.second = if second[lane] < two.second { second[lane] } else { two.second };
        }
        for (lane, (cost, dual)) in row_rest.iter().zip(dual_rest).enumerate() {
            two.take(rows.len() * WIDTH + lane, f64::from(self.sign * cost) - dual);
        }
        two
    }
}

impl TwoSmallest {
    /// Before any column.
    pub fn none() -> Self {
        Self { column: 0, smallest: f64::INFINITY, second: f64::INFINITY }
    }

    /// Takes one more column into account.
    #[inline(always)]
    pub fn take(&mut self, column: usize, reduced: f64) {
        if reduced < self.smallest {
            *self = Self { column, smallest: reduced, second: self.smallest };
        } else if reduced < self.second {
            self.second = reduced;
        }
    }
}

/// Takes the ways through one row into the distances of columns: offset + sign · c − v where that is shorter.
///
/// Returns the nearest column with a distance above −∞ and that distance, or ∞ if there is none.
#[derive(Debug)]
pub struct Relax<'a> {
    /// c: (column)
    pub row: &'a [f32],
    /// 1, or −1 for the minima of −c.
    pub sign: f32,
    /// The number of the row.
    pub index: u32,
    /// v: (column)
    pub duals: &'a [f64],
    /// What the distance of a column is beyond its reduced cost.
    pub offset: f64,
    /// (column)
    pub distances: &'a mut [f64],
    /// The row that each distance leads through: (column)
    pub before: &'a mut [u32],
}

impl Kernel for Relax<'_> {
    type Output = (usize, f64);
    #[inline(always)]
    fn run<V: Lanes>(self) -> (usize, f64) {
        let columns = self.row.len();
        let (rows, row_rest) = self.row.as_chunks::<WIDTH>();
        let (duals, dual_rest) = self.duals[..columns].as_chunks::<WIDTH>();
        let (distances, distance_rest) = self.distances[..columns].as_chunks_mut::<WIDTH>();
        let (before, before_rest) = self.before[..columns].as_chunks_mut::<WIDTH>();
        let (mut least, mut chunks) = ([f64::INFINITY; WIDTH], [0u32; WIDTH]);
        for (chunk, row) in rows.iter().enumerate() {
            let (duals, distances, before) = (&duals[chunk], &mut distances[chunk], &mut before[chunk]);
            for lane in 0..WIDTH {
                let way = self.offset + (f64::from(self.sign * row[lane]) - duals[lane]);
                let shorter = way < distances[lane];
                let distance = if shorter { way } else { distances[lane] };
                distances[lane] = distance;
                before[lane] = if shorter { self.index } else { before[lane] };
                let open = if distance > f64::NEG_INFINITY { distance } else { f64::INFINITY };
                let nearer = open < least[lane];
                least[lane] = if nearer { open } else { least[lane] };
                chunks[lane] = if nearer { chunk as u32 } else { chunks[lane] };
            }
        }
        let mut nearest = (0, f64::INFINITY);
        for lane in 0..WIDTH {
            if least[lane] < nearest.1 {
                nearest = (chunks[lane] as usize * WIDTH + lane, least[lane]);
            }
        }
        for (lane, cost) in row_rest.iter().enumerate() {
            let way = self.offset + (f64::from(self.sign * cost) - dual_rest[lane]);
            if way < distance_rest[lane] {
                distance_rest[lane] = way;
                before_rest[lane] = self.index;
            }
            if distance_rest[lane] > f64::NEG_INFINITY && distance_rest[lane] < nearest.1 {
                nearest = (rows.len() * WIDTH + lane, distance_rest[lane]);
            }
        }
        nearest
    }
}

/// Takes one row into the minima of columns: where sign · c is below the minimum so far, it and its row replace it.
#[derive(Debug)]
pub struct ColumnMinima<'a> {
    /// c: (column)
    pub row: &'a [f32],
    /// 1, or −1 for the minima of −c.
    pub sign: f32,
    /// The number of the row.
    pub index: u32,
    /// (column)
    pub minima: &'a mut [f32],
    /// The row of each minimum: (column)
    pub rows: &'a mut [u32],
}

impl Kernel for ColumnMinima<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let len = self.row.len();
        let take = |cost: f32, minimum: &mut f32, row: &mut u32| {
            let below = self.sign * cost < *minimum;
            *minimum = if below { self.sign * cost } else { *minimum };
            *row = if below { self.index } else { *row };
        };
        // In chunks of known length: in one loop the compiler would write by masks, which is half as fast.
        let (costs, cost_rest) = self.row.as_chunks::<WIDTH>();
        let (minima, minimum_rest) = self.minima[..len].as_chunks_mut::<WIDTH>();
        let (rows, row_rest) = self.rows[..len].as_chunks_mut::<WIDTH>();
        for ((costs, minima), rows) in costs.iter().zip(minima).zip(rows) {
            for lane in 0..WIDTH {
                take(costs[lane], &mut minima[lane], &mut rows[lane]);
            }
        }
        for ((cost, minimum), row) in cost_rest.iter().zip(minimum_rest).zip(row_rest) {
            take(*cost, minimum, row);
        }
    }
}

/// The largest magnitude among values; NaN or infinite if one of them is.
#[derive(Debug)]
pub struct LargestMagnitude<'a> {
    /// Any number of values.
    pub values: &'a [f32],
}

impl Kernel for LargestMagnitude<'_> {
    type Output = f32;
    #[inline(always)]
    fn run<V: Lanes>(self) -> f32 {
        // Without their sign, floats are in the order of their bits, then come the infinities, then NaN.
        f32::from_bits(self.values.iter().fold(0, |largest, value| largest.max(value.abs().to_bits())))
    }
}
