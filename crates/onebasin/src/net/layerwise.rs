//! Several points taken through a network side by side, so that a layer can be changed by what it computes.
//!
//! The buffers of a layer are given back as soon as nothing reads them any more: many examples are in memory at once.

use super::plan::{Step, Task};
use super::products::{self, Input, Packed};
use super::shard::{Call, Shard, unpack};
use super::{Net, Source, part_of};
use crate::arch::TensorIndex;
use crate::error::Result;
use crate::model::LayerValues;
use crate::params::Params;
use onebasin_kernels::Aligned;
use std::ops::Range;
use std::sync::Arc;

/// Some images at one point.
struct Part {
    /// Number of the point.
    point: usize,
    shard: Shard,
    /// Buffers that nothing reads any more, each with the slot it was made for.
    free: Vec<(usize, Aligned)>,
}

impl Net {
    /// See [`crate::model::Model::layer_by_layer`].
    pub(super) fn visit_layers(
        &mut self,
        points: &mut [Params],
        count: usize,
        images: Source<'_>,
        layers: &[TensorIndex],
        visit: &mut dyn FnMut(LayerValues<'_>, &mut [Params]) -> Result<()>,
    ) -> Result<()> {
        self.fit(count);
        let this = &*self;
        let mut packed: Vec<Packed> = points.iter().map(|point| this.pack(point)).collect();
        let inputs = this.load_shards(images, count);
        let mut parts: Vec<Part> = (0..points.len())
            .flat_map(|point| inputs.iter().map(move |input| (point, input)))
            .map(|(point, input)| Part { point, shard: Shard::empty(&this.plan, Arc::clone(input)), free: Vec::new() })
            .collect();
        let mut values = Vec::new();
        for (index, unused) in this.plan.last_uses().into_iter().enumerate() {
            let (step, later) = (&this.plan.steps[index], &this.plan.steps[index + 1..]);
            for part in &mut parts {
                part.make_room(this, step.out);
            }
            if let Some(tensor) = step.tensor.filter(|tensor| layers.contains(tensor)) {
                let plain = Step { residual: None, activation: None, ..step.clone() };
                for packed in &mut packed {
                    open_threshold(&plain, packed);
                }
                this.advance(&plain, &packed, &mut parts);
                this.unpack_parts(step.out, &parts, &mut values);
                visit(LayerValues { tensor, values: &values }, points)?;
                for (packed, point) in packed.iter_mut().zip(&*points) {
                    packed.fill_step(step, point.values(), false, &this.pool);
                }
            }
            this.advance(step, &packed, &mut parts);
            for part in &mut parts {
                part.retire(&unused);
                part.free
                    .retain(|(slot, _)| later.iter().any(|step| this.plan.slots[step.out] == this.plan.slots[*slot]));
            }
        }
        Ok(())
    }

    fn pack(&self, point: &Params) -> Packed {
        let mut packed = Packed::new(self.isa, self.precision);
        packed.fill(&self.plan, point.values(), false, &self.pool);
        packed
    }

    fn load_shards(&self, images: Source<'_>, count: usize) -> Vec<Arc<Input>> {
        if !images.shards.is_empty() {
            return images.shards.to_vec();
        }
        let capacity = self.plan.capacity;
        let load = |index: usize| {
            let mut input = Input::new(&self.plan);
            let images = part_of(images.images, index, capacity * self.arch.input().len());
            products::pack_inputs(self.isa, self.plan.slots[0], &self.pool, images, &mut input);
            Arc::new(input)
        };
        (0..count.div_ceil(capacity)).map(load).collect()
    }

    /// Computes a step of all parts: dense layers share the inside of a part among threads, images share the parts.
    fn advance(&self, step: &Step, packed: &[Packed], parts: &mut [Part]) {
        let (outer, inner) = if self.plan.is_dense() { (&self.alone, &self.pool) } else { (&self.pool, &self.alone) };
        outer.chunks(parts, 1, |_, part| {
            let Part { point, shard, .. } = &mut part[0];
            let packed = &packed[*point];
            let call = Call { isa: self.isa, likelihood: self.likelihood, plan: &self.plan, packed, pool: inner };
            shard.advance(call, step, false);
        });
    }

    /// Reads a slot of all parts, (points, examples, height, width, channels).
    fn unpack_parts(&self, slot: usize, parts: &[Part], values: &mut Vec<f32>) {
        let shape = self.plan.slots[slot];
        let positions = if shape.is_vectors() { 1 } else { shape.plane.height * shape.plane.width };
        let mut end = 0;
        let ranges: Vec<Range<usize>> = parts
            .iter()
            .map(|part| {
                let start = end;
                end += part.shard.images * positions * shape.channels;
                start..end
            })
            .collect();
        values.resize(end, 0.0);
        self.pool.pieces(&ranges, [values], |index, [out]| {
            let shard = &parts[index].shard;
            unpack(shape, shard.values.of(slot), shard.images, out);
        });
    }
}

impl Part {
    /// Makes sure that a slot has a buffer: one of the same shape, or a new one.
    fn make_room(&mut self, net: &Net, slot: usize) {
        let slots = &net.plan.slots;
        let buffer = match self.free.iter().position(|(other, _)| slots[*other] == slots[slot]) {
            Some(at) => self.free.swap_remove(at).1,
            None => Aligned::zeros(slots[slot].buffer_len(net.plan.capacity)),
        };
        self.shard.values.put(slot, buffer);
    }

    fn retire(&mut self, slots: &[usize]) {
        for slot in slots {
            let buffer = self.shard.values.take(*slot);
            self.free.push((*slot, buffer));
        }
    }
}

/// Lets everything through the threshold of a filter response normalisation.
fn open_threshold(step: &Step, packed: &mut Packed) {
    if let Task::Frn { tau, .. } = &step.task {
        packed.padded[tau.padded.clone()][..tau.params.len()].fill(f32::MIN);
    }
}
