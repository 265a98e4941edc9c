//! What the arguments of operators on shapes mean, for arrays that are known and for those that are not.

use super::call::Call;
use crate::error::Result;

/// A part of an array along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The axis.
    pub axis: usize,
    /// The first entry.
    pub start: usize,
    /// Distance from one entry to the next.
    pub step: i64,
    /// Number of entries.
    pub len: usize,
}

impl Call<'_> {
    /// The shape that a reshape asks for, from that of the input.
    pub(super) fn reshaped(&self, from: &[usize], wanted: &[i64]) -> Result<Vec<usize>> {
        let fault = || self.error(format!("{from:?} cannot become {wanted:?}"));
        let keeps = !self.flag("allowzero", false);
        let mut shape = Vec::with_capacity(wanted.len());
        for (axis, size) in wanted.iter().enumerate() {
            shape.push(match *size {
                0 if keeps => *from.get(axis).ok_or_else(fault)?,
                -1 => 1,
                size => usize::try_from(size).map_err(|_| fault())?,
            });
        }
        let mut unknown = wanted.iter().enumerate().filter(|(_, size)| **size == -1).map(|(axis, _)| axis);
        let product = |shape: &[usize]| shape.iter().try_fold(1usize, |all, size| all.checked_mul(*size));
        let (all, others) = (product(from).ok_or_else(fault)?, product(&shape).ok_or_else(fault)?);
        if let Some(axis) = unknown.next() {
            if others == 0 || !all.is_multiple_of(others) || unknown.next().is_some() {
                return Err(fault());
            }
            shape[axis] = all / others;
        } else if all != others {
            return Err(fault());
        }
        Ok(shape)
    }

    /// The shape of the first input without the axes that a squeeze removes.
    pub(super) fn squeezed(&mut self) -> Result<Vec<usize>> {
        let shape = self.shape(0)?;
        let axes = match self.integers("axes", 1)? {
            Some(axes) => self.places(&axes, shape.len())?,
            None => (0..shape.len()).filter(|axis| shape[*axis] == 1).collect(),
        };
        if let Some(axis) = axes.iter().find(|axis| shape[**axis] != 1) {
            return Err(self.error(format!("axis {axis} of {shape:?} is not 1")));
        }
        Ok(shape.iter().enumerate().filter(|(axis, _)| !axes.contains(axis)).map(|(_, size)| *size).collect())
    }

    /// The shape of the first input with the axes that an unsqueeze adds.
    pub(super) fn unsqueezed(&mut self) -> Result<Vec<usize>> {
        let shape = self.shape(0)?;
        let axes = self.integers("axes", 1)?.ok_or_else(|| self.error("its axes are missing"))?;
        let all = shape.len().saturating_add(axes.len());
        if all > 16 {
            return Err(self.error(format!("{all} axes are too many")));
        }
        let axes = self.places(&axes, all)?;
        let mut own = shape.into_iter();
        let size =
            |axis: usize| if axes.contains(&axis) { 1 } else { own.next().expect("the others are the own axes") };
        Ok((0..all).map(size).collect())
    }

    /// The shape of the first input as a matrix.
    pub(super) fn flattened(&self) -> Result<Vec<usize>> {
        let shape = self.shape(0)?;
        let axis = self.integer("axis", 1);
        let axis = if usize::try_from(axis) == Ok(shape.len()) { shape.len() } else { self.place(axis, shape.len())? };
        Ok(vec![shape[..axis].iter().product(), shape[axis..].iter().product()])
    }

    /// The order of axes of a transposition.
    pub(super) fn order(&self, axes: usize) -> Result<Vec<usize>> {
        match self.attribute("perm") {
            Some(order) => {
                let order = self.places(&order.integers, axes)?;
                if order.len() == axes {
                    Ok(order)
                } else {
                    Err(self.error(format!("{order:?} is no order of {axes} axes")))
                }
            }
            None => Ok((0..axes).rev().collect()),
        }
    }

    /// The parts that a slice takes.
    pub(super) fn parts(&mut self) -> Result<Vec<Part>> {
        let shape = self.shape(0)?;
        let missing = |call: &Self| call.error("its starts or ends are missing");
        let starts = self.integers("starts", 1)?.ok_or_else(|| missing(self))?;
        let ends = self.integers("ends", 2)?.ok_or_else(|| missing(self))?;
        let axes = self.integers("axes", 3)?;
        let axes = match axes {
            Some(axes) => self.places(&axes, shape.len())?,
            None => (0..starts.len().min(shape.len())).collect(),
        };
        let steps = self.integers("steps", 4)?.unwrap_or_else(|| vec![1; axes.len()]);
        if [starts.len(), ends.len(), steps.len()] != [axes.len(); 3] || steps.contains(&0) {
            return Err(
                self.error(format!("starts {starts:?}, ends {ends:?} and steps {steps:?} do not fit {shape:?}"))
            );
        }
        let part = |at: usize| {
            let (axis, step) = (axes[at], steps[at]);
            let size = shape[axis] as i64;
            let (lowest, highest) = if step > 0 { (0, size) } else { (-1, size - 1) };
            let place = |number: i64| if number < 0 { number.saturating_add(size) } else { number };
            let start = place(starts[at]).clamp(lowest.max(0), highest.max(0));
            let end = place(ends[at]).clamp(lowest, highest);
            // At most as far apart as the axis is long, so a step of any size does not overflow.
            let distance = if step > 0 { end - start } else { start - end };
            let len = if distance <= 0 { 0 } else { (distance - 1) as u64 / step.unsigned_abs() + 1 };
            Part { axis, start: start as usize, step, len: len as usize }
        };
        Ok((0..axes.len()).map(part).collect())
    }

    /// Sizes of the parts that a split makes along an axis of so many entries.
    pub(super) fn split(&mut self, all: usize) -> Result<Vec<usize>> {
        if let Some(sizes) = self.integers("split", 1)? {
            let sizes: Option<Vec<usize>> = sizes.iter().map(|size| usize::try_from(*size).ok()).collect();
            let sizes =
                sizes.filter(|sizes| sizes.iter().try_fold(0usize, |sum, size| sum.checked_add(*size)) == Some(all));
            return sizes.ok_or_else(|| self.error(format!("its parts are not the {all} entries of the axis")));
        }
        let parts = self.node.outputs.len();
        let each = all.div_ceil(parts.max(1));
        // All parts have the same size but the last, which may be smaller.
        let size = |part: usize| all.saturating_sub(part * each).min(each);
        Ok((0..parts).map(size).collect())
    }

    /// The shape that the first input is broadcast to.
    pub(super) fn expanded(&mut self) -> Result<Option<Vec<usize>>> {
        let own = self.shape(0)?;
        let Some(wanted) = self.numbers(1)?.and_then(|entries| entries.to_integers()) else { return Ok(self.stated()) };
        let wanted: Option<Vec<usize>> = wanted.iter().map(|size| usize::try_from(*size).ok()).collect();
        let common = wanted.and_then(|wanted| super::entries::common_shape(&[&own, &wanted]));
        common.map(Some).ok_or_else(|| self.error(format!("{own:?} cannot be broadcast to its shape")))
    }
}
