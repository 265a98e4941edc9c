//! Collects units from anywhere in an array into the blocked layout of the kernels.

use super::geometry::blocks;
use super::geometry::depth;
use super::isa::Kernel;
use super::lanes::BLOCK;
use super::lanes::Lanes;
use super::pack::transpose;

/// Sixteen units so far apart still have offsets of 31 bits.
const WIDEST: usize = 1 << 26;
/// Products of numbers that are not below this in magnitude are normal numbers.
const TINY: f32 = 1.1e-19;

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
#[derive(Debug)]
pub struct Gather<'a> {
    /// What to read.
    pub columns: Columns<'a>,
    /// Floats from one block to the next, at least sixteen for each column.
    pub block: usize,
    /// (blocks, columns, 16)
    pub blocked: &'a mut [f32],
}

impl Kernel for Gather<'_> {
    type Output = ();

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
    /// The units are inside of `from`, and `to` has room for sixteen.
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
