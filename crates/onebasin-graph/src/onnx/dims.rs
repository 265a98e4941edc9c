//! Sizes of axes that differ from run to run: those that the caller gives, and the batch.

use std::collections::{BTreeMap, BTreeSet};

use super::proto::{Dim, ValueInfo};
use crate::error::{Error, Result};

/// What the caller decides before a network is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Sizes of axes that the file gives a name in place of a size. An axis of an input without a name is called `INPUT.AXIS`.
    /// The first axis of an input is 1 if it is not given.
    pub dims: BTreeMap<String, usize>,
    /// Copies that are tensors of their own. Exporters merge tensors that are equal when they export, such as the fresh parameters of
    /// normalisations; [`Network::copies`](super::Network) lists them. Only name those that are known to differ in the
    /// checkpoint: tensors that the network shares must stay equal.
    pub separate: BTreeSet<String>,
    /// Floating-point tensors of the file that are no tensors of the checkpoint, such as masks that the exporter computed: they become
    /// constants, along which units stay fixed where their entries differ.
    pub constants: BTreeSet<String>,
}

/// The sizes of named axes.
#[derive(Clone, Debug)]
pub(super) struct Dims(BTreeMap<String, usize>);

impl Dims {
    /// Those that the caller gives.
    pub(super) fn new(options: &Options) -> Self {
        Self(options.dims.clone())
    }

    /// The shape of an input of the network.
    pub(super) fn input(&mut self, info: &ValueInfo) -> Result<Vec<usize>> {
        let place = || format!("input `{}`", info.name);
        let Some(dims) = &info.shape else {
            return Err(Error::new(place(), "the file does not say its shape; export with example inputs"));
        };
        let mut shape = Vec::with_capacity(dims.len());
        for (axis, dim) in dims.iter().enumerate() {
            let name = match dim {
                Dim::Size(size) if *size > 0 => {
                    shape.push(*size as usize);
                    continue;
                }
                Dim::Named(name) if !name.is_empty() => name.clone(),
                _ => format!("{}.{axis}", info.name),
            };
            let size = match self.0.get(&name) {
                Some(size) => *size,
                None if axis == 0 => 1,
                None => {
                    let fault = format!("the size of its axis {axis} is not fixed; give it with --dim {name}=N");
                    return Err(Error::new(place(), fault));
                }
            };
            self.0.insert(name, size);
            shape.push(size);
        }
        Ok(shape)
    }

    /// The sizes that are known of a stated shape.
    pub(super) fn sizes(&self, dims: &[Dim]) -> Vec<Option<usize>> {
        let size = |dim: &Dim| match dim {
            Dim::Size(size) => usize::try_from(*size).ok().filter(|size| *size > 0),
            Dim::Named(name) => self.0.get(name).copied(),
            Dim::Unknown => None,
        };
        dims.iter().map(size).collect()
    }
}
