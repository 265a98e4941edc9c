//! Sums over matrices: of rows and columns in one pass, of products with a permuted row, and of those with a vector.

use crate::lanes::{BLOCK, Kernel, Lanes};

/// Rows that are summed together, so that those of the columns are read and written for all of them at once.
const ROWS: usize = 4;
/// Vectors of a row that are summed side by side.
const ABREAST: usize = 4;

/// What is known of a row or a column: the sum of its values, that of their squares, the largest of them, and the largest of their negatives. With
/// a NaN among them the sums are NaN, and the largest may be anything.
pub type Sums<'a> = [&'a mut [f32]; 4];

/// Sums over each row and over each column of a matrix, less a pivot.
///
/// A pivot near the values keeps the digits of what is left when the square of the mean is taken from that of the squares.
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
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { from, stride, pivot, mut rows, columns } = self;
        let (height, width) = (rows[0].len(), columns[0].len());
        assert!(width > 0 && columns.iter().all(|column| column.len() == width));
        assert!(rows.iter().all(|row| row.len() == height));
        assert!(height == 0 || (height - 1).saturating_mul(stride).saturating_add(width) <= from.len());
        let columns = columns.map(<[f32]>::as_mut_ptr);
        let mut row = 0;
        while row < height {
            // SAFETY: so many rows are inside of `from`, and `width` values of each of the columns.
            unsafe {
                let from = from.as_ptr().add(row * stride);
                if height - row >= ROWS {
                    sums::<V, ROWS>(from, stride, pivot, (columns, width), &mut rows, row);
                    row += ROWS;
                } else {
                    sums::<V, 1>(from, stride, pivot, (columns, width), &mut rows, row);
                    row += 1;
                }
            }
        }
    }
}

/// The sums of `R` rows, which are also added to those of the columns.
///
/// # Safety
/// There are so many rows and columns.
#[inline(always)]
unsafe fn sums<V: Lanes, const R: usize>(
    from: *const f32,
    stride: usize,
    pivot: f32,
    ([sums, squares, largest, least], width): ([*mut f32; 4], usize),
    rows: &mut Sums<'_>,
    first: usize,
) {
    let whole = width - width % V::LANES;
    // SAFETY: the caller's promise.
    unsafe {
        let (centre, zero) = (V::splat(pivot), V::splat(0.0));
        let [mut row_sums, mut row_squares] = [[zero; R]; 2];
        let [mut row_largest, mut row_least] = [[V::splat(f32::NEG_INFINITY); R]; 2];
        for column in (0..whole).step_by(V::LANES) {
            let [mut sum, mut square] = [V::load(sums.add(column)), V::load(squares.add(column))];
            let [mut high, mut low] = [V::load(largest.add(column)), V::load(least.add(column))];
            for row in 0..R {
                let value = V::load(from.add(row * stride + column)).sub(centre);
                let negative = zero.sub(value);
                row_sums[row] = row_sums[row].add(value);
                row_squares[row] = value.mul_add(value, row_squares[row]);
                row_largest[row] = row_largest[row].max(value);
                row_least[row] = row_least[row].max(negative);
                sum = sum.add(value);
                square = value.mul_add(value, square);
                high = high.max(value);
                low = low.max(negative);
            }
            sum.store(sums.add(column));
            square.store(squares.add(column));
            high.store(largest.add(column));
            low.store(least.add(column));
        }
        for row in 0..R {
            let (mut sum, mut square) = (row_sums[row].sum(), row_squares[row].sum());
            let (mut high, mut low) = (largest_of(row_largest[row]), largest_of(row_least[row]));
            for column in whole..width {
                let value = *from.add(row * stride + column) - pivot;
                sum += value;
                square += value * value;
                (high, low) = (high.max(value), low.max(-value));
                *sums.add(column) += value;
                *squares.add(column) += value * value;
                *largest.add(column) = (*largest.add(column)).max(value);
                *least.add(column) = (*least.add(column)).max(-value);
            }
            rows.iter_mut().zip([sum, square, high, low]).for_each(|(all, own)| all[first + row] = own);
        }
    }
}

#[inline(always)]
unsafe fn largest_of<V: Lanes>(values: V) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; BLOCK];
    // SAFETY: a vector has sixteen lanes at most.
    unsafe { values.store(lanes.as_mut_ptr()) };
    // Halves with halves, which the compiler does side by side.
    for half in [8, 4, 2, 1] {
        for lane in 0..half {
            lanes[lane] = if lanes[lane] > lanes[lane + half] { lanes[lane] } else { lanes[lane + half] };
        }
    }
    lanes[0]
}

/// Indices that many products gather by; their largest is found once.
#[derive(Clone, Copy, Debug)]
pub struct Indices<'a> {
    values: &'a [u32],
    largest: u32,
    /// Whether the indices are 0, 1, 2 and so on.
    plain: bool,
}

impl<'a> Indices<'a> {
    /// Gathers value `indices[i]` as number i.
    pub fn new(indices: &'a [u32]) -> Self {
        let plain = indices.iter().zip(0..).all(|(index, place)| *index == place);
        Self { values: indices, largest: indices.iter().copied().max().unwrap_or(0), plain }
    }

    /// Number of indices.
    pub fn count(self) -> usize {
        self.values.len()
    }
}

/// `Σᵣ Σᵢ a[r · far + i · stride] · b[q[r] · far + p[i] · stride]`, in f64.
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
    pub indices: Indices<'a>,
}

impl Kernel<f64> for PermutedProduct<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) -> f64 {
        let Self { a, b, far, rows, stride, indices: Indices { values: indices, largest, plain } } = self;
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
                // The processor does not foresee which row is next.
                let next = rows.get(row + 1).unwrap_or(from);
                let next = b.as_ptr().wrapping_add(*next as usize * far);
                let (a, b) = (a.as_ptr().add(row * far), b.as_ptr().add(*from as usize * far));
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

/// `rows[i] = Σⱼ matrix[i, j] columns[j]`
pub struct TimesColumn<'a> {
    /// (rows, columns)
    pub matrix: &'a [f32],
    /// One for each column.
    pub columns: &'a [f32],
    /// One for each row; replaced.
    pub rows: &'a mut [f32],
}

impl Kernel for TimesColumn<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { matrix, columns, rows } = self;
        let width = columns.len();
        assert!(matrix.len() >= rows.len().saturating_mul(width));
        let step = ABREAST * V::LANES;
        let whole = width - width % step;
        for (index, sum) in rows.iter_mut().enumerate() {
            let row = &matrix[index * width..][..width];
            // SAFETY: all vectors are inside of `row` and `columns`, which are equally long.
            unsafe {
                let mut sums = [V::splat(0.0); ABREAST];
                for first in (0..whole).step_by(step) {
                    for at in 0..ABREAST {
                        let place = first + at * V::LANES;
                        let (value, factor) = (V::load(row.as_ptr().add(place)), V::load(columns.as_ptr().add(place)));
                        sums[at] = value.mul_add(factor, sums[at]);
                    }
                }
                *sum = sums[0].add(sums[1]).add(sums[2].add(sums[3])).sum();
            }
            for column in whole..width {
                *sum += row[column] * columns[column];
            }
        }
    }
}

/// `columns[j] = Σᵢ rows[i] matrix[i, j]`
pub struct TimesRow<'a> {
    /// (rows, columns)
    pub matrix: &'a [f32],
    /// One for each row.
    pub rows: &'a [f32],
    /// One for each column; replaced.
    pub columns: &'a mut [f32],
}

impl Kernel for TimesRow<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { matrix, rows, columns } = self;
        let width = columns.len();
        assert!(matrix.len() >= rows.len().saturating_mul(width));
        columns.fill(0.0);
        let whole = width - width % V::LANES;
        for (index, factor) in rows.iter().enumerate() {
            let row = &matrix[index * width..][..width];
            for first in (0..whole).step_by(V::LANES) {
                // SAFETY: all vectors are inside of `row` and `columns`, which are equally long.
                unsafe {
                    let to = columns.as_mut_ptr().add(first);
                    V::load(row.as_ptr().add(first)).mul_add(V::splat(*factor), V::load(to)).store(to);
                }
            }
            for column in whole..width {
                columns[column] += factor * row[column];
            }
        }
    }
}
