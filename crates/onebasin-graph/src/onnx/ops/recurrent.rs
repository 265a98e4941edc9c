//! LSTM, GRU and plain recurrent layers in one or two directions.

use super::Table;
use crate::error::Result;
use crate::graph::Index::{Any, Fixed};
use crate::graph::ValueId;
use crate::onnx::call::{Call, Outputs};

pub(super) const TABLE: Table = &[
    (&["LSTM"], |call| recurrent(call, 4, 2)),
    (&["GRU"], |call| recurrent(call, 3, 1)),
    (&["RNN"], |call| recurrent(call, 1, 1)),
];

/// A layer with this number of gates, whose states at the end are this many arrays.
fn recurrent(call: &mut Call<'_>, gates: usize, states: usize) -> Outputs {
    // Peepholes are 3 for 4 gates; batches first are not what exporters write.
    if call.name(7).is_some() || call.flag("layout", false) {
        return Ok(None);
    }
    let mut value = call.input(0)?;
    let (weights, recurrences) = (call.shape(1)?, call.shape(2)?);
    let (Some(&directions), Some(&units)) = (weights.first(), recurrences.last()) else {
        return Err(call.error(format!("recurrent weights {weights:?} and {recurrences:?}")));
    };
    if directions > 2 {
        return Err(call.error(format!("{directions} directions")));
    }
    if call.name(4).is_some() {
        value = with_lengths(call, value)?;
    }
    let (input, state, bias) = (call.input(1)?, call.input(2)?, call.optional(3)?);
    let each = gates.saturating_mul(units);
    let mut outputs: Vec<Vec<ValueId>> = vec![Vec::new(); 1 + states];
    for direction in 0..directions {
        let initial: Vec<Option<ValueId>> =
            (0..states).map(|state| initial(call, 5 + state, direction)).collect::<Result<_>>()?;
        let builder = &mut call.scope.builder;
        let weights = [builder.select(input, 0, direction)?, builder.select(state, 0, direction)?];
        let mut biases = Vec::new();
        if let Some(bias) = bias {
            let bias = builder.select(bias, 0, direction)?;
            // One for the input, one for the state.
            biases = vec![builder.slice(bias, 0, 0, each)?, builder.slice(bias, 0, each, each)?];
        }
        let initial: Vec<ValueId> = initial.into_iter().flatten().collect();
        let results = builder.recurrent(value, weights, &biases, &initial, gates, states)?;
        for (at, result) in results.into_iter().enumerate() {
            // The direction is the second axis of all states, and the first of the last ones.
            let mut shape = builder.shape(result).to_vec();
            shape.insert(usize::from(at == 0), 1);
            outputs[at].push(builder.reshape(result, &shape)?);
        }
    }
    let builder = &mut call.scope.builder;
    let join = |(at, parts): (usize, &Vec<ValueId>)| match parts[..] {
        [part] => Ok(part),
        _ => builder.concat(parts, usize::from(at == 0)),
    };
    outputs.iter().enumerate().map(join).collect::<Result<Vec<_>>>().map(Some)
}

/// The initial state of a direction, if it is given.
fn initial(call: &mut Call<'_>, input: usize, direction: usize) -> Result<Option<ValueId>> {
    if call.name(input).is_none() {
        return Ok(None);
    }
    let value = call.input(input)?;
    call.scope.builder.select(value, 0, direction).map(Some)
}

/// The input as it is read up to the length of each sequence.
fn with_lengths(call: &mut Call<'_>, value: ValueId) -> Result<ValueId> {
    let lengths = call.input(4)?;
    let shape = call.shape(0)?;
    let own = vec![Fixed, Any(0), Any(1)];
    call.scope.builder.indexed_one(&[(value, own.clone()), (lengths, vec![Any(0)])], &shape, own)
}
