//! Sums over matrices: of rows and columns in one pass, and of products with a permuted row.

use super::isa::Kernel;
use super::lanes::BLOCK;
use super::lanes::Lanes;

/// What is known of a row or a column: the sum of its values, that of their squares, and the largest magnitude among them.
pub type Sums<'a> = [&'a mut [f32]; 3];

/// Sums over each row and over each column of a matrix, less a pivot.
///
/// A pivot near the values keeps the digits of what is left when the square of the mean is taken from that of the squares.
#[derive(Debug)]
pub struct Marginals<'a> {
    /// The matrix, whose neighbours in a row are neighbours in memory.
    pub from: &'a [f32],
    /// Floats between two rows.
    pub stride: usize,
    /// Subtracted from every value.
    pub pivot: f32,
    /// For each row; replaced.
    pub rows: Sums<'a>,
    /// For each column; added to, or enlarged.
    pub columns: Sums<'a>,
}

impl Kernel for Marginals<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { from, stride, pivot, rows, columns: [sums, squares, largest] } = self;
        let (height, width) = (rows[0].len(), sums.len());
        assert!(squares.len() == width && largest.len() == width && width > 0);
        assert!(rows.iter().all(|row| row.len() == height));
        let whole = width - width % V::LANES;
        for row in 0..height {
            let values = &from[row * stride..][..width];
            // SAFETY: all parts are inside `values`, `sums`, `squares` and `largest`, which are equally long.
            let (mut sum, mut square, mut reach) = unsafe {
                let centre = V::splat(pivot);
                let [mut all, mut all_squares, mut farthest] = [V::splat(0.0); 3];
                for column in (0..whole).step_by(V::LANES) {
                    let value = V::load(values.as_ptr().add(column)).sub(centre);
                    let magnitude = value.max(V::splat(0.0).sub(value));
                    all = all.add(value);
                    all_squares = value.mul_add(value, all_squares);
                    farthest = farthest.max(magnitude);
                    let (to, to_squares) = (sums.as_mut_ptr().add(column), squares.as_mut_ptr().add(column));
                    let to_largest = largest.as_mut_ptr().add(column);
                    V::load(to).add(value).store(to);
                    value.mul_add(value, V::load(to_squares)).store(to_squares);
                    magnitude.max(V::load(to_largest)).store(to_largest);
                }
                let mut lanes = [0.0f32; BLOCK];
                farthest.store(lanes.as_mut_ptr());
                // Halves with halves, which the compiler does side by side.
                for half in [8, 4, 2, 1] {
                    for lane in 0..half {
                        lanes[lane] = if lanes[lane] > lanes[lane + half] { lanes[lane] } else { lanes[lane + half] };
                    }
                }
                (all.sum(), all_squares.sum(), lanes[0])
            };
            for column in whole..width {
                let value = values[column] - pivot;
                sum += value;
                square += value * value;
                reach = f32::max(reach, value.abs());
                sums[column] += value;
                squares[column] += value * value;
                largest[column] = largest[column].max(value.abs());
            }
            (rows[0][row], rows[1][row], rows[2][row]) = (sum, square, reach);
        }
    }
}

/// An order in which values are read again and again: what is asked of it each time is found out once.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    indices: &'a [u32],
    largest: u32,
    /// Whether the indices are 0, 1, 2 and so on.
    plain: bool,
}

impl<'a> Order<'a> {
    /// To read first what is at the first index.
    pub fn new(indices: &'a [u32]) -> Self {
        let plain = indices.iter().zip(0..).all(|(index, place)| *index == place);
        Self { indices, largest: indices.iter().copied().max().unwrap_or(0), plain }
    }
}

/// `Σᵣ Σᵢ a[r · far + i · stride] · b[q[r] · far + p[i] · stride]`, in f64.
#[derive(Debug)]
pub struct PermutedProduct<'a> {
    /// The factor in order.
    pub a: &'a [f32],
    /// The factor that is permuted.
    pub b: &'a [f32],
    /// Floats between two rows of either.
    pub far: usize,
    /// q
    pub rows: &'a [u32],
    /// Floats between two values of a row.
    pub stride: usize,
    /// p
    pub order: Order<'a>,
}

impl Kernel for PermutedProduct<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<V: Lanes>(self) -> f64 {
        let Self { a, b, far, rows, stride, order: Order { indices, largest, plain } } = self;
        let Some(last) = rows.iter().max().filter(|_| !indices.is_empty()) else { return 0.0 };
        let reach = |row: usize, index: usize| row.saturating_mul(far).saturating_add(index.saturating_mul(stride));
        assert!(reach(rows.len() - 1, indices.len() - 1) < a.len());
        assert!(reach(*last as usize, largest as usize) < b.len());
        // By vectors as far as possible: only neighbours, and indices of 31 bits.
        let whole = indices.len() - indices.len() % V::LANES;
        let vectors = if stride == 1 && i32::try_from(largest).is_ok() { whole } else { 0 };
        // Sums that do not wait for each other.
        let mut sums = [0.0f64; 16];
        for (row, from) in rows.iter().enumerate() {
            // SAFETY: no place is behind the last ones, which are inside.
            unsafe {
                let (a, b) = (a.as_ptr().add(row * far), b.as_ptr().add(*from as usize * far));
                // The processor does not foresee which row is next.
                let next = self.b.as_ptr().wrapping_add(rows.get(row + 1).map_or(0, |next| *next as usize * far));
                for first in (0..vectors).step_by(V::LANES) {
                    V::prefetch(next.wrapping_add(first));
                    let mut values = [0.0f32; 16];
                    let moved = if plain { V::load(b.add(first)) } else { V::load_at(b, indices.as_ptr().add(first)) };
                    moved.store(values.as_mut_ptr());
                    for lane in 0..V::LANES {
                        sums[lane] += f64::from(*a.add(first + lane)) * f64::from(values[lane]);
                    }
                }
                for at in vectors..indices.len() {
                    let from = *indices.get_unchecked(at) as usize;
                    sums[at % 4] += f64::from(*a.add(at * stride)) * f64::from(*b.add(from * stride));
                }
            }
        }
        sums.iter().sum()
    }
}
