//! Compares tensors of an ONNX file with those of a checkpoint by their entries, where an exporter has renamed or merged them.

use super::fault;
use super::source::TensorSource;
use crate::error::Result;
use crate::hash::Hasher;
use onebasin_graph::onnx;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

/// A tensor of a checkpoint with the same entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Match {
    /// Its name in the checkpoint, without what stands before the names of all tensors of the network.
    pub(super) name: String,
    /// Whether its axes are in reversed order.
    pub(super) transposed: bool,
}

/// The tensors of a checkpoint.
pub(super) struct Contents<'a, S> {
    network: &'a onnx::Network,
    checkpoint: &'a S,
    /// What stands before the names of the network's tensors.
    prefix: String,
}

impl<'a, S: TensorSource> Contents<'a, S> {
    pub(super) fn new(network: &'a onnx::Network, checkpoint: &'a S) -> Self {
        let mut named =
            network.graph.tensors().map(|tensor| &*tensor.name).filter(|name| onnx::looks_like_parameter(name));
        let before = |name: &str| {
            let all = checkpoint.tensors().iter().filter_map(|tensor| tensor.name.strip_suffix(name));
            all.filter(|before| before.is_empty() || before.ends_with(['.', '/'])).min_by_key(|before| before.len())
        };
        let prefix = named.find_map(before).unwrap_or_default().to_owned();
        Self { network, checkpoint, prefix }
    }

    /// The tensors that have the entries of initializers of these names; those that are not found are left out.
    pub(super) fn matches(&self, names: &[&str]) -> Result<BTreeMap<String, Match>> {
        let wanted: BTreeMap<&str, &onnx::Initializer> = names
            .iter()
            .filter_map(|name| Some((*name, self.network.initializer(name)?)))
            .filter(|(_, initializer)| initializer.is_stored())
            .collect();
        let shapes: BTreeSet<Vec<usize>> = wanted.values().map(|own| sorted(&own.shape)).collect();
        let mut known: BTreeMap<String, Match> = BTreeMap::new();
        for (index, tensor) in self.checkpoint.tensors().iter().enumerate() {
            if !tensor.dtype.is_float() || !shapes.contains(&sorted(&tensor.shape)) {
                continue;
            }
            let values = self.values(index)?;
            let name = tensor.name.strip_prefix(&*self.prefix).unwrap_or(&tensor.name).to_owned();
            if let [rows, columns] = tensor.shape[..] {
                let flipped = transpose(&values, rows, columns);
                let found = Match { name: name.clone(), transposed: true };
                known.entry(key(&[columns, rows], &flipped)).or_insert(found);
            }
            // As it is comes before transposed, which a matrix of equal entries could also be.
            known.insert(key(&tensor.shape, &values), Match { name, transposed: false });
        }
        let mut found = BTreeMap::new();
        for (name, initializer) in wanted {
            if let Some(own) = known.get(&key(&initializer.shape, &initializer.read_f32().map_err(fault)?)) {
                found.insert(name.to_owned(), own.clone());
            }
        }
        Ok(found)
    }

    /// Names of tensors that the exporter merged with others and that differ from them in the checkpoint.
    pub(super) fn separate(&self) -> Result<BTreeSet<String>> {
        let index = |name: &str| {
            let name = format!("{}{name}", self.prefix);
            self.checkpoint.tensors().iter().position(|tensor| tensor.name == name)
        };
        let mut separate = BTreeSet::new();
        for onnx::Copied { name, of } in &self.network.copies {
            if let (Some(own), Some(other)) = (index(name), index(of))
                && self.checkpoint.tensors()[own].dtype.is_float()
                && self.values(own)? != self.values(other)?
            {
                separate.insert(name.clone());
            }
        }
        Ok(separate)
    }

    fn values(&self, tensor: usize) -> Result<Vec<f32>> {
        let mut values = vec![0.0; self.checkpoint.tensors()[tensor].shape.iter().product()];
        self.checkpoint.read(tensor, &mut values)?;
        Ok(values)
    }
}

fn sorted(shape: &[usize]) -> Vec<usize> {
    let mut sizes = shape.to_vec();
    sizes.sort_unstable();
    sizes
}

fn transpose(values: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|column| (0..rows).map(move |row| values[row * columns + column])).collect()
}

fn key(shape: &[usize], values: &[f32]) -> String {
    let mut hasher = Hasher::default();
    let mut add = |bytes: &[u8]| hasher.write_all(bytes).expect("a hash takes everything");
    add(format!("{shape:?}").as_bytes());
    for value in values {
        add(&value.to_le_bytes());
    }
    hasher.hex()
}
