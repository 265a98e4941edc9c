//! Reads any text as a symmetry, and writes and reads it again.

use crate::seeds::Seed;
use onebasin_graph::symmetry::Symmetry;

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(symmetry) = Symmetry::from_toml(text, "symmetry") else { return };
    let again = Symmetry::from_toml(&symmetry.to_toml(), "symmetry");
    assert_eq!(again.as_ref(), Ok(&symmetry), "what is written is read again");
}

pub(crate) fn seeds() -> Vec<Seed> {
    Vec::new()
}
