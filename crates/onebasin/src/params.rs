//! Points in the space of a network's parameters: named f32 arrays in one contiguous buffer.

use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Name and shape of one tensor, and where it lies in the buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    name: String,
    shape: Vec<usize>,
    range: Range<usize>,
}

impl Tensor {
    /// The name, unique in its layout.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// The shape, row-major.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }
    /// Where its values lie in the flat buffer.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }
}

/// What is wrong with a value that is NaN or infinite.
const NOT_FINITE: (&str, &str) = ("value", "; the posterior has diverged");

/// Names and shapes of all tensors of a network, in order, without gaps.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Layout {
    tensors: Vec<Tensor>,
    by_name: BTreeMap<String, usize>,
    len: usize,
}

impl Layout {
    /// Lays the tensors out one behind the other.
    pub fn new<'a>(tensors: impl IntoIterator<Item = (&'a str, &'a [usize])>) -> Result<Self> {
        let mut layout = Self::default();
        tensors.into_iter().try_for_each(|(name, shape)| layout.push(name, shape).map(drop))?;
        Ok(layout)
    }

    /// Appends a tensor and returns its index.
    pub(crate) fn push(&mut self, name: &str, shape: &[usize]) -> Result<usize> {
        if shape.contains(&0) {
            return Err(Error::Zero { what: format!("an axis of tensor `{name}` {shape:?}") });
        }
        // Half the address space in bytes: what a Vec<f32> can hold at most.
        let limit = isize::MAX as usize / size_of::<f32>();
        let size = shape.iter().try_fold(1usize, |size, axis| size.checked_mul(*axis));
        let Some(end) = size.and_then(|size| self.len.checked_add(size)).filter(|end| *end <= limit) else {
            return Err(Error::TooLarge { what: format!("tensor `{name}`"), size: size.unwrap_or(usize::MAX) });
        };
        let index = self.tensors.len();
        if self.by_name.insert(name.to_owned(), index).is_some() {
            return Err(Error::NameTwice { name: name.to_owned() });
        }
        self.tensors.push(Tensor { name: name.to_owned(), shape: shape.to_vec(), range: self.len..end });
        self.len = end;
        Ok(index)
    }

    /// The tensors, in order.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }
    /// Number of values in all tensors together.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there is no value at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The tensor of this name.
    pub fn tensor(&self, name: &str) -> Result<&Tensor> {
        let found = self.by_name.get(name).map(|index| &self.tensors[*index]);
        found.ok_or_else(|| Error::unknown("tensor", name, self.tensors.iter().map(Tensor::name)))
    }

    /// Refuses values of which one `is_wrong`: a `what` with this `fault`.
    pub(crate) fn refuse(
        &self,
        values: &[f32],
        (what, fault): (&'static str, &'static str),
        is_wrong: impl Fn(f32) -> bool,
    ) -> Result<()> {
        let Some(at) = values.iter().position(|value| is_wrong(*value)) else { return Ok(()) };
        let tensor = self.tensors.iter().find(|tensor| tensor.range.contains(&at)).expect("every value is in a tensor");
        Err(Error::TensorValue { what, tensor: tensor.name.clone(), value: values[at].to_string(), fault })
    }

    /// Refuses values that are NaN or infinite, which a training that diverged leaves.
    pub(crate) fn check_finite(&self, values: &[f32]) -> Result<()> {
        self.refuse(values, NOT_FINITE, |value| !value.is_finite())
    }

    /// The same for the values of one tensor.
    pub(crate) fn check_finite_tensor(&self, tensor: usize, values: &[f32]) -> Result<()> {
        let Some(value) = values.iter().find(|value| !value.is_finite()) else { return Ok(()) };
        let (what, fault) = NOT_FINITE;
        Err(Error::TensorValue { what, tensor: self.tensors[tensor].name.clone(), value: value.to_string(), fault })
    }

    /// Says where two layouts differ first; `Ok` if they do not.
    pub fn check_same(&self, other: &Self) -> Result<()> {
        let mut pairs = self.tensors.iter().zip(&other.tensors);
        let differ = pairs.find(|(ours, theirs)| (&ours.name, &ours.shape) != (&theirs.name, &theirs.shape));
        let difference = if let Some((ours, theirs)) = differ {
            format!("`{}` {:?} where `{}` {:?} is expected", theirs.name, theirs.shape, ours.name, ours.shape)
        } else if let Some(theirs) = other.tensors.get(self.tensors.len()) {
            format!("`{}` is not expected", theirs.name)
        } else if let Some(ours) = self.tensors.get(other.tensors.len()) {
            format!("`{}` is missing", ours.name)
        } else {
            return Ok(());
        };
        Err(Error::Layout { difference })
    }
}

/// A point in parameter space.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    layout: Arc<Layout>,
    values: Vec<f32>,
}

impl Params {
    /// All zero.
    pub fn zeros(layout: &Arc<Layout>) -> Self {
        Self { layout: Arc::clone(layout), values: vec![0.0; layout.len()] }
    }

    /// The values given, in the order of the layout.
    pub fn from_values(layout: &Arc<Layout>, values: Vec<f32>) -> Result<Self> {
        let why = format_args!("{} tensors", layout.tensors().len());
        Error::unless_length("the parameter vector", values.len(), layout.len(), why)?;
        Ok(Self { layout: Arc::clone(layout), values })
    }

    /// The layout, shared by all points of one network.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }
    /// All values, flat.
    pub fn values(&self) -> &[f32] {
        &self.values
    }
    /// All values, flat, to be changed.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }
    /// The values of one tensor, row-major.
    pub fn view(&self, name: &str) -> Result<&[f32]> {
        Ok(&self.values[self.layout.tensor(name)?.range()])
    }
    /// The values of one tensor, to be changed.
    pub fn view_mut(&mut self, name: &str) -> Result<&mut [f32]> {
        let range = self.layout.tensor(name)?.range();
        Ok(&mut self.values[range])
    }

    /// `self + factor * other`, in place.
    pub fn add_scaled(&mut self, factor: f32, other: &Self) -> Result<()> {
        self.layout.check_same(&other.layout)?;
        for (value, term) in self.values.iter_mut().zip(&other.values) {
            *value += factor * term;
        }
        Ok(())
    }

    /// Multiplies every value, in place.
    pub fn scale(&mut self, factor: f32) {
        self.values.iter_mut().for_each(|value| *value *= factor);
    }

    /// Inner product, summed in f64.
    pub fn dot(&self, other: &Self) -> Result<f64> {
        self.layout.check_same(&other.layout)?;
        Ok(self.values.iter().zip(&other.values).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum())
    }

    /// Euclidean norm, summed in f64.
    pub fn norm(&self) -> f64 {
        self.values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Arc<Layout> {
        Arc::new(Layout::new([("a", &[2, 3][..]), ("b", &[4])]).unwrap())
    }

    #[test]
    fn tensors_lie_one_behind_the_other() {
        let mut params = Params::from_values(&layout(), (0..10u8).map(f32::from).collect()).unwrap();
        assert_eq!(params.view("a").unwrap(), [0., 1., 2., 3., 4., 5.]);
        params.view_mut("b").unwrap()[3] = -1.0;
        assert_eq!(params.values()[9], -1.0);
    }

    #[test]
    fn vector_space() {
        let mut a = Params::from_values(&layout(), vec![1.0; 10]).unwrap();
        let b = a.clone();
        a.add_scaled(2.0, &b).unwrap();
        a.scale(0.5);
        assert_eq!(a.dot(&b).unwrap(), 15.0);
        assert_eq!(b.norm(), 10f64.sqrt());
    }

    #[test]
    fn a_wrong_length_is_an_error() {
        let error = Params::from_values(&layout(), vec![0.0; 9]).unwrap_err();
        assert_eq!(error.to_string(), "the parameter vector has 9 values, but 10 are needed (2 tensors)");
    }

    #[test]
    fn an_unknown_name_is_an_error() {
        let error = Params::zeros(&layout()).view("c").unwrap_err();
        assert_eq!(error.to_string(), "there is no tensor `c`; there are: a, b");
    }

    #[test]
    fn a_name_twice_a_zero_axis_and_a_giant_are_errors() {
        let error = Layout::new([("a", &[1][..]), ("a", &[1])]).unwrap_err();
        assert_eq!(error, Error::NameTwice { name: "a".into() });
        let error = Layout::new([("a", &[3, 0][..])]).unwrap_err();
        assert_eq!(error.to_string(), "an axis of tensor `a` [3, 0] is 0; it must be at least 1");
        let error = Layout::new([("a", &[usize::MAX, 2][..])]).unwrap_err();
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
        let error = Layout::new([("a", &[1 << 60][..]), ("b", &[1 << 61])]).unwrap_err();
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    }

    #[test]
    fn layouts_that_differ_say_where() {
        let longer = Layout::new([("a", &[2, 3][..]), ("b", &[4]), ("c", &[1])]).unwrap();
        let other = Layout::new([("a", &[2, 3][..]), ("b", &[5])]).unwrap();
        let say = |a: &Layout, b: &Layout| a.check_same(b).unwrap_err().to_string();
        assert!(say(&layout(), &longer).ends_with("`c` is not expected"));
        assert!(say(&longer, &layout()).ends_with("`c` is missing"));
        assert!(say(&layout(), &other).ends_with("`b` [5] where `b` [4] is expected"));
        assert_eq!(longer.check_same(&longer), Ok(()));
    }
}
