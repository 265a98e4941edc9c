//! Rearranges plain arrays into the blocked layouts of the kernels, and back; collects units from anywhere in an array.

use crate::geometry::{Geometry, Plane, TILE, blocks, depth};
use crate::lanes::{BLOCK, Kernel, Lanes};
use std::ops::Range;

/// Sixteen units so far apart still have offsets of 31 bits.
const WIDEST: usize = 1 << 26;
/// Products of numbers that are not below this in magnitude are normal numbers.
const TINY: f32 = 1.1e-19;

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
fn transpose(from: &[f32], stride: usize, to: &mut [f32]) {
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

/// Where to read columns: a column begins at one of `places`, and its units are `stride` apart.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    /// Where to read.
    pub from: &'a [f32],
    /// Where each column begins.
    pub places: &'a [usize],
    /// Floats between two units.
    pub stride: usize,
    /// Number of units.
    pub units: usize,
    /// Multiplies all that is read.
    pub factor: f32,
}

/// Writes columns as blocks of units: (blocks, columns, 16), zeros behind the last unit.
///
/// **Tiny values become zero**: products with them would be too small for a normal number, which takes processors a hundred times
/// as long, and the weights of pixels that are never lit are often such.
pub struct Gather<'a> {
    /// What to read.
    pub columns: Columns<'a>,
    /// Floats from one block to the next, at least sixteen for each column.
    pub block: usize,
    /// (blocks, columns, 16)
    pub blocked: &'a mut [f32],
}

impl Kernel for Gather<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { columns, block: block_len, blocked } = self;
        let Columns { from, places, stride, units, factor } = columns;
        let own_len = places.len() * BLOCK;
        assert!(units > 0 && own_len <= block_len && blocked.len() >= (blocks(units) - 1) * block_len + own_len);
        let Some(last) = places.iter().max() else { return };
        let reach = (units - 1).saturating_mul(stride).saturating_add(*last);
        assert!(reach < from.len(), "a column ends at {reach}, the array at {}", from.len());
        assert!(stride <= WIDEST, "units are {stride} values apart");
        if stride == 1 {
            // Neighbours in memory are read together.
            for index in 0..places.len() {
                for block in 0..blocks(units) {
                    // SAFETY: no unit of any column is behind `reach`, and `blocked` has all columns of all blocks.
                    unsafe {
                        let to = blocked.as_mut_ptr().add(block * block_len + index * BLOCK);
                        columns.column::<V>(block, index, to);
                    }
                }
            }
            return;
        }
        for block in 0..blocks(units) {
            let square = factor == 1.0 && depth(units, block) == BLOCK;
            let blocked = &mut blocked[block * block_len..][..own_len];
            let mut index = 0;
            while index < places.len() {
                if square && is_run(&places[index..]) {
                    let to = &mut blocked[index * BLOCK..][..BLOCK * BLOCK];
                    transpose(&from[places[index] + block * BLOCK * stride..], stride, to);
                    for part in to.chunks_exact_mut(V::LANES) {
                        // SAFETY: a part has as many values as a vector.
                        unsafe { without_tiny(V::load(part.as_ptr())).store(part.as_mut_ptr()) };
                    }
                    index += BLOCK;
                } else {
                    // SAFETY: as above.
                    unsafe { columns.column::<V>(block, index, blocked[index * BLOCK..].as_mut_ptr()) };
                    index += 1;
                }
            }
        }
    }
}

// Closures would not be compiled for the instruction set.
impl Columns<'_> {
    /// Writes sixteen units of a column.
    ///
    /// # Safety
    /// The units are inside of `from`, and `to` has space for sixteen.
    #[inline(always)]
    unsafe fn column<V: Lanes>(&self, block: usize, index: usize, to: *mut f32) {
        for part in (0..BLOCK).step_by(V::LANES) {
            // SAFETY: the caller's promise.
            unsafe {
                let values = self.read::<V>(self.places[index], block, part);
                without_tiny(values.mul(V::splat(self.factor))).store(to.add(part));
            }
        }
    }

    /// Units of the column that begins at `place`, as many as a vector has, from `part` of a block on.
    #[inline(always)]
    unsafe fn read<V: Lanes>(&self, place: usize, block: usize, part: usize) -> V {
        // SAFETY: the caller's promise, and `rest` has sixteen values.
        unsafe {
            let from = self.from.as_ptr().add(place + block * BLOCK * self.stride);
            let units = depth(self.units, block);
            if units < BLOCK {
                let mut rest = [0.0; BLOCK];
                for unit in part..(part + V::LANES).min(units) {
                    rest[unit] = *from.add(unit * self.stride);
                }
                V::load(rest.as_ptr().add(part))
            } else if self.stride == 1 {
                V::load(from.add(part))
            } else {
                V::load_apart(from.add(part * self.stride), self.stride)
            }
        }
    }
}

/// Whether sixteen columns begin side by side.
fn is_run(places: &[usize]) -> bool {
    places.first_chunk::<BLOCK>().is_some_and(|run| run.iter().zip(run[0]..).all(|(place, next)| *place == next))
}

/// NaN stays NaN.
#[inline(always)]
unsafe fn without_tiny<V: Lanes>(values: V) -> V {
    // SAFETY: the caller's promise, passed on.
    unsafe {
        let magnitude = values.max(V::splat(0.0).sub(values));
        values.sub(values.keep_where_greater(V::splat(TINY), magnitude))
    }
}
