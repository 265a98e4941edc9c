//! A checkpoint in which a network was found: its means and standard deviations, and the same file with permuted units.

use super::binding::{Binding, Bound, Slot, Wanted};
use super::convention::POINTS;
use super::fault;
use super::listing::{Header, Listing, Tensors};
use super::permute::AxisMaps;
use super::source::TensorSource;
use super::transform::Transform;
use crate::error::{Error, Result};
use crate::params::{Layout, Params};
use crate::symmetry::Permutations;
use onebasin_checkpoint::Error::Replacement;
use onebasin_checkpoint::{Checkpoint, DType, Scalar, TensorInfo};
use onebasin_graph::symmetry::{Symmetry, Tie};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A checkpoint of a network: a file, or any other source of tensors.
#[derive(Debug)]
pub struct Member<S = Checkpoint> {
    checkpoint: S,
    binding: Binding,
}

impl<S: TensorSource> Member<S> {
    /// Finds the tensors of the network in a checkpoint.
    pub fn new(checkpoint: S, network: Tensors<'_>, wanted: Wanted<'_>) -> Result<Self> {
        let binding = Self::find(&checkpoint, network, wanted)?;
        Ok(Self { checkpoint, binding })
    }

    /// Finds the tensors of the network once more, after more was learnt of it.
    pub(super) fn found_again(self, network: Tensors<'_>, wanted: Wanted<'_>) -> Result<Self> {
        Self::new(self.checkpoint, network, wanted)
    }

    fn find(checkpoint: &S, network: Tensors<'_>, wanted: Wanted<'_>) -> Result<Binding> {
        let header = |TensorInfo { name, shape, dtype, .. }: &TensorInfo| Header {
            name: name.clone(),
            shape: shape.clone(),
            is_float: dtype.is_float(),
        };
        let number = |(name, scalar): (&String, &Scalar)| match scalar {
            Scalar::Int(number) => Some((name.clone(), *number as f64)),
            Scalar::Float(number) => Some((name.clone(), *number)),
            _ => None,
        };
        let listing = Listing {
            headers: checkpoint.tensors().iter().map(header).collect(),
            shared: checkpoint.shared(),
            numbers: checkpoint.metadata().iter().filter_map(number).collect(),
            classes: checkpoint.classes(),
            read: &|tensor| read(checkpoint, tensor),
        };
        Binding::new(network, &listing, wanted).map_err(|error| error.at(checkpoint.name()))
    }

    /// Where the tensors of the network are.
    pub fn binding(&self) -> &Binding {
        &self.binding
    }

    /// What errors call it; of a file, its path.
    pub fn name(&self) -> Cow<'_, str> {
        self.checkpoint.name()
    }

    /// Number of numbers that it has for each parameter: a mean, and a standard deviation if there is one.
    pub fn moments(&self) -> u128 {
        if self.has_std() { 2 } else { 1 }
    }

    /// Bytes that the tensors of the network take in memory.
    pub fn bytes(&self, layout: &Layout) -> u128 {
        let size = self.narrow().and_then(DType::size).unwrap_or(size_of::<f32>());
        self.moments() * layout.len() as u128 * size as u128
    }

    /// The type of all tensors of a point, if it takes less than 32 bits and each is a tensor of the file.
    pub fn narrow(&self) -> Option<&DType> {
        let tensors =
            || self.binding.tensors.iter().map(|bound| (bound.mean, &self.checkpoint.tensors()[bound.mean.tensor]));
        let (_, TensorInfo { dtype: first, .. }) = tensors().next()?;
        let is_whole =
            |slot: Slot, own: &TensorInfo| slot.offset == 0 && slot.row == own.shape.iter().product::<usize>();
        let alike = |(slot, own): (Slot, &TensorInfo)| own.dtype == *first && is_whole(slot, own);
        let narrow = !self.has_std() && matches!(first, DType::F16 | DType::BF16);
        (narrow && tensors().all(alike)).then_some(first)
    }

    /// The values of a [narrow](Self::narrow) point, as they are in the file.
    pub fn stored(&self, layout: &Layout) -> Result<Vec<u8>> {
        let mut all = Vec::with_capacity(self.bytes(layout) as usize);
        for (index, (tensor, bound)) in layout.tensors().iter().zip(&self.binding.tensors).enumerate() {
            let own = bound.mean.tensor;
            let bytes = self.checkpoint.bytes(own)?;
            let mut values = vec![0.0; tensor.range().len()];
            let converted = self.checkpoint.tensors()[own].dtype.decode(&bytes, &mut values);
            converted.expect("a tensor has as many values as the network's");
            layout.check_finite_tensor(index, &values).map_err(|error| error.at(self.name()))?;
            all.extend_from_slice(&bytes);
        }
        Ok(all)
    }

    /// Whether it has standard deviations.
    pub fn has_std(&self) -> bool {
        self.binding.convention.is_some()
    }

    /// The means of all tensors of the network; values of a point.
    pub fn mean(&self, layout: &Arc<Layout>) -> Result<Params> {
        let (mut mean, mut reader) = (Params::zeros(layout), Reader::new(&self.checkpoint));
        for (tensor, bound) in layout.tensors().iter().zip(&self.binding.tensors) {
            reader.read(bound.mean, &mut mean.values_mut()[tensor.range()])?;
        }
        layout.check_finite(mean.values()).map_err(|error| error.at(self.name()))?;
        Ok(mean)
    }

    /// The standard deviations of all tensors of the network, zero for those that have none.
    pub fn std(&self, mean: &Params) -> Result<Params> {
        let layout = mean.layout();
        let (mut std, mut reader) = (Params::zeros(layout), Reader::new(&self.checkpoint));
        for (tensor, bound) in layout.tensors().iter().zip(&self.binding.tensors) {
            let (mean, std) = (&mean.values()[tensor.range()], &mut std.values_mut()[tensor.range()]);
            reader.std(bound, mean, std)?;
            let is_itself = bound.std.is_some_and(|stored| stored.transform == Transform::Identity);
            if let Some(negative) = std.iter().find(|value| **value < 0.0).filter(|_| is_itself) {
                let name = self.convention();
                let fault = format!(
                    "the standard deviation of `{}` has the value {negative}, so it is not stored itself: name its transform, as in \
                     `--format {name}:softplus` or `--format {name}:exp`",
                    tensor.name()
                );
                return Err(Error::Checkpoint { fault }.at(self.name()));
            }
        }
        let wrong = ("standard deviation", "; `--format` names how it is stored");
        layout
            .refuse(std.values(), wrong, |value| !value.is_finite() || value < 0.0)
            .map_err(|error| error.at(self.name()))?;
        Ok(std)
    }

    /// What permutations make of the bytes of each tensor of the checkpoint, in order; none where nothing changes.
    pub fn permuted<'a>(
        &'a self,
        symmetry: &'a Symmetry,
        permutations: &'a Permutations,
    ) -> impl FnMut(usize) -> Result<Option<Vec<u8>>> + 'a {
        let tensors = self.checkpoint.tensors();
        let mut places: Vec<Vec<(usize, Slot)>> = vec![Vec::new(); tensors.len()];
        for (index, bound) in self.binding.tensors.iter().enumerate() {
            bound.permuted().for_each(|slot| places[slot.tensor].push((index, slot)));
        }
        move |own| {
            let maps =
                places[own].iter().map(|(index, slot)| (AxisMaps::of(&symmetry.tensors[*index], permutations), slot));
            let maps: Vec<(AxisMaps, &Slot)> = maps.filter(|(map, _)| !map.is_identity()).collect();
            if maps.is_empty() {
                return Ok(None);
            }
            let size = tensors[own].dtype.size().expect("floating-point numbers have whole bytes");
            let mut bytes = self.checkpoint.bytes(own)?.into_owned();
            for (map, slot) in maps {
                // Several rows, such as deviations of a low-rank Gaussian, are permuted one by one.
                for row in bytes.chunks_exact_mut(slot.row * size) {
                    let part = &mut row[slot.offset * size..(slot.offset + map.entries()) * size];
                    part.copy_from_slice(&map.apply(part, size));
                }
            }
            Ok(Some(bytes))
        }
    }

    /// The same network in a copy of the checkpoint that differs in values only.
    pub fn of_copy<T: TensorSource>(&self, checkpoint: T) -> Result<Member<T>> {
        let facts = |tensor: &TensorInfo| (tensor.name.clone(), tensor.shape.clone());
        if !checkpoint.tensors().iter().map(facts).eq(self.checkpoint.tensors().iter().map(facts)) {
            let reason = format!("it was changed while {} was compared with it", self.name());
            return Err(Error::File { path: checkpoint.name().into_owned().into(), reason });
        }
        Ok(Member { checkpoint, binding: self.binding.clone() })
    }

    /// The checkpoint.
    pub fn checkpoint(&self) -> &S {
        &self.checkpoint
    }

    /// Tensors of the network that share their bytes in the file.
    pub(super) fn ties(&self, symmetry: &Symmetry) -> Vec<Tie> {
        let mut ties = Vec::new();
        for group in self.checkpoint.shared() {
            let means = |index: &usize| group.contains(&self.binding.tensors[*index].mean.tensor);
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

    /// Name of the convention by which it stores a posterior.
    pub fn convention(&self) -> &'static str {
        self.binding.convention.unwrap_or(POINTS)
    }

    /// The Wasserstein distance W2 from another checkpoint, tensor by tensor; of points, the Euclidean distance.
    pub fn distance(&self, other: &Self, layout: &Layout) -> Result<f64> {
        let mut sum = 0.0;
        let [mut own, mut others] = [self, other].map(|member| Reader::new(&member.checkpoint));
        for (index, tensor) in layout.tensors().iter().enumerate() {
            let len = tensor.range().len();
            let pairs = own
                .moments(&self.binding.tensors[index], len)?
                .into_iter()
                .zip(others.moments(&other.binding.tensors[index], len)?);
            for (own, other) in pairs {
                sum += own.iter().zip(other).map(|(own, other)| f64::from(own - other).powi(2)).sum::<f64>();
            }
        }
        Ok(sum.sqrt())
    }

    /// The names of the file's tensors that hold the means, in the order of the network's.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.binding.tensors.iter().map(|bound| &*self.checkpoint.tensors()[bound.mean.tensor].name)
    }
}

impl Member {
    /// Opens a file and finds the tensors of the network in it.
    pub fn open(path: &Path, network: Tensors<'_>, wanted: Wanted<'_>) -> Result<Self> {
        Self::new(Checkpoint::open(path).map_err(fault)?, network, wanted)
    }

    /// The format of the file, in words.
    pub fn format(&self) -> String {
        self.checkpoint.format().to_string()
    }

    /// Writes the same file with its units permuted; every other byte stays.
    pub fn write(&self, to: &Path, symmetry: &Symmetry, permutations: &Permutations) -> Result<()> {
        let mut permuted = self.permuted(symmetry, permutations);
        let mut replace = |tensor| permuted(tensor).map_err(|error| Replacement(Box::new(error)));
        self.checkpoint.write(to, &mut replace).map_err(fault)
    }

    /// A copy of the file that differs in values only.
    pub fn reopen(&self, path: &Path) -> Result<Self> {
        self.of_copy(Checkpoint::open(path).map_err(fault)?)
    }
}

/// Reads tensors of a network one by one, and vectors of all parameters only once.
struct Reader<'a, S> {
    checkpoint: &'a S,
    vectors: BTreeMap<usize, Vec<f32>>,
}

impl<'a, S: TensorSource> Reader<'a, S> {
    fn new(checkpoint: &'a S) -> Self {
        Self { checkpoint, vectors: BTreeMap::new() }
    }

    fn read(&mut self, slot: Slot, out: &mut [f32]) -> Result<()> {
        if slot.row == out.len() {
            return self.checkpoint.read(slot.tensor, out);
        }
        if !self.vectors.contains_key(&slot.tensor) {
            self.vectors.insert(slot.tensor, read(self.checkpoint, slot.tensor)?);
        }
        out.copy_from_slice(&self.vectors[&slot.tensor][slot.offset..][..out.len()]);
        Ok(())
    }

    /// The standard deviations of a tensor; zeros stay if it has none.
    fn std(&mut self, bound: &Bound, mean: &[f32], std: &mut [f32]) -> Result<()> {
        let Some(stored) = bound.std else { return Ok(()) };
        self.read(stored.slot, std)?;
        let mut prior = vec![0.0; stored.prior.map_or(0, |_| std.len())];
        if let Some(slot) = stored.prior {
            self.read(slot, &mut prior)?;
        }
        for (index, (std, mean)) in std.iter_mut().zip(mean).enumerate() {
            let transform =
                prior.get(index).map_or(stored.transform, |prior| stored.transform.with_prior(f64::from(*prior)));
            *std = transform.std(*std, *mean);
        }
        Ok(())
    }

    /// Mean and standard deviation of a tensor.
    fn moments(&mut self, bound: &Bound, len: usize) -> Result<[Vec<f32>; 2]> {
        let (mut mean, mut std) = (vec![0.0; len], vec![0.0; len]);
        self.read(bound.mean, &mut mean)?;
        self.std(bound, &mean, &mut std)?;
        Ok([mean, std])
    }
}

/// All values of a tensor.
fn read(checkpoint: &impl TensorSource, tensor: usize) -> Result<Vec<f32>> {
    let mut values = vec![0.0; checkpoint.tensors()[tensor].shape.iter().product()];
    checkpoint.read(tensor, &mut values)?;
    Ok(values)
}
