//! Sums of products that an equation of letters describes.

use super::Table;
use crate::build::Builder;
use crate::error::Result;
use crate::graph::Index::{Any, One};
use crate::graph::{Index, ValueId};
use crate::pt2::call::Call;

pub(super) const TABLE: Table = &[("einsum", einsum), ("tensordot", tensordot)];

/// Numbers of the axes of an ellipsis, from behind; letters are below.
const ELLIPSIS: usize = 1 << 32;

/// The indices of some letters for an array of so many axes.
fn letters(text: &str, axes: usize) -> Option<Vec<usize>> {
    let numbers = |letters: &str| {
        letters.chars().map(|letter| letter.is_ascii_alphabetic().then_some(letter as usize)).collect::<Option<Vec<_>>>()
    };
    let Some((before, behind)) = text.split_once("...") else { return numbers(text).filter(|own| own.len() == axes) };
    let (before, behind) = (numbers(before)?, numbers(behind)?);
    let dots = axes.checked_sub(before.len() + behind.len())?;
    Some(before.into_iter().chain((0..dots).rev().map(|dot| ELLIPSIS + dot)).chain(behind).collect())
}

fn einsum(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let equation: String = call.text("equation").unwrap_or("").chars().filter(|letter| !letter.is_whitespace()).collect();
    let unknown = |builder: &Builder| builder.error(format!("the equation `{equation}` is not understood"));
    let operands = call.tensors("tensors")?;
    let (left, right) = match equation.split_once("->") {
        Some((left, right)) => (left.to_owned(), Some(right)),
        None => (equation.clone(), None),
    };
    let texts: Vec<&str> = left.split(',').collect();
    if texts.len() != operands.len() {
        return Err(unknown(builder));
    }
    let shape = call.shape(0)?;
    let mut indices = Vec::new();
    for (text, operand) in texts.iter().zip(&operands) {
        indices.push(letters(text, builder.shape(*operand).len()).ok_or_else(|| unknown(builder))?);
    }
    let result = match right {
        Some(right) => letters(right, shape.len()).ok_or_else(|| unknown(builder))?,
        None => {
            let mut all: Vec<usize> = indices.concat();
            all.sort_unstable();
            let dots = all.iter().copied().filter(|index| *index >= ELLIPSIS).max();
            let once = all.chunk_by(|one, other| one == other).filter(|run| run.len() == 1 && run[0] < ELLIPSIS);
            let dots = dots.map_or(0, |dots| dots + 1 - ELLIPSIS);
            (0..dots).rev().map(|dot| ELLIPSIS + dot).chain(once.map(|run| run[0])).collect()
        }
    };
    sum(builder, &operands, &indices, shape, &result)
}

/// The sum of products over all indices that the result has not.
fn sum(
    builder: &mut Builder,
    operands: &[ValueId],
    indices: &[Vec<usize>],
    shape: &[usize],
    result: &[usize],
) -> Result<Vec<ValueId>> {
    let shapes: Vec<Vec<usize>> = operands.iter().map(|operand| builder.shape(*operand).to_vec()).collect();
    let largest = |number: usize| {
        let own = |(shape, indices): (&Vec<usize>, &Vec<usize>)| {
            shape.iter().zip(indices).filter(|(_, index)| **index == number).map(|(size, _)| *size).max()
        };
        shapes.iter().zip(indices).filter_map(own).max().unwrap_or(1)
    };
    // An axis of one entry is broadcast along those of the same letter.
    let index = |(size, number): (&usize, &usize)| if *size == 1 && largest(*number) != 1 { One } else { Any(*number) };
    let mut all: Vec<(ValueId, Vec<Index>)> = Vec::new();
    for ((operand, shape), indices) in operands.iter().zip(&shapes).zip(indices) {
        all.push((*operand, shape.iter().zip(indices).map(index).collect()));
    }
    if result.iter().any(|number| !indices.iter().flatten().any(|own| own == number)) {
        return Err(builder.error("the result has an index that no operand has"));
    }
    Ok(vec![builder.indexed_one(&all, shape, result.iter().map(|number| Any(*number)).collect())?])
}

fn tensordot(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let (left, right) = (call.tensor("self")?, call.tensor("other")?);
    let axes = [left, right].map(|value| builder.shape(value).len());
    let (of_left, of_right) = (call.axes("dims_self", axes[0])?, call.axes("dims_other", axes[1])?);
    let first: Vec<usize> = (0..axes[0]).collect();
    let mut second: Vec<usize> = (axes[0]..axes[0] + axes[1]).collect();
    for (one, other) in of_left.iter().zip(&of_right) {
        second[*other] = *one;
    }
    let rest = first.iter().filter(|axis| !of_left.contains(axis)).chain(second.iter().filter(|axis| **axis >= axes[0]));
    let result: Vec<usize> = rest.copied().collect();
    sum(builder, &[left, right], &[first.clone(), second.clone()], call.shape(0)?, &result)
}
