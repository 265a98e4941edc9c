//! Constants that are too large to be computed, or whose entries the file does not hold.

use super::Table;
use crate::onnx::call::{Call, Outputs, one};
use crate::onnx::data::Initializer;

pub(super) const TABLE: Table = &[(&["Constant"], constant), (&["ConstantOfShape"], of_shape), (&["Range"], range)];

fn constant(call: &mut Call<'_>) -> Outputs {
    let Some(tensor) = call.attribute("value").and_then(|attribute| attribute.tensor.as_deref()) else {
        return Ok(None);
    };
    let tensor = Initializer::new(tensor.clone(), &call.scope.source)?;
    unknown(call, &tensor.shape)
}

fn of_shape(call: &mut Call<'_>) -> Outputs {
    let shape: Option<Vec<usize>> = match call.entries(0)?.and_then(|entries| entries.to_integers()) {
        Some(shape) => shape.into_iter().map(|size| usize::try_from(size).ok()).collect(),
        None => call.stated(),
    };
    match shape {
        // Its entries are equal, but too many to be stored.
        Some(shape) => unknown(call, &shape),
        None => Ok(None),
    }
}

fn range(call: &mut Call<'_>) -> Outputs {
    // It depends on data, or is long.
    match call.stated() {
        Some(shape) => call.opaque(&[shape]),
        None => Ok(None),
    }
}

fn unknown(call: &mut Call<'_>, shape: &[usize]) -> Outputs {
    let name = call.node.outputs.first().cloned().unwrap_or_default();
    one(call.scope.builder.constant(&name, shape, None)?)
}
