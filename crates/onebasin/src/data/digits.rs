//! The data set `digits`: 1,797 real handwritten digits of 8x8 pixels, embedded in the library.
//!
//! They are the test part of "Optical Recognition of Handwritten Digits" by E. Alpaydin and C. Kaynak, UCI Machine Learning
//! Repository, 1998, <https://doi.org/10.24432/C50P49>, licensed under CC BY 4.0, in the order of `digits.csv.gz` of scikit-learn.
//! `digits.md` beside the file says how it was made.
//!
//! The split is our own and fixed: with the images sorted by class, and in the order of the file within a class, every fifth
//! from the first on is for testing. That makes 1,437 and 360, with a fifth of each class (to within one image) in the latter.
//! Both parts then keep the order of the file, in which the classes are well mixed.

use super::catalogue::Entry;
use super::{Dataset, Split};

/// Each pixel counts the set pixels in a 4x4 block of a scan, so it goes up to 16.
const FULL_SCALE: u8 = 16;

/// One record for each image: its label, then its pixels (row, column), a byte each.
static RECORDS: &[u8] = include_bytes!("digits.bin");

/// The images of one part, in the order of the file.
pub(super) fn load(entry: &Entry, split: Split) -> Dataset {
    let records = RECORDS.chunks_exact(1 + entry.shape.len());
    let labels: Vec<u32> = records.clone().map(|record| record[0].into()).collect();
    let pixels = records.flat_map(|record| &record[1..]).copied().collect();
    let mut by_class: Vec<u32> = (0..labels.len() as u32).collect();
    by_class.sort_by_key(|&index| labels[index as usize]);
    let part = by_class.iter().enumerate().filter(|(place, _)| (place % 5 == 0) == (split == Split::Test));
    let mut part: Vec<u32> = part.map(|(_, &index)| index).collect();
    part.sort_unstable();
    let all = Dataset::new(entry.name, entry.shape, entry.classes, FULL_SCALE, pixels, labels);
    all.expect("the embedded file is whole").select(&part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::catalogue;

    fn load(split: Split) -> Dataset {
        super::load(catalogue::find("digits").unwrap(), split)
    }

    #[test]
    fn the_two_parts_have_the_stated_sizes_and_are_balanced() {
        let (train, test) = (load(Split::Train), load(Split::Test));
        assert_eq!((train.len(), test.len()), (1437, 360));
        for class in 0..10 {
            let count = |part: &Dataset| part.labels().iter().filter(|label| **label == class).count() as f64;
            let (train, test) = (count(&train), count(&test));
            assert!((test - (train + test) / 5.0).abs() < 1.0, "class {class}: {train} and {test}");
        }
        assert!(train.pixels().iter().chain(test.pixels()).all(|pixel| *pixel <= FULL_SCALE));
    }

    #[test]
    fn the_first_image_is_the_zero_of_the_published_file() {
        let test = load(Split::Test);
        assert_eq!(test.labels()[0], 0);
        assert_eq!(test.pixels()[..16], [0, 0, 5, 13, 9, 1, 0, 0, 0, 0, 13, 15, 10, 15, 5, 0]);
    }
}
