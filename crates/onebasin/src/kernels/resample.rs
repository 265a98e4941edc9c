//! Layers without parameters that change the positions: pools, the padded shortcut, means and flattening.

use super::elementwise::Position;
use super::geometry::Plane;
use super::geometry::blocks;
use super::geometry::depth;
use super::isa::Kernel;
use super::lanes::BLOCK;
use super::lanes::Lanes;

/// The four positions under a 2x2 window, in reading order.
#[inline(always)]
fn window(from: Plane, row: usize, column: usize) -> [usize; 4] {
    let corner = from.at(2 * row, 2 * column);
    [corner, corner + BLOCK, corner + from.row(), corner + from.row() + BLOCK]
}

#[inline(always)]
fn read(values: &[f32], offset: usize) -> Position {
    values[offset..offset + BLOCK].try_into().expect("sixteen channels")
}

/// Which of the four values of a window the maximum pool takes: the first of the largest; a NaN counts as largest.
#[inline(always)]
fn first_largest(values: &[Position; 4], lane: usize) -> usize {
    let mut best = 0;
    for candidate in 1..4 {
        let (value, largest) = (values[candidate][lane], values[best][lane]);
        if value > largest || (value.is_nan() && !largest.is_nan()) {
            best = candidate;
        }
    }
    best
}

/// Pools one block of channels over 2x2 windows.
#[derive(Debug)]
pub struct PoolForward<'a> {
    /// Whether to take the largest rather than the mean.
    pub maximum: bool,
    /// Positions of the input.
    pub from: Plane,
    /// Positions of the output.
    pub to: Plane,
    /// One block.
    pub x: &'a [f32],
    /// One block.
    pub out: &'a mut [f32],
}

impl Kernel for PoolForward<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        for row in 0..self.to.height {
            for column in 0..self.to.width {
                let values = window(self.from, row, column).map(|offset| read(self.x, offset));
                let at = self.to.at(row, column);
                for lane in 0..BLOCK {
                    self.out[at + lane] = if self.maximum {
                        values[first_largest(&values, lane)][lane]
                    } else {
                        0.25 * ((values[0][lane] + values[1][lane]) + (values[2][lane] + values[3][lane]))
                    };
                }
            }
        }
    }
}

/// The gradient of [`PoolForward`]: written to every position, zero where the pool did not look.
#[derive(Debug)]
pub struct PoolBackward<'a> {
    /// As in the forward pass.
    pub maximum: bool,
    /// Positions of the input.
    pub from: Plane,
    /// Positions of the output.
    pub to: Plane,
    /// One block of the input.
    pub x: &'a [f32],
    /// One block of the gradient at the output.
    pub dy: &'a [f32],
    /// One block; receives the gradient at the input.
    pub dx: &'a mut [f32],
}

impl Kernel for PoolBackward<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        self.dx.fill(0.0);
        for row in 0..self.to.height {
            for column in 0..self.to.width {
                let offsets = window(self.from, row, column);
                let values = offsets.map(|offset| read(self.x, offset));
                let dy = read(self.dy, self.to.at(row, column));
                for lane in 0..BLOCK {
                    if self.maximum {
                        self.dx[offsets[first_largest(&values, lane)] + lane] = dy[lane];
                    } else {
                        for offset in offsets {
                            self.dx[offset + lane] = 0.25 * dy[lane];
                        }
                    }
                }
            }
        }
    }
}

/// Copies the positions `stride` apart, and all channels of the input, into an output with more channels.
///
/// The channels behind the copied ones are never written: they are zero from the beginning.
pub fn pad_shortcut(from: Plane, to: Plane, stride: usize, channels: usize, x: &[f32], out: &mut [f32]) {
    for_each_copied(from, to, stride, channels, |inner, outer, count| {
        out[outer..outer + count].copy_from_slice(&x[inner..inner + count]);
    });
}

/// Adds the gradient of the copied channels to the positions they came from.
pub fn pad_shortcut_backward(from: Plane, to: Plane, stride: usize, channels: usize, dy: &[f32], dx: &mut [f32]) {
    for_each_copied(from, to, stride, channels, |inner, outer, count| {
        for (dx, dy) in dx[inner..inner + count].iter_mut().zip(&dy[outer..outer + count]) {
            *dx += dy;
        }
    });
}

fn for_each_copied(from: Plane, to: Plane, stride: usize, channels: usize, mut visit: impl FnMut(usize, usize, usize)) {
    for block in 0..blocks(channels) {
        for row in 0..to.height {
            for column in 0..to.width {
                let inner = block * from.block() + from.at(row * stride, column * stride);
                let outer = block * to.block() + to.at(row, column);
                visit(inner, outer, depth(channels, block));
            }
        }
    }
}

/// The mean of one block over its positions: 16 values.
pub fn mean(plane: Plane, x: &[f32], out: &mut [f32]) {
    let mut sum = [0.0f32; BLOCK];
    for position in x.as_chunks::<BLOCK>().0 {
        for lane in 0..BLOCK {
            sum[lane] += position[lane];
        }
    }
    let scale = 1.0 / (plane.height * plane.width) as f32;
    for (out, sum) in out.iter_mut().zip(sum) {
        *out = sum * scale;
    }
}

/// Spreads the gradient of a mean over the positions of one block.
pub fn mean_backward(plane: Plane, dy: &[f32], dx: &mut [f32]) {
    let scale = 1.0 / (plane.height * plane.width) as f32;
    let share: Position = std::array::from_fn(|lane| dy[lane] * scale);
    for row in 0..plane.height {
        let range = plane.at(row, 0)..plane.at(row, plane.width);
        for position in dx[range].as_chunks_mut::<BLOCK>().0 {
            *position = share;
        }
    }
}

/// Calls `visit(offset in the image, offset in the vectors)` for every feature of image number `image`:
/// height, width and channels in that order become features of the column `image`.
pub fn for_each_feature(
    plane: Plane,
    channels: usize,
    vectors: Plane,
    image: usize,
    mut visit: impl FnMut(usize, usize),
) {
    let mut feature = 0;
    for row in 0..plane.height {
        for column in 0..plane.width {
            let at = plane.at(row, column);
            for channel in 0..channels {
                visit(
                    channel / BLOCK * plane.block() + at + channel % BLOCK,
                    feature / BLOCK * vectors.block() + image * BLOCK + feature % BLOCK,
                );
                feature += 1;
            }
        }
    }
}
