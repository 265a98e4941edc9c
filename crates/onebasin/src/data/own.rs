//! A data set in a file of somebody's own: its shape and classes, and its training and test part.

use super::arrays::{Arrangement, Arrays, Layout, Source};
use super::{Dataset, Split, Values};
use crate::arch::Shape;
use crate::error::{Error, Result};
use crate::hash::Hasher;
use crate::rng::Stream;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Fraction of the examples that is held out as test examples, unless somebody says otherwise.
const TEST_FRACTION: f64 = 0.2;

/// A data set in a file of somebody's own.
#[derive(Clone, Debug, PartialEq)]
pub struct Own {
    /// The file of inputs and labels, or of inputs alone.
    pub path: PathBuf,
    /// The file of labels, if they are not in that of the inputs.
    pub labels: Option<PathBuf>,
    /// Order of the axes of images with channels; assumed by their sizes if it is not given.
    pub layout: Option<Layout>,
    /// Fraction of the examples that is held out if the file has no test part.
    pub test_fraction: Option<f64>,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Shape of one example.
    pub shape: Shape,
    /// Number of classes.
    pub classes: usize,
    /// Number of training examples.
    pub train: usize,
    /// Number of test examples.
    pub test: usize,
    /// What was assumed, a sentence each.
    pub assumed: Vec<String>,
}

impl Own {
    /// How the data set is called: by its path.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// SHA-256 of the bytes of the file and, after them, of those of the file of labels.
    pub fn sha256(&self) -> Result<String> {
        let mut hasher = Hasher::default();
        for path in std::iter::once(&self.path).chain(&self.labels) {
            let copied = File::open(path).and_then(|mut file| std::io::copy(&mut file, &mut hasher));
            copied.map_err(|error| Error::file(path, error))?;
        }
        Ok(hasher.hex())
    }

    /// Says what the file holds; reads headers and labels only, unless the file is text.
    pub fn summary(&self) -> Result<Summary> {
        let source = self.open()?;
        let arrangement = self.arrangement(&source)?;
        let [all, test] = source.examples();
        let mut assumed: Vec<String> = arrangement.assumed.into_iter().collect();
        let [train, test] = if source.has_test() {
            [all, test]
        } else {
            let held_out = self.held_out(all)?.len();
            assumed.push(format!("there is no test part, so {held_out} of {all} examples are held out as test examples (`data.test_fraction`)"));
            [all - held_out, held_out]
        };
        Ok(Summary { shape: arrangement.shape, classes: self.classes(&source)?, train, test, assumed })
    }

    /// Reads one part.
    pub fn load(&self, split: Split) -> Result<Dataset> {
        let source = self.open()?;
        self.arrangement(&source)?;
        let classes = self.classes(&source)?;
        let targets = source.targets().to_owned();
        if source.has_test() {
            let arrays = match split {
                Split::Train => source.train()?,
                Split::Test => source.test()?.expect("it has a test part"),
            };
            return self.dataset(arrays, &targets, classes);
        }
        let held_out = self.held_out(source.examples()[0])?;
        let whole = self.dataset(source.train()?, &targets, classes)?;
        let chosen = match split {
            Split::Test => held_out,
            Split::Train => {
                let mut is_test = vec![false; whole.len()];
                for index in held_out {
                    is_test[index as usize] = true;
                }
                (0..whole.len() as u32).filter(|index| !is_test[*index as usize]).collect()
            }
        };
        Ok(whole.select(&chosen))
    }

    fn open(&self) -> Result<Source> {
        let source = Source::open(&self.path, self.labels.as_deref())?;
        if let Some(fraction) = self.test_fraction.filter(|_| source.has_test()) {
            let expected = format!("left out: {} has a test part", self.path.display());
            return Err(Error::setting("test_fraction", fraction, &expected));
        }
        Ok(source)
    }

    fn classes(&self, source: &Source) -> Result<usize> {
        let classes = source.classes()?;
        if classes < 2 {
            let reason =
                format!("all labels in `{}` are 0, but a classifier needs at least 2 classes", source.targets());
            return Err(Error::File { path: self.path.clone(), reason });
        }
        Ok(classes)
    }

    fn arrangement(&self, source: &Source) -> Result<Arrangement> {
        let (name, shape) = source.inputs();
        Arrangement::new(name, shape, self.layout).map_err(|error| self.at(error))
    }

    fn dataset(&self, arrays: Arrays, targets: &str, classes: usize) -> Result<Dataset> {
        let (labels, _) = arrays.targets.into_classes(&self.path, targets)?;
        let (shape, values) = arrays.inputs.arranged(self.layout).map_err(|error| self.at(error))?;
        let dataset = match values {
            Values::Pixels(pixels) => Dataset::new(self.name(), shape, classes, u8::MAX, pixels, labels),
            Values::Numbers(numbers) => Dataset::of_numbers(self.name(), shape, classes, numbers, labels),
        };
        dataset.map_err(|error| self.at(error))
    }

    /// The error with the file, unless it is about a setting.
    fn at(&self, error: Error) -> Error {
        if matches!(error, Error::Setting { .. }) { error } else { error.at(Path::new(&self.path).display()) }
    }

    /// The indices of the test examples of a file without a test part, in ascending order.
    ///
    /// They are the first of a random order from the stream (0, "test examples", 0), which no seed changes: posteriors of
    /// different seeds are trained and measured on the same examples.
    fn held_out(&self, examples: usize) -> Result<Vec<u32>> {
        let fraction = self.test_fraction.unwrap_or(TEST_FRACTION);
        if examples < 2 || u32::try_from(examples).is_err() {
            let reason = format!("it has {examples} examples, which cannot be divided into training and test examples");
            return Err(Error::File { path: self.path.clone(), reason });
        }
        let count = ((examples as f64 * fraction).round() as usize).clamp(1, examples - 1);
        let mut order = vec![0; examples];
        Stream::new(0, "test examples", 0).fill_permutation(&mut order);
        order.truncate(count);
        order.sort_unstable();
        Ok(order)
    }
}
