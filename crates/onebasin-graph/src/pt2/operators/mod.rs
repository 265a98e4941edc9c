//! How each operator of PyTorch relates the axes of its operands: one file for each family, one line for each operator.

mod attention;
mod constants;
mod einsum;
mod elementwise;
mod indexing;
mod layers;
mod normalise;
mod parts;
mod positions;
mod products;
mod recurrent;
mod reduce;
mod shapes;

use super::call::Call;
use crate::build::Builder;
use crate::error::Result;
use crate::graph::ValueId;

/// Translates a call: yields its first outputs, as many as it can tell something about.
pub(super) type Translate = fn(&mut Builder, &Call) -> Result<Vec<ValueId>>;

/// Some operators with their translation.
type Table = &'static [(&'static str, Translate)];

/// An operator that is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) translate: Translate,
    /// Whether what it computes may share the memory of what it reads.
    pub(super) view: bool,
}

/// The families whose results may be views of their operands.
const VIEWS: &[Table] = &[shapes::TABLE, parts::TABLE];

/// The families whose results have memory of their own.
const FRESH: &[Table] = &[
    attention::TABLE,
    constants::TABLE,
    einsum::TABLE,
    elementwise::TABLE,
    indexing::TABLE,
    layers::TABLE,
    normalise::TABLE,
    positions::TABLE,
    products::TABLE,
    recurrent::TABLE,
    reduce::TABLE,
];

/// The translation of an ATen operator, by its name without overload.
pub(super) fn find(name: &str) -> Option<Known> {
    let within = |tables: &[Table]| {
        tables.iter().flat_map(|table| table.iter()).find(|(own, _)| *own == name).map(|(_, translate)| *translate)
    };
    if let Some(translate) = within(VIEWS) {
        return Some(Known { translate, view: true });
    }
    let translate = within(FRESH).or_else(|| elementwise::find(name))?;
    Some(Known { translate, view: false })
}

/// Whether an operator neither computes a tensor nor depends on the entries of one: assertions and sizes.
pub(super) fn is_idle(name: &str) -> bool {
    name.starts_with("_assert") || name.starts_with("sym_") || name == "size"
}
