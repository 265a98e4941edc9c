//! Sums of products with named axes.

use super::Table;
use crate::graph::Index;
use crate::onnx::call::{Call, Outputs, one};

pub(super) const TABLE: Table = &[(&["Einsum"], einsum)];

/// An axis of an operand: a letter, or an axis of the ellipsis, counted from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Axis {
    Ellipsis(usize),
    Letter(char),
}

/// The axes of a term, given how many the ellipsis stands for.
fn axes(term: &str, ellipsis: usize) -> Option<Vec<Axis>> {
    let stands = || (0..ellipsis).rev().map(Axis::Ellipsis);
    let letters = |part: &str| -> Option<Vec<Axis>> {
        part.chars().map(|letter| letter.is_ascii_alphabetic().then_some(Axis::Letter(letter))).collect()
    };
    match term.split_once("...") {
        Some((before, behind)) => Some(letters(before)?.into_iter().chain(stands()).chain(letters(behind)?).collect()),
        None => letters(term),
    }
}

fn einsum(call: &mut Call<'_>) -> Outputs {
    let equation: String = call.text("equation", "").chars().filter(|letter| !letter.is_whitespace()).collect();
    let fault = |call: &Call<'_>| call.error(format!("the equation `{equation}` does not fit its inputs"));
    let (left, right) = match equation.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (equation.as_str(), None),
    };
    let values = call.all()?;
    let shapes: Vec<Vec<usize>> = values.iter().map(|value| call.scope.builder.shape(*value).to_vec()).collect();
    let terms: Vec<&str> = left.split(',').collect();
    if terms.len() != values.len() {
        return Err(fault(call));
    }
    let (mut operands, mut sizes, mut longest): (Vec<Vec<Axis>>, Vec<(Axis, usize)>, usize) = Default::default();
    for (term, shape) in terms.iter().zip(&shapes) {
        let letters = term.chars().filter(char::is_ascii_alphabetic).count();
        let ellipsis = if term.contains("...") { shape.len().saturating_sub(letters) } else { 0 };
        longest = longest.max(ellipsis);
        let axes = axes(term, ellipsis).filter(|axes| axes.len() == shape.len()).ok_or_else(|| fault(call))?;
        for (axis, size) in axes.iter().zip(shape) {
            match sizes.iter_mut().find(|(own, _)| own == axis) {
                None => sizes.push((*axis, *size)),
                // Axes of one entry are broadcast.
                Some((_, all)) => *all = (*all).max(*size),
            }
        }
        operands.push(axes);
    }
    let result = if let Some(right) = right {
        axes(right, longest).ok_or_else(|| fault(call))?
    } else {
        // Without a right side: all letters that come once, in alphabetical order.
        let mut once: Vec<Axis> =
            sizes.iter().map(|(axis, _)| *axis).filter(|axis| matches!(axis, Axis::Letter(_))).collect();
        once.retain(|axis| operands.iter().flatten().filter(|own| *own == axis).count() == 1);
        once.sort_unstable();
        (0..longest).rev().map(Axis::Ellipsis).chain(once).collect()
    };
    let number = |axis: &Axis| sizes.iter().position(|(own, _)| own == axis);
    let index = |axis: &Axis, size: usize| {
        let number = number(axis).expect("every axis of an operand has a number");
        if size == 1 && sizes[number].1 != 1 { Index::One } else { Index::Any(number) }
    };
    let operands: Vec<_> = values
        .iter()
        .zip(operands.iter().zip(&shapes))
        .map(|(value, (axes, shape))| (*value, axes.iter().zip(shape).map(|(axis, size)| index(axis, *size)).collect()))
        .collect();
    let numbers: Option<Vec<usize>> = result.iter().map(number).collect();
    let numbers = numbers.ok_or_else(|| fault(call))?;
    let shape: Vec<usize> = numbers.iter().map(|number| sizes[*number].1).collect();
    let indices = numbers.iter().copied().map(Index::Any).collect();
    let result = call.scope.builder.indexed_one(&operands, &shape, indices)?;
    // All others are summed over.
    call.scope.builder.works_alone_at(numbers);
    one(result)
}
