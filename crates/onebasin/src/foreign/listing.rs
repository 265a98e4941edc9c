//! What is known of a network and of a checkpoint before the network is found in it: names, shapes and numbers.

use crate::error::Result;
use onebasin_graph::symmetry::Symmetry;
use std::collections::BTreeMap;
use std::fmt;

/// A tensor of a checkpoint, without its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Whether its elements are floating-point numbers.
    pub is_float: bool,
}

impl Header {
    /// Number of its entries.
    pub fn entries(&self) -> usize {
        self.shape.iter().product()
    }
}

/// A checkpoint without the values of its tensors.
pub struct Listing<'a> {
    /// Its tensors.
    pub headers: Vec<Header>,
    /// Groups of tensors that share their bytes, such as tied weights.
    pub shared: &'a [Vec<usize>],
    /// Its numbers that are no tensors, by their names.
    pub numbers: BTreeMap<String, f64>,
    /// Classes of its objects that are no tensors, by their names.
    pub classes: &'a BTreeMap<String, String>,
    /// Reads the values of a tensor.
    pub read: &'a dyn Fn(usize) -> Result<Vec<f32>>,
}

impl fmt::Debug for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listing").field("headers", &self.headers).finish_non_exhaustive()
    }
}

impl Listing<'_> {
    /// The index of the tensor with this name.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.headers.iter().position(|header| header.name == name)
    }

    /// A number: itself, or a tensor of one entry.
    pub fn number(&self, name: &str) -> Result<Option<f64>> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(Some(*number));
        }
        let tensor =
            self.index(name).filter(|index| self.headers[*index].is_float && self.headers[*index].entries() == 1);
        tensor.map(|tensor| Ok(f64::from((self.read)(tensor)?[0]))).transpose()
    }
}

/// The tensors of a network that a checkpoint should have.
#[derive(Clone, Copy, Debug)]
pub struct Tensors<'a> {
    /// Their names, shapes and units.
    pub symmetry: &'a Symmetry,
    /// Other names of the same tensors.
    pub aliases: &'a BTreeMap<String, String>,
    /// Whether their order is that of the parameters of the model.
    pub in_order: bool,
}
