//! Products of matrices and convolutions.

use super::Table;
use super::windows::{Window, transposed_window};
use crate::build::Convolution;
use crate::onnx::call::{Call, Outputs, one};

pub(super) const TABLE: Table = &[
    (&["MatMul"], matmul),
    (&["MatMulInteger"], matmul_integer),
    (&["Gemm"], gemm),
    (&["Conv"], convolution),
    (&["ConvTranspose"], transposed),
];

fn matmul(call: &mut Call<'_>) -> Outputs {
    let (left, right) = (call.input(0)?, call.input(1)?);
    one(call.scope.builder.matmul(left, right)?)
}

fn matmul_integer(call: &mut Call<'_>) -> Outputs {
    // Zero points of rows or columns are not told apart, so only single ones are understood.
    for input in [2, 3] {
        if call.name(input).is_some() && call.shape(input)?.iter().product::<usize>() != 1 {
            return Ok(None);
        }
    }
    matmul(call)
}

fn gemm(call: &mut Call<'_>) -> Outputs {
    let (mut left, mut right, bias) = (call.input(0)?, call.input(1)?, call.optional(2)?);
    let (swap_left, swap_right) = (call.flag("transA", false), call.flag("transB", false));
    if [0, 1].map(|input| call.shape(input).map(|shape| shape.len())) != [Ok(2), Ok(2)] {
        return Err(call.error("it multiplies matrices only"));
    }
    let builder = &mut call.scope.builder;
    if swap_left {
        left = builder.swap_axes(left, 0, 1)?;
    }
    if swap_right {
        right = builder.swap_axes(right, 0, 1)?;
    }
    let product = builder.matmul(left, right)?;
    let shape = builder.shape(product).to_vec();
    one(match bias {
        Some(bias) => builder.broadcast(&[product, bias], &shape)?,
        None => product,
    })
}

fn convolution(call: &mut Call<'_>) -> Outputs {
    let (from, weight) = (call.shape(0)?, call.shape(1)?);
    let window = Window::of(call, weight.get(2..).unwrap_or_default(), from.get(2..).unwrap_or_default())?;
    let spatial = window.sizes(call, &from[2.min(from.len())..], false)?;
    convolve(call, &spatial, false)
}

fn transposed(call: &mut Call<'_>) -> Outputs {
    let (from, weight) = (call.shape(0)?, call.shape(1)?);
    let spatial = transposed_window(call, weight.get(2..).unwrap_or_default(), from.get(2..).unwrap_or_default())?;
    convolve(call, &spatial, true)
}

fn convolve(call: &mut Call<'_>, spatial: &[usize], transposed: bool) -> Outputs {
    let (value, weight, bias) = (call.input(0)?, call.input(1)?, call.optional(2)?);
    let groups = call.size("group", 1)?;
    one(call.scope.builder.convolution(value, weight, bias, Convolution { groups, transposed, spatial })?)
}
