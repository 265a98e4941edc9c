//! What a stopped inference needs to go on: named vectors and named numbers.

use super::Mean;
use crate::error::Error;
use crate::error::List;
use crate::error::Result;
use std::collections::BTreeMap;

/// The state of an inference, ready to be stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Vectors over the parameters.
    pub vectors: BTreeMap<String, Vec<f32>>,
    /// Everything else; counts are whole numbers.
    pub numbers: BTreeMap<String, f64>,
}

impl State {
    pub(super) fn put(&mut self, name: &str, values: &[f32]) {
        self.vectors.insert(name.to_owned(), values.to_vec());
    }

    pub(super) fn put_number(&mut self, name: &str, number: f64) {
        self.numbers.insert(name.to_owned(), number);
    }

    pub(super) fn put_mean(&mut self, name: &str, mean: Mean) {
        self.put_number(&format!("{name}.sum"), mean.sum);
        self.put_number(&format!("{name}.count"), mean.count);
    }

    /// Copies the vector of this name, which must have the length of `to`.
    pub(super) fn get(&self, name: &str, to: &mut [f32]) -> Result<()> {
        let values = self.vectors.get(name).ok_or_else(|| missing(name, self.vectors.keys()))?;
        if values.len() != to.len() {
            return Err(Error::Length {
                what: "a vector of the saved state",
                got: values.len(),
                expected: to.len(),
                why: format!("`{name}`"),
            });
        }
        to.copy_from_slice(values);
        Ok(())
    }

    pub(super) fn get_number(&self, name: &str) -> Result<f64> {
        self.numbers.get(name).copied().ok_or_else(|| missing(name, self.numbers.keys()))
    }

    pub(super) fn get_mean(&self, name: &str) -> Result<Mean> {
        Ok(Mean { sum: self.get_number(&format!("{name}.sum"))?, count: self.get_number(&format!("{name}.count"))? })
    }

    /// Takes another state in, its names behind `prefix/`.
    pub(super) fn put_all(&mut self, prefix: &str, inner: State) {
        self.vectors.extend(inner.vectors.into_iter().map(|(name, values)| (format!("{prefix}/{name}"), values)));
        self.numbers.extend(inner.numbers.into_iter().map(|(name, number)| (format!("{prefix}/{name}"), number)));
    }

    /// What [`Self::put_all`] took in.
    pub(super) fn get_all(&self, prefix: &str) -> State {
        fn inside<T: Clone>(prefix: &str, all: &BTreeMap<String, T>) -> BTreeMap<String, T> {
            let inner = |(name, value): (&String, &T)| {
                let name = name.strip_prefix(prefix)?.strip_prefix('/')?;
                Some((name.to_owned(), value.clone()))
            };
            all.iter().filter_map(inner).collect()
        }
        State { vectors: inside(prefix, &self.vectors), numbers: inside(prefix, &self.numbers) }
    }
}

fn missing<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> Error {
    Error::NoTensor { name: name.to_owned(), known: List(known.cloned().collect()) }
}
