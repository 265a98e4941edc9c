//! Turns an architecture into steps over buffers: non-linearities and sums fused into the layer before them.

use crate::arch::{Activation, Arch, Node, Op, Pool};
use onebasin_kernels::geometry::{Geometry, Pass, Plane, TILE, blocks};
use onebasin_kernels::lanes::BLOCK;
use std::ops::Range;

/// A buffer for the activations behind one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) channels: usize,
    pub(super) plane: Plane,
}

impl Slot {
    /// Whether the columns are the images of the batch.
    pub(super) fn is_vectors(self) -> bool {
        self.plane.border == 0
    }
    /// Floats of one image, or of all vectors.
    pub(super) fn len(self) -> usize {
        blocks(self.channels) * self.plane.block()
    }
    /// Floats of its buffer in a shard of `capacity` images.
    pub(super) fn buffer_len(self, capacity: usize) -> usize {
        if self.is_vectors() { self.len() } else { capacity * self.len() }
    }
}

/// A product with weights: a convolution or a dense layer.
#[derive(Clone, Debug)]
pub(super) struct Product {
    pub(super) geometry: Geometry,
    /// The same where two images are in the place of one.
    pub(super) in_pairs: Geometry,
    pub(super) forward: Pass,
    pub(super) backward: Vec<Pass>,
    /// Where the weights lie in the parameters.
    pub(super) weight: Range<usize>,
    /// Where the packed weights lie in their buffer.
    pub(super) packed: Range<usize>,
    pub(super) bias: Option<Channelwise>,
}

/// A per-channel parameter: where it lies in the parameters, and padded to whole blocks.
#[derive(Clone, Debug)]
pub(super) struct Channelwise {
    pub(super) params: Range<usize>,
    pub(super) padded: Range<usize>,
}

/// What a step computes, before residual and non-linearity.
#[derive(Clone, Debug)]
pub(super) enum Task {
    Product(Box<Product>),
    Frn { gamma: Channelwise, beta: Channelwise, tau: Channelwise, statistics: usize },
    LayerNorm { gamma: Channelwise, beta: Channelwise, statistics: usize },
    Pool { maximum: bool },
    Mean,
    Flatten,
    PadShortcut { stride: usize },
}

/// How a step's gradient reaches the buffer of one of its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Not at all: nothing before it has parameters.
    Nowhere,
    /// As the first contribution.
    Write,
    /// Added to what is there.
    Add,
}

/// One step: a task, then an optional residual sum, then an optional non-linearity.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) task: Task,
    pub(super) x: usize,
    pub(super) out: usize,
    pub(super) residual: Option<usize>,
    pub(super) activation: Option<Activation>,
    /// Index of the hidden layer whose non-linearity this is.
    pub(super) hidden: Option<usize>,
    /// The first tensor of its parameters in the layout, if it has any.
    pub(super) tensor: Option<usize>,
    pub(super) x_reach: Reach,
    pub(super) residual_reach: Reach,
}

/// All steps of a network, for shards of up to `capacity` images.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) slots: Vec<Slot>,
    /// For each slot, the buffer its gradient lives in; buffers are shared by slots that never live together.
    pub(super) gradient_of: Vec<Option<usize>>,
    pub(super) gradients: Vec<Slot>,
    /// Floats of statistics for each normalisation and image.
    pub(super) statistics: Vec<usize>,
    pub(super) capacity: usize,
    pub(super) packed_len: usize,
    pub(super) padded_len: usize,
    /// Number of hidden layers.
    pub(super) hidden: usize,
}

impl Plan {
    pub(super) fn new(arch: &Arch, capacity: usize) -> Self {
        let mut planner = Planner { arch, plan: Self { capacity, ..Self::default() }, slot_of: Vec::new() };
        for node in arch.nodes() {
            planner.add(node);
        }
        planner.plan.place_gradients();
        planner.plan
    }

    /// Whether every layer works on vectors, so that the batch itself can be shared among threads.
    pub(super) fn is_dense(&self) -> bool {
        self.slots.iter().all(|slot| slot.is_vectors())
    }

    pub(super) fn logits(&self) -> usize {
        self.slots.len() - 1
    }

    /// For each step, the slots that no later step reads.
    pub(super) fn last_uses(&self) -> Vec<Vec<usize>> {
        let mut last = vec![Vec::new(); self.steps.len()];
        for slot in 1..self.slots.len() {
            let uses = |step: &Step| [Some(step.out), Some(step.x), step.residual].contains(&Some(slot));
            if let Some(step) = self.steps.iter().rposition(uses) {
                last[step].push(slot);
            }
        }
        last
    }

    /// Decides who writes and who adds to each gradient, and which gradients can share a buffer.
    fn place_gradients(&mut self) {
        self.gradient_of = vec![None; self.slots.len()];
        let mut free: Vec<usize> = Vec::new();
        let logits = self.logits();
        self.reach(logits, &mut free);
        for index in (0..self.steps.len()).rev() {
            let (x, out, residual) = (self.steps[index].x, self.steps[index].out, self.steps[index].residual);
            if let Some(residual) = residual {
                self.steps[index].residual_reach = self.reach(residual, &mut free);
            }
            if x != 0 {
                self.steps[index].x_reach = self.reach(x, &mut free);
            }
            free.extend(self.gradient_of[out]);
        }
    }

    /// Finds a buffer for the gradient of `slot`, unless it has one.
    fn reach(&mut self, slot: usize, free: &mut Vec<usize>) -> Reach {
        if self.gradient_of[slot].is_some() {
            return Reach::Add;
        }
        let shape = self.slots[slot];
        let buffer = if let Some(at) = free.iter().position(|buffer| self.gradients[*buffer] == shape) {
            free.swap_remove(at)
        } else {
            self.gradients.push(shape);
            self.gradients.len() - 1
        };
        self.gradient_of[slot] = Some(buffer);
        Reach::Write
    }
}

struct Planner<'a> {
    arch: &'a Arch,
    plan: Plan,
    /// The slot of each node so far.
    slot_of: Vec<usize>,
}

impl Planner<'_> {
    fn add(&mut self, node: &Node) {
        let x = self.slot_of.get(node.input).copied().unwrap_or(0);
        let slot = match node.op {
            // Images that are flattened at once are vectors from the start.
            Op::Input if matches!(self.arch.nodes()[1].op, Op::Flatten) => {
                self.slot(Slot { channels: node.shape.len(), plane: self.vectors() })
            }
            Op::Input => self.slot(self.shape(node)),
            Op::Flatten if self.plan.slots[x].is_vectors() => x,
            Op::Flatten => self.step(Task::Flatten, node, x),
            Op::Dense { weight, bias } => self.product(node, x, [1, 1], weight, Some(bias)),
            Op::Conv { kernel, stride, weight, bias } => self.product(node, x, [kernel, stride], weight, bias),
            Op::LayerNorm { gamma, beta } => {
                let statistics = self.statistics(2 * node.shape.height * node.shape.width);
                let task = Task::LayerNorm { gamma: self.channelwise(gamma), beta: self.channelwise(beta), statistics };
                self.step(task, node, x)
            }
            Op::Frn { gamma, beta, tau } => {
                let statistics = self.statistics(blocks(node.shape.channels) * BLOCK);
                let [gamma, beta, tau] = [gamma, beta, tau].map(|tensor| self.channelwise(tensor));
                self.step(Task::Frn { gamma, beta, tau, statistics }, node, x)
            }
            Op::Pool(pool) => self.step(Task::Pool { maximum: pool == Pool::Max }, node, x),
            Op::GlobalAverage => self.step(Task::Mean, node, x),
            Op::PadShortcut { stride } => self.step(Task::PadShortcut { stride }, node, x),
            Op::Add(other) => {
                let residual = self.slot_of[other];
                let step = self.producer(x);
                assert!(step.residual.is_none() && step.activation.is_none(), "a sum follows its first term directly");
                step.residual = Some(residual);
                x
            }
            Op::Activate(activation) => {
                let hidden = self.plan.hidden;
                self.plan.hidden += 1;
                let step = self.producer(x);
                assert!(step.activation.is_none(), "one non-linearity a layer");
                step.activation = Some(activation);
                step.hidden = Some(hidden);
                x
            }
        };
        self.slot_of.push(slot);
    }

    /// The step that computes `slot`; only the last one can still take on more.
    fn producer(&mut self, slot: usize) -> &mut Step {
        let step = self.plan.steps.last_mut().expect("a layer comes before");
        assert_eq!(step.out, slot, "only the latest layer can be extended");
        step
    }

    fn vectors(&self) -> Plane {
        Plane::vectors(self.plan.capacity)
    }

    fn shape(&self, node: &Node) -> Slot {
        let plane = match node.op {
            Op::Flatten | Op::Dense { .. } | Op::GlobalAverage => self.vectors(),
            _ => Plane::image(node.shape.height, node.shape.width),
        };
        Slot { channels: node.shape.channels, plane }
    }

    fn slot(&mut self, slot: Slot) -> usize {
        self.plan.slots.push(slot);
        self.plan.slots.len() - 1
    }

    fn step(&mut self, task: Task, node: &Node, x: usize) -> usize {
        let out = self.slot(self.shape(node));
        let tensor = match node.op {
            Op::Dense { weight, .. } | Op::Conv { weight, .. } => Some(weight),
            Op::LayerNorm { gamma, .. } | Op::Frn { gamma, .. } => Some(gamma),
            _ => None,
        };
        self.plan.steps.push(Step {
            task,
            x,
            out,
            residual: None,
            activation: None,
            hidden: None,
            tensor,
            x_reach: Reach::Nowhere,
            residual_reach: Reach::Nowhere,
        });
        out
    }

    fn tensor(&self, index: usize) -> Range<usize> {
        self.arch.layout().tensors()[index].range()
    }

    fn statistics(&mut self, floats: usize) -> usize {
        self.plan.statistics.push(floats);
        self.plan.statistics.len() - 1
    }

    fn channelwise(&mut self, tensor: usize) -> Channelwise {
        let params = self.tensor(tensor);
        let start = self.plan.padded_len;
        self.plan.padded_len += blocks(params.len()) * BLOCK;
        Channelwise { padded: start..self.plan.padded_len, params }
    }

    /// Adds a product whose window has a kernel and a stride.
    fn product(&mut self, node: &Node, x: usize, window: [usize; 2], weight: usize, bias: Option<usize>) -> usize {
        let [kernel, stride] = window;
        let (from, to) = (self.plan.slots[x], self.shape(node));
        let geometry =
            Geometry { kernel, stride, inputs: from.channels, units: to.channels, from: from.plane, to: to.plane };
        let start = self.plan.packed_len;
        self.plan.packed_len += geometry.tiles() * TILE;
        let product = Product {
            forward: geometry.forward(),
            backward: if x == 0 { Vec::new() } else { geometry.backward() },
            geometry,
            in_pairs: Geometry { from: from.plane.in_pairs(), to: to.plane.in_pairs(), ..geometry },
            weight: self.tensor(weight),
            packed: start..self.plan.packed_len,
            bias: bias.map(|tensor| self.channelwise(tensor)),
        };
        self.step(Task::Product(Box::new(product)), node, x)
    }
}
