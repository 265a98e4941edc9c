//! Operators on corresponding entries.

use super::Table;
use crate::onnx::call::{Call, Outputs, one};

#[rustfmt::skip]
pub(super) const TABLE: Table = &[
    (&[
        "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Cast", "Ceil", "Celu", "Cos", "Cosh", "Elu",
        "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Identity", "IsInf", "IsNaN", "LeakyRelu", "Log", "Mish", "Neg",
        "Not", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt",
        "Swish", "Tan", "Tanh", "ThresholdedRelu",
        // The second input is only asked for its type.
        "CastLike",
    ], first),
    (&[
        "Add", "And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Clip", "Div", "Equal", "Greater", "GreaterOrEqual", "Less",
        "LessOrEqual", "Max", "Mean", "Min", "Mod", "Mul", "Or", "PRelu", "Pow", "Sub", "Sum", "Where", "Xor",
    ], all),
    (&["Dropout"], dropout),
];

fn first(call: &mut Call<'_>) -> Outputs {
    let value = call.input(0)?;
    one(call.scope.builder.elementwise(&[value])?)
}

fn all(call: &mut Call<'_>) -> Outputs {
    let values = call.all()?;
    if values.is_empty() {
        return Err(call.error("it has no inputs"));
    }
    one(call.scope.builder.elementwise(&values)?)
}

fn dropout(call: &mut Call<'_>) -> Outputs {
    let value = call.input(0)?;
    // The mask, if anybody reads it, is random: nothing is known of it.
    if call.returns(1) {
        let shape = call.shape(0)?;
        return call.opaque(&[shape.clone(), shape]);
    }
    one(call.scope.builder.elementwise(&[value])?)
}
