//! An upper bound of the objective, whatever the permutations.
//!
//! Of a tensor that two permutations act on, the means of rows and of columns contribute terms that depend on one
//! permutation each. What is left is bounded by Cauchy and Schwarz, row by row and column by column: half of either bound
//! is again a term of one permutation. So the bound is a sum of assignment problems, one for each group.

use super::costs::Costs;
use super::objective::Feature;
use super::objective::Objective;
use crate::assign::Assigner;
use crate::assign::Goal;
use crate::error::Result;
use crate::kernels::Isa;
use crate::symmetry::Patch;
use std::sync::Mutex;

/// The part of a tensor that two permutations act on which neither the means of its rows nor of its columns explain, of one
/// side: for each unit of either axis its squared norm, and for each of the rest the mean of all.
struct Residual {
    rows: Vec<f64>,
    columns: Vec<f64>,
    means: Vec<f64>,
}

/// No permutations reach more than this; `costs` must be those with nothing known.
pub(super) fn bound(costs: &Costs<'_>) -> Result<f64> {
    let objective = costs.objective();
    let patches = objective.spec().patches();
    let residuals: Vec<Mutex<Option<[Residual; 2]>>> = patches.iter().map(|_| Mutex::new(None)).collect();
    costs.team().for_each(patches.len(), |index| {
        if patches[index].axes.len() == 2 {
            let sides: [for<'f> fn(&'f Feature<'_>) -> &'f [f32]; 2] = [|feature| &feature.fixed, |feature| &feature.moved];
            let of = sides.map(|side| residual(objective, &patches[index], side));
            *residuals[index].lock().expect(NO_PANIC) = Some(of);
        }
    });
    let residuals: Vec<Option<[Residual; 2]>> =
        residuals.into_iter().map(|residual| residual.into_inner().expect(NO_PANIC)).collect();
    let values: Vec<Mutex<Result<f64>>> = (0..objective.groups()).map(|_| Mutex::new(Ok(0.0))).collect();
    costs.team().for_each(objective.groups(), |group| {
        let size = objective.size(group);
        let mut matrix = costs.matrix(group).to_vec();
        for view in objective.views(group) {
            let Some([fixed, moved]) = &residuals[view.patch] else { continue };
            let first = patches[view.patch].axes[0].0 == group;
            let [fixed, moved] = [fixed, moved].map(|side| if first { &side.rows } else { &side.columns });
            for (row, fixed) in matrix.chunks_exact_mut(size).zip(fixed) {
                for (entry, moved) in row.iter_mut().zip(moved) {
                    *entry += 0.5 * (fixed * moved).sqrt() as f32;
                }
            }
        }
        let solved = Assigner::new(Isa::detect()).solve(Goal::Maximise, &matrix, size, None);
        *values[group].lock().expect(NO_PANIC) = solved.map(|solved| solved.value);
    });
    let mut total = 0.0;
    for value in values {
        total += value.into_inner().expect(NO_PANIC)?;
    }
    for (patch, residual) in patches.iter().zip(&residuals) {
        let Patch { base, axes, rest, .. } = patch;
        if axes.is_empty() {
            for Feature { fixed, moved } in objective.features() {
                total += rest.iter().map(|at| f64::from(fixed[base + at]) * f64::from(moved[base + at])).sum::<f64>();
            }
        }
        // Both groups have counted the product of the means of all.
        if let Some([fixed, moved]) = residual {
            let entries: usize = axes.iter().map(|(group, _)| objective.size(*group)).product();
            total -= entries as f64 * fixed.means.iter().zip(&moved.means).map(|(a, b)| a * b).sum::<f64>();
        }
    }
    Ok(total)
}

const NO_PANIC: &str = "nobody panics while holding a result";

fn residual(objective: &Objective<'_>, patch: &Patch, side: for<'f> fn(&'f Feature<'_>) -> &'f [f32]) -> Residual {
    let [(first, far), (second, near)] = patch.axes[..] else { unreachable!("only for patches with two axes") };
    let (height, width) = (objective.size(first), objective.size(second));
    let mut residual = Residual { rows: vec![0.0; height], columns: vec![0.0; width], means: Vec::new() };
    for feature in objective.features() {
        let values = side(feature);
        for at in &patch.rest {
            let entry = |row: usize, column: usize| f64::from(values[patch.base + at + row * far + column * near]);
            let (mut rows, mut columns) = (vec![0.0; height], vec![0.0; width]);
            for (row, sum) in rows.iter_mut().enumerate() {
                for (column, other) in columns.iter_mut().enumerate() {
                    let value = entry(row, column);
                    *sum += value;
                    *other += value;
                }
            }
            rows.iter_mut().for_each(|sum| *sum /= width as f64);
            columns.iter_mut().for_each(|sum| *sum /= height as f64);
            let mean = rows.iter().sum::<f64>() / height as f64;
            for (row, row_mean) in rows.iter().enumerate() {
                let mut sum = 0.0;
                for (column, column_mean) in columns.iter().enumerate() {
                    let left = entry(row, column) - row_mean - column_mean + mean;
                    sum += left * left;
                    residual.columns[column] += left * left;
                }
                residual.rows[row] += sum;
            }
            residual.means.push(mean);
        }
    }
    residual
}
