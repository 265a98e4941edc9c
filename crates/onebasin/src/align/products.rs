//! Sums of outer products of tensors, added to the matrices of groups.

use onebasin_kernels::geometry::{Geometry, Plane, blocks};
use onebasin_kernels::lanes::BLOCK;
use onebasin_kernels::outer::{COLUMNS_IN_CACHE, WeightGradient};
use onebasin_kernels::{Aligned, Isa, ThreadPool, bf16, pack};

/// The factors of a product: of each column, where its units begin on both sides, `stride` apart.
pub(super) struct Factors<'b> {
    /// What stays and what moves; with more than one pair, the columns are those of each.
    pub(super) sides: &'b [[&'b [f32]; 2]],
    pub(super) stride: usize,
    pub(super) weight: f32,
    pub(super) columns: &'b [usize],
}

/// Multiplies, in memory that is kept.
#[derive(Debug)]
pub(super) struct Products<'a> {
    pool: &'a ThreadPool,
    isa: Isa,
    /// For each thread, columns of both sides, at most as many as the kernel keeps in the cache.
    packed: Vec<[Aligned; 2]>,
}

impl<'a> Products<'a> {
    pub(super) fn new(pool: &'a ThreadPool) -> Self {
        Self { pool, isa: Isa::detect(), packed: (0..pool.threads()).map(|_| Default::default()).collect() }
    }

    /// Adds the sum over columns of the outer products of the two sides: (units that stay, units that move).
    ///
    /// Some columns after the others: as many as stay in the cache, whatever the number of threads, so the sums are the same.
    pub(super) fn add(&mut self, units: usize, factors: &Factors<'_>, matrix: &mut [f32]) {
        let Factors { sides, stride, weight, columns } = *factors;
        let (pool, isa, count) = (self.pool, self.isa, columns.len());
        let total = sides.len() * count;
        let firsts: Vec<usize> = (0..total).step_by(COLUMNS_IN_CACHE).collect();
        let width = |first: usize| COLUMNS_IN_CACHE.min(total - first);
        let len = blocks(units) * BLOCK * COLUMNS_IN_CACHE.min(total);
        for side in self.packed.iter_mut().flatten().filter(|side| side.len() < len) {
            *side = Aligned::zeros(len);
        }
        for firsts in firsts.chunks(self.packed.len()) {
            pool.chunks(&mut self.packed[..firsts.len()], 1, |index, packed| {
                let (first, width, [left, right]) = (firsts[index], width(firsts[index]), &mut packed[0]);
                let mut done = 0;
                while done < width {
                    let [fixed, moved] = sides[(first + done) / count];
                    let from = (first + done) % count;
                    let range = from..(from + width - done).min(count);
                    let places = &columns[range.clone()];
                    for (from, factor, blocked) in [(fixed, weight, &mut *left), (moved, 1.0, &mut *right)] {
                        let columns = pack::Columns { from, places, stride, units, factor };
                        let blocked = &mut blocked[done * BLOCK..];
                        isa.run(pack::Gather { columns, block: width * BLOCK, blocked });
                    }
                    done += range.len();
                }
            });
            let share = pool.share(blocks(units));
            let packed = &self.packed;
            pool.chunks(matrix, share * BLOCK * units, |part, matrix| {
                for (first, [fixed, moved]) in firsts.iter().zip(packed) {
                    let (columns, plane) = (width(*first), Plane::vectors(width(*first)));
                    let len = blocks(units) * plane.block();
                    isa.run(WeightGradient {
                        geometry: &Geometry { kernel: 1, stride: 1, inputs: units, units, from: plane, to: plane },
                        factors: bf16::Factors::Singles,
                        columns,
                        images: 1,
                        x: &fixed[..len],
                        dy: &moved[..len],
                        input_blocks: part * share..((part + 1) * share).min(blocks(units)),
                        gradient: &mut *matrix,
                        accumulate: true,
                    });
                }
            });
        }
    }
}
