//! Operations that move entries: shapes, parts, broadcasts, reductions.

use super::Builder;
use crate::error::Result;
use crate::graph::{Index, Op, ValueId};

impl Builder {
    /// The same entries in another shape.
    pub fn reshape(&mut self, value: ValueId, shape: &[usize]) -> Result<ValueId> {
        let from = self.shape(value);
        if from == shape {
            return Ok(value);
        }
        if from.iter().product::<usize>() != shape.iter().product::<usize>() {
            return Err(self.error(format!("{from:?} cannot become {shape:?}")));
        }
        if let Some(number) = self.uniform.get(&value) {
            return self.uniform(*number, shape);
        }
        Ok(self.node(Op::Reshape, vec![value], vec![shape.to_vec()])?[0])
    }

    /// Axis `order[i]` of the value becomes axis i.
    pub fn transpose(&mut self, value: ValueId, order: &[usize]) -> Result<ValueId> {
        let from = self.shape(value).to_vec();
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..from.len()) {
            return Err(self.error(format!("{order:?} is no order of the axes of {from:?}")));
        }
        let shape: Vec<usize> = order.iter().map(|axis| from[*axis]).collect();
        let axes = |axes: &mut dyn Iterator<Item = usize>| axes.map(Index::Any).collect();
        let own = axes(&mut (0..from.len()));
        let result = self.indexed_one(&[(value, own)], &shape, axes(&mut order.iter().copied()))?;
        self.works_alone_at(0..from.len());
        Ok(result)
    }

    /// Exchanges two axes.
    pub fn swap_axes(&mut self, value: ValueId, first: usize, second: usize) -> Result<ValueId> {
        let mut order: Vec<usize> = (0..self.shape(value).len()).collect();
        if first.max(second) >= order.len() {
            return Err(self.error(format!("{:?} has no axes {first} and {second}", self.shape(value))));
        }
        order.swap(first, second);
        self.transpose(value, &order)
    }

    /// The values one behind the other along an axis.
    pub fn concat(&mut self, values: &[ValueId], axis: usize) -> Result<ValueId> {
        let mut shape = match values.first() {
            Some(first) => self.shape(*first).to_vec(),
            None => return Err(self.error("it joins nothing")),
        };
        self.axis(&shape, axis)?;
        shape[axis] = 0;
        for value in values {
            let own = self.shape(*value);
            let fits = own.len() == shape.len()
                && own.iter().zip(&shape).enumerate().all(|(at, (own, all))| at == axis || own == all);
            if !fits {
                return Err(self.error(format!("{own:?} does not fit along axis {axis} of the others")));
            }
            shape[axis] = shape[axis].saturating_add(own[axis]);
        }
        Ok(self.node(Op::Concat { axis }, values.to_vec(), vec![shape])?[0])
    }

    /// `len` entries of an axis from `start` on.
    pub fn slice(&mut self, value: ValueId, axis: usize, start: usize, len: usize) -> Result<ValueId> {
        let mut shape = self.shape(value).to_vec();
        self.axis(&shape, axis)?;
        if len == 0 || start.checked_add(len).is_none_or(|end| end > shape[axis]) {
            return Err(self.error(format!("{len} entries from {start} on are no part of axis {axis} of {shape:?}")));
        }
        if len == shape[axis] {
            return Ok(value);
        }
        shape[axis] = len;
        if let Some(number) = self.uniform.get(&value) {
            return self.uniform(*number, &shape);
        }
        Ok(self.node(Op::Slice { axis, start }, vec![value], vec![shape])?[0])
    }

    /// One entry of an axis, which disappears.
    pub fn select(&mut self, value: ValueId, axis: usize, entry: usize) -> Result<ValueId> {
        let part = self.slice(value, axis, entry, 1)?;
        let mut shape = self.shape(part).to_vec();
        shape.remove(axis);
        self.reshape(part, &shape)
    }

    /// The entries of an axis in this order; an entry may come several times or not at all.
    pub fn take(&mut self, value: ValueId, axis: usize, entries: &[usize]) -> Result<ValueId> {
        let runs = entries.chunk_by(|one, next| one + 1 == *next);
        let parts = runs.map(|run| self.slice(value, axis, run[0], run.len())).collect::<Result<Vec<_>>>()?;
        if parts.len() == 1 { Ok(parts[0]) } else { self.concat(&parts, axis) }
    }

    /// Equal entries before and behind the value along an axis.
    pub fn pad(&mut self, value: ValueId, axis: usize, before: usize, behind: usize) -> Result<ValueId> {
        let mut shape = self.shape(value).to_vec();
        self.axis(&shape, axis)?;
        if before == 0 && behind == 0 {
            return Ok(value);
        }
        shape[axis] = shape[axis].saturating_add(before).saturating_add(behind);
        Ok(self.node(Op::Pad { axis, before }, vec![value], vec![shape])?[0])
    }

    /// An operation on corresponding entries alone, broadcast to a common shape as in `NumPy`; for a softmax see [`Self::mix`].
    pub fn elementwise(&mut self, values: &[ValueId]) -> Result<ValueId> {
        let shapes: Vec<Vec<usize>> = values.iter().map(|value| self.shape(*value).to_vec()).collect();
        let axes = shapes.iter().map(Vec::len).max().unwrap_or(0);
        let mut shape = vec![1; axes];
        for own in &shapes {
            for (all, own) in shape.iter_mut().rev().zip(own.iter().rev()) {
                if *all != *own && *all != 1 && *own != 1 {
                    return Err(self.error(format!("shapes {shapes:?} cannot be broadcast")));
                }
                *all = (*all).max(*own);
            }
        }
        self.broadcast(values, &shape)
    }

    /// An operation on corresponding entries whose result has this shape, to which the values are broadcast.
    pub fn broadcast(&mut self, values: &[ValueId], shape: &[usize]) -> Result<ValueId> {
        let mut operands = Vec::with_capacity(values.len());
        for value in values {
            let own = self.shape(*value);
            let Some(skipped) = shape.len().checked_sub(own.len()) else {
                return Err(self.error(format!("{own:?} cannot be broadcast to {shape:?}")));
            };
            let index = |(axis, size): (usize, &usize)| match (*size, shape[skipped + axis]) {
                (1, all) if all != 1 => Index::One,
                _ => Index::Any(skipped + axis),
            };
            let indices = own.iter().enumerate().map(index).collect();
            operands.push((*value, indices));
        }
        let result = self.indexed_one(&operands, shape, (0..shape.len()).map(Index::Any).collect())?;
        self.works_alone_at(0..shape.len());
        Ok(result)
    }

    /// A softmax or normalisation over some axes: it treats all entries of each axis alike, and mixes those of these axes.
    pub fn mix(&mut self, value: ValueId, axes: &[usize]) -> Result<ValueId> {
        let shape = self.shape(value).to_vec();
        for axis in axes {
            self.axis(&shape, *axis)?;
        }
        let own: Vec<Index> = (0..shape.len()).map(Index::Any).collect();
        let result = self.indexed_one(&[(value, own.clone())], &shape, own)?;
        self.works_alone_at((0..shape.len()).filter(|axis| !axes.contains(axis)));
        Ok(result)
    }

    /// An operation that needs the order of some axes, and none of the others, each of which it treats alike. These axes may have
    /// other sizes in the result.
    pub fn along(&mut self, value: ValueId, ordered: &[usize], shape: &[usize]) -> Result<ValueId> {
        let index = |axis: usize| if ordered.contains(&axis) { Index::Fixed } else { Index::Any(axis) };
        let indices = |axes: usize| (0..axes).map(index).collect();
        let own = self.shape(value).len();
        let result = self.indexed_one(&[(value, indices(own))], shape, indices(shape.len()))?;
        self.works_alone_at((0..own).filter(|axis| !ordered.contains(axis)));
        Ok(result)
    }

    /// A sum, mean, maximum or the like over some axes.
    pub fn reduce(&mut self, value: ValueId, axes: &[usize], keep: bool) -> Result<ValueId> {
        let from = self.shape(value).to_vec();
        for axis in axes {
            self.axis(&from, *axis)?;
        }
        let own = (0..from.len()).map(Index::Any).collect();
        let (mut shape, mut indices) = (Vec::new(), Vec::new());
        for (axis, size) in from.iter().enumerate() {
            match (axes.contains(&axis), keep) {
                (false, _) => {
                    shape.push(*size);
                    indices.push(Index::Any(axis));
                }
                (true, true) => {
                    shape.push(1);
                    indices.push(Index::One);
                }
                (true, false) => {}
            }
        }
        let result = self.indexed_one(&[(value, own)], &shape, indices)?;
        self.works_alone_at((0..from.len()).filter(|axis| !axes.contains(axis)));
        Ok(result)
    }

    fn axis(&self, shape: &[usize], axis: usize) -> Result<()> {
        if axis < shape.len() { Ok(()) } else { Err(self.error(format!("{shape:?} has no axis {axis}"))) }
    }
}
