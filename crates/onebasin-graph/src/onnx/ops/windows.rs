//! Windows that slide over positions: their arithmetic, and pooling.

use super::Table;
use crate::error::Result;
use crate::graph::Index::{Any, Fixed};
use crate::onnx::call::{Call, Outputs, one};

pub(super) const TABLE: Table =
    &[(&["AveragePool", "LpPool", "MaxPool"], pool), (&["MaxRoiPool", "RoiAlign"], regions), (&["GridSample"], sample)];

/// A window along each spatial axis.
pub(super) struct Window {
    kernel: Vec<usize>,
    strides: Vec<usize>,
    dilations: Vec<usize>,
    /// Padding before all axes, then behind all axes.
    pads: Vec<i64>,
    automatic: Automatic,
}

/// How padding is chosen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Automatic {
    /// As the attribute `pads` says.
    Explicit,
    /// There is none.
    Valid,
    /// So that the result has as many positions as the input, divided by the stride.
    Same,
}

impl Window {
    /// The window that the attributes describe, with the kernel of the weight.
    pub(super) fn of(call: &Call<'_>, kernel: &[usize], spatial: &[usize]) -> Result<Self> {
        let axes = spatial.len();
        let automatic = match call.text("auto_pad", "NOTSET") {
            "SAME_UPPER" | "SAME_LOWER" => Automatic::Same,
            "VALID" => Automatic::Valid,
            _ => Automatic::Explicit,
        };
        let pads = call.attribute("pads").map_or_else(|| vec![0; 2 * axes], |pads| pads.integers.clone());
        let window = Self {
            kernel: kernel.to_vec(),
            strides: factors(call, "strides", axes)?,
            dilations: factors(call, "dilations", axes)?,
            pads,
            automatic,
        };
        let fits = [window.kernel.len(), window.strides.len(), window.dilations.len()] == [axes; 3];
        if !fits || window.pads.len() != 2 * axes {
            return Err(call.error(format!("a window of {kernel:?} does not fit positions {spatial:?}")));
        }
        Ok(window)
    }

    /// Numbers of positions of the window.
    pub(super) fn sizes(&self, call: &Call<'_>, spatial: &[usize], ceil: bool) -> Result<Vec<usize>> {
        let axes = spatial.len();
        let size = |axis: usize| -> Option<usize> {
            let stride = i64::try_from(self.strides[axis]).ok()?;
            let from = i64::try_from(spatial[axis]).ok()?;
            let reach = reach(self.kernel[axis], self.dilations[axis])?;
            let (before, behind) = match self.automatic {
                Automatic::Same => return Some(spatial[axis].div_ceil(self.strides[axis])),
                Automatic::Valid => (0, 0),
                Automatic::Explicit => (self.pads[axis], self.pads[axes + axis]),
            };
            let room = from.checked_add(before)?.checked_add(behind)?.checked_sub(reach)?;
            let steps = if ceil { room.checked_add(stride - 1)?.div_euclid(stride) } else { room.div_euclid(stride) };
            let mut count = steps.checked_add(1)?;
            // A last window that begins in the padding behind the input does not count.
            if ceil && (count - 1).checked_mul(stride)? >= from.checked_add(before)? {
                count -= 1;
            }
            usize::try_from(count).ok().filter(|count| *count > 0)
        };
        (0..axes).map(|axis| size(axis).ok_or_else(|| no_room(call, &self.kernel, spatial))).collect()
    }
}

/// Number of positions that a dilated kernel reaches over.
fn reach(kernel: usize, dilation: usize) -> Option<i64> {
    let reach = kernel.checked_sub(1)?.checked_mul(dilation)?.checked_add(1)?;
    i64::try_from(reach).ok()
}

fn no_room(call: &Call<'_>, kernel: &[usize], spatial: &[usize]) -> crate::error::Error {
    call.error(format!("a window of {kernel:?} has no place in positions {spatial:?}"))
}

/// Positive factors along each spatial axis, 1 by default.
fn factors(call: &Call<'_>, name: &str, axes: usize) -> Result<Vec<usize>> {
    let Some(attribute) = call.attribute(name) else { return Ok(vec![1; axes]) };
    let factors = attribute.integers.iter().map(|factor| usize::try_from(*factor).ok().filter(|factor| *factor > 0));
    let factors: Option<Vec<usize>> = factors.collect();
    factors.ok_or_else(|| call.error(format!("{name} = {:?}", attribute.integers)))
}

/// Numbers of positions that a transposed convolution computes.
pub(super) fn transposed_window(call: &Call<'_>, kernel: &[usize], spatial: &[usize]) -> Result<Vec<usize>> {
    let axes = spatial.len();
    let window = Window::of(call, kernel, spatial)?;
    if let Some(shape) = call.attribute("output_shape") {
        let start = shape.integers.len().saturating_sub(axes);
        let sizes: Option<Vec<usize>> =
            shape.integers[start..].iter().map(|size| usize::try_from(*size).ok()).collect();
        return sizes.filter(|sizes| sizes.len() == axes).ok_or_else(|| no_room(call, kernel, spatial));
    }
    let extra = call.attribute("output_padding").map_or_else(|| vec![0; axes], |extra| extra.integers.clone());
    if extra.len() != axes {
        return Err(call.error(format!("output_padding = {extra:?}")));
    }
    let size = |axis: usize| -> Option<usize> {
        let from = i64::try_from(spatial[axis]).ok()?;
        let stride = i64::try_from(window.strides[axis]).ok()?;
        let pads = match window.automatic {
            Automatic::Same => return spatial[axis].checked_mul(window.strides[axis]),
            Automatic::Valid => 0,
            Automatic::Explicit => window.pads[axis].checked_add(window.pads[axes + axis])?,
        };
        let all = (from - 1).checked_mul(stride)?.checked_add(extra[axis])?;
        let all = all.checked_add(reach(kernel[axis], window.dilations[axis])?)?.checked_sub(pads)?;
        usize::try_from(all).ok().filter(|all| *all > 0)
    };
    (0..axes).map(|axis| size(axis).ok_or_else(|| no_room(call, kernel, spatial))).collect()
}

fn pool(call: &mut Call<'_>) -> Outputs {
    // The indices of maxima count over channels too, so they depend on the order of channels.
    if call.returns(1) {
        return Ok(None);
    }
    let from = call.shape(0)?;
    if from.len() < 3 {
        return Err(call.error(format!("{from:?} has no positions")));
    }
    let kernel = factors(call, "kernel_shape", 0)?;
    let window = Window::of(call, &kernel, &from[2..])?;
    let spatial = window.sizes(call, &from[2..], call.flag("ceil_mode", false))?;
    let value = call.input(0)?;
    let ordered: Vec<usize> = (2..from.len()).collect();
    one(call.scope.builder.along(value, &ordered, &[&from[..2], &spatial].concat())?)
}

fn regions(call: &mut Call<'_>) -> Outputs {
    let (from, regions) = (call.shape(0)?, call.shape(1)?);
    let sizes = match call.attribute("pooled_shape") {
        Some(shape) => shape.integers.clone(),
        None => vec![call.integer("output_height", 1), call.integer("output_width", 1)],
    };
    let sizes: Option<Vec<usize>> = sizes.iter().map(|size| usize::try_from(*size).ok()).collect();
    let (4, 2, Some([rows, columns])) = (from.len(), regions.len(), sizes.as_deref()) else {
        return Err(call.error(format!("regions {regions:?} do not fit {from:?}")));
    };
    let shape = [regions[0], from[1], *rows, *columns];
    let mut operands = vec![(call.input(0)?, vec![Fixed, Any(0), Fixed, Fixed])];
    for input in 1..call.node.inputs.len() {
        let axes = call.shape(input)?.len();
        operands.push((call.input(input)?, vec![Fixed; axes]));
    }
    one(call.scope.builder.indexed_one(&operands, &shape, vec![Fixed, Any(0), Fixed, Fixed])?)
}

fn sample(call: &mut Call<'_>) -> Outputs {
    let (from, grid) = (call.shape(0)?, call.shape(1)?);
    if from.len() < 3 || grid.len() != from.len() {
        return Err(call.error(format!("a grid {grid:?} does not fit {from:?}")));
    }
    let spatial = from.len() - 2;
    let with = |head: &[crate::graph::Index]| [head, &vec![Fixed; spatial]].concat();
    let shape = [&from[..2], &grid[1..=spatial]].concat();
    let grid_indices = [&[Any(0)][..], &vec![Fixed; spatial + 1]].concat();
    let operands = [(call.input(0)?, with(&[Any(0), Any(1)])), (call.input(1)?, grid_indices)];
    one(call.scope.builder.indexed_one(&operands, &shape, with(&[Any(0), Any(1)]))?)
}
