//! Evaluates an architecture at parameters: logits, hidden activations, log-likelihood and its gradient.
//!
//! A network of dense layers cuts its batch into shards small enough for the cache and shares each layer of a shard
//! among the threads. A network with convolutions cuts it into smaller shards and takes each through the whole network,
//! forward and backward, on one thread; how the batch is cut, and the order in which the shards' gradients are
//! summed, depend on the network and the batch only, never on the number of threads.

mod backward;
mod input;
mod likelihood;
mod packed;
mod plan;
mod shard;

pub(crate) use input::Loaded;
pub use likelihood::Likelihood;

use crate::arch::Arch;
use crate::arch::Shape;
use crate::error::Error;
use crate::error::Result;
use crate::kernels::Aligned;
use crate::kernels::Isa;
use crate::kernels::Team;
use crate::kernels::elementwise::AddTo;
use crate::kernels::likelihood::Softmax;
use crate::params::Params;
use input::Images;
use input::Input;
use packed::Packed;
use plan::Plan;
use shard::Call;
use shard::Shard;
use std::sync::Arc;
use std::sync::Mutex;

/// Vectors in one shard of a network of dense layers, at most.
const MOST_VECTORS: usize = 256;
/// Activations of one shard of images, in floats: about what stays in the caches of one core.
const SHARD_FLOATS: usize = 1 << 20;
/// Parts of a batch whose gradients are summed apart, at most: as many threads can work on it.
const MOST_PARTS: usize = 8;
/// Floats of all parts' gradients together, at most, once there are more than two.
const PART_FLOATS: usize = 1 << 28;

/// Images and their labels.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// (images, height, width, channels)
    pub images: &'a [f32],
    /// One class for each image.
    pub labels: &'a [u32],
}

/// A hidden layer's activations on some images, see [`Net::activations`].
#[derive(Clone, Copy, Debug)]
pub struct Hidden<'a> {
    /// Which of [`Arch::hidden`].
    pub index: usize,
    /// Its name.
    pub name: &'a str,
    /// Its shape; a unit is a channel.
    pub shape: Shape,
    /// Number of the first image.
    pub first_image: usize,
    /// Before the non-linearity, (images, height, width, channels).
    pub before: &'a [f32],
    /// Behind the non-linearity, (images, height, width, channels).
    pub after: &'a [f32],
}

/// A network ready to be evaluated: an architecture, threads and buffers.
///
/// Buffers are allocated by the first call, and again only by a larger batch or, for a network of dense layers, by a
/// batch of another size.
#[derive(Debug)]
pub struct Net {
    arch: Arch,
    likelihood: Likelihood,
    isa: Isa,
    team: Team,
    /// For work inside a shard that is itself one of several.
    alone: Team,
    plan: Plan,
    packed: Packed,
    /// Shards not in use.
    shards: Mutex<Vec<Shard>>,
    /// Gradients of the parts of a batch.
    parts: Vec<Aligned>,
    /// Log-likelihood of each image.
    log_likelihoods: Vec<f64>,
}

impl Net {
    /// A network on `threads` threads and the fastest instruction set there is.
    ///
    /// The gradient of a network with convolutions can use up to eight threads, fewer beyond 30 million parameters.
    pub fn new(arch: &Arch, threads: usize) -> Result<Self> {
        Self::on(Isa::detect(), arch, threads)
    }

    /// A network on a given instruction set, one of [`Isa::available`].
    pub fn on(isa: Isa, arch: &Arch, threads: usize) -> Result<Self> {
        if threads == 0 {
            return Err(Error::Zero { what: "the number of threads".to_owned() });
        }
        if !isa.is_available() {
            return Err(Error::NoIsa { isa: format!("{isa:?}") });
        }
        let plan = Plan::new(arch, 1);
        let plan = if plan.is_dense() {
            plan
        } else {
            let floats: usize = plan.slots.iter().map(|slot| slot.len()).sum();
            // Powers of two, because batches often are: then all parts of a batch are equal.
            let capacity = 1 << (SHARD_FLOATS / floats).clamp(2, 64).ilog2();
            Plan::new(arch, capacity)
        };
        Ok(Self {
            arch: arch.clone(),
            likelihood: Likelihood::default(),
            isa,
            team: Team::new(threads).map_err(|error| Error::Threads { threads, reason: error.to_string() })?,
            alone: Team::alone(),
            plan,
            packed: Packed::default(),
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

    /// The architecture.
    pub fn arch(&self) -> &Arch {
        &self.arch
    }
    /// The threads, for work between evaluations: a second team would compete with this one.
    pub fn team(&self) -> &Team {
        &self.team
    }
    /// The instruction set.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Writes the probabilities of the classes, (images, classes); `images` as for [`Self::logits`].
    pub fn probabilities(&mut self, params: &Params, images: &[f32], probabilities: &mut [f32]) -> Result<()> {
        self.logits(params, images, probabilities)?;
        self.softmax(probabilities);
        Ok(())
    }

    /// [`Self::probabilities`] of images that were loaded, perhaps by another network of the same architecture.
    pub(crate) fn probabilities_of(&mut self, params: &Params, images: &Loaded, out: &mut [f32]) -> Result<()> {
        self.check_layout(params)?;
        let len = self.check_loaded(images);
        self.write_logits(params, out, images.count, |index, capacity| images.part(len, index, capacity))?;
        self.softmax(out);
        Ok(())
    }

    /// [`Self::log_likelihood`] of images that were loaded, perhaps by another network of the same architecture.
    pub(crate) fn log_likelihood_of(&mut self, params: &Params, images: &Loaded, labels: &[u32]) -> Result<f64> {
        self.check_layout(params)?;
        self.check_labels(labels, images.count)?;
        let len = self.check_loaded(images);
        Ok(self.sum_log_likelihood(params, labels, |index, capacity| images.part(len, index, capacity)))
    }

    /// Floats of an image, if the images are for networks like this one.
    fn check_loaded(&self, images: &Loaded) -> usize {
        assert!(Arc::ptr_eq(&images.network, self.arch.layout()), "images were loaded for another network");
        self.arch.input().len()
    }

    /// Loads images that will be looked at with many parameters; `images` as for [`Self::logits`].
    pub(crate) fn load(&mut self, images: Vec<f32>) -> Result<Loaded> {
        let (count, network) = (self.check_images(&images)?, Arc::clone(self.arch.layout()));
        if !self.plan.is_dense() {
            return Ok(Loaded { images, shards: Vec::new(), count, network });
        }
        self.fit(count);
        let shards = images.chunks(self.plan.capacity * self.arch.input().len()).map(|images| {
            let mut input = Input::new(&self.plan);
            input.load(self.isa, &self.plan, &self.team, images);
            Arc::new(input)
        });
        Ok(Loaded { shards: shards.collect(), images: Vec::new(), count, network })
    }

    /// Turns logits into probabilities.
    fn softmax(&self, probabilities: &mut [f32]) {
        let (classes, scale) = (self.arch.classes(), self.likelihood.scale());
        let share = self.team.share(probabilities.len() / classes) * classes;
        self.team.chunks(probabilities, share, |_, rows| self.isa.run(Softmax { rows, classes, scale }));
    }

    /// Writes the logits of all images; `images` is (images, height, width, channels), `logits` (images, classes).
    pub fn logits(&mut self, params: &Params, images: &[f32], logits: &mut [f32]) -> Result<()> {
        let count = self.check(params, images)?;
        let len = self.arch.input().len();
        self.write_logits(params, logits, count, |index, capacity| Images::Plain(part_of(images, len, index, capacity)))
    }

    /// Writes the logits of `count` images; `images` is asked for those of each shard, of so many at most.
    fn write_logits<'i>(
        &mut self,
        params: &Params,
        logits: &mut [f32],
        count: usize,
        images: impl Fn(usize, usize) -> Images<'i> + Sync,
    ) -> Result<()> {
        let classes = self.arch.classes();
        if logits.len() != count * classes {
            return Err(Error::Length {
                what: "the array of logits",
                got: logits.len(),
                expected: count * classes,
                why: format!("{count} images, {classes} classes"),
            });
        }
        self.prepare(params, count, false);
        let capacity = self.plan.capacity;
        self.for_each_shard(logits, capacity * classes, |call, shard, index, logits| {
            shard.forward(call, images(index, capacity), false);
            shard.logits(call.plan, logits);
        });
        Ok(())
    }

    /// The log-likelihood summed over the batch. NaN parameters give NaN, but for weights of pixels that are zero in all
    /// images: they may have been left out.
    pub fn log_likelihood(&mut self, params: &Params, batch: Batch<'_>) -> Result<f64> {
        self.check_batch(params, batch)?;
        let len = self.arch.input().len();
        let images = |index, capacity| Images::Plain(part_of(batch.images, len, index, capacity));
        Ok(self.sum_log_likelihood(params, batch.labels, images))
    }

    /// The log-likelihood of all labels; `images` is asked for those of each shard, of so many at most.
    fn sum_log_likelihood<'i>(
        &mut self,
        params: &Params,
        labels: &[u32],
        images: impl Fn(usize, usize) -> Images<'i> + Sync,
    ) -> f64 {
        self.prepare(params, labels.len(), false);
        let capacity = self.plan.capacity;
        let mut values = std::mem::take(&mut self.log_likelihoods);
        self.for_each_shard(&mut values, capacity, |call, shard, index, values| {
            shard.forward(call, images(index, capacity), false);
            shard.log_likelihood(call, part_of(labels, 1, index, capacity), values, false);
        });
        self.log_likelihoods = values;
        self.log_likelihoods.iter().sum()
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
        let part = |index: usize, values: &mut [f64], gradient: &mut [f32], team: &Team| {
            let call =
                Call { isa: this.isa, likelihood: this.likelihood, plan: &this.plan, packed: &this.packed, team };
            this.with_shard(|shard| {
                for (number, values) in values.chunks_mut(capacity).enumerate() {
                    let first = index * part_len + number * capacity;
                    let images = &batch.images[first * image_len..(first + values.len()) * image_len];
                    shard.forward(call, Images::Plain(images), false);
                    shard.log_likelihood(call, &batch.labels[first..first + values.len()], values, true);
                    shard.backward(call, gradient, number == 0);
                }
            });
        };
        let total = gradient.values_mut();
        if parts == 1 {
            part(0, &mut values, total, &this.team);
        } else {
            this.team.chunk_pairs((&mut values, part_len), (&mut sums[..parts], 1), |index, values, sum| {
                part(index, values, &mut sum[0], &this.alone);
            });
            let share = this.team.share(total.len());
            this.team.chunks(total, share, |index, total| {
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

    /// Calls `visit` with the activations of every hidden layer before and behind its non-linearity, some images
    /// at a time: all layers of the first images, then all of the next, in order.
    pub fn activations(&mut self, params: &Params, images: &[f32], mut visit: impl FnMut(Hidden<'_>)) -> Result<()> {
        let count = self.check(params, images)?;
        self.prepare(params, count, false);
        let (image_len, capacity) = (self.arch.input().len(), self.plan.capacity);
        let wave = if self.plan.is_dense() { 1 } else { self.team.threads() };
        let this = &*self;
        let mut shards: Vec<Shard> = (0..wave).map(|_| this.take_shard()).collect();
        for first in (0..count).step_by(wave * capacity) {
            let images = &images[first * image_len..((first + wave * capacity).min(count)) * image_len];
            let used = (images.len() / image_len).div_ceil(capacity);
            let inner = if wave == 1 { &this.team } else { &this.alone };
            let call = Call {
                isa: this.isa,
                likelihood: this.likelihood,
                plan: &this.plan,
                packed: &this.packed,
                team: inner,
            };
            let outer = if wave == 1 { &this.alone } else { &this.team };
            outer.chunks(&mut shards[..used], 1, |index, shard| {
                let images = part_of(images, image_len, index, capacity);
                shard[0].forward(call, Images::Plain(images), true);
            });
            for (number, shard) in shards[..used].iter().enumerate() {
                for (index, ((_, node), recorded)) in this.arch.hidden().zip(&shard.recorded).enumerate() {
                    visit(Hidden {
                        index,
                        name: &node.name,
                        shape: node.shape,
                        first_image: first + number * capacity,
                        before: &recorded.before,
                        after: &recorded.after,
                    });
                }
            }
        }
        self.shards.lock().expect(NO_PANIC).append(&mut shards);
        Ok(())
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
        self.check_images(images)
    }

    /// Checks images, and returns their number.
    fn check_images(&self, images: &[f32]) -> Result<usize> {
        let len = self.arch.input().len();
        if images.is_empty() {
            return Err(Error::EmptyBatch);
        }
        if !images.len().is_multiple_of(len) {
            return Err(Error::Length {
                what: "the array of images",
                got: images.len(),
                expected: images.len().next_multiple_of(len),
                why: format!("whole images of {}", self.arch.input()),
            });
        }
        Ok(images.len() / len)
    }

    fn check_batch(&self, params: &Params, batch: Batch<'_>) -> Result<usize> {
        let count = self.check(params, batch.images)?;
        self.check_labels(batch.labels, count)?;
        Ok(count)
    }

    /// Checks that each of `count` images has a label.
    fn check_labels(&self, labels: &[u32], count: usize) -> Result<()> {
        if labels.len() != count {
            let (got, why) = (labels.len(), format!("{count} images"));
            return Err(Error::Length { what: "the array of labels", got, expected: count, why });
        }
        let classes = self.arch.classes();
        match labels.iter().position(|label| *label as usize >= classes) {
            Some(index) => Err(Error::Label { index, label: labels[index], classes }),
            None => Ok(()),
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
        self.packed.fill(&self.plan, params.values(), with_backward, &self.team);
        // As many shards as can be in use at once, so that no later call has to make one.
        let shards = self.shards.get_mut().expect(NO_PANIC);
        shards.resize_with(if self.plan.is_dense() { 1 } else { self.team.threads() }, || Shard::new(&self.plan));
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
        let (outer, inner) = if self.plan.is_dense() { (&self.alone, &self.team) } else { (&self.team, &self.alone) };
        let call =
            Call { isa: self.isa, likelihood: self.likelihood, plan: &self.plan, packed: &self.packed, team: inner };
        outer.chunks(out, chunk, |index, out| self.with_shard(|shard| work(call, shard, index, out)));
    }
}

/// Why a lock cannot be poisoned for a caller who is still running: a panic in a worker reaches the caller.
const NO_PANIC: &str = "no thread panicked";

/// Part number `index` of an array of items of length `len`, `capacity` items in each part.
fn part_of<T>(values: &[T], len: usize, index: usize, capacity: usize) -> &[T] {
    let first = index * capacity * len;
    &values[first..(first + capacity * len).min(values.len())]
}
