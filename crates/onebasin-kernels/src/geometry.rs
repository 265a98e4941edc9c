//! Where the values of blocked activations and packed weights lie, and which of them meet in a layer.
//!
//! Activations are stored in blocks of 16 channels, `[block][row][column][16]`, images with a border of one
//! zero pixel so that a 3x3 kernel never leaves the array. A dense layer is a 1x1 convolution over a plane of
//! height one whose columns are the images of the batch. Channels beyond the last real one are zero.

use crate::lanes::BLOCK;

/// Floats in one packed tile: the weights from one block of inputs to one block of units.
pub const TILE: usize = BLOCK * BLOCK;

/// The positions of one block of channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plane {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// Zero pixels around: 1 for images, 0 for vectors.
    pub border: usize,
}

impl Plane {
    /// The positions of an image.
    pub const fn image(height: usize, width: usize) -> Self {
        Self { height, width, border: 1 }
    }
    /// A column for each of up to `capacity` vectors.
    pub const fn vectors(capacity: usize) -> Self {
        Self { height: 1, width: capacity, border: 0 }
    }
    /// The same where two images are in the place of one: half as many vectors.
    #[must_use]
    pub const fn in_pairs(self) -> Self {
        if self.border > 0 { self } else { Self { width: self.width.div_ceil(2), ..self } }
    }
    /// Floats from one row to the next.
    pub const fn row(self) -> usize {
        // Saturating, here and below: a plane that cannot exist must not look small to a check of lengths.
        self.width.saturating_add(2 * self.border).saturating_mul(BLOCK)
    }
    /// Floats from one block of channels to the next.
    pub const fn block(self) -> usize {
        self.height.saturating_add(2 * self.border).saturating_mul(self.row())
    }
    /// Floats from the beginning of a block to a position.
    pub const fn at(self, row: usize, column: usize) -> usize {
        (row + self.border) * self.row() + (column + self.border) * BLOCK
    }
    /// Floats from the beginning of a block to a position that may be in the border, at -1.
    pub const fn around(self, row: isize, column: isize) -> usize {
        self.at(0, 0).wrapping_add_signed(row * self.row() as isize + column * BLOCK as isize)
    }
}

/// Blocks that hold this many channels.
pub const fn blocks(channels: usize) -> usize {
    channels.div_ceil(BLOCK)
}

/// Real channels in block number `block`.
pub const fn depth(channels: usize, block: usize) -> usize {
    let left = channels - block * BLOCK;
    if left < BLOCK { left } else { BLOCK }
}

/// One tile of weights and the inputs it meets.
#[derive(Clone, Copy, Debug)]
pub struct Tap {
    /// Floats from the input of the first output position to the input this tap reads.
    pub x: usize,
    /// Floats from the beginning of an output block's weights to this tap's tile.
    pub w: usize,
    /// Input channels to read, at most 16.
    pub depth: usize,
    /// Whether the first (bit 0) or last (bit 1) row of outputs would only read the zero border here.
    pub absent: u8,
}

/// A grid of outputs that all see the same taps.
#[derive(Clone, Debug)]
pub struct Pass {
    /// The tiles, all of one block of inputs together.
    pub taps: Vec<Tap>,
    /// Taps of one block of inputs.
    pub taps_per_block: usize,
    /// Whether taps come in threes that read neighbouring columns.
    pub triple: bool,
    /// Rows of the grid.
    pub rows: usize,
    /// Columns of the grid.
    pub columns: usize,
    /// Floats between the inputs of two rows of the grid.
    pub x_row: usize,
    /// Floats between the inputs of two columns of the grid: 16 or 32.
    pub x_step: usize,
    /// Floats to the first output in its block.
    pub out: usize,
    /// Floats between two rows of outputs.
    pub out_row: usize,
    /// Floats between two columns of outputs.
    pub out_step: usize,
    /// Floats between two blocks of outputs.
    pub out_block: usize,
}

/// A convolution of odd kernel size with padding `kernel / 2`, or a dense layer (kernel 1 on vectors).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// 1 or 3.
    pub kernel: usize,
    /// 1 or 2.
    pub stride: usize,
    /// Input channels.
    pub inputs: usize,
    /// Output channels.
    pub units: usize,
    /// Positions of the input.
    pub from: Plane,
    /// Positions of the output.
    pub to: Plane,
}

impl Geometry {
    /// Tiles of the packed weights, forward or backward.
    pub const fn tiles(&self) -> usize {
        self.kernel * self.kernel * blocks(self.inputs) * blocks(self.units)
    }

    /// The pass that computes outputs from inputs.
    pub fn forward(&self) -> Pass {
        let Self { kernel, stride, from, to, .. } = *self;
        let pad = (kernel / 2) as isize;
        let mut taps = Vec::with_capacity(kernel * kernel * blocks(self.inputs));
        for block in 0..blocks(self.inputs) {
            for tap in 0..kernel * kernel {
                let row = (tap / kernel) as isize - pad;
                let column = (tap % kernel) as isize - pad;
                let last = ((to.height - 1) * stride) as isize + row;
                taps.push(Tap {
                    x: block * from.block() + from.around(row, column),
                    w: taps.len() * TILE,
                    depth: depth(self.inputs, block),
                    absent: u8::from(row < 0) | u8::from(last >= from.height as isize) << 1,
                });
            }
        }
        Pass {
            taps,
            taps_per_block: kernel * kernel,
            triple: kernel == 3 && stride == 1,
            rows: to.height,
            columns: to.width,
            x_row: stride * from.row(),
            x_step: stride * BLOCK,
            out: to.at(0, 0),
            out_row: to.row(),
            out_step: BLOCK,
            out_block: to.block(),
        }
    }

    /// The passes that compute the gradient at the inputs from that at the outputs: one for each residue of
    /// the position modulo the stride, so that no product with an inserted zero is ever formed.
    pub fn backward(&self) -> Vec<Pass> {
        let Self { kernel, stride, from, to, .. } = *self;
        let pad = (kernel / 2) as isize;
        let step = stride as isize;
        let mut passes = Vec::new();
        for residue in 0..stride * stride {
            let (first_row, first_column) = (residue / stride, residue % stride);
            let rows = from.height.saturating_sub(first_row).div_ceil(stride);
            let columns = from.width.saturating_sub(first_column).div_ceil(stride);
            // The kernel is mirrored: walking it backwards, the outputs are met in rising order.
            let met: Vec<(usize, isize, isize)> = (0..kernel * kernel)
                .filter_map(|mirrored| {
                    let tap = kernel * kernel - 1 - mirrored;
                    let row = first_row as isize + pad - (tap / kernel) as isize;
                    let column = first_column as isize + pad - (tap % kernel) as isize;
                    (row % step == 0 && column % step == 0).then_some((mirrored, row / step, column / step))
                })
                .collect();
            let mut taps = Vec::with_capacity(met.len() * blocks(self.units));
            for block in 0..blocks(self.units) {
                for &(mirrored, row, column) in &met {
                    taps.push(Tap {
                        x: block * to.block() + to.around(row, column),
                        w: (block * kernel * kernel + mirrored) * TILE,
                        depth: depth(self.units, block),
                        absent: u8::from(row < 0) | u8::from(rows as isize - 1 + row >= to.height as isize) << 1,
                    });
                }
            }
            passes.push(Pass {
                taps,
                taps_per_block: met.len(),
                triple: kernel == 3 && stride == 1,
                rows,
                columns,
                x_row: to.row(),
                x_step: BLOCK,
                out: from.at(first_row, first_column),
                out_row: stride * from.row(),
                out_step: stride * BLOCK,
                out_block: from.block(),
            });
        }
        passes
    }
}
