//! Rearranges plain arrays into the blocked layouts of the kernels, and back.

use super::geometry::Geometry;
use super::geometry::Plane;
use super::geometry::TILE;
use super::geometry::blocks;
use super::geometry::depth;
use super::lanes::BLOCK;
use std::ops::Range;

/// Copies the first `count` values of each source to the beginning of each block.
///
/// Whole blocks have a loop of their own: with a length known beforehand a copy is two instructions, not a call.
#[inline]
fn copy_each<'a>(count: usize, sources: impl Iterator<Item = &'a [f32]>, blocks: &mut [f32]) {
    let blocks = blocks.as_chunks_mut::<BLOCK>().0.iter_mut();
    if count == BLOCK {
        for (source, block) in sources.zip(blocks) {
            *block = *source.first_chunk().expect("a whole block");
        }
    } else {
        for (source, block) in sources.zip(blocks) {
            block[..count].copy_from_slice(&source[..count]);
        }
    }
}

/// Packs weights (kernel, kernel, inputs, units) of some blocks of units for the forward pass:
/// (unit blocks, input blocks, taps, 16 inputs, 16 units). Values beyond the real inputs and units are left as they are.
///
/// Rows of weights are read on through all the blocks of units: neighbours in memory are read together.
pub fn weights_forward(geometry: &Geometry, unit_blocks: Range<usize>, weights: &[f32], packed: &mut [f32]) {
    let Geometry { kernel, inputs, units, .. } = *geometry;
    let block_len = kernel * kernel * blocks(inputs) * TILE;
    for tile in 0..blocks(inputs) * kernel * kernel {
        let (block, tap) = (tile / (kernel * kernel), tile % (kernel * kernel));
        let first = tap * inputs + block * BLOCK;
        for (unit_block, packed) in unit_blocks.clone().zip(packed.chunks_exact_mut(block_len)) {
            let rows = (first..first + depth(inputs, block)).map(|row| &weights[row * units + unit_block * BLOCK..]);
            copy_each(depth(units, unit_block), rows, &mut packed[tile * TILE..][..TILE]);
        }
    }
}

/// Packs weights (kernel, kernel, inputs, units) of one block of inputs for the input gradient:
/// (unit blocks, mirrored taps, 16 units, 16 inputs). Values beyond the real ones are left as they are.
pub fn weights_backward(geometry: &Geometry, input_block: usize, weights: &[f32], packed: &mut [f32]) {
    let Geometry { kernel, inputs, units, .. } = *geometry;
    let mut tiles = packed.chunks_exact_mut(TILE);
    for block in 0..blocks(units) {
        let count = depth(units, block);
        for tap in (0..kernel * kernel).rev() {
            let tile = tiles.next().expect("one tile for each tap of each block");
            let first = (tap * inputs + input_block * BLOCK) * units + block * BLOCK;
            let inputs_here = depth(inputs, input_block);
            if count == BLOCK && inputs_here == BLOCK {
                transpose(&weights[first..], units, tile);
                continue;
            }
            for input in 0..inputs_here {
                for (unit, weight) in weights[first + input * units..][..count].iter().enumerate() {
                    tile[unit * BLOCK + input] = *weight;
                }
            }
        }
    }
}

/// Transposes a 16x16 square whose rows are `stride` apart; in quarters of four, which the compiler shuffles.
#[inline]
pub(super) fn transpose(from: &[f32], stride: usize, to: &mut [f32]) {
    for rows in (0..BLOCK).step_by(4) {
        for columns in (0..BLOCK).step_by(4) {
            let square: [[f32; 4]; 4] = std::array::from_fn(|row| {
                from[(rows + row) * stride + columns..][..4].try_into().expect("four values")
            });
            for column in 0..4 {
                let turned = [square[0][column], square[1][column], square[2][column], square[3][column]];
                to[(columns + column) * BLOCK + rows..][..4].copy_from_slice(&turned);
            }
        }
    }
}

/// Writes one image (height, width, channels) into blocks of 16 channels inside their border.
pub fn image(plane: Plane, channels: usize, image: &[f32], blocked: &mut [f32]) {
    for_each_run(plane, channels, |plain, inside, count| {
        blocked[inside..inside + count].copy_from_slice(&image[plain..plain + count]);
    });
}

/// Reads one image (height, width, channels) out of blocks of 16 channels.
pub fn unpack_image(plane: Plane, channels: usize, blocked: &[f32], image: &mut [f32]) {
    for_each_run(plane, channels, |plain, inside, count| {
        image[plain..plain + count].copy_from_slice(&blocked[inside..inside + count]);
    });
}

/// Calls `copy(offset in the plain image, offset in the blocked one, count)` for every run of neighbours in both.
fn for_each_run(plane: Plane, channels: usize, mut copy: impl FnMut(usize, usize, usize)) {
    for row in 0..plane.height {
        for column in 0..plane.width {
            let plain = (row * plane.width + column) * channels;
            let inside = plane.at(row, column);
            for block in 0..blocks(channels) {
                copy(plain + block * BLOCK, block * plane.block() + inside, depth(channels, block));
            }
        }
    }
}

/// Writes some blocks of features of every vector (vectors, features) into columns: (blocks, columns, 16).
///
/// Vector after vector, so that neighbours in memory are read together.
pub fn vectors(plane: Plane, features: usize, feature_blocks: Range<usize>, vectors: &[f32], blocked: &mut [f32]) {
    let whole = feature_blocks.start..feature_blocks.end.min(features / BLOCK);
    for (column, vector) in vectors.chunks_exact(features).enumerate() {
        let whole = &vector.as_chunks::<BLOCK>().0[whole.clone()];
        for (from, to) in whole.iter().zip(blocked.chunks_exact_mut(plane.block())) {
            to.as_chunks_mut().0[column] = *from;
        }
    }
    if whole.end < feature_blocks.end {
        let last = &mut blocked[(whole.end - whole.start) * plane.block()..];
        let rest = vectors.chunks_exact(features).map(|vector| &vector[whole.end * BLOCK..]);
        copy_each(features % BLOCK, rest, last);
    }
}
