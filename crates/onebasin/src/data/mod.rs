//! Reads, selects, scales and batches the data sets that networks are trained on.
//!
//! [`load`] turns a name into a [`Dataset`] of raw pixels, [`Own`] a file of somebody's own into one, [`Subset`]s select from it, a [`Standardisation`] makes it
//! [`Examples`] that a network can read, and [`Batches`] says which of them come next.

pub mod arrays;
mod augment;
mod batches;
pub mod catalogue;
mod digits;
mod examples;
mod files;
mod own;
mod subset;
mod synthetic;

pub use augment::Augment;
pub use batches::Batches;
pub use examples::{Examples, Scaling, Standardisation};
pub use own::{Own, Summary};
pub use subset::{Half, Subset};

use crate::arch::Shape;
use crate::error::{Error, Result};
use crate::hash::Hasher;
use catalogue::Source;
use std::fmt;
use std::io::Write as _;
use std::path::Path;

named_enum! {
    /// Which of the two published parts of a data set.
    pub enum Split {
        /// Training examples.
        Train = "train",
        /// Test examples.
        Test = "test",
    }
}

/// Labelled examples as they were published: at least one, raw pixels or numbers, all of one shape.
#[derive(Clone, PartialEq)]
pub struct Dataset {
    name: String,
    shape: Shape,
    classes: usize,
    full_scale: u8,
    values: Values,
    labels: Vec<u32>,
}

/// The values of all examples, (example, row, column, channel).
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Pixels of images, from 0 to the full scale.
    Pixels(Vec<u8>),
    /// Any numbers.
    Numbers(Vec<f32>),
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::Pixels(pixels) => pixels.len(),
            Self::Numbers(numbers) => numbers.len(),
        }
    }

    /// The values of the examples at `indices`, each of `size` values.
    fn select(&self, indices: &[u32], size: usize) -> Self {
        fn chosen<T: Copy>(values: &[T], indices: &[u32], size: usize) -> Vec<T> {
            indices.iter().flat_map(|index| values[*index as usize * size..][..size].iter().copied()).collect()
        }
        match self {
            Self::Pixels(pixels) => Self::Pixels(chosen(pixels, indices, size)),
            Self::Numbers(numbers) => Self::Numbers(chosen(numbers, indices, size)),
        }
    }
}

impl Dataset {
    /// Checks that everything fits together.
    ///
    /// `full_scale` is the value of the brightest possible pixel, `pixels` (image, row, column, channel), `labels` (image).
    pub fn new(
        name: impl Into<String>,
        shape: Shape,
        classes: usize,
        full_scale: u8,
        pixels: Vec<u8>,
        labels: Vec<u32>,
    ) -> Result<Self> {
        Self::of_values(name.into(), shape, classes, full_scale, Values::Pixels(pixels), labels, 2)
    }

    /// The same of numbers that are not pixels, all of them finite: `numbers` (example, row, column, channel), `labels` (example).
    pub fn of_numbers(
        name: impl Into<String>,
        shape: Shape,
        classes: usize,
        numbers: Vec<f32>,
        labels: Vec<u32>,
    ) -> Result<Self> {
        Self::of_finite(name.into(), shape, classes, numbers, labels, 2)
    }

    /// The same of a regression, whose examples have numbers to be predicted in place of classes.
    pub fn of_regression(
        name: impl Into<String>,
        shape: Shape,
        outputs: usize,
        numbers: Vec<f32>,
        examples: usize,
    ) -> Result<Self> {
        Self::of_finite(name.into(), shape, outputs, numbers, vec![0; examples], 1)
    }

    fn of_finite(
        name: String,
        shape: Shape,
        classes: usize,
        numbers: Vec<f32>,
        labels: Vec<u32>,
        least: usize,
    ) -> Result<Self> {
        if let Some(at) = numbers.iter().position(|number| !number.is_finite()) {
            let (example, value) = (at / shape.len().max(1), numbers[at]);
            let what = format!("a value of example {example} of the data set `{name}`");
            return Err(Error::out_of_range(&what, value, "finite"));
        }
        Self::of_values(name, shape, classes, 1, Values::Numbers(numbers), labels, least)
    }

    fn of_values(
        name: String,
        shape: Shape,
        classes: usize,
        full_scale: u8,
        values: Values,
        labels: Vec<u32>,
        least: usize,
    ) -> Result<Self> {
        for (what, size) in [
            ("height", shape.height),
            ("width", shape.width),
            ("number of channels", shape.channels),
            ("full scale", full_scale.into()),
            ("number of images", labels.len()),
        ] {
            Error::unless_zero(format_args!("the {what} of the data set `{name}`"), size)?;
        }
        if classes < least {
            return Err(Error::Count { need: "a classifier needs at least 2 classes", got: classes });
        }
        let sizes = [labels.len(), shape.height, shape.width, shape.channels];
        let expected = sizes.into_iter().fold(1, usize::saturating_mul);
        let why = format_args!("{} images of {shape}", labels.len());
        Error::unless_length("pixels", values.len(), expected, why)?;
        if let Some((index, &label)) = labels.iter().enumerate().find(|(_, label)| **label as usize >= classes) {
            return Err(Error::Label { index, label, classes });
        }
        Ok(Self { name, shape, classes, full_scale, values, labels })
    }

    /// The name it is loaded by.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Shape of one image.
    pub fn shape(&self) -> Shape {
        self.shape
    }
    /// Number of classes, whether or not each of them has images here.
    pub fn classes(&self) -> usize {
        self.classes
    }
    /// The value of the brightest possible pixel.
    pub fn full_scale(&self) -> u8 {
        self.full_scale
    }
    /// Number of images.
    pub fn len(&self) -> usize {
        self.labels.len()
    }
    /// Never: a data set has at least one image.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }
    /// (example, row, column, channel)
    pub fn values(&self) -> &Values {
        &self.values
    }
    /// (image, row, column, channel); none if the data set has other numbers than pixels.
    pub fn pixels(&self) -> &[u8] {
        if let Values::Pixels(pixels) = &self.values { pixels } else { &[] }
    }
    /// SHA-256 of shape, pixels and labels, which tells data sets apart whatever their names are.
    pub fn sha256(&self) -> String {
        let mut hasher = Hasher::default();
        let mut add = |bytes: &[u8]| hasher.write_all(bytes).expect("a hash takes everything");
        add(format!("{} {}\n", self.shape, self.classes).as_bytes());
        match &self.values {
            Values::Pixels(pixels) => add(pixels),
            Values::Numbers(numbers) => numbers.iter().for_each(|number| add(&number.to_le_bytes())),
        }
        self.labels.iter().for_each(|label| add(&label.to_le_bytes()));
        hasher.hex()
    }

    /// (image)
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// The images at `indices`, in that order.
    ///
    /// # Panics
    /// If there are no indices, or one is not that of an image.
    #[must_use]
    pub fn select(&self, indices: &[u32]) -> Self {
        assert!(!indices.is_empty(), "a data set has at least one image");
        let values = self.values.select(indices, self.shape.len());
        let labels = indices.iter().map(|&index| self.labels[index as usize]).collect();
        Self { name: self.name.clone(), values, labels, ..*self }
    }
}

impl fmt::Debug for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dataset({}, {} images of {}, {} classes)", self.name, self.len(), self.shape, self.classes)
    }
}

/// Reads one part of the data set of this name from the data directory `dir`; `digits` and `synthetic` need none of it.
///
/// Each file must be the published one: other images may not pass under its name.
pub fn load(name: &str, split: Split, dir: &Path) -> Result<Dataset> {
    read(name, split, dir, Verify::Checksums)
}

/// The same; without checksums, a file may also hold other images than the published one, and fewer, but not more.
pub fn read(name: &str, split: Split, dir: &Path, verify: Verify) -> Result<Dataset> {
    let entry = catalogue::find(name)?;
    match &entry.source {
        Source::BuiltIn if name == "digits" => Ok(digits::load(entry, split)),
        Source::BuiltIn => Ok(synthetic::load(entry, split)),
        Source::Files(files) => files::load(entry, files, split, dir, verify),
    }
}

/// What files are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// The checksums of the catalogue.
    Checksums,
    /// Nothing but what their format says.
    Format,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset(shape: &str, classes: usize, full_scale: u8, pixels: usize, labels: &[u32]) -> Result<Dataset> {
        let pixels = (0..pixels).map(|pixel| pixel as u8).collect();
        Dataset::new("made up", shape.parse()?, classes, full_scale, pixels, labels.to_vec())
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let zero = |what: &str| Error::Zero { what: format!("the {what} of the data set `made up`") };
        let length = |got, expected, why: &str| Error::Length { what: "pixels", got, expected, why: why.to_owned() };
        for (result, error) in [
            (dataset("0x2x1", 2, 255, 4, &[0]), zero("height")),
            (dataset("2x0x1", 2, 255, 4, &[0]), zero("width")),
            (dataset("2x2x0", 2, 255, 4, &[0]), zero("number of channels")),
            (dataset("2x2x1", 2, 0, 4, &[0]), zero("full scale")),
            (dataset("2x2x1", 2, 255, 0, &[]), zero("number of images")),
            (dataset("2x2x1", 1, 255, 4, &[0]), Error::Count { need: "a classifier needs at least 2 classes", got: 1 }),
            (dataset("2x2x1", 2, 255, 5, &[0]), length(5, 4, "1 images of 2x2x1")),
            (dataset("2x2x1", 2, 255, 8, &[1, 2]), Error::Label { index: 1, label: 2, classes: 2 }),
        ] {
            assert_eq!(result, Err(error));
        }
        let huge = usize::MAX.to_string();
        assert!(matches!(dataset(&format!("{huge}x2x1"), 2, 255, 4, &[0]), Err(Error::Length { got: 4, .. })));
    }

    #[test]
    fn selected_images_keep_their_labels_and_the_order_asked_for() {
        let all = dataset("1x2x1", 3, 255, 6, &[0, 1, 2]).unwrap();
        let some = all.select(&[2, 0, 2]);
        assert_eq!((some.pixels(), some.labels()), (&[4, 5, 0, 1, 4, 5][..], &[2, 0, 2][..]));
        assert_eq!((some.name(), some.shape(), some.classes(), some.len()), ("made up", all.shape(), 3, 3));
    }

    #[test]
    fn what_is_built_in_is_what_the_catalogue_says() {
        for entry in catalogue::entries().iter().filter(|entry| entry.source == Source::BuiltIn) {
            for split in [Split::Train, Split::Test] {
                let dataset = load(entry.name, split, Path::new("")).unwrap();
                assert_eq!((dataset.name(), dataset.len()), (entry.name, entry.images(split)));
                assert_eq!((dataset.shape(), dataset.classes()), (entry.shape, entry.classes));
            }
        }
    }
}
