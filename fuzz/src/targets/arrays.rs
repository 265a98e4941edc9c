//! Reads any bytes as a file of somebody's own data: its arrays, and the data set that they are.
//!
//! The first byte chooses how the file ends and whether it is also that of the labels; the others are in it.

use crate::folder;
use crate::seeds::{Seed, files};
use onebasin::data::arrays::{self, Arrays, Inputs, Source, Targets};
use onebasin::data::{Own, Split, Values};

/// How the file may end; by the last of them it is its first bytes that say what it is.
const ENDINGS: [&str; 4] = ["npz", "npy", "csv", "numbers"];

pub(crate) fn run(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let (ending, is_pair) = (ENDINGS[usize::from(*first) % ENDINGS.len()], first & 4 != 0);
    let path = folder::write(&format!("in.{ending}"), bytes);
    let labels = is_pair.then(|| path.clone());

    if let Ok(inputs) = arrays::read_inputs(&path) {
        check_inputs(&inputs);
    }
    let Ok(source) = Source::open(&path, labels.as_deref()) else { return };
    let classes = source.classes();
    let parts = [source.train().map(Some), source.test()].map(|part| part.ok().flatten());
    for (part, examples) in parts.iter().zip(source.examples()) {
        let Some(Arrays { inputs, targets }) = part else { continue };
        check_inputs(inputs);
        assert_eq!(inputs.examples, examples, "there are as many examples as the header says");
        match targets {
            Targets::Classes { labels, classes: own } => {
                assert_eq!(labels.len(), examples, "each example has a label");
                assert!(labels.iter().all(|label| (*label as usize) < *own), "a label is below the number of classes");
                assert!(classes.as_ref().map_or(true, |classes| own <= classes), "classes are those of both parts");
            }
            Targets::Numbers { values, each } => {
                assert_eq!(values.len(), examples * each, "each example has all its targets");
                assert!(values.iter().all(|value| value.is_finite()), "targets are finite");
                assert!(classes.is_err(), "a regression has no classes");
            }
        }
    }

    let own = Own { path, labels, layout: None, test_fraction: None };
    let Ok(summary) = own.summary() else { return };
    for (split, examples) in [(Split::Train, summary.train), (Split::Test, summary.test)] {
        let Ok(dataset) = own.load(split) else { continue };
        let found = (dataset.len(), dataset.shape(), dataset.classes());
        assert_eq!(found, (examples, summary.shape, summary.classes), "what is read is what the summary says");
    }
}

/// What holds of all inputs that are not refused.
fn check_inputs(Inputs { examples, shape, values, .. }: &Inputs) {
    let expected = examples * shape.iter().product::<usize>();
    match values {
        Values::Pixels(pixels) => assert_eq!(pixels.len(), expected, "there are all pixels"),
        Values::Numbers(numbers) => {
            assert_eq!(numbers.len(), expected, "there are all numbers");
            assert!(numbers.iter().all(|number| number.is_finite()), "inputs are finite");
        }
    }
}

/// Files of tests behind the byte that chooses their ending; a pair, where the labels are in the same file, has a 4 added to it.
pub(crate) fn seeds() -> Vec<Seed> {
    let folders = ["crates/onebasin-checkpoint/tests/fixtures", "crates/onebasin-cli/tests/networks"];
    let found = folders.iter().flat_map(|folder| files(folder, &[".npy", ".npz"]));
    found.map(|seed| if seed.name.ends_with(".npz") { seed.behind(b"0") } else { seed.behind(b"5") }).collect()
}
