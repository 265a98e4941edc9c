//! Where the tensors of a checkpoint are: in a file, or in arrays that the caller holds in memory.

use super::fault;
use crate::error::{Error, Result};
use onebasin_checkpoint::{Checkpoint, DType, Scalar, TensorInfo};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Tensors with names, whose bytes can be read one tensor at a time.
pub trait TensorSource: fmt::Debug + Sync {
    /// What errors call it.
    fn name(&self) -> Cow<'_, str>;

    /// All tensors, in order.
    fn tensors(&self) -> &[TensorInfo];

    /// Groups of tensors that share bytes, such as tied weights.
    fn shared(&self) -> &[Vec<usize>];

    /// What it holds beside tensors.
    fn metadata(&self) -> &BTreeMap<String, Scalar>;

    /// Classes of its objects that are not interpreted, by the names of the objects.
    fn classes(&self) -> &BTreeMap<String, String>;

    /// The bytes of a tensor, row-major and little-endian.
    fn bytes(&self, tensor: usize) -> Result<Cow<'_, [u8]>>;

    /// The values of a tensor of a floating-point type, row-major; `out` has as many values as the tensor.
    fn read(&self, tensor: usize, out: &mut [f32]) -> Result<()>;
}

impl TensorSource for Checkpoint {
    fn name(&self) -> Cow<'_, str> {
        self.path().to_string_lossy()
    }
    fn tensors(&self) -> &[TensorInfo] {
        self.tensors()
    }
    fn shared(&self) -> &[Vec<usize>] {
        self.shared()
    }
    fn metadata(&self) -> &BTreeMap<String, Scalar> {
        self.metadata()
    }
    fn classes(&self) -> &BTreeMap<String, String> {
        self.classes()
    }
    fn bytes(&self, tensor: usize) -> Result<Cow<'_, [u8]>> {
        self.read_bytes(tensor).map(Cow::Owned).map_err(fault)
    }
    fn read(&self, tensor: usize, out: &mut [f32]) -> Result<()> {
        self.read_f32(tensor, out).map_err(fault)
    }
}

/// An array of the caller, which is not copied.
#[derive(Clone, Debug)]
pub struct Array<'a> {
    /// Its name.
    pub name: String,
    /// Number of indices of each axis.
    pub shape: Vec<usize>,
    /// Type of the elements.
    pub dtype: DType,
    /// The elements, row-major and little-endian.
    pub bytes: &'a [u8],
}

/// Arrays of the caller, as a checkpoint.
#[derive(Clone, Debug)]
pub struct Arrays<'a> {
    name: String,
    tensors: Vec<TensorInfo>,
    bytes: Vec<&'a [u8]>,
    shared: Vec<Vec<usize>>,
    metadata: BTreeMap<String, Scalar>,
    classes: BTreeMap<String, String>,
}

impl<'a> Arrays<'a> {
    /// The checkpoint that errors call `name`. `metadata` is what it holds beside tensors.
    pub fn new(name: &str, arrays: Vec<Array<'a>>, metadata: BTreeMap<String, Scalar>) -> Result<Self> {
        let mut tensors = Vec::with_capacity(arrays.len());
        let mut bytes = Vec::with_capacity(arrays.len());
        let mut places: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (index, Array { name: own, shape, dtype, bytes: values }) in arrays.into_iter().enumerate() {
            let info = TensorInfo::new(own, shape, dtype);
            if info.bytes != values.len() {
                let why = format!("array `{}` of {name} has the shape {:?}", info.name, info.shape);
                return Err(Error::Length { what: "the array", got: values.len(), expected: info.bytes, why });
            }
            if !values.is_empty() {
                places.entry((values.as_ptr() as usize, values.len())).or_default().push(index);
            }
            tensors.push(info);
            bytes.push(values);
        }
        let shared = places.into_values().filter(|group| group.len() > 1).collect();
        Ok(Self { name: name.to_owned(), tensors, bytes, shared, metadata, classes: BTreeMap::new() })
    }

    /// The same checkpoint with other bytes of some tensors. Tensors that share bytes must stay equal.
    pub fn with<'b>(&'b self, replaced: &'b [Option<Vec<u8>>]) -> Result<Arrays<'b>> {
        let bytes = self.bytes.iter().zip(replaced).map(|(own, other)| other.as_deref().unwrap_or(own));
        let copy = Arrays { bytes: bytes.collect(), ..self.clone() };
        for group in &self.shared {
            if let Some(pair) = group.windows(2).find(|pair| copy.bytes[pair[0]] != copy.bytes[pair[1]]) {
                let [first, second] = [pair[0], pair[1]].map(|tensor| &self.tensors[tensor].name);
                let fault = format!(
                    "{}: `{first}` and `{second}` share memory, but would have different values; tie them in the symmetry, or copy \
                     `{second}` first",
                    self.name
                );
                return Err(Error::Checkpoint { fault });
            }
        }
        Ok(copy)
    }
}

impl TensorSource for Arrays<'_> {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.name)
    }
    fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }
    fn shared(&self) -> &[Vec<usize>] {
        &self.shared
    }
    fn metadata(&self) -> &BTreeMap<String, Scalar> {
        &self.metadata
    }
    fn classes(&self) -> &BTreeMap<String, String> {
        &self.classes
    }
    fn bytes(&self, tensor: usize) -> Result<Cow<'_, [u8]>> {
        Ok(Cow::Borrowed(self.bytes[tensor]))
    }
    fn read(&self, tensor: usize, out: &mut [f32]) -> Result<()> {
        let TensorInfo { name, dtype, .. } = &self.tensors[tensor];
        dtype.decode(self.bytes[tensor], out).ok_or_else(|| {
            let fault = format!(
                "{}: `{name}` is {dtype}, which is not converted to f32; f64, f32, f16 and bf16 are",
                self.name
            );
            Error::Checkpoint { fault }
        })
    }
}
