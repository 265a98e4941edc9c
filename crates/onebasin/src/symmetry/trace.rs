//! Follows units through a network's nodes to find which of them can only be reordered together.

use super::{Action, Group, Segment, Spec};
use crate::arch::{Arch, Op};
use std::cmp::Ordering;

/// The symmetries of a network.
///
/// Every layer makes a class of units. Where two nodes are added, the classes that meet are joined, and cut where their
/// borders do not; what is left in the end are the groups.
pub(super) fn spec(arch: &Arch) -> Spec {
    let mut classes = Classes::default();
    let mut nodes: Vec<Axis> = Vec::new();
    let mut tensors: Vec<Vec<TensorAxis>> = vec![Vec::new(); arch.layout().tensors().len()];
    for (index, node) in arch.nodes().iter().enumerate() {
        let input = nodes.get(node.input).cloned();
        let before = || input.clone().expect("a node reads an earlier one");
        let channels = node.shape.channels;
        // The order of the classes is known outside.
        let state = if index + 1 == arch.nodes().len() { State::Fixed } else { State::Permutable };
        let axis = match node.op {
            Op::Input => Axis::of(classes.add(State::Fixed, channels)),
            Op::Flatten => {
                let from = arch.nodes()[node.input].shape;
                let Axis { classes, positions } = before();
                Axis { classes, positions: positions * from.height * from.width }
            }
            Op::Dense { weight, bias } => {
                let own = Axis::of(classes.add(state, channels));
                tensors[weight] = [before(), own.clone()].map(TensorAxis::Units).to_vec();
                tensors[bias] = vec![TensorAxis::Units(own.clone())];
                own
            }
            Op::Conv { kernel, weight, bias, .. } => {
                let own = Axis::of(classes.add(state, channels));
                let units = [before(), own.clone()].map(TensorAxis::Units);
                tensors[weight] =
                    [TensorAxis::Filter(kernel), TensorAxis::Filter(kernel)].into_iter().chain(units).collect();
                if let Some(bias) = bias {
                    tensors[bias] = vec![TensorAxis::Units(own.clone())];
                }
                own
            }
            Op::LayerNorm { gamma, beta } => {
                for tensor in [gamma, beta] {
                    tensors[tensor] = vec![TensorAxis::Units(before())];
                }
                before()
            }
            Op::Frn { gamma, beta, tau } => {
                for tensor in [gamma, beta, tau] {
                    tensors[tensor] = vec![TensorAxis::Units(before())];
                }
                before()
            }
            Op::Activate(_) | Op::Pool(_) | Op::GlobalAverage => before(),
            Op::PadShortcut { .. } => {
                let mut axis = before();
                let fresh = channels - arch.nodes()[node.input].shape.channels;
                axis.classes.push(classes.add(State::Permutable, fresh));
                axis
            }
            Op::Add(other) => {
                let axis = before();
                classes.unify(&axis.classes, &nodes[other].classes);
                axis
            }
        };
        nodes.push(axis);
    }
    let (groups, group_of) = name_groups(arch, &classes, &nodes);
    let segments = |axis: &TensorAxis| match axis {
        TensorAxis::Filter(size) => vec![Segment::new(Action::Free, *size)],
        TensorAxis::Units(axis) => classes.segments(axis, &group_of),
    };
    let axes = tensors.iter().map(|axes| axes.iter().map(segments).collect()).collect();
    let hidden = arch.hidden().map(|(index, _)| classes.segments(&nodes[index], &group_of)).collect();
    let spec = Spec::new(arch.layout(), groups, axes).and_then(|spec| spec.with_hidden(hidden));
    spec.expect("the nodes of a network fit its layout")
}

/// The groups, named after the first hidden layer that has them, and the group of each class that is one.
fn name_groups(arch: &Arch, classes: &Classes, nodes: &[Axis]) -> (Vec<Group>, Vec<Option<usize>>) {
    let mut groups = Vec::new();
    let mut group_of = vec![None; classes.sizes.len()];
    for (index, node) in arch.hidden() {
        for class in classes.leaves(&nodes[index].classes) {
            if classes.states[class] == State::Permutable && group_of[class].is_none() {
                group_of[class] = Some(groups.len());
                let name = node.name.strip_suffix(".out").unwrap_or(&node.name);
                // What leaves the first block of a stage is the stream of the whole stage.
                let name = name.strip_suffix(".block1").unwrap_or(name).to_owned();
                groups.push(Group::new(name, classes.sizes[class]));
            }
        }
    }
    (groups, group_of)
}

type Class = usize;

/// The units of a node, repeated for each position that was flattened into them.
#[derive(Clone, Debug)]
struct Axis {
    classes: Vec<Class>,
    positions: usize,
}

impl Axis {
    fn of(class: Class) -> Self {
        Self { classes: vec![class], positions: 1 }
    }
}

#[derive(Clone, Debug)]
enum TensorAxis {
    Filter(usize),
    Units(Axis),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Permutable,
    Fixed,
    Joined(Class),
    Cut(Class, Class),
}

/// Units that can only be reordered together, as far as is known.
#[derive(Debug, Default)]
struct Classes {
    sizes: Vec<usize>,
    states: Vec<State>,
}

impl Classes {
    fn add(&mut self, state: State, size: usize) -> Class {
        self.sizes.push(size);
        self.states.push(state);
        self.sizes.len() - 1
    }

    /// What these classes have become, in order.
    fn leaves(&self, classes: &[Class]) -> Vec<Class> {
        let mut open: Vec<Class> = classes.iter().rev().copied().collect();
        let mut leaves = Vec::new();
        while let Some(class) = open.pop() {
            match self.states[class] {
                State::Permutable | State::Fixed => leaves.push(class),
                State::Joined(other) => open.push(other),
                State::Cut(first, second) => open.extend([second, first]),
            }
        }
        leaves
    }

    /// Makes two axes of equally many units one and the same.
    fn unify(&mut self, one: &[Class], other: &[Class]) {
        loop {
            let (one, other) = (self.leaves(one), self.leaves(other));
            let Some((&one, &other)) = one.iter().zip(&other).find(|(one, other)| one != other) else {
                return;
            };
            match self.sizes[one].cmp(&self.sizes[other]) {
                Ordering::Less => self.cut(other, self.sizes[one]),
                Ordering::Greater => self.cut(one, self.sizes[other]),
                Ordering::Equal => {
                    let fixed = [one, other].iter().any(|class| self.states[*class] == State::Fixed);
                    self.states[one] = if fixed { State::Fixed } else { State::Permutable };
                    self.states[other] = State::Joined(one);
                }
            }
        }
    }

    fn cut(&mut self, class: Class, at: usize) {
        let (state, size) = (self.states[class], self.sizes[class]);
        let parts = (self.add(state, at), self.add(state, size - at));
        self.states[class] = State::Cut(parts.0, parts.1);
    }

    fn segments(&self, axis: &Axis, group_of: &[Option<usize>]) -> Vec<Segment> {
        let segment = |class: Class| {
            let action = group_of[class].map_or(Action::Fixed, Action::Permuted);
            Segment::new(action, self.sizes[class])
        };
        let once: Vec<Segment> = self.leaves(&axis.classes).into_iter().map(segment).collect();
        match once[..] {
            [only] => vec![Segment { blocks: axis.positions, ..only }],
            _ => once.repeat(axis.positions),
        }
    }
}
