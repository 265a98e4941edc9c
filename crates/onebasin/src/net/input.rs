//! Images as the first layer of a shard reads them: in blocks and, if most pixels are zero, with a note of those that are not; and those
//! of a batch that is looked at again and again.

use super::part_of;
use super::plan::Plan;
use crate::kernels::Aligned;
use crate::kernels::Isa;
use crate::kernels::Team;
use crate::kernels::geometry::blocks;
use crate::kernels::lanes::BLOCK;
use crate::kernels::pack;
use crate::kernels::sparse::Occupancy;
use crate::kernels::sparse::Occupy;
use crate::kernels::sparse::StripFeatures;
use crate::params::Layout;
use std::sync::Arc;

/// Where at most this part of the inputs, in groups of eight, is not all zero, the zeros are left out: below it that is
/// faster than to multiply them.
const SPARSE: f64 = 0.8;

/// Where the images of a shard come from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Images<'a> {
    /// (images, height, width, channels)
    Plain(&'a [f32]),
    /// Loaded before.
    Loaded(&'a Arc<Input>),
}

/// Loaded images; borders and padding are zero from the beginning and are never written.
#[derive(Debug, Default)]
pub(super) struct Input {
    pub(super) values: Aligned,
    /// Which inputs are not zero, for each block of features; only of vectors.
    pub(super) occupancy: Vec<Occupancy>,
    /// Which features are not zero in strips of images.
    pub(super) strips: Vec<StripFeatures>,
    /// Whether so few are that the others are worth leaving out.
    pub(super) sparse: bool,
    /// Images in use.
    pub(super) images: usize,
}

impl Input {
    /// Room for a shard.
    pub(super) fn new(plan: &Plan) -> Self {
        let slot = plan.slots[0];
        let input_blocks = if slot.is_vectors() { blocks(slot.channels) } else { 0 };
        let strips = if input_blocks > 0 { plan.capacity.div_ceil(StripFeatures::IMAGES) } else { 0 };
        Self {
            values: Aligned::zeros(slot.buffer_len(plan.capacity)),
            occupancy: (0..input_blocks).map(|_| Occupancy::with_capacity(plan.capacity)).collect(),
            strips: (0..strips).map(|_| StripFeatures::with_capacity(slot.channels)).collect(),
            ..Self::default()
        }
    }

    /// Loads `images`, (images, height, width, channels).
    pub(super) fn load(&mut self, isa: Isa, plan: &Plan, team: &Team, images: &[f32]) {
        let slot = plan.slots[0];
        let len = slot.plane.height * slot.plane.width * slot.channels;
        if !slot.is_vectors() {
            self.images = images.len() / len;
            for (image, blocked) in images.chunks_exact(len).zip(self.values.chunks_exact_mut(slot.len())) {
                pack::image(slot.plane, slot.channels, image, blocked);
            }
            return;
        }
        self.images = images.len() / slot.channels;
        let share = team.share(blocks(slot.channels));
        let (block_len, count) = (slot.plane.block(), self.images);
        let values = (&mut self.values[..], share * block_len);
        team.chunk_pairs(values, (&mut self.occupancy, share), |index, blocked, occupancy| {
            let first = index * share;
            let feature_blocks = first..(first + share).min(blocks(slot.channels));
            pack::vectors(slot.plane, slot.channels, feature_blocks, images, blocked);
            for (values, occupancy) in blocked.chunks_exact(block_len).zip(occupancy) {
                isa.run(Occupy { values: &values[..count * BLOCK], occupancy });
            }
        });
        let occupied: usize = self.occupancy.iter().map(Occupancy::occupied).sum();
        // Indices of features and images have sixteen bits.
        let small = u16::try_from(slot.channels).is_ok() && u16::try_from(count).is_ok();
        self.sparse = small && (occupied as f64) < SPARSE * (2 * blocks(slot.channels) * count) as f64;
        if self.sparse {
            let (occupancy, strips) = (&self.occupancy, count.div_ceil(StripFeatures::IMAGES));
            team.chunks(&mut self.strips[..strips], 1, |strip, features| features[0].fill(strip, occupancy));
        }
    }
}

/// Images ready for networks of one architecture to look at, again and again.
///
/// Those of dense layers are in blocks. For convolutions the blocks would need many times the memory, and making them is
/// little beside the rest.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// (images, height, width, channels); empty if there are shards.
    pub(super) images: Vec<f32>,
    pub(super) shards: Vec<Arc<Input>>,
    pub(super) count: usize,
    /// Of the architecture.
    pub(super) network: Arc<Layout>,
}

impl Loaded {
    /// The images of a shard of `capacity`, each of `len` floats.
    pub(super) fn part(&self, len: usize, index: usize, capacity: usize) -> Images<'_> {
        match self.shards.get(index) {
            Some(input) => Images::Loaded(input),
            None => Images::Plain(part_of(&self.images, len, index, capacity)),
        }
    }
}
