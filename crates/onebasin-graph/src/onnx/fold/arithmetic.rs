//! Arithmetic on constants: elementwise operators, with the rounding of their type.

use std::rc::Rc;

use super::is_small;
use crate::error::Result;
use crate::onnx::call::Call;
use crate::onnx::entries::{Entries, broadcast_strides, common_shape, positions};
use crate::onnx::tensor::DataType;

/// Computes an entry from the corresponding entries of all operands.
type Function<'a> = &'a dyn Fn(&[f64]) -> f64;

/// The result of an elementwise operator; none if it is not computed here.
pub(super) fn evaluate(call: &Call<'_>, inputs: &[Option<Rc<Entries>>]) -> Result<Option<Entries>> {
    let operands: Vec<&Entries> = inputs.iter().flatten().map(Rc::as_ref).collect();
    let data_type = operands[0].data_type;
    let whole = !data_type.is_float();
    let (function, result): (Function<'_>, DataType) = match call.node.operator.as_str() {
        "Identity" => (&|x| x[0], data_type),
        "Cast" => {
            let to = DataType::from_number(call.integer("to", 0));
            if to == DataType::Other {
                return Ok(None);
            }
            return Ok(Some(cast(operands[0], to)));
        }
        "CastLike" => return Ok(operands.get(1).map(|like| cast(operands[0], like.data_type))),
        "Neg" => (&|x| -x[0], data_type),
        "Abs" => (&|x| x[0].abs(), data_type),
        "Floor" => (&|x| x[0].floor(), data_type),
        "Ceil" => (&|x| x[0].ceil(), data_type),
        "Round" => (&|x| x[0].round_ties_even(), data_type),
        "Sqrt" => (&|x| x[0].sqrt(), data_type),
        "Reciprocal" => (&|x| x[0].recip(), data_type),
        "Not" => (&|x| f64::from(x[0] == 0.0), DataType::Bool),
        "Add" | "Sum" => (&|x| x.iter().sum(), data_type),
        "Sub" => (&|x| x[0] - x[1], data_type),
        "Mul" => (&|x| x[0] * x[1], data_type),
        "Div" if whole => {
            // Rounds towards zero; a division by zero has no result.
            if operands.get(1).is_none_or(|divisor| divisor.data.contains(&0.0)) {
                return Ok(None);
            }
            (&|x| (x[0] / x[1]).trunc(), data_type)
        }
        "Div" => (&|x| x[0] / x[1], data_type),
        "Mod" => {
            if operands.get(1).is_none_or(|divisor| divisor.data.contains(&0.0)) {
                return Ok(None);
            }
            let remainder: Function<'_> =
                if call.flag("fmod", false) { &|x| x[0] % x[1] } else { &|x| x[0] - (x[0] / x[1]).floor() * x[1] };
            (remainder, data_type)
        }
        "Pow" => (&|x| x[0].powf(x[1]), data_type),
        "Min" => (&|x| x.iter().copied().fold(f64::INFINITY, f64::min), data_type),
        "Max" => (&|x| x.iter().copied().fold(f64::NEG_INFINITY, f64::max), data_type),
        "Equal" => (&|x| f64::from(x[0] == x[1]), DataType::Bool),
        "Less" => (&|x| f64::from(x[0] < x[1]), DataType::Bool),
        "LessOrEqual" => (&|x| f64::from(x[0] <= x[1]), DataType::Bool),
        "Greater" => (&|x| f64::from(x[0] > x[1]), DataType::Bool),
        "GreaterOrEqual" => (&|x| f64::from(x[0] >= x[1]), DataType::Bool),
        "And" => (&|x| f64::from(x[0] != 0.0 && x[1] != 0.0), DataType::Bool),
        "Or" => (&|x| f64::from(x[0] != 0.0 || x[1] != 0.0), DataType::Bool),
        "Xor" => (&|x| f64::from((x[0] != 0.0) != (x[1] != 0.0)), DataType::Bool),
        "Where" => {
            (&|x| if x[0] == 0.0 { x[2] } else { x[1] }, operands.get(1).map_or(data_type, |chosen| chosen.data_type))
        }
        _ => return Ok(None),
    };
    let expected = match call.node.operator.as_str() {
        "Identity" | "Neg" | "Abs" | "Floor" | "Ceil" | "Round" | "Sqrt" | "Reciprocal" | "Not" => 1..=1,
        "Where" => 3..=3,
        "Sum" | "Min" | "Max" => 1..=usize::MAX,
        _ => 2..=2,
    };
    if operands.len() != inputs.len() || !expected.contains(&operands.len()) {
        return Err(call.error(format!("{} inputs are not what it needs", inputs.len())));
    }
    elementwise(call, &operands, function, result)
}

fn elementwise(
    call: &Call<'_>,
    operands: &[&Entries],
    function: Function<'_>,
    data_type: DataType,
) -> Result<Option<Entries>> {
    let shapes: Vec<&[usize]> = operands.iter().map(|operand| operand.shape.as_slice()).collect();
    let Some(shape) = common_shape(&shapes) else {
        return Err(call.error(format!("shapes {shapes:?} cannot be broadcast")));
    };
    if !is_small(&shape) {
        return Ok(None);
    }
    let strides: Vec<Vec<isize>> =
        shapes.iter().map(|own| broadcast_strides(own, &shape).expect("the shapes have a common one")).collect();
    let mut places: Vec<_> = strides.iter().map(|strides| positions(&shape, strides, 0)).collect();
    let mut entries = vec![0.0; operands.len()];
    let len: usize = shape.iter().product();
    let mut data = Vec::with_capacity(len);
    for _ in 0..len {
        for ((entry, operand), place) in entries.iter_mut().zip(operands).zip(&mut places) {
            *entry = operand.data[place.next().expect("there is a place for each entry")];
        }
        data.push(rounded(function(&entries), data_type));
    }
    drop(places);
    Ok(Some(Entries { shape, data_type, data }))
}

/// A number as its type holds it, as far as sizes of arrays depend on it.
fn rounded(entry: f64, data_type: DataType) -> f64 {
    match data_type {
        DataType::F32 => f64::from(entry as f32),
        _ => entry,
    }
}

fn cast(entries: &Entries, to: DataType) -> Entries {
    let entry = |entry: &f64| match to {
        DataType::Bool => f64::from(*entry != 0.0),
        to if to.is_float() => rounded(*entry, to),
        _ => entry.trunc(),
    };
    Entries { shape: entries.shape.clone(), data_type: to, data: entries.data.iter().map(entry).collect() }
}
