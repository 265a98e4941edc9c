//! What the tensors that two permutations act on look like to a group that knows nothing of the other.

use super::objective::Feature;
use super::objective::Objective;
use crate::kernels::Isa;
use crate::kernels::Team;
use crate::kernels::marginals;
use crate::symmetry::Patch;

/// A patch with two axes, seen from one of them, on one side.
#[derive(Clone, Debug, Default)]
pub(super) struct Marginal {
    /// The means over the units of the other axis: (features, rest, units).
    pub(super) means: Vec<f32>,
    /// Of each unit, the squared norm of what is left without them: (features, units).
    pub(super) norms: Vec<f64>,
    /// Of each unit, what no magnitude of what is left without them exceeds: (features, units).
    pub(super) reaches: Vec<f32>,
}

/// For each side, that which stays and that which moves, both axes.
type Sides = [[Marginal; 2]; 2];

/// Of a patch with two axes.
#[derive(Clone, Debug)]
pub(super) struct Marginals(Sides);

impl Marginals {
    pub(super) fn new(objective: &Objective<'_>, patch: &Patch, team: &Team) -> Self {
        let mut sides = Sides::default();
        team.chunks(&mut sides, 1, |index, side| side[0] = of(objective, patch, index == 0));
        Self(sides)
    }

    /// As the first or the second axis sees the patch: the side that stays, and the one that moves.
    pub(super) fn seen(&self, axis: usize) -> [&Marginal; 2] {
        self.0.each_ref().map(|side| &side[axis])
    }
}

fn of(objective: &Objective<'_>, patch: &Patch, fixed: bool) -> [Marginal; 2] {
    let [(first, far), (second, near)] = patch.axes[..] else { unreachable!("only for patches with two axes") };
    let isa = Isa::detect();
    let sizes = [objective.size(first), objective.size(second)];
    let mut marginals = [Marginal::default(), Marginal::default()];
    let mut row = vec![0.0; if near == 1 { 0 } else { sizes[1] }];
    for Feature { fixed: stays, moved } in objective.features() {
        let values = if fixed { stays } else { moved };
        let mut norms = sizes.map(|size| vec![0.0; size]);
        let mut reaches = sizes.map(|size| vec![0.0f32; size]);
        for at in &patch.rest {
            let from = &values[patch.base + at..];
            let pivot = from[0];
            let [mut rows, mut columns] = sizes.map(sums);
            if near == 1 {
                let [rows, columns] = [&mut rows, &mut columns].map(|sums| sums.each_mut().map(|sums| &mut sums[..]));
                isa.run(marginals::Marginals { from, stride: far, pivot, rows, columns });
            } else {
                for index in 0..sizes[0] {
                    for (column, value) in row.iter_mut().enumerate() {
                        *value = from[index * far + column * near];
                    }
                    let rows = rows.each_mut().map(|sums| &mut sums[index..=index]);
                    let columns = columns.each_mut().map(|sums| &mut sums[..]);
                    isa.run(marginals::Marginals { from: &row, stride: row.len(), pivot, rows, columns });
                }
            }
            for (axis, [sums, squares, high, low]) in [rows, columns].into_iter().enumerate() {
                let others = sizes[1 - axis] as f64;
                let means = sums.iter().map(|sum| (f64::from(*sum) / others + f64::from(pivot)) as f32);
                marginals[axis].means.extend(means);
                let ends = high.into_iter().zip(low).zip(&sums);
                for (reach, ((high, low), sum)) in reaches[axis].iter_mut().zip(ends) {
                    // Both the mean and what is left are rounded.
                    let mean = sum / others as f32;
                    let rounding = 2.0 * f32::EPSILON * (mean.abs() + pivot.abs());
                    *reach = reach.max((high - mean).max(low + mean) + rounding);
                }
                for ((norm, sum), square) in norms[axis].iter_mut().zip(sums).zip(squares) {
                    *norm += (f64::from(square) - f64::from(sum).powi(2) / others).max(0.0);
                }
            }
        }
        for (marginal, (norms, reaches)) in marginals.iter_mut().zip(norms.into_iter().zip(reaches)) {
            marginal.norms.extend(norms);
            marginal.reaches.extend(reaches);
        }
    }
    marginals
}

/// Of so many rows or columns, before anything is added.
pub(super) fn sums(size: usize) -> [Vec<f32>; 4] {
    [0.0, 0.0, f32::NEG_INFINITY, f32::NEG_INFINITY].map(|nothing| vec![nothing; size])
}
