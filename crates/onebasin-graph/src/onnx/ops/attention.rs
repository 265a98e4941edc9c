//! Attention and rotary positions as single operators.

use super::Table;
use crate::error::Result;
use crate::graph::Index::{Any, Fixed};
use crate::graph::ValueId;
use crate::onnx::call::{Call, Outputs, one};

pub(super) const TABLE: Table = &[(&["Attention"], attention), (&["RotaryEmbedding"], rotary)];

/// (example, position, head · dimension) as (example, head, position, dimension).
fn heads(call: &mut Call<'_>, input: usize, heads: usize) -> Result<ValueId> {
    let (value, shape) = (call.input(input)?, call.shape(input)?);
    let [examples, positions, width] = shape[..] else { return Ok(value) };
    if heads == 0 || !width.is_multiple_of(heads) {
        return Err(call.error(format!("{heads} heads do not fit {shape:?}")));
    }
    let split = call.scope.builder.reshape(value, &[examples, positions, heads, width / heads])?;
    call.scope.builder.swap_axes(split, 1, 2)
}

fn attention(call: &mut Call<'_>) -> Outputs {
    // Former keys and values, and the products of queries and keys, are not followed.
    if (4..=6).any(|input| call.name(input).is_some()) || (1..=3).any(|output| call.returns(output)) {
        return Ok(None);
    }
    let shapes = [call.shape(0)?, call.shape(1)?, call.shape(2)?];
    let axes = shapes[0].len();
    if !(3..=4).contains(&axes) || shapes.iter().any(|shape| shape.len() != axes) {
        return Err(call.error(format!("attention of {shapes:?}")));
    }
    let (own, shared) = (call.size("q_num_heads", 0)?, call.size("kv_num_heads", 0)?);
    let grouped = if axes == 4 { shapes[0][1] != shapes[1][1] } else { own != shared };
    let mask = call.optional(3)?;
    if grouped && mask.is_some() {
        return Ok(None);
    }
    let parts = [heads(call, 0, own)?, heads(call, 1, shared)?, heads(call, 2, shared)?];
    let causal = call.flag("is_causal", false);
    let builder = &mut call.scope.builder;
    let result = builder.attention(parts, mask, causal)?;
    if axes == 4 {
        return one(result);
    }
    let result = builder.swap_axes(result, 1, 2)?;
    let shape = builder.shape(result).to_vec();
    one(builder.reshape(result, &[shape[0], shape[1], shape[2].saturating_mul(shape[3])])?)
}

fn rotary(call: &mut Call<'_>) -> Outputs {
    let shape = call.shape(0)?;
    let value = if shape.len() == 3 {
        let own = call.size("num_heads", 0)?;
        heads(call, 0, own)?
    } else {
        call.input(0)?
    };
    // Positions and dimensions are turned in order, by angles that may differ between examples. Heads are alike.
    let own = vec![Fixed, Any(0), Fixed, Fixed];
    let mut operands = vec![(value, own.clone())];
    for input in 1..call.node.inputs.len() {
        if call.name(input).is_some() {
            let axes = call.shape(input)?.len();
            operands.push((call.input(input)?, vec![Fixed; axes]));
        }
    }
    let builder = &mut call.scope.builder;
    let four = builder.shape(value).to_vec();
    let result = builder.indexed_one(&operands, &four, own)?;
    builder.works_alone_at([0]);
    if shape.len() == 4 {
        return one(result);
    }
    let result = builder.swap_axes(result, 1, 2)?;
    one(builder.reshape(result, &shape)?)
}
