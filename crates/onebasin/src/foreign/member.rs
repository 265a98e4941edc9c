//! A checkpoint in which a network was found: its means and standard deviations, and the same file with permuted units.

use super::binding::{Binding, Header, Wanted};
use super::convention::POINTS;
use super::fault;
use super::permute::AxisMaps;
use crate::error::{Error, Result};
use crate::params::{Layout, Params};
use crate::symmetry::Permutations;
use onebasin_checkpoint::{Checkpoint, TensorInfo};
use onebasin_graph::symmetry::{Symmetry, Tie};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A checkpoint of a network.
#[derive(Debug)]
pub struct Member {
    path: PathBuf,
    checkpoint: Checkpoint,
    binding: Binding,
}

impl Member {
    /// Opens a checkpoint and finds the tensors of the network in it.
    ///
    /// `aliases` are other names of the network's tensors.
    pub fn open(
        path: &Path,
        symmetry: &Symmetry,
        aliases: &BTreeMap<String, String>,
        wanted: Wanted<'_>,
    ) -> Result<Self> {
        let checkpoint = Checkpoint::open(path).map_err(fault)?;
        let header = |TensorInfo { name, shape, dtype, .. }: &TensorInfo| Header {
            name: name.clone(),
            shape: shape.clone(),
            is_float: dtype.is_float(),
        };
        let headers: Vec<Header> = checkpoint.tensors().iter().map(header).collect();
        let binding = Binding::new(symmetry, &headers, (checkpoint.shared(), aliases), wanted)
            .map_err(|error| error.at(path.display()))?;
        Ok(Self { path: path.to_owned(), checkpoint, binding })
    }

    /// Where the tensors of the network are.
    pub fn binding(&self) -> &Binding {
        &self.binding
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The format of the file, in words.
    pub fn format(&self) -> String {
        self.checkpoint.format().to_string()
    }

    /// Bytes of all tensors of the network as numbers of 32 bits: means, and standard deviations if there are some.
    pub fn bytes(&self, layout: &Layout) -> u128 {
        let each = if self.has_std() { 2 } else { 1 };
        each * layout.len() as u128 * size_of::<f32>() as u128
    }

    /// Whether it has standard deviations.
    pub fn has_std(&self) -> bool {
        self.binding.convention.is_some()
    }

    /// The means of all tensors of the network; values of a point.
    pub fn mean(&self, layout: &Arc<Layout>) -> Result<Params> {
        let mut mean = Params::zeros(layout);
        for (tensor, bound) in layout.tensors().iter().zip(&self.binding.tensors) {
            self.checkpoint.read_f32(bound.mean, &mut mean.values_mut()[tensor.range()]).map_err(fault)?;
        }
        layout.check_finite(mean.values()).map_err(|error| error.at(self.path.display()))?;
        Ok(mean)
    }

    /// The standard deviations of all tensors of the network, zero for those that have none.
    pub fn std(&self, mean: &Params) -> Result<Params> {
        let layout = mean.layout();
        let mut std = Params::zeros(layout);
        let Some(convention) = self.binding.convention else { return Ok(std) };
        for (tensor, bound) in layout.tensors().iter().zip(&self.binding.tensors) {
            let Some(scale) = bound.scale else { continue };
            let values = &mut std.values_mut()[tensor.range()];
            self.checkpoint.read_f32(scale, values).map_err(fault)?;
            for (value, mean) in values.iter_mut().zip(&mean.values()[tensor.range()]) {
                *value = convention.transform.std(*value, *mean);
            }
        }
        let wrong = ("standard deviation", "; `--format` names how it is stored");
        layout
            .refuse(std.values(), wrong, |value| !value.is_finite() || value < 0.0)
            .map_err(|error| error.at(self.path.display()))?;
        Ok(std)
    }

    /// Writes the same file with its units permuted; every other byte stays.
    pub fn write(&self, to: &Path, symmetry: &Symmetry, permutations: &Permutations) -> Result<()> {
        let tensors = self.checkpoint.tensors();
        let mut maps: Vec<Option<usize>> = vec![None; tensors.len()];
        for index in 0..self.binding.tensors.len() {
            for own in self.binding.permuted(index) {
                maps[own] = Some(index);
            }
        }
        let written = self.checkpoint.write(to, &mut |own| {
            let Some(index) = maps[own] else { return Ok(None) };
            let map = AxisMaps::of(&symmetry.tensors[index], permutations);
            if map.is_identity() {
                return Ok(None);
            }
            let size = tensors[own].dtype.size().expect("floating-point numbers have whole bytes");
            let bytes = self.checkpoint.read_bytes(own)?;
            // Several rows of all entries each, such as deviations of a low-rank Gaussian, are permuted one by one.
            let whole = map.entries() * size;
            Ok(Some(bytes.chunks_exact(whole).flat_map(|row| map.apply(row, size)).collect()))
        });
        written.map_err(fault)
    }

    /// Tensors of the network that share their bytes in the file.
    pub(super) fn ties(&self, symmetry: &Symmetry) -> Vec<Tie> {
        let mut ties = Vec::new();
        for group in self.checkpoint.shared() {
            let means = |index: &usize| group.contains(&self.binding.tensors[*index].mean);
            let own: Vec<usize> = (0..self.binding.tensors.len()).filter(means).collect();
            for pair in own.windows(2) {
                let [first, second] = [pair[0], pair[1]].map(|index| &symmetry.tensors[index]);
                if first.shape == second.shape && first.axes != second.axes {
                    ties.push(Tie { first: first.name.clone(), second: second.name.clone(), transposed: false });
                }
            }
        }
        ties
    }

    /// A copy of the file that differs in values only.
    pub fn reopen(&self, path: &Path) -> Result<Self> {
        let checkpoint = Checkpoint::open(path).map_err(fault)?;
        let same = checkpoint.tensors().iter().map(|tensor| (&tensor.name, &tensor.shape)).eq(self
            .checkpoint
            .tensors()
            .iter()
            .map(|tensor| (&tensor.name, &tensor.shape)));
        if !same {
            let reason = format!("it was changed while {} was compared with it", self.path.display());
            return Err(Error::File { path: path.to_owned(), reason });
        }
        Ok(Self { path: path.to_owned(), checkpoint, binding: self.binding.clone() })
    }

    /// Name of the convention by which it stores a posterior.
    pub fn convention(&self) -> &'static str {
        self.binding.convention.map_or(POINTS, |convention| convention.name)
    }

    /// The Wasserstein distance W2 from another checkpoint, tensor by tensor; of points, the Euclidean distance.
    pub fn distance(&self, other: &Self, layout: &Layout) -> Result<f64> {
        let mut sum = 0.0;
        for index in 0..layout.tensors().len() {
            let [own, other] = [self, other].map(|member| member.tensor(index, layout));
            let (own, other) = (own?, other?);
            for (own, other) in own.iter().zip(&other) {
                sum += own.iter().zip(other).map(|(own, other)| f64::from(own - other).powi(2)).sum::<f64>();
            }
        }
        Ok(sum.sqrt())
    }

    /// Mean and standard deviation of one tensor of the network.
    fn tensor(&self, index: usize, layout: &Layout) -> Result<[Vec<f32>; 2]> {
        let (len, bound) = (layout.tensors()[index].range().len(), &self.binding.tensors[index]);
        let (mut mean, mut std) = (vec![0.0; len], vec![0.0; len]);
        self.checkpoint.read_f32(bound.mean, &mut mean).map_err(fault)?;
        if let (Some(scale), Some(convention)) = (bound.scale, self.binding.convention) {
            self.checkpoint.read_f32(scale, &mut std).map_err(fault)?;
            std.iter_mut().zip(&mean).for_each(|(std, mean)| *std = convention.transform.std(*std, *mean));
        }
        Ok([mean, std])
    }

    /// The names of the file's tensors that hold the means, in the order of the network's.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.binding.tensors.iter().map(|bound| &*self.checkpoint.tensors()[bound.mean].name)
    }
}
