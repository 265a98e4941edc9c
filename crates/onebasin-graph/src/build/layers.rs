//! Layers with parameters: products, convolutions, normalisations, embeddings.

use super::Builder;
use crate::error::Result;
use crate::graph::Index::{Any, Fixed, One};
use crate::graph::{Index, ValueId};

/// A convolution: what its shapes do not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convolution<'a> {
    /// Number of groups of channels.
    pub groups: usize,
    /// Whether it is transposed, with a weight (in, out / groups, ...) in place of (out, in / groups, ...).
    pub transposed: bool,
    /// Sizes of the spatial axes of the result.
    pub spatial: &'a [usize],
}

impl Builder {
    /// The product of stacks of matrices, as in `NumPy`: vectors and broadcast stacks too.
    pub fn matmul(&mut self, left: ValueId, right: ValueId) -> Result<ValueId> {
        let [a, b] = [left, right].map(|value| self.shape(value).to_vec());
        if a.is_empty() || b.is_empty() {
            return Err(self.error("a product of matrices needs axes"));
        }
        let (a_rows, b_columns) = (a.len() > 1, b.len() > 1);
        let stack = |shape: &[usize]| shape[..shape.len().saturating_sub(2)].to_vec();
        let (a_stack, b_stack) = (stack(&a), stack(&b));
        let axes = a_stack.len().max(b_stack.len());
        let mut shape = vec![1; axes];
        for own in [&a_stack, &b_stack] {
            for (all, own) in shape.iter_mut().rev().zip(own.iter().rev()) {
                *all = (*all).max(*own);
            }
        }
        let stacked = |own: &[usize]| -> Vec<Index> {
            let skipped = axes - own.len();
            let index = |(axis, size): (usize, &usize)| {
                if *size == 1 && shape[skipped + axis] != 1 { One } else { Any(skipped + axis) }
            };
            own.iter().enumerate().map(index).collect()
        };
        let (row, inner, column) = (Any(axes), Any(axes + 1), Any(axes + 2));
        let mut first = stacked(&a_stack);
        first.extend(a_rows.then_some(row).into_iter().chain([inner]));
        let mut second = stacked(&b_stack);
        second.extend([inner].into_iter().chain(b_columns.then_some(column)));
        let mut indices: Vec<Index> = (0..axes).map(Any).collect();
        if a_rows {
            indices.push(row);
            shape.push(a[a.len() - 2]);
        }
        if b_columns {
            indices.push(column);
            shape.push(b[b.len() - 1]);
        }
        let result = self.indexed_one(&[(left, first), (right, second)], &shape, indices)?;
        self.works_alone_at((0..=axes).chain([axes + 2]));
        Ok(result)
    }

    /// A dense layer: weight (out, in), bias (out) if there is one.
    pub fn linear(&mut self, value: ValueId, weight: ValueId, bias: Option<ValueId>) -> Result<ValueId> {
        let weight = self.swap_axes(weight, 0, 1)?;
        let product = self.matmul(value, weight)?;
        match bias {
            Some(bias) => self.elementwise(&[product, bias]),
            None => Ok(product),
        }
    }

    /// A convolution of (example, channel, position...) with a weight, and a bias (out) if there is one.
    pub fn convolution(
        &mut self,
        value: ValueId,
        weight: ValueId,
        bias: Option<ValueId>,
        Convolution { groups, transposed, spatial }: Convolution<'_>,
    ) -> Result<ValueId> {
        let (x, w) = (self.shape(value).to_vec(), self.shape(weight).to_vec());
        if x.len() < 2 || x.len() != w.len() || spatial.len() + 2 != x.len() || groups == 0 {
            return Err(self.error(format!("a weight {w:?} does not fit an input {x:?}")));
        }
        let (rows, columns) = (w[0], w[1]);
        let (inputs, outputs) =
            if transposed { (rows, columns.saturating_mul(groups)) } else { (columns.saturating_mul(groups), rows) };
        if inputs != x[1] || !inputs.is_multiple_of(groups) || !outputs.is_multiple_of(groups) {
            return Err(self.error(format!("{groups} groups of a weight {w:?} do not fit an input {x:?}")));
        }
        let positions = vec![Fixed; spatial.len()];
        let (example, group, own, other) = (Any(0), Any(1), Any(2), Any(3));
        let behind = |head: &[usize], tail: &[usize]| [head, tail].concat();
        let indices = |head: &[Index]| [head, &positions].concat();
        if groups == 1 {
            let weights = if transposed { [own, other] } else { [other, own] };
            let mut operands = vec![(value, indices(&[example, own])), (weight, indices(&weights))];
            operands.extend(bias.map(|bias| (bias, vec![other])));
            return self.indexed_one(&operands, &behind(&[x[0], outputs], spatial), indices(&[example, other]));
        }
        let (each_in, each_out) = (inputs / groups, outputs / groups);
        let split = self.reshape(value, &behind(&[x[0], groups, each_in], &x[2..]))?;
        let (first, weights) = if transposed { (each_in, [own, other]) } else { (each_out, [other, own]) };
        let weight = self.reshape(weight, &behind(&[groups, first, columns], &w[2..]))?;
        let mut operands =
            vec![(split, indices(&[example, group, own])), (weight, indices(&[group, weights[0], weights[1]]))];
        if let Some(bias) = bias {
            operands.push((self.reshape(bias, &[groups, each_out])?, vec![group, other]));
        }
        let shape = behind(&[x[0], groups, each_out], spatial);
        let result = self.indexed_one(&operands, &shape, indices(&[example, group, other]))?;
        self.works_alone_at([0, 1]);
        self.reshape(result, &behind(&[x[0], outputs], spatial))
    }

    /// A normalisation of each channel by its own statistics, stored or computed, with any number of tensors (channel): batch and instance
    /// normalisation.
    pub fn normalise_channels(&mut self, value: ValueId, tensors: &[ValueId]) -> Result<ValueId> {
        let shape = self.shape(value).to_vec();
        let own: Vec<Index> = (0..shape.len()).map(Any).collect();
        let operands: Vec<_> =
            [(value, own.clone())].into_iter().chain(tensors.iter().map(|tensor| (*tensor, vec![Any(1)]))).collect();
        self.indexed_one(&operands, &shape, own)
    }

    /// A normalisation over the last axes, with any number of tensors of their shape: layer and root-mean-square normalisation.
    pub fn normalise_last(&mut self, value: ValueId, tensors: &[ValueId]) -> Result<ValueId> {
        let shape = self.shape(value).to_vec();
        let last = tensors.iter().map(|tensor| self.shape(*tensor).len()).max().unwrap_or(shape.len());
        let result = self.broadcast(&[&[value], tensors].concat(), &shape)?;
        self.works_alone_at(0..shape.len() - last);
        Ok(result)
    }

    /// A normalisation over groups of channels, with any number of tensors (channel).
    pub fn normalise_groups(&mut self, value: ValueId, groups: usize, tensors: &[ValueId]) -> Result<ValueId> {
        let shape = self.shape(value).to_vec();
        if shape.len() < 2 || groups == 0 || !shape[1].is_multiple_of(groups) {
            return Err(self.error(format!("{groups} groups of channels do not fit {shape:?}")));
        }
        let each = shape[1] / groups;
        let split = [&[shape[0], groups, each], &shape[2..]].concat();
        let own: Vec<Index> = (0..split.len()).map(Any).collect();
        let mut operands = vec![(self.reshape(value, &split)?, own.clone())];
        for tensor in tensors {
            operands.push((self.reshape(*tensor, &[groups, each])?, vec![Any(1), Any(2)]));
        }
        let result = self.indexed_one(&operands, &split, own)?;
        self.works_alone_at([0, 1]);
        self.reshape(result, &shape)
    }

    /// Rows of a table, one for each entry of an array of indices.
    pub fn embedding(&mut self, table: ValueId, indices: ValueId) -> Result<ValueId> {
        let (rows, ids) = (self.shape(table).to_vec(), self.shape(indices).to_vec());
        if rows.is_empty() {
            return Err(self.error("a table of rows needs axes"));
        }
        let own: Vec<Index> = [Fixed].into_iter().chain((1..rows.len()).map(Any)).collect();
        let positions = vec![Fixed; ids.len()];
        let shape = [&ids[..], &rows[1..]].concat();
        let result = [&positions[..], &own[1..]].concat();
        self.indexed_one(&[(table, own), (indices, positions)], &shape, result)
    }
}
