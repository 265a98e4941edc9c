//! The costs of each group's assignment problem, kept up to date while the permutations of its neighbours change.
//!
//! A change of some units of a neighbour changes the costs by as many outer products, so late sweeps, in which few units
//! still move, cost next to nothing.

use super::objective::Feature;
use super::objective::Objective;
use super::objective::View;
use crate::kernels::Aligned;
use crate::kernels::Isa;
use crate::kernels::Team;
use crate::kernels::geometry::Geometry;
use crate::kernels::geometry::Plane;
use crate::kernels::geometry::blocks;
use crate::kernels::lanes::BLOCK;
use crate::kernels::outer::WeightGradient;
use crate::symmetry::Patch;
use crate::symmetry::Permutation;

/// Columns that are packed and multiplied at a time.
const COLUMNS: usize = 1024;

/// One matrix for each group: entry (i, j) is what unit i of the side that stays gains from unit j of the other.
#[derive(Debug)]
pub(super) struct Costs<'a> {
    objective: &'a Objective<'a>,
    team: &'a Team,
    isa: Isa,
    /// (units that stay, units that move)
    matrices: Vec<Vec<f32>>,
    /// For each group, the permutation of each of its neighbours that its matrix counts with; none is the barycentre.
    counted: Vec<Vec<Option<Permutation>>>,
    means: Vec<Vec<Means>>,
    packed: [Aligned; 2],
}

/// The means over the units of the other axis, of each view with one: (features, rest, units).
#[derive(Clone, Debug, Default)]
struct Means {
    fixed: Vec<f32>,
    moved: Vec<f32>,
}

/// One column of the factors: where it begins on the side that stays, and on the side that moves; what begins at the third
/// place is subtracted from the latter.
#[derive(Clone, Copy)]
struct Column {
    fixed: usize,
    moved: usize,
    less: Option<usize>,
}

/// Factors of a product: their columns are units, `stride` apart.
struct Factors<'b> {
    fixed: &'b [f32],
    moved: &'b [f32],
    stride: usize,
    weight: f32,
}

impl<'a> Costs<'a> {
    /// The costs if nothing is known of any permutation: all neighbours at the barycentre.
    pub(super) fn new(objective: &'a Objective<'a>, team: &'a Team) -> Self {
        let groups = 0..objective.groups();
        let largest = groups.clone().map(|group| objective.size(group)).max().unwrap_or(0);
        let packed = || Aligned::zeros(blocks(largest) * BLOCK * COLUMNS);
        let mut costs = Self {
            objective,
            team,
            isa: Isa::detect(),
            matrices: groups.clone().map(|group| vec![0.0; objective.size(group).pow(2)]).collect(),
            counted: groups.clone().map(|group| vec![None; objective.neighbours(group).len()]).collect(),
            means: groups.clone().map(|group| objective.views(group).iter().map(|_| Means::default()).collect()).collect(),
            packed: [packed(), packed()],
        };
        for group in groups {
            costs.begin(group);
        }
        costs
    }

    /// The same problem and its present state, for another solver.
    pub(super) fn fork(&self) -> Self {
        Self {
            objective: self.objective,
            team: self.team,
            isa: self.isa,
            matrices: self.matrices.clone(),
            counted: self.counted.clone(),
            means: self.means.clone(),
            packed: self.packed.clone(),
        }
    }

    pub(super) fn objective(&self) -> &'a Objective<'a> {
        self.objective
    }
    pub(super) fn team(&self) -> &'a Team {
        self.team
    }
    /// The matrix of a group as of its last update.
    pub(super) fn matrix(&self, group: usize) -> &[f32] {
        &self.matrices[group]
    }

    /// Counts what depends on this group alone, and the means of what depends on neighbours too.
    fn begin(&mut self, group: usize) {
        let objective = self.objective;
        let linear = objective.linear(group);
        self.matrices[group][..linear.len()].copy_from_slice(linear);
        for (index, view) in objective.views(group).iter().enumerate() {
            let Patch { base, rest, .. } = &objective.spec().patches()[view.patch];
            match view.other {
                None => {
                    let columns: Vec<Column> =
                        rest.iter().map(|at| Column { fixed: base + at, moved: base + at, less: None }).collect();
                    for Feature { fixed, moved } in objective.features() {
                        self.add(group, &Factors { fixed, moved, stride: view.stride, weight: 1.0 }, &columns);
                    }
                }
                Some(_) => {
                    self.means[group][index] = self.means_of(group, *view);
                    self.add_means(group, index, 1.0);
                }
            }
        }
    }

    fn means_of(&self, group: usize, view: View) -> Means {
        let objective = self.objective;
        let Patch { base, rest, .. } = &objective.spec().patches()[view.patch];
        let (other, stride) = view.other.expect("only views with another axis have means");
        let (units, others) = (objective.size(group), objective.size(other));
        let mean = |values: &[f32]| {
            let mut means = vec![0.0; units * rest.len()];
            self.team.chunks(&mut means, units, |index, means| {
                let at = base + rest[index];
                let mut sums = vec![0.0f64; units];
                // The axis with the smaller stride goes inside, so that memory is read in order.
                if view.stride < stride {
                    for other in 0..others {
                        for (unit, sum) in sums.iter_mut().enumerate() {
                            *sum += f64::from(values[at + other * stride + unit * view.stride]);
                        }
                    }
                } else {
                    for (unit, sum) in sums.iter_mut().enumerate() {
                        let row = &values[at + unit * view.stride..];
                        *sum = (0..others).map(|other| f64::from(row[other * stride])).sum();
                    }
                }
                for (mean, sum) in means.iter_mut().zip(sums) {
                    *mean = (sum / others as f64) as f32;
                }
            });
            means
        };
        let all = |side: fn(&'a Feature<'a>) -> &'a [f32]| {
            objective.features().iter().flat_map(|feature| mean(side(feature))).collect()
        };
        Means { fixed: all(|feature| &feature.fixed), moved: all(|feature| &feature.moved) }
    }

    /// Adds what the neighbour of a view contributes at the barycentre, `sign` times.
    fn add_means(&mut self, group: usize, view: usize, sign: f32) {
        let units = self.objective.size(group);
        let (other, _) = self.objective.views(group)[view].other.expect("only views with another axis have means");
        let means = std::mem::take(&mut self.means[group][view]);
        let columns: Vec<Column> =
            (0..means.fixed.len()).step_by(units).map(|at| Column { fixed: at, moved: at, less: None }).collect();
        let weight = sign * self.objective.size(other) as f32;
        self.add(group, &Factors { fixed: &means.fixed, moved: &means.moved, stride: 1, weight }, &columns);
        self.means[group][view] = means;
    }

    /// Brings the matrix of a group up to date with the permutations of its neighbours; those that are not known stay at
    /// the barycentre.
    pub(super) fn update<'p>(&mut self, group: usize, permutation: impl Fn(usize) -> Option<&'p Permutation>) {
        let objective = self.objective;
        for (slot, &neighbour) in objective.neighbours(group).iter().enumerate() {
            let Some(new) = permutation(neighbour) else {
                assert!(self.counted[group][slot].is_none(), "a permutation that was known cannot become unknown");
                continue;
            };
            if self.counted[group][slot].as_ref() == Some(new) {
                continue;
            }
            let old = self.counted[group][slot].replace(new.clone());
            for (index, view) in objective.views(group).iter().enumerate() {
                let Some((other, stride)) = view.other.filter(|(other, _)| *other == neighbour) else { continue };
                debug_assert_eq!(objective.size(other), new.len());
                let Patch { base, rest, .. } = &objective.spec().patches()[view.patch];
                let mut columns = Vec::new();
                for at in rest {
                    let column = |(unit, new): (usize, &u32)| {
                        let less = old.as_ref().map(|old| old.as_slice()[unit]);
                        let place = |unit: usize| base + at + unit * stride;
                        (less != Some(*new)).then(|| Column {
                            fixed: place(unit),
                            moved: place(*new as usize),
                            less: less.map(|less| place(less as usize)),
                        })
                    };
                    columns.extend(new.as_slice().iter().enumerate().filter_map(column));
                }
                for Feature { fixed, moved } in objective.features() {
                    self.add(group, &Factors { fixed, moved, stride: view.stride, weight: 1.0 }, &columns);
                }
                if old.is_none() {
                    self.add_means(group, index, -1.0);
                }
            }
        }
    }

    /// Adds the sum over columns of the outer products of the two sides.
    fn add(&mut self, group: usize, factors: &Factors<'_>, columns: &[Column]) {
        let units = self.objective.size(group);
        let (team, isa) = (self.team, self.isa);
        for columns in columns.chunks(COLUMNS) {
            let plane = Plane::vectors(columns.len());
            let geometry = Geometry { kernel: 1, stride: 1, inputs: units, units, from: plane, to: plane };
            let len = blocks(units) * plane.block();
            let [fixed, moved] = &mut self.packed;
            let (fixed, moved) = (&mut fixed[..len], &mut moved[..len]);
            team.chunk_pairs((fixed, plane.block()), (moved, plane.block()), |block, fixed, moved| {
                let first = block * BLOCK;
                let depth = BLOCK.min(units - first);
                let skip = first * factors.stride;
                for (column, (fixed, moved)) in
                    columns.iter().zip(fixed.as_chunks_mut::<BLOCK>().0.iter_mut().zip(moved.as_chunks_mut().0))
                {
                    *fixed = lanes(&factors.fixed[column.fixed + skip..], factors.stride, depth);
                    if factors.weight != 1.0 {
                        *fixed = fixed.map(|value| value * factors.weight);
                    }
                    *moved = lanes(&factors.moved[column.moved + skip..], factors.stride, depth);
                    if let Some(less) = column.less {
                        let less: [f32; BLOCK] = lanes(&factors.moved[less + skip..], factors.stride, depth);
                        for (value, less) in moved.iter_mut().zip(less) {
                            *value -= less;
                        }
                    }
                }
            });
            let share = team.share(blocks(units));
            let (fixed, moved) = (&*fixed, &*moved);
            team.chunks(&mut self.matrices[group], share * BLOCK * units, |part, matrix| {
                isa.run(WeightGradient {
                    geometry: &geometry,
                    columns: columns.len(),
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

/// The values of some units, `stride` apart, zeros behind the last.
fn lanes(from: &[f32], stride: usize, depth: usize) -> [f32; BLOCK] {
    if stride == 1 && depth == BLOCK {
        return *from.first_chunk().expect("a whole block");
    }
    std::array::from_fn(|lane| if lane < depth { from[lane * stride] } else { 0.0 })
}
