//! The leading eigenvectors of a symmetric matrix.

use nalgebra::DMatrix;

/// An eigenvalue and its vector, of length 1.
#[derive(Clone, Debug)]
pub(super) struct Eigen {
    pub(super) value: f64,
    pub(super) vector: Vec<f64>,
}

/// The `count` largest eigenvalues of `matrix`, (size, size), symmetric, the largest first; none, if a value is not finite.
pub(super) fn leading(matrix: &[f64], size: usize, count: usize) -> Vec<Eigen> {
    if matrix.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let found = DMatrix::from_row_slice(size, size, matrix).symmetric_eigen();
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|&a, &b| found.eigenvalues[b].total_cmp(&found.eigenvalues[a]));
    let eigen = |at: usize| Eigen {
        value: found.eigenvalues[at],
        vector: found.eigenvectors.column(at).iter().copied().collect(),
    };
    order.into_iter().take(count).map(eigen).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_come_first_with_their_vectors() {
        // diag(1, 2, 3), turned by 45 degrees in the plane of the last two.
        let found = leading(&[1.0, 0.0, 0.0, 0.0, 2.5, 0.5, 0.0, 0.5, 2.5], 3, 2);
        let half = 0.5f64.sqrt();
        for (Eigen { value, vector }, (expected, axis)) in
            found.iter().zip([(3.0, [0.0, half, half]), (2.0, [0.0, half, -half])])
        {
            assert!((value - expected).abs() < 1e-14);
            let along: f64 = vector.iter().zip(axis).map(|(a, b)| a * b).sum();
            assert!((along.abs() - 1.0).abs() < 1e-14);
        }
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn a_matrix_of_lower_rank_has_zeros_behind_its_rank() {
        let matrix: Vec<f64> = (0..3600).map(|at| f64::from(at / 60 + 1) * f64::from(at % 60 + 1)).collect();
        let found = leading(&matrix, 60, 4);
        assert!((found[0].value / 73_810.0 - 1.0).abs() < 1e-12);
        assert!(found[1..].iter().all(|eigen| eigen.value.abs() < 1e-8));
    }

    #[test]
    fn what_is_not_finite_has_none() {
        assert!(leading(&[1.0, f64::NAN, f64::NAN, 1.0], 2, 2).is_empty());
    }
}
