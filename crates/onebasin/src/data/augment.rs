//! Augmentation of training examples: crops of padded images, and horizontal flips.

use crate::arch::Shape;
use crate::error::{Error, Result};
use crate::rng::{Stream, below};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of augmentation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Augment {
    /// Number of pixels that an image is padded by on each side, before a crop of its own size is taken from anywhere.
    #[schemars(extend("x-unit" = "pixels"))]
    pub crop: usize,
    /// Whether half of the images are mirrored from left to right.
    pub flip: bool,
}

/// What happens to one image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// First row and column of the crop, in the padded image.
    row: usize,
    column: usize,
    flip: bool,
}

impl Augment {
    /// Refuses images that it makes no sense for.
    pub fn check(&self, shape: Shape) -> Result<()> {
        if shape.height < 2 || shape.width < 2 {
            let expected = format!("left out: examples of {shape} have no rows and columns");
            return Err(Error::setting("augment", "given", &expected));
        }
        let limit = shape.height.min(shape.width);
        if self.crop >= limit {
            return Err(Error::setting("augment.crop", self.crop, &format!("below {limit}, the size of an image")));
        }
        Ok(())
    }

    /// What happens to each image of the batch of a step; from the stream (`seed`, "augment", `step`).
    pub(crate) fn changes(self, seed: u64, step: u64, count: usize) -> Vec<Change> {
        let mut generator = Stream::new(seed, "augment", step).generator();
        let places = 2 * self.crop + 1;
        let mut change = || Change {
            row: below(&mut generator, places),
            column: below(&mut generator, places),
            flip: below(&mut generator, 2) == 1 && self.flip,
        };
        (0..count).map(|_| change()).collect()
    }

    /// Changes an image (row, column, channel); `padding` is the value of an empty pixel in each channel.
    pub(crate) fn apply(self, change: Change, shape: Shape, padding: &[f32], image: &mut [f32]) {
        let Shape { height, width, channels } = shape;
        let before = image.to_vec();
        for row in 0..height {
            for column in 0..width {
                let from_column = if change.flip { width - 1 - column } else { column };
                // Where the pixel was, before the padding.
                let from = [(row + change.row, height), (from_column + change.column, width)]
                    .map(|(padded, size)| padded.checked_sub(self.crop).filter(|at| *at < size));
                let out = &mut image[(row * width + column) * channels..][..channels];
                match from {
                    [Some(row), Some(column)] => {
                        out.copy_from_slice(&before[(row * width + column) * channels..][..channels]);
                    }
                    _ => out.copy_from_slice(padding),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { height: 2, width: 3, channels: 1 };

    fn changed(change: Change, crop: usize) -> Vec<f32> {
        let mut image = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        Augment { crop, flip: true }.apply(change, SHAPE, &[-1.0], &mut image);
        image
    }

    #[test]
    fn crops_and_flips_are_what_they_say() {
        assert_eq!(changed(Change { row: 1, column: 1, flip: false }, 1), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(changed(Change { row: 0, column: 0, flip: true }, 0), [3.0, 2.0, 1.0, 6.0, 5.0, 4.0]);
        assert_eq!(changed(Change { row: 2, column: 0, flip: false }, 1), [-1.0, 4.0, 5.0, -1.0, -1.0, -1.0]);
    }

    #[test]
    fn changes_depend_on_seed_and_step_and_reach_every_place() {
        let augment = Augment { crop: 4, flip: true };
        let changes = augment.changes(1, 7, 2000);
        assert_eq!(changes, augment.changes(1, 7, 2000));
        assert_ne!(changes, augment.changes(1, 8, 2000));
        assert!((0..9).all(|place| changes.iter().any(|change| change.row == place)));
        let flipped = changes.iter().filter(|change| change.flip).count();
        assert!((900..1100).contains(&flipped), "{flipped}");
        assert!(Augment { flip: false, ..augment }.changes(1, 7, 100).iter().all(|change| !change.flip));
    }

    #[test]
    fn vectors_and_crops_larger_than_images_are_refused() {
        let augment = Augment { crop: 4, flip: false };
        assert!(augment.check(Shape { height: 1, width: 13, channels: 1 }).is_err());
        assert!(augment.check(Shape { height: 4, width: 8, channels: 1 }).is_err());
        assert!(augment.check(Shape { height: 32, width: 32, channels: 3 }).is_ok());
    }
}
