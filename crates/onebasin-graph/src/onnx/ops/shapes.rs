//! Operators that give the same entries another shape or order of axes.

use super::Table;
use crate::error::Result;
use crate::graph::Index;
use crate::onnx::call::{Call, Outputs, one};

pub(super) const TABLE: Table = &[
    (&["Reshape"], reshape),
    (&["Flatten"], flatten),
    (&["Squeeze"], squeeze),
    (&["Unsqueeze"], unsqueeze),
    (&["Transpose"], transpose),
    (&["Expand"], expand),
    (&["Tile"], tile),
    (&["DepthToSpace"], depth_to_space),
    (&["SpaceToDepth"], space_to_depth),
];

fn flatten(call: &mut Call<'_>) -> Outputs {
    let shape = call.flattened()?;
    to(call, &shape)
}

fn squeeze(call: &mut Call<'_>) -> Outputs {
    let shape = call.squeezed()?;
    to(call, &shape)
}

fn unsqueeze(call: &mut Call<'_>) -> Outputs {
    let shape = call.unsqueezed()?;
    to(call, &shape)
}

fn to(call: &mut Call<'_>, shape: &[usize]) -> Outputs {
    let value = call.input(0)?;
    one(call.scope.builder.reshape(value, shape)?)
}

fn reshape(call: &mut Call<'_>) -> Outputs {
    let from = call.shape(0)?;
    let shape = match call.numbers(1)?.and_then(|entries| entries.to_integers()) {
        Some(wanted) => call.reshaped(&from, &wanted)?,
        None => match call.stated() {
            Some(shape) => shape,
            None => return Ok(None),
        },
    };
    to(call, &shape)
}

fn transpose(call: &mut Call<'_>) -> Outputs {
    let order = call.order(call.shape(0)?.len())?;
    let value = call.input(0)?;
    one(call.scope.builder.transpose(value, &order)?)
}

fn expand(call: &mut Call<'_>) -> Outputs {
    let Some(shape) = call.expanded()? else { return Ok(None) };
    let value = call.input(0)?;
    one(call.scope.builder.broadcast(&[value], &shape)?)
}

fn tile(call: &mut Call<'_>) -> Outputs {
    let from = call.shape(0)?;
    let Some(repeats) = call.numbers(1)?.and_then(|entries| entries.to_integers()) else { return Ok(None) };
    let repeats: Option<Vec<usize>> = repeats.iter().map(|repeats| usize::try_from(*repeats).ok()).collect();
    let repeats = repeats.filter(|repeats| repeats.len() == from.len());
    let repeats = repeats.ok_or_else(|| call.error(format!("its repeats do not fit {from:?}")))?;
    let own: Vec<Index> = (0..from.len()).map(Index::Any).collect();
    let (mut several, mut indices, mut shape) = (Vec::new(), Vec::new(), Vec::new());
    for ((size, repeats), index) in from.iter().zip(&repeats).zip(&own) {
        // The copies could come in any order, but whoever permutes them hides the units that are copied.
        if *repeats != 1 {
            several.push(*repeats);
            indices.push(Index::Fixed);
        }
        several.push(*size);
        indices.push(*index);
        shape.push(size.saturating_mul(*repeats));
    }
    let value = call.input(0)?;
    let builder = &mut call.scope.builder;
    let copies = builder.indexed_one(&[(value, own)], &several, indices)?;
    builder.works_alone_at(0..from.len());
    one(builder.reshape(copies, &shape)?)
}

/// Shape (example, channel, row, column), and the size of blocks.
struct Blocks {
    shape: [usize; 4],
    size: usize,
}

fn blocks(call: &Call<'_>) -> Result<Blocks> {
    let shape = call.shape(0)?;
    let size = call.size("blocksize", 0)?;
    match <[usize; 4]>::try_from(shape) {
        Ok(shape) if size > 0 && size < 1 << 16 => Ok(Blocks { shape, size }),
        _ => Err(call.error(format!("blocks of {size} do not fit its input"))),
    }
}

fn depth_to_space(call: &mut Call<'_>) -> Outputs {
    let Blocks { shape: [examples, channels, rows, columns], size } = blocks(call)?;
    let each = channels / (size * size);
    let (split, order) = match call.text("mode", "DCR") {
        "CRD" => ([examples, each, size, size, rows, columns], [0, 1, 4, 2, 5, 3]),
        _ => ([examples, size, size, each, rows, columns], [0, 3, 4, 1, 5, 2]),
    };
    regroup(call, &split, &order, &[examples, each, rows.saturating_mul(size), columns.saturating_mul(size)])
}

fn space_to_depth(call: &mut Call<'_>) -> Outputs {
    let Blocks { shape: [examples, channels, rows, columns], size } = blocks(call)?;
    let (rows, columns) = (rows / size, columns / size);
    let split = [examples, channels, rows, size, columns, size];
    regroup(call, &split, &[0, 3, 5, 1, 2, 4], &[examples, channels.saturating_mul(size * size), rows, columns])
}

fn regroup(call: &mut Call<'_>, split: &[usize], order: &[usize], shape: &[usize]) -> Outputs {
    let value = call.input(0)?;
    let builder = &mut call.scope.builder;
    let value = builder.reshape(value, split)?;
    let value = builder.transpose(value, order)?;
    one(builder.reshape(value, shape)?)
}
