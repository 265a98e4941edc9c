//! Computes what does not depend on inputs and parameters: the shapes that exporters compute within the graph.

mod arithmetic;
mod arrays;
mod sources;

use std::rc::Rc;

use super::call::Call;
use super::entries::{Entries, count};
use super::scope::MOST_FOLDED;
use crate::error::Result;

/// Entries of the outputs; none if the operator is not computed here.
type Folded = Result<Option<Vec<Entries>>>;

/// Entries of the outputs of a node, if they can be known before the network runs and are few.
pub(super) fn evaluate(call: &mut Call<'_>) -> Folded {
    if let Some(folded) = sources::evaluate(call)? {
        return Ok(Some(folded));
    }
    let mut inputs: Vec<Option<Rc<Entries>>> = Vec::new();
    for input in 0..call.node.inputs.len() {
        let entries = call.entries(input)?;
        if entries.is_none() && call.name(input).is_some() {
            return Ok(None);
        }
        inputs.push(entries);
    }
    if inputs.first().is_none_or(Option::is_none) {
        return Ok(None);
    }
    let folded = match arithmetic::evaluate(call, &inputs)? {
        Some(entries) => Some(vec![entries]),
        None => arrays::evaluate(call, &inputs)?,
    };
    // What a number of 8 bytes does not hold is not known.
    Ok(folded.filter(|folded| folded.iter().all(Entries::is_exact)))
}

/// Whether an array of this shape is small enough to be computed.
fn is_small(shape: &[usize]) -> bool {
    shape.len() <= 16 && count(shape, MOST_FOLDED).is_some()
}
