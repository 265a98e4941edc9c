//! Conversions from and to integers with scales.

use super::Table;
use crate::graph::Index::{self, Any, Fixed, One};
use crate::onnx::call::{Call, Outputs, one};

pub(super) const TABLE: Table =
    &[(&["DequantizeLinear", "QuantizeLinear"], linear), (&["DynamicQuantizeLinear"], dynamic)];

fn linear(call: &mut Call<'_>) -> Outputs {
    let shape = call.shape(0)?;
    let scales = call.shape(1)?;
    let axis = if shape.is_empty() { 0 } else { call.axis("axis", 1.min(shape.len() as i64 - 1), shape.len())? };
    let in_blocks = call.size("block_size", 0)? > 0;
    let mut own: Vec<Index> = (0..shape.len()).map(Any).collect();
    // Neighbouring entries share a scale, so blocks keep them in order.
    if in_blocks {
        own[axis] = Fixed;
    }
    let of_scale = match scales.len() {
        _ if in_blocks => own.clone(),
        0 => Vec::new(),
        1 if scales[0] == 1 => vec![One],
        1 => vec![Any(axis)],
        _ => return call.opaque(&[shape]),
    };
    let mut operands = vec![(call.input(0)?, own.clone()), (call.input(1)?, of_scale.clone())];
    if let Some(zero) = call.optional(2)? {
        operands.push((zero, of_scale));
    }
    let result = call.scope.builder.indexed_one(&operands, &shape, own)?;
    call.scope.builder.works_alone_at((0..shape.len()).filter(|at| *at != axis || !in_blocks));
    one(result)
}

fn dynamic(call: &mut Call<'_>) -> Outputs {
    let value = call.input(0)?;
    let shape = call.shape(0)?;
    let own: Vec<Index> = (0..shape.len()).map(Any).collect();
    // The scale and zero point come from the smallest and largest entry.
    let outputs = [(shape, own.clone()), (Vec::new(), Vec::new()), (Vec::new(), Vec::new())];
    call.scope.builder.indexed(&[(value, own)], &outputs).map(Some)
}
