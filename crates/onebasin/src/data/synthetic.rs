//! The data set `synthetic` for tests: noisy copies of one random pattern for each class, the same on every machine.

use super::Dataset;
use super::Split;
use crate::arch::Shape;
use crate::rng::Stream;

pub(super) const SHAPE: Shape = Shape { height: 6, width: 6, channels: 1 };
pub(super) const CLASSES: usize = 4;
pub(super) const TRAIN: usize = 400;
pub(super) const TEST: usize = 100;

/// Spread of the patterns and of the noise around 128, as pixels: the best classifier errs on about one image in twenty.
const PATTERN: f32 = 24.0;
const NOISE: f32 = 48.0;

/// Makes one part; the classes take turns.
pub(super) fn load(split: Split) -> Dataset {
    let (label, count) = match split {
        Split::Train => ("synthetic/train", TRAIN),
        Split::Test => ("synthetic/test", TEST),
    };
    let patterns = normals("synthetic/patterns", CLASSES * SHAPE.len());
    let noise = normals(label, count * SHAPE.len());
    // Image i has the label i mod C, so its pattern lies where the patterns repeat.
    let values =
        noise.iter().zip(patterns.iter().cycle()).map(|(noise, pattern)| 128.0 + PATTERN * pattern + NOISE * noise);
    #[expect(clippy::cast_sign_loss, reason = "the conversion saturates")]
    let pixels = values.map(|value| value.round() as u8);
    let labels = (0..CLASSES as u32).cycle().take(count).collect();
    Dataset::new("synthetic", SHAPE, CLASSES, u8::MAX, pixels.collect(), labels).expect("the sizes fit each other")
}

fn normals(label: &str, len: usize) -> Vec<f32> {
    let mut values = vec![0.0; len];
    Stream::new(0, label, 0).fill_normal(&mut values);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_pixels_never_change() {
        let train = load(Split::Train);
        assert_eq!((train.len(), load(Split::Test).len()), (400, 100));
        assert_eq!(train.pixels()[..6], [102, 180, 136, 109, 212, 210]);
        assert_eq!(load(Split::Test).pixels()[..6], [67, 118, 131, 179, 168, 169]);
        assert_eq!(train.labels()[..6], [0, 1, 2, 3, 0, 1]);
    }

    #[test]
    fn the_nearest_class_mean_is_mostly_right() {
        let (train, test) = (load(Split::Train), load(Split::Test));
        let size = SHAPE.len();
        let mut means = vec![0.0; CLASSES * size];
        for (image, &label) in train.pixels().chunks(size).zip(train.labels()) {
            for (mean, &pixel) in means[label as usize * size..].iter_mut().zip(image) {
                *mean += f32::from(pixel) * CLASSES as f32 / TRAIN as f32;
            }
        }
        let distance = |image: &[u8], class: usize| -> f32 {
            image.iter().zip(&means[class * size..]).map(|(&pixel, mean)| (f32::from(pixel) - mean).powi(2)).sum()
        };
        let right = test.pixels().chunks(size).zip(test.labels()).filter(|(image, label)| {
            let nearest = (0..CLASSES).min_by(|&a, &b| distance(image, a).total_cmp(&distance(image, b)));
            nearest == Some(**label as usize)
        });
        let right = right.count();
        assert!((85..=99).contains(&right), "{right} of 100");
    }
}
