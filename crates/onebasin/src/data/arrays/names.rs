//! Which array of a file has the inputs and which the targets, of which part, by their names.

use super::super::Split;

/// Names of inputs.
const INPUTS: &[&str] = &["x", "inputs", "images", "data", "features"];
/// Names of targets.
const TARGETS: &[&str] = &["y", "labels", "targets", "target", "label"];

/// What is expected, for messages.
pub(super) const EXPECTED: &str = "inputs are named x, inputs, images, data or features, and targets y, labels, targets, \
                                   target or label; those of parts end with _train and _test";

/// What an array is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Role {
    pub(super) is_target: bool,
    /// The part that it belongs to; none for the whole.
    pub(super) part: Option<Split>,
}

impl Role {
    /// The role of an array of this name, if it has one.
    pub(super) fn of(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        let without = |part: &str| {
            let end = name.strip_suffix(part).and_then(|name| name.strip_suffix('_'));
            end.or_else(|| name.strip_prefix(part)?.strip_prefix('_'))
        };
        let (part, stem) = match (without("train"), without("test")) {
            (Some(stem), _) => (Some(Split::Train), stem),
            (_, Some(stem)) => (Some(Split::Test), stem),
            _ => (None, &*name),
        };
        let is_target = TARGETS.contains(&stem);
        (is_target || INPUTS.contains(&stem)).then_some(Self { is_target, part })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case_and_with_their_part_on_either_side() {
        for (name, is_target, part) in [
            ("X", false, None),
            ("y", true, None),
            ("data", false, None),
            ("target", true, None),
            ("x_train", false, Some(Split::Train)),
            ("Y_Test", true, Some(Split::Test)),
            ("train_images", false, Some(Split::Train)),
            ("test_labels", true, Some(Split::Test)),
        ] {
            assert_eq!(Role::of(name), Some(Role { is_target, part }), "{name}");
        }
        for name in ["", "z", "x_val", "train", "train_", "_test", "xtrain", "x_train_test"] {
            assert_eq!(Role::of(name), None, "{name}");
        }
    }
}
