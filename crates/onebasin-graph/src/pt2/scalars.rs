//! Sizes that nodes compute from other sizes, for files that give no examples of them.

use std::collections::BTreeMap;

use super::call::{Call, Given};
use super::schema::{Argument, Node, SymIntArgument};
use crate::build::Builder;

/// Adds the size that a node computes to those that are known, if it is one and not known yet.
pub(super) fn evaluate(node: &Node, call: &Call, builder: &Builder, prefix: &str, sizes: &mut BTreeMap<String, i64>) {
    let [Argument::AsSymInt(SymIntArgument::AsName(name))] = &node.outputs[..] else { return };
    let name = format!("{prefix}{name}");
    if sizes.contains_key(&name) {
        return;
    }
    let operator = node.target.rsplit('.').find(|part| !matches!(*part, "int" | "default")).unwrap_or("");
    if let Some(size) = size(operator, call, builder) {
        sizes.insert(name, size);
    }
}

fn size(operator: &str, call: &Call, builder: &Builder) -> Option<i64> {
    if let ("sym_size" | "sym_numel", Ok(value)) = (operator, call.first()) {
        let shape = builder.shape(value);
        return match operator {
            "sym_size" => shape.get(call.axis("dim", 0, shape.len()).ok()?).map(|size| *size as i64),
            _ => Some(shape.iter().product::<usize>() as i64),
        };
    }
    let number = |given: &(String, Given)| if let Given::Integer(number) = given.1 { Some(number) } else { None };
    let numbers: Option<Vec<i64>> = call.arguments.iter().map(number).collect();
    match (operator, &numbers?[..]) {
        ("add", [a, b]) => a.checked_add(*b),
        ("sub", [a, b]) => a.checked_sub(*b),
        ("mul", [a, b]) => a.checked_mul(*b),
        ("floordiv", [a, b]) => a.checked_div_euclid(*b).filter(|_| *b > 0),
        ("mod", [a, b]) => a.checked_rem_euclid(*b).filter(|_| *b > 0),
        ("neg", [a]) => a.checked_neg(),
        ("pow", [a, b]) => a.checked_pow(u32::try_from(*b).ok()?),
        ("sym_max", [a, b]) => Some(*a.max(b)),
        ("sym_min", [a, b]) => Some(*a.min(b)),
        ("sym_int" | "pos", [a]) => Some(*a),
        _ => None,
    }
}
