//! Evaluates an architecture at parameters: logits, hidden activations, log-likelihood and its gradient.
//!
//! A network of dense layers cuts its batch into shards small enough for the cache and shares each layer of a shard
//! among the threads. A network with convolutions cuts it into smaller shards and takes each through the whole network,
//! forward and backward, on one thread; how the batch is cut, and the order in which the shards' gradients are
//! summed, depend on the network and the batch only, never on the number of threads.

mod backward;
mod layerwise;
mod likelihood;
mod plan;
mod precision;
mod products;
mod shard;

pub use likelihood::Likelihood;
pub use precision::Precision;

use crate::arch::{Arch, Shape, TensorIndex};
use crate::error::{Error, Result};
use crate::model;
use crate::model::{Batch, DifferentiableModel, Hidden, Inputs, LayerValues, Model};
use crate::params::{Layout, Params};
use onebasin_kernels::elementwise::AddTo;
use onebasin_kernels::{Aligned, Isa, ThreadPool};
use plan::Plan;
use products::{Input, Packed};
use shard::{Call, Images, Shard};
use std::sync::{Arc, Mutex};

/// Vectors in one shard of a network of dense layers, at most.
const MOST_VECTORS: usize = 256;
/// Activations of one shard of images, in floats: about what stays in the caches of one core.
const SHARD_FLOATS: usize = 1 << 20;
/// Parts of a batch whose gradients are summed apart, at most: as many threads can work on it.
const MOST_PARTS: usize = 8;
/// Floats of all parts' gradients together, at most, once there are more than two.
const PART_FLOATS: usize = 1 << 28;

/// A network ready to be evaluated: an architecture, threads and buffers.
///
/// Buffers are allocated by the first call, and again only by a larger batch or, for a network of dense layers, by a
/// batch of another size.
#[derive(Debug)]
pub struct Net {
    arch: Arch,
    likelihood: Likelihood,
    precision: Precision,
    isa: Isa,
    pool: ThreadPool,
    /// For work inside a shard that is itself one of several.
    alone: ThreadPool,
    plan: Plan,
    packed: Packed,
    /// Shards not in use.
    shards: Mutex<Vec<Shard>>,
    /// Gradients of the parts of a batch.
    parts: Vec<Aligned>,
    /// Log-likelihood of each image.
    log_likelihoods: Vec<f64>,
}

/// Images ready for networks of one architecture to look at, again and again.
///
/// Those of dense layers are in blocks. For convolutions the blocks would need many times the memory, and making them is
/// little beside the rest.
#[derive(Debug)]
struct Loaded {
    /// (images, height, width, channels); empty if there are shards.
    images: Vec<f32>,
    shards: Vec<Arc<Input>>,
    /// Of the architecture.
    network: Arc<Layout>,
}

/// The images of a batch, loaded or plain, as in [`Loaded`].
#[derive(Clone, Copy)]
struct Source<'a> {
    images: &'a [f32],
    shards: &'a [Arc<Input>],
}

impl Net {
    /// A network on the threads of `pool` and the fastest instruction set there is.
    ///
    /// The gradient of a network with convolutions can use up to eight threads, fewer beyond 30 million parameters.
    pub fn new(arch: &Arch, pool: &ThreadPool) -> Result<Self> {
        Self::on(Isa::detect(), arch, pool)
    }

    /// A network on a given instruction set, one of [`Isa::available`].
    pub fn on(isa: Isa, arch: &Arch, pool: &ThreadPool) -> Result<Self> {
        if !isa.is_available() {
            return Err(Error::NoIsa { isa: format!("{isa:?}") });
        }
        let mut plan = Plan::new(arch, 1);
        if !plan.is_dense() {
            let floats: usize = plan.slots.iter().map(|slot| slot.len()).sum();
            // Powers of two, because batches often are: then all parts of a batch are equal.
            let capacity = 1 << (SHARD_FLOATS / floats).clamp(2, 64).ilog2();
            plan = Plan::new(arch, capacity);
        }
        Ok(Self {
            arch: arch.clone(),
            likelihood: Likelihood::default(),
            precision: Precision::default(),
            isa,
            pool: pool.clone(),
            alone: ThreadPool::alone(),
            plan,
            packed: Packed::new(isa, Precision::F32),
            shards: Mutex::new(Vec::new()),
            parts: Vec::new(),
            log_likelihoods: Vec::new(),
        })
    }

    /// The same network with another likelihood than softmax.
    pub fn with_likelihood(mut self, likelihood: Likelihood) -> Result<Self> {
        likelihood.check()?;
        self.likelihood = likelihood;
        Ok(self)
    }

    /// The same network with products of another precision than f32.
    #[must_use]
    pub fn with_precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self.packed = Packed::new(self.isa, precision);
        self
    }

    /// The architecture.
    pub fn arch(&self) -> &Arch {
        &self.arch
    }

    /// Writes the logits of all images; `images` is (images, height, width, channels), `logits` (images, classes).
    pub fn logits(&mut self, params: &Params, images: &[f32], logits: &mut [f32]) -> Result<()> {
        let count = self.check(params, images)?;
        self.write_logits(params, logits, count, Source { images, shards: &[] })
    }

    fn write_logits(&mut self, params: &Params, logits: &mut [f32], count: usize, images: Source<'_>) -> Result<()> {
        let classes = self.arch.classes();
        let why = format_args!("{count} examples, {classes} classes");
        Error::unless_length("the array of logits", logits.len(), count * classes, why)?;
        self.prepare(params, count, false);
        self.for_each_shard(logits, self.plan.capacity * classes, |call, shard, index, logits| {
            shard.forward(call, self.images_of(images, index), false);
            shard.logits(call.plan, logits);
        });
        Ok(())
    }

    /// The log-likelihood summed over the batch. NaN parameters give NaN, but for weights of pixels that are zero in all
    /// images: they may have been left out.
    pub fn log_likelihood(&mut self, params: &Params, batch: Batch<'_>) -> Result<f64> {
        let count = self.check_batch(params, batch)?;
        let images = Source { images: batch.inputs, shards: &[] };
        self.prepare(params, count, false);
        let capacity = self.plan.capacity;
        let mut values = std::mem::take(&mut self.log_likelihoods);
        self.for_each_shard(&mut values, capacity, |call, shard, index, values| {
            shard.forward(call, self.images_of(images, index), false);
            shard.log_likelihood(call, part_of(batch.labels, index, capacity), values, false);
        });
        self.log_likelihoods = values;
        Ok(self.log_likelihoods.iter().sum())
    }

    /// Writes the gradient of the log-likelihood summed over the batch, and returns that log-likelihood.
    ///
    /// NaN parameters give NaN, in the value and in the gradient, with the exception of [`Self::log_likelihood`].
    pub fn gradient(&mut self, params: &Params, batch: Batch<'_>, gradient: &mut Params) -> Result<f64> {
        let count = self.check_batch(params, batch)?;
        self.check_layout(gradient)?;
        self.prepare(params, count, true);
        let image_len = self.arch.input().len();
        let capacity = self.plan.capacity;
        let parts = self.parts_of(count);
        let mut values = std::mem::take(&mut self.log_likelihoods);
        let mut sums = std::mem::take(&mut self.parts);
        if parts > sums.len().max(1) {
            sums.resize_with(parts, || Aligned::zeros(params.values().len()));
        }
        let this = &*self;
        // Whole shards in each part, so that all but the last shard are full.
        let part_len = count.div_ceil(capacity).div_ceil(parts) * capacity;
        let part = |index: usize, values: &mut [f64], gradient: &mut [f32], pool: &ThreadPool| {
            let call =
                Call { isa: this.isa, likelihood: this.likelihood, plan: &this.plan, packed: &this.packed, pool };
            this.with_shard(|shard| {
                for (number, values) in values.chunks_mut(capacity).enumerate() {
                    let first = index * part_len + number * capacity;
                    let images = &batch.inputs[first * image_len..(first + values.len()) * image_len];
                    shard.forward(call, Images::Plain(images), false);
                    shard.log_likelihood(call, &batch.labels[first..first + values.len()], values, true);
                    shard.backward(call, gradient, number == 0);
                }
            });
        };
        let total = gradient.values_mut();
        if parts == 1 {
            part(0, &mut values, total, &this.pool);
        } else {
            this.pool.chunk_pairs((&mut values, part_len), (&mut sums[..parts], 1), |index, values, sum| {
                part(index, values, &mut sum[0], &this.alone);
            });
            let share = this.pool.share(total.len());
            this.pool.chunks(total, share, |index, total| {
                total.copy_from_slice(&sums[0][index * share..][..total.len()]);
                for sum in &sums[1..parts] {
                    this.isa.run(AddTo { from: &sum[index * share..][..total.len()], to: total });
                }
            });
        }
        self.parts = sums;
        self.log_likelihoods = values;
        Ok(self.log_likelihoods.iter().sum())
    }

    /// Calls `visit` with the activations of every hidden layer before and behind its non-linearity, some examples
    /// at a time: all layers of the first examples, then all of the next, in order.
    pub fn activations(&mut self, params: &Params, images: &[f32], mut visit: impl FnMut(Hidden<'_>)) -> Result<()> {
        let count = self.check(params, images)?;
        self.visit_activations(params, count, Source { images, shards: &[] }, &mut visit);
        Ok(())
    }

    fn visit_activations(
        &mut self,
        params: &Params,
        count: usize,
        images: Source<'_>,
        visit: &mut dyn FnMut(Hidden<'_>),
    ) {
        self.prepare(params, count, false);
        let capacity = self.plan.capacity;
        let wave = if self.plan.is_dense() { 1 } else { self.pool.threads() };
        let this = &*self;
        let mut shards: Vec<Shard> = (0..wave).map(|_| this.take_shard()).collect();
        let (inner, outer) = if wave == 1 { (&this.pool, &this.alone) } else { (&this.alone, &this.pool) };
        let call =
            Call { isa: this.isa, likelihood: this.likelihood, plan: &this.plan, packed: &this.packed, pool: inner };
        let all = count.div_ceil(capacity);
        for first in (0..all).step_by(wave) {
            let used = wave.min(all - first);
            outer.chunks(&mut shards[..used], 1, |index, shard| {
                shard[0].forward(call, this.images_of(images, first + index), true);
            });
            for (number, shard) in shards[..used].iter().enumerate() {
                for (index, ((_, node), recorded)) in this.arch.hidden().zip(&shard.recorded).enumerate() {
                    visit(Hidden {
                        index,
                        name: &node.name,
                        shape: node.shape,
                        first: (first + number) * capacity,
                        before: &recorded.before,
                        after: &recorded.after,
                    });
                }
            }
        }
        self.shards.lock().expect(NO_PANIC).append(&mut shards);
    }

    fn images_of<'i>(&self, Source { images, shards }: Source<'i>, index: usize) -> Images<'i> {
        match shards.get(index) {
            Some(input) => Images::Loaded(input),
            None => Images::Plain(part_of(images, index, self.plan.capacity * self.arch.input().len())),
        }
    }

    /// The loaded examples, if they are for networks like this one.
    fn check_loaded<'i>(&self, params: &Params, inputs: &'i Inputs) -> Result<Source<'i>> {
        self.check_layout(params)?;
        let loaded: &Loaded = inputs.form();
        assert!(Arc::ptr_eq(&loaded.network, self.arch.layout()), "inputs were loaded for another network");
        Ok(Source { images: &loaded.images, shards: &loaded.shards })
    }

    fn check_layout(&self, params: &Params) -> Result<()> {
        if Arc::ptr_eq(params.layout(), self.arch.layout()) {
            return Ok(());
        }
        self.arch.layout().check_same(params.layout())
    }

    /// Checks parameters and images, and returns the number of images.
    fn check(&self, params: &Params, images: &[f32]) -> Result<usize> {
        self.check_layout(params)?;
        model::count(self.arch.input(), images)
    }

    fn check_batch(&self, params: &Params, batch: Batch<'_>) -> Result<usize> {
        let count = self.check(params, batch.inputs)?;
        let (labels, classes) = (batch.labels, self.arch.classes());
        Error::unless_length("the array of labels", labels.len(), count, format_args!("{count} examples"))?;
        match labels.iter().position(|label| *label as usize >= classes) {
            Some(index) => Err(Error::Label { index, label: labels[index], classes }),
            None => Ok(count),
        }
    }

    /// Makes sure that shards fit a batch of `count` images.
    fn fit(&mut self, count: usize) {
        if self.plan.is_dense() {
            // Shards of equal size: 500 vectors are two shards of 250, not one of 256 and one of 244.
            let capacity = count.div_ceil(count.div_ceil(MOST_VECTORS));
            if capacity != self.plan.capacity {
                self.plan = Plan::new(&self.arch, capacity);
                self.shards.get_mut().expect(NO_PANIC).clear();
            }
        }
    }

    /// Makes sure that the buffers fit a batch of `count` images, and packs the parameters.
    fn prepare(&mut self, params: &Params, count: usize, with_backward: bool) {
        self.fit(count);
        self.log_likelihoods.resize(count, 0.0);
        self.packed.fill(&self.plan, params.values(), with_backward, &self.pool);
        // As many shards as can be in use at once, so that no later call has to make one.
        let shards = self.shards.get_mut().expect(NO_PANIC);
        shards.resize_with(if self.plan.is_dense() { 1 } else { self.pool.threads() }, || Shard::new(&self.plan));
        if with_backward {
            for shard in shards {
                shard.make_room_for_gradients(&self.plan);
            }
        }
    }

    /// In how many parts the gradient of a batch is summed.
    fn parts_of(&self, count: usize) -> usize {
        if self.plan.is_dense() {
            return 1;
        }
        let by_memory = (PART_FLOATS / self.arch.layout().len()).clamp(2, MOST_PARTS);
        let shards = count.div_ceil(self.plan.capacity);
        let parts = by_memory.min(shards);
        // Shards are whole: with fewer in each part, fewer parts may do.
        shards.div_ceil(shards.div_ceil(parts))
    }

    fn take_shard(&self) -> Shard {
        self.shards.lock().expect(NO_PANIC).pop().expect("there is a shard for each thread")
    }

    fn with_shard(&self, work: impl FnOnce(&mut Shard)) {
        let mut shard = self.take_shard();
        work(&mut shard);
        self.shards.lock().expect(NO_PANIC).push(shard);
    }

    /// Calls `work` for every shard with its number and its chunk of `out`.
    fn for_each_shard<T: Send>(
        &self,
        out: &mut [T],
        chunk: usize,
        work: impl Fn(Call<'_>, &mut Shard, usize, &mut [T]) + Sync,
    ) {
        // Dense layers share the inside of a shard among threads; images share the shards.
        let (outer, inner) = if self.plan.is_dense() { (&self.alone, &self.pool) } else { (&self.pool, &self.alone) };
        let call =
            Call { isa: self.isa, likelihood: self.likelihood, plan: &self.plan, packed: &self.packed, pool: inner };
        outer.chunks(out, chunk, |index, out| self.with_shard(|shard| work(call, shard, index, out)));
    }
}

impl Model for Net {
    fn layout(&self) -> &Arc<Layout> {
        self.arch.layout()
    }
    fn input(&self) -> Shape {
        self.arch.input()
    }
    fn outputs(&self) -> usize {
        self.arch.classes()
    }

    fn load(&mut self, inputs: Vec<f32>) -> Result<Inputs> {
        let (count, network) = (model::count(self.arch.input(), &inputs)?, Arc::clone(self.arch.layout()));
        if !self.plan.is_dense() {
            return Ok(Inputs::new(count, Loaded { images: inputs, shards: Vec::new(), network }));
        }
        self.fit(count);
        let shards = inputs.chunks(self.plan.capacity * self.arch.input().len()).map(|images| {
            let mut input = Input::new(&self.plan);
            products::pack_inputs(self.isa, self.plan.slots[0], &self.pool, images, &mut input);
            Arc::new(input)
        });
        Ok(Inputs::new(count, Loaded { shards: shards.collect(), images: Vec::new(), network }))
    }

    fn logits(&mut self, point: &Params, inputs: &Inputs, logits: &mut [f32]) -> Result<()> {
        let images = self.check_loaded(point, inputs)?;
        self.write_logits(point, logits, inputs.count(), images)
    }

    fn activations(&mut self, point: &Params, inputs: &Inputs, visit: &mut dyn FnMut(Hidden<'_>)) -> Result<()> {
        let images = self.check_loaded(point, inputs)?;
        self.visit_activations(point, inputs.count(), images, visit);
        Ok(())
    }

    fn layer_by_layer(
        &mut self,
        points: &mut [Params],
        inputs: &Inputs,
        layers: &[TensorIndex],
        visit: &mut dyn FnMut(LayerValues<'_>, &mut [Params]) -> Result<()>,
    ) -> Result<()> {
        let mut images = Source { images: &[], shards: &[] };
        for point in &*points {
            images = self.check_loaded(point, inputs)?;
        }
        self.visit_layers(points, inputs.count(), images, layers, visit)
    }
}

impl DifferentiableModel for Net {
    fn gradient(&mut self, point: &Params, batch: Batch<'_>, gradient: &mut Params) -> Result<f64> {
        self.gradient(point, batch, gradient)
    }
}

/// Why a lock cannot be poisoned for a caller who is still running: a panic in a worker reaches the caller.
const NO_PANIC: &str = "no thread panicked";

/// Part number `index` of an array, `len` values in each part.
fn part_of<T>(values: &[T], index: usize, len: usize) -> &[T] {
    &values[index * len..((index + 1) * len).min(values.len())]
}
