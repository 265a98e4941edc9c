//! Operators of ONNX, and what each does to the axes of its inputs. A new operator is a line in the table of its family.
//!
//! Whatever is said to be indifferent to the order of an axis must be so for all entries, since the proof that a permutation leaves
//! the function as it is rests on it. An operator that is in no table is opaque.

mod attention;
mod constants;
mod einsum;
mod elementwise;
mod gather;
mod layers;
mod normalise;
mod parts;
mod quantise;
mod recurrent;
mod reduce;
mod resize;
mod shapes;
mod windows;

use super::call::{Call, Outputs};

/// Translates a node.
pub(super) type Operator = fn(&mut Call<'_>) -> Outputs;

/// Names of operators that are translated alike.
type Table = &'static [(&'static [&'static str], Operator)];

const TABLES: [Table; 14] = [
    attention::TABLE,
    constants::TABLE,
    einsum::TABLE,
    elementwise::TABLE,
    gather::TABLE,
    layers::TABLE,
    normalise::TABLE,
    parts::TABLE,
    quantise::TABLE,
    recurrent::TABLE,
    reduce::TABLE,
    resize::TABLE,
    shapes::TABLE,
    windows::TABLE,
];

/// How an operator of the set of ONNX itself is translated.
pub(super) fn find(operator: &str) -> Option<Operator> {
    let mut lines = TABLES.iter().copied().flatten();
    lines.find(|(names, _)| names.contains(&operator)).map(|(_, translate)| *translate)
}

#[cfg(test)]
mod tests {
    use super::TABLES;

    #[test]
    fn no_operator_is_in_two_lines() {
        let mut names: Vec<&str> =
            TABLES.iter().copied().flatten().flat_map(|(names, _)| names.iter().copied()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(all > 140, "{all}");
    }
}
