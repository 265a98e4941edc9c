//! The leading eigenvectors of a symmetric matrix.

use crate::kernels::Team;
use crate::rng::Stream;

/// Vectors that are iterated beyond those that are wanted: the more, the faster the wanted ones converge.
const SPARE: usize = 8;
/// Iterations at most; a direction that has not converged by then is as good as its neighbours.
const ITERATIONS: usize = 300;
/// The iteration ends when the sum of the wanted eigenvalues grows by less than this part of it.
const ENOUGH: f64 = 1e-9;
/// Rounds of rotations for each eigenvalue, at most: two or three are usual, and NaN never becomes small.
const ROTATIONS: usize = 100;

/// An eigenvalue and its vector, of length 1.
#[derive(Clone, Debug)]
pub(super) struct Eigen {
    pub(super) value: f64,
    pub(super) vector: Vec<f64>,
}

/// The `count` largest eigenvalues of `matrix`, (size, size), symmetric, the largest first.
///
/// All are found if that is not much more work, and if it is, only these, by orthogonal iteration (Golub and Van Loan,
/// section 8.2): some vectors are multiplied by the matrix and made orthogonal, again and again.
pub(super) fn leading(matrix: &[f64], size: usize, count: usize, team: &Team) -> Vec<Eigen> {
    assert_eq!(matrix.len(), size * size, "the matrix is square");
    let few = 4 * (count + SPARE) < size;
    let mut found = if few { iterated(matrix, size, count, team) } else { all(matrix.to_vec(), size) };
    found.truncate(count);
    found
}

/// Orthogonal iteration with the eigenvectors of the matrix inside the space of the vectors.
fn iterated(matrix: &[f64], size: usize, count: usize, team: &Team) -> Vec<Eigen> {
    let columns = count + SPARE;
    let mut start = vec![0.0; columns * size];
    Stream::new(0, "spectrum", 0).fill_normal(&mut start);
    let mut vectors: Vec<Vec<f64>> =
        start.chunks_exact(size).map(|row| row.iter().map(|value| f64::from(*value)).collect()).collect();
    let mut sum = 0.0;
    let mut found = Vec::new();
    for _ in 0..ITERATIONS {
        orthogonalise(&mut vectors);
        let mut images = vec![Vec::new(); columns];
        team.chunks(&mut images, 1, |index, image| {
            image[0] = matrix.chunks_exact(size).map(|row| dot(row, &vectors[index])).collect();
        });
        let inside: Vec<f64> =
            vectors.iter().flat_map(|left| images.iter().map(move |image| dot(left, image))).collect();
        let turned = all(inside, columns);
        let combine = |all: &[Vec<f64>], by: &[f64]| {
            let mut combined = vec![0.0; size];
            for (vector, factor) in all.iter().zip(by) {
                combined.iter_mut().zip(vector).for_each(|(sum, value)| *sum += factor * value);
            }
            combined
        };
        found = turned
            .iter()
            .map(|Eigen { value, vector }| Eigen { value: *value, vector: combine(&vectors, vector) })
            .collect();
        vectors = turned.iter().map(|eigen| combine(&images, &eigen.vector)).collect();
        let before = std::mem::replace(&mut sum, turned[..count].iter().map(|eigen| eigen.value).sum());
        if (sum - before).abs() <= ENOUGH * sum.abs() {
            break;
        }
    }
    found
}

/// Makes vectors orthogonal and of length 1, each to all before it, twice because once leaves the rounding of large parts.
fn orthogonalise(vectors: &mut [Vec<f64>]) {
    for index in 0..vectors.len() {
        let (before, rest) = vectors.split_at_mut(index);
        let own = &mut rest[0];
        for _ in 0..2 {
            for other in before.iter() {
                let part = dot(other, own);
                own.iter_mut().zip(other).for_each(|(value, other)| *value -= part * other);
            }
        }
        let length = dot(own, own).sqrt();
        // A vector that is in the space of those before it becomes zero: the matrix has no more directions.
        let factor = if length > 0.0 { 1.0 / length } else { 0.0 };
        for value in own.iter_mut() {
            *value *= factor;
        }
    }
}

/// All eigenvalues, the largest first: the matrix becomes a tridiagonal one by reflections (Householder 1958), and that a
/// diagonal one by rotations (the QL algorithm: Francis 1961, Dubrulle, Martin and Wilkinson 1968).
fn all(mut rows: Vec<f64>, size: usize) -> Vec<Eigen> {
    let mut tridiagonal = reflected(&mut rows, size);
    rotated(&mut rows, size, &mut tridiagonal);
    let values = tridiagonal.diagonal.iter().zip(rows.chunks_exact(size));
    let mut found: Vec<Eigen> = values.map(|(value, row)| Eigen { value: *value, vector: row.to_vec() }).collect();
    found.sort_by(|a, b| b.value.total_cmp(&a.value));
    found
}

/// A symmetric matrix with zeros beside its diagonal and the two next to it.
struct Tridiagonal {
    diagonal: Vec<f64>,
    /// Element i is beside elements i and i + 1 of the diagonal; the last is zero.
    beside: Vec<f64>,
}

/// Makes a matrix tridiagonal; `rows` becomes the rotation that does so, an axis in each row.
fn reflected(rows: &mut [f64], size: usize) -> Tridiagonal {
    let at = |row: usize, column: usize| row * size + column;
    let (mut d, mut e) = (vec![0.0; size], vec![0.0; size]);
    (0..size).for_each(|j| d[j] = rows[at(j, size - 1)]);
    for i in (1..size).rev() {
        let scale: f64 = d[..i].iter().map(|value| value.abs()).sum();
        let mut h = 0.0;
        if scale == 0.0 {
            e[i] = d[i - 1];
            for j in 0..i {
                d[j] = rows[at(j, i - 1)];
                rows[at(j, i)] = 0.0;
                rows[at(i, j)] = 0.0;
            }
        } else {
            d[..i].iter_mut().for_each(|value| *value /= scale);
            h = dot(&d[..i], &d[..i]);
            let f = d[i - 1];
            let g = -h.sqrt().copysign(f);
            e[i] = scale * g;
            h -= f * g;
            d[i - 1] = f - g;
            e[..i].fill(0.0);
            for j in 0..i {
                let f = d[j];
                rows[at(i, j)] = f;
                let row = &rows[at(j, j + 1)..at(j, i)];
                let g = e[j] + rows[at(j, j)] * f + dot(row, &d[j + 1..i]);
                e[j + 1..i].iter_mut().zip(row).for_each(|(e, value)| *e += value * f);
                e[j] = g;
            }
            e[..i].iter_mut().for_each(|value| *value /= h);
            let half = dot(&e[..i], &d[..i]) / (h + h);
            e[..i].iter_mut().zip(&d[..i]).for_each(|(e, d)| *e -= half * d);
            for j in 0..i {
                let (f, g) = (d[j], e[j]);
                let row = &mut rows[at(j, j)..at(j, i)];
                row.iter_mut().zip(&e[j..i]).zip(&d[j..i]).for_each(|((value, e), d)| *value -= f * e + g * d);
                d[j] = rows[at(j, i - 1)];
                rows[at(j, i)] = 0.0;
            }
        }
        d[i] = h;
    }
    for i in 0..size - 1 {
        rows[at(i, size - 1)] = rows[at(i, i)];
        rows[at(i, i)] = 1.0;
        let (above, below) = rows.split_at_mut(at(i + 1, 0));
        let reflection = &mut below[..=i];
        if d[i + 1] != 0.0 {
            let h = d[i + 1];
            d[..=i].iter_mut().zip(&*reflection).for_each(|(d, value)| *d = value / h);
            for row in above.chunks_exact_mut(size) {
                let g = dot(reflection, &row[..=i]);
                row[..=i].iter_mut().zip(&d).for_each(|(value, d)| *value -= g * d);
            }
        }
        reflection.fill(0.0);
    }
    for j in 0..size {
        d[j] = rows[at(j, size - 1)];
        rows[at(j, size - 1)] = 0.0;
    }
    rows[at(size - 1, size - 1)] = 1.0;
    e.rotate_left(1);
    e[size - 1] = 0.0;
    Tridiagonal { diagonal: d, beside: e }
}

/// Makes a tridiagonal matrix diagonal, and rotates `rows` along.
fn rotated(rows: &mut [f64], size: usize, Tridiagonal { diagonal: d, beside: e }: &mut Tridiagonal) {
    let (mut shift, mut largest) = (0.0, 0.0);
    for l in 0..size {
        largest = f64::max(largest, d[l].abs() + e[l].abs());
        let small = |value: f64| value.abs() <= f64::EPSILON * largest;
        let m = (l..size).find(|m| small(e[*m])).unwrap_or(size - 1);
        for _ in 0..ROTATIONS {
            if m == l {
                break;
            }
            let g = d[l];
            let p = (d[l + 1] - g) / (2.0 * e[l]);
            let r = p.hypot(1.0).copysign(p);
            d[l] = e[l] / (p + r);
            d[l + 1] = e[l] * (p + r);
            let (next, beside_next, h) = (d[l + 1], e[l + 1], g - d[l]);
            d[l + 2..].iter_mut().for_each(|value| *value -= h);
            shift += h;
            let mut p = d[m];
            let [mut cosine, mut cosine_before, mut cosine_two_before] = [1.0; 3];
            let [mut sine, mut sine_before] = [0.0; 2];
            for i in (l..m).rev() {
                (cosine_two_before, cosine_before, sine_before) = (cosine_before, cosine, sine);
                let (g, h) = (cosine * e[i], cosine * p);
                let r = p.hypot(e[i]);
                e[i + 1] = sine * r;
                (sine, cosine) = (e[i] / r, p / r);
                p = cosine * d[i] - sine * g;
                d[i + 1] = h + sine * (cosine * g + sine * d[i]);
                let (left, right) = rows[i * size..(i + 2) * size].split_at_mut(size);
                for (left, right) in left.iter_mut().zip(right) {
                    (*left, *right) = (cosine * *left - sine * *right, sine * *left + cosine * *right);
                }
            }
            let p = -sine * sine_before * cosine_two_before * beside_next * e[l] / next;
            (e[l], d[l]) = (sine * p, cosine * p);
            if small(e[l]) {
                break;
            }
        }
        d[l] += shift;
        e[l] = 0.0;
    }
}

/// The inner product, in four sums so that it runs on vectors.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (a, b) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    for (a, b) in a.0.iter().zip(b.0) {
        for lane in 0..4 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a.1.iter().zip(b.1).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Σ λ v vᵀ of vectors that are made orthogonal, with λ = 1, 1/2, 1/3, ...
    fn known(size: usize) -> (Vec<f64>, Vec<Vec<f64>>) {
        let mut numbers = vec![0.0; size * size];
        Stream::new(3, "test", 0).fill_normal(&mut numbers);
        let mut vectors: Vec<Vec<f64>> =
            numbers.chunks_exact(size).map(|row| row.iter().map(|value| f64::from(*value)).collect()).collect();
        orthogonalise(&mut vectors);
        let mut matrix = vec![0.0; size * size];
        for (index, vector) in vectors.iter().enumerate() {
            for row in 0..size {
                for column in 0..size {
                    matrix[row * size + column] += vector[row] * vector[column] / (index + 1) as f64;
                }
            }
        }
        (matrix, vectors)
    }

    #[test]
    fn both_ways_find_what_the_matrix_was_made_of() {
        let team = Team::alone();
        for (size, count) in [(1, 1), (2, 1), (5, 5), (60, 3), (60, 59)] {
            let (matrix, vectors) = known(size);
            let found = leading(&matrix, size, count, &team);
            assert_eq!(found.len(), count);
            for (index, Eigen { value, vector }) in found.iter().enumerate() {
                assert!((value * (index + 1) as f64 - 1.0).abs() < 1e-8, "{size}, {count}: {value} at {index}");
                assert!((dot(vector, &vectors[index]).abs() - 1.0).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn a_matrix_of_lower_rank_has_zeros_behind_its_rank() {
        let matrix: Vec<f64> = (0..3600).map(|at| f64::from(at / 60 + 1) * f64::from(at % 60 + 1)).collect();
        let found = leading(&matrix, 60, 4, &Team::alone());
        assert!((found[0].value / 73_810.0 - 1.0).abs() < 1e-12);
        assert!(found[1..].iter().all(|eigen| eigen.value.abs() < 1e-8));
    }
}
