//! Which posteriors of an experiment are compared: neighbours, all with all, or those of a list.

use crate::error::{Error, Result};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// What `pairs` may be.
const EXPECTED: &str = "\"consecutive\", \"all\" or a list of pairs of seeds, such as [[1, 2], [1, 3]]";

/// The posteriors that are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Pairs {
    /// The first two, the next two and so on.
    #[default]
    Consecutive,
    /// Each with each.
    All,
    /// Those of a list, by their seeds or names.
    Listed(Vec<[String; 2]>),
}

impl Pairs {
    /// The indices of the posteriors of each pair, the one that stays first; `labels` are the seeds or names of all.
    pub fn of(&self, labels: &[&str]) -> Result<Vec<[usize; 2]>> {
        let count = labels.len();
        let pairs = match self {
            Self::Consecutive => {
                let expected = "an even number of seeds, two for each pair; or say `pairs = \"all\"`";
                Error::unless(count.is_multiple_of(2), "seeds", format_args!("a list of {count}"), expected)?;
                (0..count / 2).map(|pair| [2 * pair, 2 * pair + 1]).collect()
            }
            Self::All => (0..count).flat_map(|from| (from + 1..count).map(move |to| [from, to])).collect(),
            Self::Listed(pairs) => listed(pairs, labels)?,
        };
        Ok(pairs)
    }
}

/// The indices of listed pairs; each must be of two posteriors, no pair may come twice, and no posterior may be left over.
fn listed(pairs: &[[String; 2]], labels: &[&str]) -> Result<Vec<[usize; 2]>> {
    let fault = |value: String, expected: &str| Error::setting("pairs", value, expected);
    let mut all: Vec<[usize; 2]> = Vec::with_capacity(pairs.len());
    for pair in pairs {
        let mut found = [0; 2];
        for (index, label) in found.iter_mut().zip(pair) {
            let known = labels.iter().position(|known| known == label);
            *index = known.ok_or_else(|| {
                let list = labels.join(", ");
                fault(format!("a list with {label}"), &format!("a list of pairs of these posteriors: {list}"))
            })?;
        }
        let [from, to] = found;
        let text = || format!("a list with [{}, {}]", pair[0], pair[1]);
        if from == to {
            return Err(fault(text(), "a list of pairs of two different posteriors"));
        }
        if all.contains(&[from, to]) || all.contains(&[to, from]) {
            return Err(fault(text() + " twice", "a list without repetitions"));
        }
        all.push(found);
    }
    match (0..labels.len()).find(|index| !all.iter().flatten().any(|used| used == index)) {
        None => Ok(all),
        Some(left) => Err(fault(
            format!("a list without {}", labels[left]),
            "a list that has every posterior at least once: one that is compared with none need not be trained",
        )),
    }
}

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Read;

        impl<'de> Visitor<'de> for Read {
            type Value = Pairs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<Pairs, E> {
                match text {
                    "all" => Ok(Pairs::All),
                    "consecutive" => Ok(Pairs::Consecutive),
                    _ => Err(E::custom(format!("it is {text:?}, not {EXPECTED}"))),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = list.next_element::<toml::Value>()? {
                    pairs
                        .push(labels(&pair).ok_or_else(|| A::Error::custom(format!("it has {pair}, not {EXPECTED}")))?);
                }
                Ok(Pairs::Listed(pairs))
            }
        }

        deserializer.deserialize_any(Read)
    }
}

/// Two seeds or names.
fn labels(pair: &toml::Value) -> Option<[String; 2]> {
    let label = |value: &toml::Value| match value {
        toml::Value::Integer(seed) if *seed >= 0 => Some(seed.to_string()),
        toml::Value::String(name) => Some(name.clone()),
        _ => None,
    };
    match pair.as_array()?.as_slice() {
        [from, to] => Some([label(from)?, label(to)?]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> std::result::Result<Pairs, String> {
        #[derive(Debug, Deserialize)]
        struct Table {
            pairs: Pairs,
        }
        toml::from_str::<Table>(text).map(|table| table.pairs).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn all_kinds_of_pairs_are_read_and_resolved() {
        let of = |text: &str| read(text).unwrap().of(&["1", "2", "3", "4"]).unwrap();
        assert_eq!(of("pairs = \"consecutive\""), [[0, 1], [2, 3]]);
        assert_eq!(of("pairs = \"all\"").len(), 6);
        assert_eq!(of("pairs = [[4, 1], [2, 3]]"), [[3, 0], [1, 2]]);
        assert_eq!(Pairs::default(), Pairs::Consecutive);
    }

    #[test]
    fn wrong_pairs_are_refused_with_what_would_be_right() {
        for text in ["\"some\"", "[[1]]", "[1, 2]", "[[-1, 2]]", "3"] {
            let error = read(&format!("pairs = {text}")).unwrap_err();
            assert!(error.contains("a list of pairs of seeds"), "{text}: {error}");
        }
        let fault =
            |text: &str, labels: &[&str]| read(&format!("pairs = {text}")).unwrap().of(labels).unwrap_err().to_string();
        assert!(fault("\"consecutive\"", &["1", "2", "3"]).contains("pairs = \"all\""));
        assert!(fault("[[1, 5]]", &["1", "2"]).contains("a list with 5"));
        assert!(fault("[[1, 1]]", &["1", "2"]).contains("two different posteriors"));
        assert!(fault("[[1, 2], [2, 1]]", &["1", "2"]).contains("twice"));
        assert!(fault("[[1, 2]]", &["1", "2", "3"]).contains("a list without 3"));
    }
}
