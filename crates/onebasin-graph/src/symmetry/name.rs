//! Names of groups, from the tensors whose rows they are.

use std::collections::BTreeSet;

/// Names that were given already.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    /// A name for the units of an axis of a tensor: that of its layer, with a number if another group has it.
    pub(super) fn give(&mut self, tensor: &str, suffix: &str) -> String {
        let layer = ["weight", "bias", "kernel", "scale"]
            .iter()
            .find_map(|last| tensor.strip_suffix(last)?.strip_suffix(['.', '/', '_']))
            .filter(|layer| !layer.is_empty())
            .unwrap_or(tensor);
        // Quotes enclose names in files.
        let name = format!("{}{suffix}", layer.replace('\'', "_"));
        let numbered = (2..).map(|number| format!("{name}#{number}"));
        let new = std::iter::once(name.clone()).chain(numbered).find(|name| !self.0.contains(name));
        let new = new.expect("numbers do not end");
        self.0.insert(new.clone());
        new
    }
}
