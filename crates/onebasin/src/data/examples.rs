//! Pixels become the numbers that a network reads: a scale and a shift for each channel.

use super::{Augment, Dataset, Values};
use crate::arch::{Arch, Shape};
use crate::error::{Error, Result};
use onebasin_kernels::Isa;
use onebasin_kernels::elementwise::ScaleAndShift;
use serde::{Deserialize, Serialize};

named_enum! {
    /// How pixels are scaled.
    #[derive(Default)]
    pub enum Scaling {
        /// From 0 to 1: pixel / full scale. Numbers that are not pixels stay as they are.
        #[default]
        Unit = "unit",
        /// Mean 0 and standard deviation 1 for each channel, or feature, of the training set: (pixel / full scale - mean) / std.
        Standard = "standard",
    }
}

/// What was done to the pixels: value = pixel · scale\[channel\] + shift\[channel\].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standardisation {
    /// Which kind.
    pub scaling: Scaling,
    /// (channel)
    pub scale: Vec<f32>,
    /// (channel)
    pub shift: Vec<f32>,
}

impl Standardisation {
    /// The one that the training set implies; test sets are treated by the same numbers.
    pub fn of(scaling: Scaling, training: &Dataset) -> Self {
        let channels = training.shape().channels;
        let full_scale = f64::from(training.full_scale());
        let of_channel = |channel: usize| match scaling {
            Scaling::Unit => (1.0 / full_scale, 0.0),
            Scaling::Standard => {
                let (mean, std) = match training.values() {
                    Values::Pixels(pixels) => moments(pixels.iter().skip(channel).step_by(channels)),
                    Values::Numbers(numbers) => moments_of_numbers(numbers.iter().skip(channel).step_by(channels)),
                };
                // A constant channel has nothing to be made equal: the standard deviation of pixel / full scale is taken as 1.
                let std = if std == 0.0 { full_scale } else { std };
                (1.0 / std, -mean / std)
            }
        };
        let (scale, shift) = (0..channels).map(of_channel).map(|(scale, shift)| (scale as f32, shift as f32)).unzip();
        Self { scaling, scale, shift }
    }
}

/// Mean and standard deviation; sums and the variance's numerator are exact.
fn moments<'a>(pixels: impl Iterator<Item = &'a u8>) -> (f64, f64) {
    let (mut count, mut sum, mut squares) = (0u64, 0u64, 0u64);
    for &pixel in pixels {
        count += 1;
        sum += u64::from(pixel);
        squares += u64::from(pixel) * u64::from(pixel);
    }
    // n² σ² = n Σ x² − (Σ x)²
    let numerator = u128::from(count) * u128::from(squares) - u128::from(sum) * u128::from(sum);
    (sum as f64 / count as f64, (numerator as f64).sqrt() / count as f64)
}

/// Mean and standard deviation, in two passes.
fn moments_of_numbers<'a>(numbers: impl Iterator<Item = &'a f32> + Clone) -> (f64, f64) {
    let count = numbers.clone().count() as f64;
    let mean = numbers.clone().map(|number| f64::from(*number)).sum::<f64>() / count;
    let variance = numbers.map(|number| (f64::from(*number) - mean).powi(2)).sum::<f64>() / count;
    (mean, variance.sqrt())
}

/// A data set with its standardisation: what a network is trained on or judged by.
#[derive(Clone, Debug, PartialEq)]
pub struct Examples {
    dataset: Dataset,
    standardisation: Standardisation,
    /// Scale and shift of every value of a row of an image, (column, channel).
    row_scale: Vec<f32>,
    row_shift: Vec<f32>,
    augment: Option<Augment>,
    /// Numbers to be predicted in place of classes, (example, output).
    targets: Option<Vec<f32>>,
    isa: Isa,
}

impl Examples {
    /// Needs one scale and one shift for each channel.
    pub fn new(dataset: Dataset, standardisation: Standardisation) -> Result<Self> {
        let Shape { width, channels, .. } = dataset.shape();
        for (what, values) in [("scale", &standardisation.scale), ("shift", &standardisation.shift)] {
            let why = format_args!("one for each channel of `{}`", dataset.name());
            Error::unless_length(what, values.len(), channels, why)?;
        }
        let (row_scale, row_shift) = (standardisation.scale.repeat(width), standardisation.shift.repeat(width));
        Ok(Self { dataset, standardisation, row_scale, row_shift, augment: None, targets: None, isa: Isa::detect() })
    }

    /// The same examples, augmented wherever they are trained on in batches.
    pub fn augmented(self, augment: Augment) -> Result<Self> {
        augment.check(self.shape())?;
        Ok(Self { augment: Some(augment), ..self })
    }

    /// The same examples with numbers to be predicted in place of classes, (example, output): a regression.
    pub fn with_targets(self, targets: Vec<f32>) -> Result<Self> {
        let why = format_args!("{} outputs of {} examples", self.classes(), self.len());
        Error::unless_length("the array of targets", targets.len(), self.len() * self.classes(), why)?;
        Ok(Self { targets: Some(targets), ..self })
    }

    /// Numbers to be predicted, (example, output), if it is a regression.
    pub fn targets(&self) -> Option<&[f32]> {
        self.targets.as_deref()
    }

    /// How they are augmented.
    pub(crate) fn augment(&self) -> Option<Augment> {
        self.augment
    }

    /// The first examples, up to `most`, scaled alike and without augmentation.
    pub fn first(&self, most: usize) -> Result<Self> {
        let indices: Vec<u32> = (0..most.min(self.len()) as u32).collect();
        Self::new(self.dataset.select(&indices), self.standardisation.clone())
    }

    /// Says whether a network can read these images and name their classes.
    pub fn check_fits(&self, arch: &Arch) -> Result<()> {
        self.check_shape(arch.input(), arch.classes())
    }

    /// Says whether a model of this input and so many outputs can read these images and name their classes.
    pub fn check_shape(&self, input: Shape, classes: usize) -> Result<()> {
        if input == self.shape() && classes == self.classes() {
            return Ok(());
        }
        Err(Error::WrongNetwork {
            network: format!("images of {input} in {classes} classes"),
            dataset: self.dataset.name().to_owned(),
            data: format!("images of {} in {} classes", self.shape(), self.classes()),
        })
    }

    /// The raw images.
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }
    /// What is done to the pixels.
    pub fn standardisation(&self) -> &Standardisation {
        &self.standardisation
    }
    /// Number of images.
    pub fn len(&self) -> usize {
        self.dataset.len()
    }
    /// Never: a data set has at least one image.
    pub fn is_empty(&self) -> bool {
        self.dataset.is_empty()
    }
    /// Shape of one image.
    pub fn shape(&self) -> Shape {
        self.dataset.shape()
    }
    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.dataset.classes()
    }

    /// Gathers the images at `indices` into `images` (index, row, column, channel) and their labels into `labels` (index).
    ///
    /// # Panics
    /// If a slice has another length than the indices imply, or an index is not that of an image.
    pub fn fill(&self, indices: &[u32], images: &mut [f32], labels: &mut [u32]) {
        let size = self.shape().len();
        assert_eq!(labels.len(), indices.len(), "one label for each index");
        assert_eq!(images.len(), indices.len() * size, "one image for each index");
        for ((&index, image), label) in indices.iter().zip(images.chunks_exact_mut(size)).zip(labels) {
            let index = index as usize;
            self.convert(index * size, image);
            *label = self.dataset.labels()[index];
        }
    }

    /// As many consecutive images as `labels` is long, from `first` on: `images` (index, row, column, channel), `labels` (index).
    ///
    /// # Panics
    /// If the slices' lengths do not fit each other, or there are not so many images.
    pub fn range(&self, first: usize, images: &mut [f32], labels: &mut [u32]) {
        let size = self.shape().len();
        assert_eq!(images.len(), labels.len() * size, "one image for each label");
        self.convert(first * size, images);
        labels.copy_from_slice(&self.dataset.labels()[first..][..labels.len()]);
    }

    /// All images (image, row, column, channel) and all labels (image).
    pub fn all(&self) -> (Vec<f32>, Vec<u32>) {
        let mut images = vec![0.0; self.len() * self.shape().len()];
        self.convert(0, &mut images);
        (images, self.dataset.labels().to_vec())
    }

    /// Scales and shifts whole rows, (row, column, channel), from the value `first` on.
    fn convert(&self, first: usize, values: &mut [f32]) {
        let (scale, shift) = match self.standardisation.scale.len() {
            1 => (&self.standardisation.scale, &self.standardisation.shift),
            _ => (&self.row_scale, &self.row_shift),
        };
        match self.dataset.values() {
            Values::Pixels(pixels) => {
                let pixels = &pixels[first..][..values.len()];
                self.isa.run(ScaleAndShift { pixels, values, scale, shift });
            }
            Values::Numbers(numbers) => {
                let factors = scale.iter().zip(shift).cycle();
                for ((value, number), (scale, shift)) in values.iter_mut().zip(&numbers[first..]).zip(factors) {
                    *value = number * scale + shift;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dataset(shape: Shape, full_scale: u8, pixels: Vec<u8>) -> Dataset {
        let labels = (0..(pixels.len() / shape.len()) as u32).map(|index| index % 5).collect();
        Dataset::new("made up", shape, 5, full_scale, pixels, labels).unwrap()
    }

    /// Data sets of few images, of one to four channels.
    fn datasets() -> impl Strategy<Value = Dataset> {
        (1..4usize, 1..8usize, 1..5usize, 1..6usize, 1..=255u8).prop_flat_map(
            |(height, width, channels, images, full_scale)| {
                let shape = Shape { height, width, channels };
                let pixels = prop::collection::vec(0..=full_scale, images * shape.len());
                pixels.prop_map(move |pixels| dataset(shape, full_scale, pixels))
            },
        )
    }

    fn examples(dataset: &Dataset, scaling: Scaling) -> Examples {
        Examples::new(dataset.clone(), Standardisation::of(scaling, dataset)).unwrap()
    }

    #[test]
    fn a_constant_channel_is_only_centred() {
        let shape = "1x2x2".parse().unwrap();
        let constant = dataset(shape, 200, vec![100, 0, 100, 200]);
        let Standardisation { scale, shift, .. } = Standardisation::of(Scaling::Standard, &constant);
        assert_eq!((scale, shift), (vec![0.005, 0.01], vec![-0.5, -1.0]));
    }

    #[test]
    fn a_standardisation_for_other_channels_is_refused() {
        let grey = dataset("1x2x1".parse().unwrap(), 255, vec![1, 2]);
        let colour = dataset("1x1x2".parse().unwrap(), 255, vec![1, 2]);
        let error = Examples::new(colour, Standardisation::of(Scaling::Unit, &grey)).unwrap_err();
        assert_eq!(error.to_string(), "scale has 1 values, but 2 are needed (one for each channel of `made up`)");
    }

    #[test]
    fn json_gives_the_same_standardisation_back() {
        let set = dataset("1x1x3".parse().unwrap(), 255, vec![1, 2, 3, 14, 15, 19]);
        for scaling in [Scaling::Unit, Scaling::Standard] {
            let standardisation = Standardisation::of(scaling, &set);
            let json = serde_json::to_string(&standardisation).unwrap();
            assert_eq!(serde_json::from_str::<Standardisation>(&json).unwrap(), standardisation);
        }
        assert_eq!(serde_json::to_string(&Scaling::Standard).unwrap(), "\"standard\"");
    }

    proptest! {
        #[test]
        fn unit_pixels_are_fractions_of_the_full_scale(dataset in datasets()) {
            let (images, labels) = examples(&dataset, Scaling::Unit).all();
            prop_assert_eq!(labels, dataset.labels());
            for (value, &pixel) in images.iter().zip(dataset.pixels()) {
                prop_assert!((value - f32::from(pixel) / f32::from(dataset.full_scale())).abs() < 1e-6);
            }
        }

        #[test]
        fn standard_channels_have_mean_zero_and_deviation_one(dataset in datasets()) {
            let (images, _) = examples(&dataset, Scaling::Standard).all();
            let channels = dataset.shape().channels;
            for channel in 0..channels {
                let values: Vec<f64> = images.iter().skip(channel).step_by(channels).map(|&x| f64::from(x)).collect();
                let count = values.len() as f64;
                let mean = values.iter().sum::<f64>() / count;
                let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
                prop_assert!(mean.abs() < 1e-4, "mean {mean}");
                let constant = values.iter().all(|&x| x == values[0]);
                prop_assert!((variance - f64::from(!constant)).abs() < 1e-4, "variance {variance}");
            }
        }

        #[test]
        fn gathered_consecutive_and_all_images_are_the_same(dataset in datasets(), pick in prop::collection::vec(0..6u32, 0..9)) {
            let examples = examples(&dataset, Scaling::Standard);
            let (size, count) = (dataset.shape().len(), dataset.len() as u32);
            let (images, labels) = examples.all();
            let indices: Vec<u32> = pick.iter().map(|index| index % count).collect();
            let (mut gathered, mut their_labels) = (vec![f32::NAN; indices.len() * size], vec![9; indices.len()]);
            examples.fill(&indices, &mut gathered, &mut their_labels);
            for (place, &index) in indices.iter().enumerate() {
                let index = index as usize;
                prop_assert_eq!(&gathered[place * size..][..size], &images[index * size..][..size]);
                prop_assert_eq!(their_labels[place], labels[index]);
                let (mut one, mut label) = (vec![f32::NAN; size], [9]);
                examples.range(index, &mut one, &mut label);
                prop_assert_eq!(&one[..], &images[index * size..][..size]);
                prop_assert_eq!(label[0], labels[index]);
            }
        }
    }
}
