//! Recurrent layers of any depth and direction, and their single steps.

use super::Table;
use crate::build::Builder;
use crate::error::Result;
use crate::graph::ValueId;
use crate::pt2::call::Call;

pub(super) const TABLE: Table = &[
    ("gru", gru),
    ("gru_cell", gru_cell),
    ("lstm", lstm),
    ("lstm_cell", lstm_cell),
    ("rnn_relu", plain),
    ("rnn_relu_cell", plain_cell),
    ("rnn_tanh", plain),
    ("rnn_tanh_cell", plain_cell),
];

fn lstm(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    layers(builder, call, &call.tensors("hx")?, 4)
}

fn gru(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    layers(builder, call, &[call.tensor("hx")?], 3)
}

fn plain(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    layers(builder, call, &[call.tensor("hx")?], 1)
}

/// Layers over (time, example, feature), with initial states (layer · direction, example, unit): the states of the last layer at
/// all times, then all last states.
fn layers(builder: &mut Builder, call: &Call, initial: &[ValueId], gates: usize) -> Result<Vec<ValueId>> {
    if call.overload != "input" {
        return Err(builder.error("sequences of different lengths in one array"));
    }
    let params = call.tensors("params")?;
    let depth = call.size("num_layers", 1)?;
    let directions = 1 + usize::from(call.truth("bidirectional")?);
    let each = if call.truth("has_biases")? { 4 } else { 2 };
    let (transposed, input) = (call.truth("batch_first")?, call.first()?);
    let cells = depth.saturating_mul(directions);
    if cells == 0 || params.len() != cells.saturating_mul(each) {
        return Err(builder.error(format!("{} tensors for {depth} layers", params.len())));
    }
    let mut value = if transposed { builder.swap_axes(input, 0, 1)? } else { input };
    let mut last: Vec<Vec<ValueId>> = vec![Vec::new(); initial.len()];
    for (layer, tensors) in params.chunks_exact(each * directions).enumerate() {
        let mut outputs = Vec::new();
        for (direction, own) in tensors.chunks_exact(each).enumerate() {
            let mut states = Vec::with_capacity(initial.len());
            for state in initial {
                states.push(builder.select(*state, 0, layer * directions + direction)?);
            }
            let results = builder.recurrent(value, [own[0], own[1]], &own[2..], &states, gates, initial.len())?;
            outputs.push(results[0]);
            last.iter_mut().zip(&results[1..]).for_each(|(last, state)| last.push(*state));
        }
        value = if let [output] = outputs[..] { output } else { builder.concat(&outputs, 2)? };
    }
    let mut results = vec![if transposed { builder.swap_axes(value, 0, 1)? } else { value }];
    for (output, states) in (1..).zip(last) {
        // One array of the states of all layers makes their units one group, so it is made for readers only.
        if !call.outputs.get(output).is_some_and(|output| output.read) {
            results.push(value);
            continue;
        }
        let mut parts = Vec::with_capacity(states.len());
        for state in states {
            let shape = [&[1], builder.shape(state)].concat();
            parts.push(builder.reshape(state, &shape)?);
        }
        results.push(if let [part] = parts[..] { part } else { builder.concat(&parts, 0)? });
    }
    Ok(results)
}

fn lstm_cell(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    cell(builder, call, &call.tensors("hx")?, 4)
}

fn gru_cell(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    cell(builder, call, &[call.tensor("hx")?], 3)
}

fn plain_cell(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    cell(builder, call, &[call.tensor("hx")?], 1)
}

/// One step of (example, feature) from states (example, unit).
fn cell(builder: &mut Builder, call: &Call, initial: &[ValueId], gates: usize) -> Result<Vec<ValueId>> {
    let value = call.first()?;
    let shape = [&[1], builder.shape(value)].concat();
    let value = builder.reshape(value, &shape)?;
    let (weights, biases) = ([call.tensor("w_ih")?, call.tensor("w_hh")?], call.some(&["b_ih", "b_hh"])?);
    Ok(builder.recurrent(value, weights, &biases, initial, gates, initial.len())?.split_off(1))
}
