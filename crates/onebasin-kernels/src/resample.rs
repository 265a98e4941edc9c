//! Layers without parameters that change the positions: pools, the padded shortcut, means and flattening.

use crate::geometry::{Plane, blocks, depth};
use crate::lanes::{BLOCK, Kernel, Lanes};

/// The four positions under a 2x2 window, in reading order.
#[inline(always)]
fn window(from: Plane, row: usize, column: usize) -> [usize; 4] {
    let corner = from.at(2 * row, 2 * column);
    [corner, corner + BLOCK, corner + from.row(), corner + from.row() + BLOCK]
}

/// Pools one block of channels over 2x2 windows.
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
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let (from, to) = (self.from, self.to);
        assert!(self.x.len() == from.block() && self.out.len() == to.block());
        assert!(to.height <= from.height / 2 && to.width <= from.width / 2);
        for row in 0..to.height {
            for column in 0..to.width {
                for part in (0..BLOCK).step_by(V::LANES) {
                    // SAFETY: windows lie inside the input, and outputs inside the output, as was just checked.
                    unsafe {
                        let [a, b, c, d] =
                            window(from, row, column).map(|offset| V::load(self.x.as_ptr().add(offset + part)));
                        let value = if self.maximum {
                            a.max_or_nan(b).max_or_nan(c.max_or_nan(d))
                        } else {
                            a.add(b).add(c.add(d)).mul(V::splat(0.25))
                        };
                        value.store(self.out.as_mut_ptr().add(to.at(row, column) + part));
                    }
                }
            }
        }
    }
}

/// The gradient of [`PoolForward`]: written to every position, zero where the pool did not look.
///
/// The maximum's goes to the first of the largest.
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
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let (from, to) = (self.from, self.to);
        assert!(self.x.len() == from.block() && self.dx.len() == from.block() && self.dy.len() == to.block());
        assert!(to.height <= from.height / 2 && to.width <= from.width / 2);
        self.dx.fill(0.0);
        for row in 0..to.height {
            for column in 0..to.width {
                for part in (0..BLOCK).step_by(V::LANES) {
                    let offsets = window(from, row, column).map(|offset| offset + part);
                    // SAFETY: windows lie inside the input, and outputs inside the output, as was just checked.
                    unsafe {
                        let dy = V::load(self.dy.as_ptr().add(to.at(row, column) + part));
                        let mut shares = [dy.mul(V::splat(0.25)); 4];
                        if self.maximum {
                            // The gradient moves on to every value that is larger than all before it.
                            shares = [dy, V::splat(0.0), V::splat(0.0), V::splat(0.0)];
                            let mut largest = V::load(self.x.as_ptr().add(offsets[0]));
                            for index in 1..4 {
                                let value = V::load(self.x.as_ptr().add(offsets[index]));
                                for before in 0..index {
                                    let moved = shares[before].keep_where_greater(value, largest);
                                    shares[before] = shares[before].sub(moved);
                                    shares[index] = shares[index].add(moved);
                                }
                                largest = largest.max(value);
                            }
                        }
                        for (share, offset) in shares.into_iter().zip(offsets) {
                            share.store(self.dx.as_mut_ptr().add(offset));
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
    let share: [f32; BLOCK] = std::array::from_fn(|lane| dy[lane] * scale);
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
