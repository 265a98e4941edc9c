//! Products of a matrix with a vector, from either side.

use super::isa::Kernel;
use super::lanes::Lanes;

/// Vectors of a row that are summed side by side.
const ABREAST: usize = 4;

/// `rows[i] = Σⱼ matrix[i, j] columns[j]`
#[derive(Debug)]
pub struct TimesColumn<'a> {
    /// (rows, columns)
    pub matrix: &'a [f32],
    /// One for each column.
    pub columns: &'a [f32],
    /// One for each row; replaced.
    pub rows: &'a mut [f32],
}

impl Kernel for TimesColumn<'_> {
    type Output = ();

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
#[derive(Debug)]
pub struct TimesRow<'a> {
    /// (rows, columns)
    pub matrix: &'a [f32],
    /// One for each row.
    pub rows: &'a [f32],
    /// One for each column; replaced.
    pub columns: &'a mut [f32],
}

impl Kernel for TimesRow<'_> {
    type Output = ();

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
