//! Sums of outer products of tensors, added to the matrices of groups.

use crate::kernels::Aligned;
use crate::kernels::Isa;
use crate::kernels::Team;
use crate::kernels::geometry::Geometry;
use crate::kernels::geometry::Plane;
use crate::kernels::geometry::blocks;
use crate::kernels::geometry::depth;
use crate::kernels::lanes::BLOCK;
use crate::kernels::outer::WeightGradient;
use crate::kernels::pack::Gather;
use crate::symmetry::Spec;

/// Columns that are packed and multiplied at a time.
const COLUMNS: usize = 1024;

/// The factors of a product: of each column, where its units begin on either side, `stride` apart; what begins at the places
/// of `less` is subtracted from the side that moves.
pub(super) struct Factors<'b> {
    pub(super) fixed: &'b [f32],
    pub(super) moved: &'b [f32],
    pub(super) stride: usize,
    pub(super) weight: f32,
    pub(super) columns: &'b Columns,
}

#[derive(Default)]
pub(super) struct Columns {
    pub(super) fixed: Vec<usize>,
    pub(super) moved: Vec<usize>,
    /// Empty, or as long as the others.
    pub(super) less: Vec<usize>,
}

impl Columns {
    /// The same places on both sides.
    pub(super) fn same(places: impl Iterator<Item = usize>) -> Self {
        let fixed: Vec<usize> = places.collect();
        Self { moved: fixed.clone(), fixed, less: Vec::new() }
    }
}

/// Multiplies, in memory that is kept.
#[derive(Clone, Debug)]
pub(super) struct Products<'a> {
    team: &'a Team,
    isa: Isa,
    packed: [Aligned; 2],
}

impl<'a> Products<'a> {
    /// For the matrices of the groups of a spec.
    pub(super) fn new(spec: &Spec, team: &'a Team) -> Self {
        let largest = spec.groups().iter().map(|group| group.size).max().unwrap_or(0);
        let packed = || Aligned::zeros(blocks(largest) * BLOCK * COLUMNS);
        Self { team, isa: Isa::detect(), packed: [packed(), packed()] }
    }

    /// Adds the sum over columns of the outer products of the two sides: (units that stay, units that move).
    pub(super) fn add(&mut self, units: usize, factors: &Factors<'_>, matrix: &mut [f32]) {
        let Factors { stride, weight, columns, .. } = *factors;
        let (team, isa) = (self.team, self.isa);
        for first in (0..columns.fixed.len()).step_by(COLUMNS) {
            let count = COLUMNS.min(columns.fixed.len() - first);
            let plane = Plane::vectors(count);
            let geometry = Geometry { kernel: 1, stride: 1, inputs: units, units, from: plane, to: plane };
            let len = blocks(units) * plane.block();
            let [fixed, moved] = &mut self.packed;
            let (fixed, moved) = (&mut fixed[..len], &mut moved[..len]);
            team.chunk_pairs((fixed, plane.block()), (moved, plane.block()), |block, fixed, moved| {
                let gather = |from: &[f32], places: &[usize], factor, accumulate, blocked: &mut [f32]| {
                    let from = &from[block * BLOCK * stride..];
                    let (places, units) = (&places[first..first + count], depth(units, block));
                    isa.run(Gather { from, places, stride, units, factor, accumulate, blocked });
                };
                gather(factors.fixed, &columns.fixed, weight, false, fixed);
                gather(factors.moved, &columns.moved, 1.0, false, moved);
                if !columns.less.is_empty() {
                    gather(factors.moved, &columns.less, -1.0, true, moved);
                }
            });
            let share = team.share(blocks(units));
            let (fixed, moved) = (&*fixed, &*moved);
            team.chunks(matrix, share * BLOCK * units, |part, matrix| {
                isa.run(WeightGradient {
                    geometry: &geometry,
                    columns: count,
                    images: 1,
                    x: fixed,
                    dy: moved,
                    input_blocks: part * share..((part + 1) * share).min(blocks(units)),
                    gradient: matrix,
                    accumulate: true,
                });
            });
        }
    }
}
