//! What alignment maximises: the sum of products of features, those of one side permuted.
//!
//! Every criterion between two posteriors is one of this form; they differ in the features (`docs/math.md`).

use super::coordinates::Coordinate;
use super::values::{Values, gathered};
use crate::error::{Error, List, Result};
use crate::symmetry::{Patch, Permutation, Spec};
use onebasin_kernels::marginals::{Indices, PermutedProduct};
use onebasin_kernels::{Isa, ThreadPool};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Mutex;

/// Products that one thread sums at a time: the borders of these pieces fix the order of the additions.
const PIECE: usize = 1 << 16;
/// Values that are converted at a time: bounds the memory.
const CONVERTED: usize = 1 << 24;

/// One feature of every parameter, on both sides.
#[derive(Clone, Debug)]
pub struct Feature<'a> {
    /// Of the side that stays.
    pub fixed: Values<'a>,
    /// Of the side that is permuted.
    pub moved: Values<'a>,
}

impl Feature<'_> {
    /// The same in memory of its own.
    pub(crate) fn into_owned(self) -> Feature<'static> {
        Feature { fixed: self.fixed.into_owned(), moved: self.moved.into_owned() }
    }
}

/// The values of the tensor of a patch.
pub(super) struct Local<'o> {
    /// Offset of the patch in the tensor.
    pub(super) base: usize,
    /// The fixed and the permuted side of each feature.
    pub(super) sides: Vec<[Cow<'o, [f32]>; 2]>,
}

impl Local<'_> {
    /// Values in new memory.
    fn converted(&self) -> usize {
        let owned = self.sides.iter().flatten().filter(|side| matches!(side, Cow::Owned(_)));
        owned.map(|side| side.len()).sum()
    }
}

/// How a patch of a tensor looks from one of its groups.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub(super) patch: usize,
    /// Whether this is the first or the second of its axes.
    pub(super) axis: usize,
    /// Floats from one unit to the next.
    pub(super) stride: usize,
    /// The group on the other axis, which may be the same, and its stride.
    pub(super) other: Option<(usize, usize)>,
}

/// A sum of products of features, to be maximised over the permutations of a spec.
#[derive(Clone, Debug)]
pub struct Objective<'a> {
    spec: &'a Spec,
    pub(super) features: Vec<Feature<'a>>,
    /// The matrix of each group that is added, or nothing.
    pub(super) linear: Vec<Vec<f32>>,
    pub(super) views: Vec<Vec<View>>,
    /// Of each group, those that share a tensor with it, in order; itself if a tensor has it on both axes.
    pub(super) neighbours: Vec<Vec<usize>>,
    /// The groups and families that are assigned one after the other.
    pub(super) coordinates: Vec<Coordinate>,
    pub(super) isa: Isa,
}

/// The value of an objective, and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The whole sum.
    pub total: f64,
    /// The part of each tensor, in the order of the layout.
    pub tensors: Vec<f64>,
    /// The part of each permutation, in the order of the spec: a tensor that two act on counts half for each.
    pub groups: Vec<f64>,
}

impl<'a> Objective<'a> {
    /// `linear` has for each group a matrix (stays, moves) whose chosen entries are added; then features may be none.
    pub fn new(spec: &'a Spec, features: Vec<Feature<'a>>, linear: Option<Vec<Vec<f32>>>) -> Result<Self> {
        let groups = spec.groups();
        for side in features.iter().flat_map(|feature| [&feature.fixed, &feature.moved]) {
            assert_eq!(side.len(), spec.layout().len(), "a feature has one value for each parameter");
        }
        let linear = linear.unwrap_or_else(|| vec![Vec::new(); groups.len()]);
        assert_eq!(linear.len(), groups.len(), "one matrix for each group");
        for (matrix, group) in linear.iter().zip(groups) {
            assert!(matrix.is_empty() || matrix.len() == group.size * group.size, "matrices are square");
        }
        let mut views = vec![Vec::new(); groups.len()];
        let mut neighbours = vec![Vec::new(); groups.len()];
        for (patch, Patch { tensor, axes, .. }) in spec.patches().iter().enumerate() {
            match axes[..] {
                [] => {}
                [(group, stride)] => views[group].push(View { patch, axis: 0, stride, other: None }),
                [first, second] => {
                    for (axis, (own, other)) in [(first, second), (second, first)].into_iter().enumerate() {
                        views[own.0].push(View { patch, axis, stride: own.1, other: Some(other) });
                        neighbours[own.0].push(other.0);
                    }
                }
                _ => {
                    return Err(Error::NotBilinear {
                        tensor: spec.layout().tensors()[*tensor].name().to_owned(),
                        groups: List(axes.iter().map(|(group, _)| groups[*group].name.clone()).collect()),
                    });
                }
            }
        }
        for list in &mut neighbours {
            list.sort_unstable();
            list.dedup();
        }
        let coordinates = Coordinate::all(spec, &neighbours);
        Ok(Self { spec, features, linear, views, neighbours, coordinates, isa: Isa::detect() })
    }

    /// Says which value is not finite; looked for only when a result is not, since it means reading everything.
    pub(super) fn check_finite(&self) -> Result<()> {
        let layout = self.spec.layout();
        for side in self.features.iter().flat_map(|feature| [&feature.fixed, &feature.moved]) {
            for (index, tensor) in layout.tensors().iter().enumerate() {
                layout.check_finite_tensor(index, &side.part(tensor.range()))?;
            }
        }
        Ok(())
    }

    /// The values of the tensor of a patch.
    pub(super) fn local(&self, patch: &Patch) -> Local<'_> {
        let range = self.spec.layout().tensors()[patch.tensor].range();
        let sides = self.features.iter().map(|feature| [&feature.fixed, &feature.moved]);
        let sides = sides.map(|sides| sides.map(|side| side.part(range.clone()))).collect();
        Local { base: patch.base - range.start, sides }
    }

    /// An error of a solver, or the value that is not finite and caused it: its name says more.
    pub(super) fn explain(&self, error: Error) -> Error {
        if error == Error::Stopped { error } else { self.check_finite().err().unwrap_or(error) }
    }

    /// The spec whose permutations are to be found.
    pub fn spec(&self) -> &'a Spec {
        self.spec
    }
    pub(super) fn size(&self, group: usize) -> usize {
        self.spec.groups()[group].size
    }
    pub(super) fn groups(&self) -> usize {
        self.spec.groups().len()
    }

    /// The objective at some permutations, summed in f64.
    pub fn value(&self, pool: &ThreadPool, permutations: &[Permutation]) -> Value {
        let patches = self.spec.patches();
        let all = indices(permutations);
        let layout = self.spec.layout();
        let mut value =
            Value { total: 0.0, tensors: vec![0.0; layout.tensors().len()], groups: vec![0.0; self.groups()] };
        let mut next = 0;
        while next < patches.len() {
            let (first, mut converted) = (next, 0);
            let (mut locals, mut pieces) = (Vec::new(), Vec::new());
            while next < patches.len() && converted < CONVERTED {
                let (rows, len) = self.rows(&patches[next]);
                let together = (PIECE / len).max(1);
                pieces.extend((0..rows).step_by(together).map(|row| (next, row..(row + together).min(rows))));
                let local = self.local(&patches[next]);
                converted += local.converted();
                locals.push(local);
                next += 1;
            }
            let sums: Vec<Mutex<f64>> = pieces.iter().map(|_| Mutex::new(0.0)).collect();
            pool.for_each(pieces.len(), |piece| {
                let (patch, rows) = &pieces[piece];
                let local = &locals[*patch - first];
                let sum = self.rows_sum(&patches[*patch], local, rows.clone(), permutations, &all);
                *sums[piece].lock().expect("nobody panics while holding a sum") = sum;
            });
            for ((patch, _), sum) in pieces.iter().zip(sums) {
                let sum = sum.into_inner().expect("nobody panics while holding a sum");
                let Patch { tensor, axes, .. } = &patches[*patch];
                value.tensors[*tensor] += sum;
                for (group, _) in axes {
                    value.groups[*group] += sum / axes.len() as f64;
                }
            }
        }
        value.total = value.tensors.iter().sum();
        for (group, (matrix, permutation)) in self.linear.iter().zip(permutations).enumerate() {
            if !matrix.is_empty() {
                let sum = chosen(matrix, permutation.as_slice());
                value.groups[group] += sum;
                value.total += sum;
            }
        }
        value
    }

    /// How many rows a patch is summed in, and about how many products each has.
    fn rows(&self, patch: &Patch) -> (usize, usize) {
        match patch.axes[..] {
            [] => (1, patch.rest.len()),
            [(group, _)] => (patch.rest.len(), self.size(group)),
            [(first, _), (second, _), ..] => (patch.rest.len() * self.size(first), self.size(second)),
        }
    }

    fn rows_sum(
        &self,
        patch: &Patch,
        Local { base, sides }: &Local<'_>,
        rows: Range<usize>,
        permutations: &[Permutation],
        indices: &[Indices<'_>],
    ) -> f64 {
        let Patch { axes, rest, .. } = patch;
        let mut sum = 0.0;
        let mut next = rows.start;
        while next < rows.end {
            // As many as have the same of `rest`.
            let count = axes.first().filter(|_| axes.len() > 1).map_or(1, |(first, _)| self.size(*first));
            let (at, unit) = (next / count, next % count);
            let here = unit..count.min(unit + rows.end - next);
            next += here.len();
            for [fixed, moved] in sides {
                sum += match axes[..] {
                    [] => rest.iter().map(|at| product(fixed[base + at], moved[base + at])).sum(),
                    [(group, stride)] => {
                        let at = base + rest[at];
                        gathered(self.isa, &fixed[at..], &moved[at..], stride, indices[group])
                    }
                    [(first, far), (second, stride), ..] => {
                        let at = base + rest[at];
                        self.isa.run(PermutedProduct {
                            a: &fixed[at + unit * far..],
                            b: &moved[at..],
                            far,
                            rows: &permutations[first].as_slice()[here.clone()],
                            stride,
                            indices: indices[second],
                        })
                    }
                };
            }
        }
        sum
    }

    /// What the objective gains if some units of a group change their partners, all else being as it is; in f64. No tensor may have the
    /// group on both axes.
    ///
    /// Of each change, the unit that stays, its new partner and its old one.
    pub(super) fn gain(&self, group: usize, changes: &[(usize, u32, u32)], permutations: &[Permutation]) -> f64 {
        let all = indices(permutations);
        let mut gain = 0.0;
        for &(unit, new, old) in changes {
            for view in &self.views[group] {
                let Patch { base, rest, .. } = &self.spec.patches()[view.patch];
                for Feature { fixed, moved } in &self.features {
                    for at in rest {
                        let [at, new, old] = [unit, new as usize, old as usize].map(|u| base + at + u * view.stride);
                        gain += match view.other {
                            None => product(fixed.at(at), moved.at(new)) - product(fixed.at(at), moved.at(old)),
                            Some((other, stride)) => {
                                let row = |from: usize| fixed.gathered(at, moved, from, stride, all[other]);
                                row(new) - row(old)
                            }
                        };
                    }
                }
            }
            if !self.linear[group].is_empty() {
                let row = &self.linear[group][unit * self.size(group)..];
                gain += f64::from(row[new as usize]) - f64::from(row[old as usize]);
            }
        }
        gain
    }
}

fn indices(permutations: &[Permutation]) -> Vec<Indices<'_>> {
    permutations.iter().map(|own| Indices::new(own.as_slice())).collect()
}

pub(super) fn product(a: f32, b: f32) -> f64 {
    f64::from(a) * f64::from(b)
}

/// `Σᵢ matrix[i, p[i]]`
pub(super) fn chosen(matrix: &[f32], columns: &[u32]) -> f64 {
    matrix.chunks_exact(columns.len()).zip(columns).map(|(row, column)| f64::from(row[*column as usize])).sum()
}
