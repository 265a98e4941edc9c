//! Named parts of a data set, written as they stand in configurations: `first:5000`, `classes:0,1,7`, `half:a`.

use super::Dataset;
use crate::error::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A part of a data set; several are applied one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub enum Subset {
    /// `first:5000`: so many images from the first on.
    First(usize),
    /// `classes:0,1,7`: the images of some classes. Labels and the number of classes stay what they are.
    Classes(Vec<u32>),
    /// `half:a` or `half:b`: two disjoint halves of every class.
    Half(Half),
}

/// One of two halves of every class, which together are the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The first, third, fifth... image of each class.
    A,
    /// The second, fourth, sixth... image of each class.
    B,
}

impl Subset {
    /// The part of `dataset`, in the order of `dataset`; it must have at least one image.
    pub fn apply(&self, dataset: &Dataset) -> Result<Dataset> {
        let labels = dataset.labels();
        let refuse = |fault| Error::Subset { subset: self.to_string(), fault, dataset: dataset.name().to_owned() };
        let indices: Vec<u32> = match self {
            Self::First(count) => {
                if *count > labels.len() {
                    return Err(refuse(format!("is more than the {} images", labels.len())));
                }
                (0..*count as u32).collect()
            }
            Self::Classes(chosen) => {
                let mut wanted = vec![false; dataset.classes()];
                for &class in chosen {
                    let (subset, name, classes) = (self.to_string(), dataset.name(), dataset.classes());
                    let unknown = Error::NoClass { subset, dataset: name.to_owned(), class, classes };
                    *wanted.get_mut(class as usize).ok_or(unknown)? = true;
                }
                positions(labels, |label| wanted[label as usize])
            }
            Self::Half(half) => {
                let mut seen = vec![0; dataset.classes()];
                positions(labels, |label| {
                    let seen = &mut seen[label as usize];
                    *seen += 1;
                    (*seen % 2 == 1) == (*half == Half::A)
                })
            }
        };
        if indices.is_empty() {
            return Err(refuse("leaves no image".to_owned()));
        }
        Ok(dataset.select(&indices))
    }
}

/// The indices of the labels that are wanted.
fn positions(labels: &[u32], mut wanted: impl FnMut(u32) -> bool) -> Vec<u32> {
    (0..).zip(labels).filter(|(_, label)| wanted(**label)).map(|(index, _)| index).collect()
}

impl fmt::Display for Subset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::First(count) => write!(f, "first:{count}"),
            Self::Classes(classes) => {
                let classes: Vec<String> = classes.iter().map(ToString::to_string).collect();
                write!(f, "classes:{}", classes.join(","))
            }
            Self::Half(Half::A) => f.write_str("half:a"),
            Self::Half(Half::B) => f.write_str("half:b"),
        }
    }
}

impl FromStr for Subset {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let read = || match text.split_once(':')? {
            ("first", count) => count.parse().ok().map(Self::First),
            ("classes", classes) => {
                let classes = classes.split(',').map(|class| class.trim().parse().ok());
                classes.collect::<Option<_>>().map(Self::Classes)
            }
            ("half", "a") => Some(Self::Half(Half::A)),
            ("half", "b") => Some(Self::Half(Half::B)),
            _ => None,
        };
        read().ok_or_else(|| Error::Unreadable {
            text: text.to_owned(),
            expected: "a subset: first:5000, classes:0,1,7, half:a or half:b",
        })
    }
}

written_as_text!(Subset);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dataset(labels: &[u32]) -> Dataset {
        let pixels = (0..labels.len()).map(|index| index as u8).collect();
        Dataset::new("made up", "1x1x1".parse().unwrap(), 4, 255, pixels, labels.to_vec()).unwrap()
    }

    fn apply(text: &str, labels: &[u32]) -> Result<Vec<u8>> {
        text.parse::<Subset>()?.apply(&dataset(labels)).map(|subset| subset.pixels().to_vec())
    }

    #[test]
    fn each_selects_what_its_name_says() {
        let labels = [3, 0, 1, 3, 3, 0];
        assert_eq!(apply("first:2", &labels).unwrap(), [0, 1]);
        assert_eq!(apply("first:6", &labels).unwrap(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(apply("classes:0,3", &labels).unwrap(), [0, 1, 3, 4, 5]);
        assert_eq!(apply("half:a", &labels).unwrap(), [0, 1, 2, 4]);
        assert_eq!(apply("half:b", &labels).unwrap(), [3, 5]);
        let some = Subset::Classes(vec![3]).apply(&dataset(&labels)).unwrap();
        assert_eq!((some.labels(), some.classes()), (&[3, 3, 3][..], 4));
    }

    #[test]
    fn what_cannot_be_selected_is_named() {
        for (text, message) in [
            ("first:4", "`first:4` is more than the 3 images of `made up`"),
            ("first:0", "`first:0` leaves no image of `made up`"),
            ("classes:2", "`classes:2` leaves no image of `made up`"),
            ("classes:0,4", "there is no class 4 in `made up`, which `classes:0,4` asks for; its classes are 0 to 3"),
        ] {
            assert_eq!(apply(text, &[0, 1, 3]).unwrap_err().to_string(), message);
        }
        assert!(apply("half:b", &[0, 1, 3]).is_err());
    }

    #[test]
    fn other_texts_are_no_subsets() {
        for text in
            ["", "first", "first:", "first:-1", "first:1.5", "classes:", "classes:1,", "half:c", "half:A", "last:3"]
        {
            assert!(text.parse::<Subset>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn text_and_json_give_the_same_subset_back(count: usize, classes in prop::collection::vec(0..1000u32, 1..6)) {
            for subset in [Subset::First(count), Subset::Classes(classes), Subset::Half(Half::A), Subset::Half(Half::B)] {
                prop_assert_eq!(&subset.to_string().parse::<Subset>().unwrap(), &subset);
                let json = serde_json::to_string(&subset).unwrap();
                prop_assert_eq!(&json, &format!("\"{subset}\""));
                prop_assert_eq!(serde_json::from_str::<Subset>(&json).unwrap(), subset);
            }
        }

        #[test]
        fn halves_are_disjoint_balanced_and_together_the_whole(labels in prop::collection::vec(0..4u32, 8..100)) {
            let (Ok(a), Ok(b)) = (apply("half:a", &labels), apply("half:b", &labels)) else { return Ok(()) };
            let mut both: Vec<u8> = a.iter().chain(&b).copied().collect();
            both.sort_unstable();
            prop_assert_eq!(both, (0..labels.len() as u8).collect::<Vec<_>>());
            for class in 0..4 {
                let count = |half: &[u8]| half.iter().filter(|index| labels[usize::from(**index)] == class).count();
                prop_assert!(matches!(count(&a) - count(&b), 0 | 1));
            }
        }
    }
}
