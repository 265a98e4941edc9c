//! Which entries of which storage a tensor has.

use super::schema::{SymInt, TensorMeta};

/// Most entries of a constant that are read.
pub(super) const MOST_ENTRIES: usize = 1 << 20;

/// Entries that a tensor takes of a storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Path or key of the storage.
    pub(super) storage: String,
    pub(super) dtype: i64,
    pub(super) offset: i64,
    pub(super) sizes: Vec<i64>,
    pub(super) strides: Vec<i64>,
}

impl Place {
    pub(super) fn of(storage: String, meta: &TensorMeta) -> Option<Self> {
        let numbers = |sizes: &[SymInt]| sizes.iter().map(SymInt::hint).collect::<Option<Vec<i64>>>();
        let (sizes, strides) = (numbers(&meta.sizes)?, numbers(&meta.strides)?);
        Some(Self { storage, dtype: meta.dtype, offset: meta.storage_offset.hint()?, sizes, strides })
    }

    /// First and last entry of the storage.
    fn range(&self) -> (i128, i128) {
        let steps = self.sizes.iter().zip(&self.strides);
        let reach = steps.map(|(size, stride)| (i128::from(*size) - 1).saturating_mul(i128::from(*stride)));
        let first = i128::from(self.offset);
        (first, reach.fold(first, i128::saturating_add))
    }

    /// Whether an entry may belong to both.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let ((first, last), (other_first, other_last)) = (self.range(), other.range());
        // Numbers of different types are of different sizes, so that their positions cannot be compared.
        let meet = self.dtype != other.dtype || (first <= other_last && other_first <= last);
        self.storage == other.storage && meet
    }

    /// Positions in the storage of all entries, row-major.
    pub(super) fn positions(&self) -> Option<Vec<usize>> {
        let mut entries = 1usize;
        for size in &self.sizes {
            entries = entries.checked_mul(usize::try_from(*size).ok()?)?;
        }
        if entries > MOST_ENTRIES || self.sizes.len() != self.strides.len() {
            return None;
        }
        let mut all = vec![self.offset];
        for (size, stride) in self.sizes.iter().zip(&self.strides) {
            let next =
                |start: &i64| (0..*size).map(|at| at.checked_mul(*stride)?.checked_add(*start)).collect::<Vec<_>>();
            all = all.iter().flat_map(next).collect::<Option<_>>()?;
        }
        all.into_iter().map(|position| usize::try_from(position).ok()).collect()
    }
}
