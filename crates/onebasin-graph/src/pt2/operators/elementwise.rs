//! Operators on corresponding entries, broadcast to a common shape.

use super::{Table, Translate};
use crate::build::Builder;
use crate::error::Result;
use crate::graph::Index::{Any, One};
use crate::graph::{Index, ValueId};
use crate::pt2::call::Call;

/// Those that are more than a function of corresponding entries.
pub(super) const TABLE: Table = &[
    ("copy", copy),
    ("fill", fill),
    ("fmod", all),
    ("glu", glu),
    ("native_dropout", dropout),
    ("_prelu_kernel", all),
    ("prelu", prelu),
    ("rrelu_with_noise", first),
    ("zero", fill),
];

/// Functions of corresponding entries.
const NAMES: &[&str] = &[
    "__and__", "__lshift__", "__or__", "__rshift__", "__xor__", "_conj_physical", "abs", "absolute", "acos",
    "acosh", "add", "addcdiv", "addcmul", "angle", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "asin", "asinh", "atan", "atan2", "atanh", "bernoulli", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "ceil", "celu", "clamp", "clamp_max", "clamp_min", "clip", "clone", "complex",
    "conj_physical", "copysign", "cos", "cosh", "deg2rad", "digamma", "div", "divide", "elu", "eq", "erf", "erfc", "erfinv",
    "exp", "exp2", "expm1", "fake_quantize_per_tensor_affine", "fix", "float_power", "floor", "floor_divide", "fmax", "fmin",
    "frac", "gcd", "ge", "gelu", "greater", "greater_equal", "gt", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "heaviside", "hypot", "i0", "isclose", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "ldexp", "le",
    "leaky_relu", "lerp", "less", "less_equal", "lgamma", "lift_fresh_copy", "log", "log10", "log1p", "log2", "log_sigmoid",
    "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor", "logit", "lt", "masked_fill",
    "maximum", "minimum", "mish", "mul", "multiply", "mvlgamma", "nan_to_num", "ne", "neg", "negative", "nextafter", "not_equal",
    "polygamma", "positive", "pow", "rad2deg", "reciprocal", "relu", "relu6", "remainder", "round", "rrelu",
    "rsqrt", "rsub", "selu", "sgn", "sigmoid", "sign", "signbit", "silu", "sin", "sinc", "sinh", "softplus", "softshrink",
    "special_erf", "special_expit", "special_log1p", "special_ndtr", "special_xlog1py", "sqrt", "square", "sub", "subtract",
    "tan", "tanh", "threshold", "true_divide", "trunc", "where", "xlogy",
];

/// The translation of a function of corresponding entries.
pub(super) fn find(name: &str) -> Option<Translate> {
    NAMES.contains(&name).then_some(all as Translate)
}

/// All tensors, broadcast.
fn all(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    if matches!(call.operator.as_str(), "clone" | "lift_fresh_copy") {
        return Ok(vec![call.first()?]);
    }
    if call.operator == "where" && call.overload == "default" {
        return Err(builder.error("where its operand is true is not known"));
    }
    Ok(vec![builder.elementwise(&call.values)?])
}

/// The first tensor; the others are noise.
fn first(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    Ok(vec![builder.elementwise(&[value])?])
}

/// The result and which entries stay.
fn dropout(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let (shape, own) = (builder.shape(value).to_vec(), (0..builder.shape(value).len()).map(Any).collect::<Vec<_>>());
    builder.indexed(&[(value, own.clone())], &[(shape.clone(), own.clone()), (shape, own)])
}

/// The second tensor in the shape of the first, which it overwrites.
fn copy(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let source = call.tensor("src")?;
    Ok(vec![call.same(builder, source)?])
}

/// Copies of one number.
fn fill(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    match call.optional("value") {
        Ok(Some(value)) => Ok(vec![call.same(builder, value)?]),
        _ => Ok(vec![builder.uniform(call.number("value").unwrap_or(0.0), call.shape(0)?)?]),
    }
}

/// The first half of an axis times a function of the second half.
fn glu(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let shape = builder.shape(value).to_vec();
    let axis = call.axis("dim", -1, shape.len())?;
    let half = shape[axis] / 2;
    let parts = [builder.slice(value, axis, 0, half)?, builder.slice(value, axis, half, half)?];
    Ok(vec![builder.elementwise(&parts)?])
}

/// A slope for all, or one for each channel.
fn prelu(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let (value, weight) = (call.first()?, call.tensor("weight")?);
    let shape = builder.shape(value).to_vec();
    let slopes = builder.shape(weight).iter().product::<usize>();
    if slopes > 1 && shape.len() < 2 {
        return Err(builder.error("there are no channels"));
    }
    let weight = builder.reshape(weight, &[slopes])?;
    let own: Vec<Index> = (0..shape.len()).map(Any).collect();
    let slope = if slopes == 1 { One } else { Any(1) };
    Ok(vec![builder.indexed_one(&[(value, own.clone()), (weight, vec![slope])], &shape, own)?])
}
