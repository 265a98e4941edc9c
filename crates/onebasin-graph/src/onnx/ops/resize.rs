//! Interpolation: axes that keep their scale are indifferent to order, all others are in order.

use super::Table;
use crate::onnx::call::{Call, Outputs, one};

pub(super) const TABLE: Table =
    &[(&["Resize"], |call| resize(call, 2, 3)), (&["Upsample"], |call| resize(call, 1, usize::MAX))];

/// Resizes by the scales or to the sizes of these inputs.
fn resize(call: &mut Call<'_>, scales: usize, sizes: usize) -> Outputs {
    let from = call.shape(0)?;
    let axes = match call.attribute("axes") {
        Some(axes) => call.places(&axes.integers, from.len())?,
        None => (0..from.len()).collect(),
    };
    let mut shape = from.clone();
    let mut ordered = Vec::new();
    // An input without entries counts as missing.
    let scales = call.numbers(scales)?.filter(|scales| !scales.data.is_empty());
    let sizes = call.numbers(sizes)?.filter(|sizes| !sizes.data.is_empty());
    match (scales, sizes) {
        (_, Some(sizes))
            if sizes.data.len() == axes.len() && call.text("keep_aspect_ratio_policy", "stretch") == "stretch" =>
        {
            for (axis, size) in axes.iter().zip(&sizes.data) {
                shape[*axis] = *size as usize;
                if shape[*axis] != from[*axis] {
                    ordered.push(*axis);
                }
            }
        }
        (Some(scales), None) if scales.data.len() == axes.len() => {
            for (axis, scale) in axes.iter().zip(&scales.data) {
                shape[*axis] = (from[*axis] as f64 * scale).floor() as usize;
                if *scale != 1.0 {
                    ordered.push(*axis);
                }
            }
        }
        // The sizes are known to the file only.
        _ => match call.stated().filter(|stated| stated.len() == from.len()) {
            Some(stated) => {
                shape = stated;
                ordered.clone_from(&axes);
            }
            None => return Ok(None),
        },
    }
    // Regions move positions even where the size stays.
    if call.text("coordinate_transformation_mode", "") == "tf_crop_and_resize" {
        ordered = axes;
    }
    let value = call.input(0)?;
    one(call.scope.builder.along(value, &ordered, &shape)?)
}
