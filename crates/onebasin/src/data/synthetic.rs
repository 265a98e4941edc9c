//! The data set `synthetic` for tests: noisy copies of one random pattern for each class, the same on every machine.

use super::catalogue::Entry;
use super::{Dataset, Split};
use crate::rng::Stream;

/// Spread of the patterns and of the noise around 128, as pixels: the best classifier errs on about one image in twenty.
const PATTERN: f32 = 24.0;
const NOISE: f32 = 48.0;

/// Makes one part; the classes take turns.
pub(super) fn load(entry: &Entry, split: Split) -> Dataset {
    let Entry { name, shape, classes, .. } = *entry;
    let count = entry.images(split);
    let patterns = normals("synthetic/patterns", classes * shape.len());
    let noise = normals(&format!("synthetic/{split}"), count * shape.len());
    // Image i has the label i mod C, so its pattern lies where the patterns repeat.
    let values =
        noise.iter().zip(patterns.iter().cycle()).map(|(noise, pattern)| 128.0 + PATTERN * pattern + NOISE * noise);
    #[expect(clippy::cast_sign_loss, reason = "the conversion saturates")]
    let pixels = values.map(|value| value.round() as u8);
    let labels = (0..classes as u32).cycle().take(count).collect();
    Dataset::new(name, shape, classes, u8::MAX, pixels.collect(), labels).expect("the sizes fit each other")
}

fn normals(label: &str, len: usize) -> Vec<f32> {
    let mut values = vec![0.0; len];
    Stream::new(0, label, 0).fill_normal(&mut values);
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::catalogue;

    const CLASSES: usize = 4;

    fn load(split: Split) -> Dataset {
        super::load(catalogue::find("synthetic").unwrap(), split)
    }

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
        let size = train.shape().len();
        let mut means = vec![0.0; CLASSES * size];
        for (image, &label) in train.pixels().chunks(size).zip(train.labels()) {
            for (mean, &pixel) in means[label as usize * size..].iter_mut().zip(image) {
                *mean += f32::from(pixel) * CLASSES as f32 / train.len() as f32;
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
