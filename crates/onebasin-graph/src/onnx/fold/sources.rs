//! Constants that come from no other constant: those of nodes, and the shapes of values.

use super::{Folded, is_small};
use crate::error::Result;
use crate::onnx::call::Call;
use crate::onnx::data::Initializer;
use crate::onnx::entries::Entries;
use crate::onnx::tensor::DataType;

/// Entries of a constant node or of a shape; none for other operators.
pub(super) fn evaluate(call: &mut Call<'_>) -> Folded {
    match call.node.operator.as_str() {
        "Constant" => Ok(constant(call)?.map(|entries| vec![entries])),
        "Shape" => {
            let shape = call.shape(0)?;
            let axes = shape.len() as i64;
            let place =
                |place: i64| (if place < 0 { place.saturating_add(axes) } else { place }).clamp(0, axes) as usize;
            let (start, end) = (place(call.integer("start", 0)), place(call.integer("end", axes)));
            Ok(Some(vec![Entries::integers(shape[start..end.max(start)].iter().copied())]))
        }
        "Size" => {
            let size = call.shape(0)?.iter().product::<usize>();
            Ok(Some(vec![Entries { shape: Vec::new(), data_type: DataType::I64, data: vec![size as f64] }]))
        }
        _ => Ok(None),
    }
}

fn constant(call: &Call<'_>) -> Result<Option<Entries>> {
    let vector = |data_type, data: Vec<f64>| Entries { shape: vec![data.len()], data_type, data };
    let scalar = |data_type, entry| Entries { shape: Vec::new(), data_type, data: vec![entry] };
    let Some(attribute) = call.node.attributes.first() else { return Ok(None) };
    let entries = match attribute.name.as_str() {
        "value" => {
            let Some(tensor) = &attribute.tensor else { return Ok(None) };
            let tensor = Initializer::new(tensor.as_ref().clone(), &call.scope.source)?;
            if !is_small(&tensor.shape) || !tensor.is_stored() || tensor.data_type == DataType::Other {
                return Ok(None);
            }
            let data = tensor.read_f64()?;
            Entries { shape: tensor.shape, data_type: tensor.data_type, data }
        }
        "value_int" => scalar(DataType::I64, attribute.integer as f64),
        "value_float" => scalar(DataType::F32, attribute.float.into()),
        "value_ints" => vector(DataType::I64, attribute.integers.iter().map(|entry| *entry as f64).collect()),
        "value_floats" => vector(DataType::F32, attribute.floats.iter().map(|entry| f64::from(*entry)).collect()),
        _ => return Ok(None),
    };
    Ok(Some(entries).filter(Entries::is_exact))
}
