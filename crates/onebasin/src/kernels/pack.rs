//! Rearranges plain arrays into the blocked layouts of the kernels, and back.

use super::geometry::Geometry;
use super::geometry::Plane;
use super::geometry::TILE;
use super::geometry::blocks;
use super::geometry::depth;
use super::lanes::BLOCK;

/// Packs weights (kernel, kernel, inputs, units) of one block of units for the forward pass:
/// (input blocks, taps, 16 inputs, 16 units). Values beyond the real inputs and units are left as they are.
pub fn weights_forward(geometry: &Geometry, unit_block: usize, weights: &[f32], packed: &mut [f32]) {
    let Geometry { kernel, inputs, units, .. } = *geometry;
    let count = depth(units, unit_block);
    let mut tiles = packed.chunks_exact_mut(TILE);
    for block in 0..blocks(inputs) {
        for tap in 0..kernel * kernel {
            let tile = tiles.next().expect("one tile for each tap of each block");
            for input in 0..depth(inputs, block) {
                let from = (tap * inputs + block * BLOCK + input) * units + unit_block * BLOCK;
                tile[input * BLOCK..][..count].copy_from_slice(&weights[from..from + count]);
            }
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
            for input in 0..depth(inputs, input_block) {
                let from = (tap * inputs + input_block * BLOCK + input) * units + block * BLOCK;
                for (unit, weight) in weights[from..from + count].iter().enumerate() {
                    tile[unit * BLOCK + input] = *weight;
                }
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
            let inside = plane.at(row as isize, column as isize);
            for block in 0..blocks(channels) {
                copy(plain + block * BLOCK, block * plane.block() + inside, depth(channels, block));
            }
        }
    }
}

/// Writes the features of block `block` of every vector (vectors, features) into one block (vectors, 16).
pub fn vectors_block(features: usize, block: usize, vectors: &[f32], blocked: &mut [f32]) {
    let count = depth(features, block);
    for (vector, lanes) in vectors.chunks_exact(features).zip(blocked.chunks_exact_mut(BLOCK)) {
        lanes[..count].copy_from_slice(&vector[block * BLOCK..][..count]);
    }
}
