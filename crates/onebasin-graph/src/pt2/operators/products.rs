//! Products of matrices and vectors.

use super::Table;
use crate::build::Builder;
use crate::error::Result;
use crate::graph::Index::Any;
use crate::graph::ValueId;
use crate::pt2::call::Call;

pub(super) const TABLE: Table = &[
    ("_addmm_activation", added),
    ("addbmm", added_stack),
    ("addmm", added),
    ("addmv", added),
    ("addr", outer),
    ("baddbmm", added),
    ("bilinear", bilinear),
    ("bmm", product),
    ("chain_matmul", chain),
    ("dot", product),
    ("ger", outer),
    ("linalg_multi_dot", chain),
    ("linear", linear),
    ("matmul", product),
    ("mm", product),
    ("mv", product),
    ("outer", outer),
];

/// The product of the only two tensors.
fn product(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let [left, right] = call.values[..] else { return Err(builder.error("a product has two operands")) };
    Ok(vec![builder.matmul(left, right)?])
}

/// The product of the second and third tensor, added to the first.
fn added(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let [first, left, right] = call.values[..] else { return Err(builder.error("a product has two operands")) };
    let product = builder.matmul(left, right)?;
    Ok(vec![builder.elementwise(&[first, product])?])
}

/// The same, with the sum over a stack of products.
fn added_stack(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let [first, left, right] = call.values[..] else { return Err(builder.error("a product has two operands")) };
    let product = builder.matmul(left, right)?;
    let sum = builder.reduce(product, &[0], false)?;
    Ok(vec![builder.elementwise(&[first, sum])?])
}

fn linear(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let (value, weight, bias) = (call.first()?, call.tensor("weight")?, call.optional("bias")?);
    Ok(vec![builder.linear(value, weight, bias)?])
}

/// Products of entries of the last two vectors, added to the tensors before.
fn outer(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let [before @ .., left, right] = &call.values[..] else { return Err(builder.error("a product has two operands")) };
    let rows = builder.shape(*left).iter().product::<usize>();
    let left = builder.reshape(*left, &[rows, 1])?;
    Ok(vec![builder.elementwise(&[before, &[left, *right]].concat())?])
}

fn chain(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let [first, others @ ..] = &call.values[..] else { return Err(builder.error("a product has operands")) };
    let mut product = *first;
    for other in others {
        product = builder.matmul(product, *other)?;
    }
    Ok(vec![product])
}

/// xᵀ W y of (example..., i) and (example..., j) with a weight (out, i, j) and a bias (out).
fn bilinear(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let (left, right) = (call.tensor("input1")?, call.tensor("input2")?);
    let (weight, bias) = (call.tensor("weight")?, call.optional("bias")?);
    let shape = call.shape(0)?;
    let stack = shape.len().saturating_sub(1);
    let with = |last: usize| (0..stack).map(Any).chain([Any(stack + last)]).collect::<Vec<_>>();
    let mut operands =
        vec![(left, with(1)), (right, with(2)), (weight, vec![Any(stack), Any(stack + 1), Any(stack + 2)])];
    operands.extend(bias.map(|bias| (bias, vec![Any(stack)])));
    Ok(vec![builder.indexed_one(&operands, shape, with(0))?])
}
