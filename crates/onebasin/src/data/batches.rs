//! Which images make up each batch: shuffled epochs one behind the other, cut into batches of one size.

use crate::error::{Error, Result};
use crate::rng::Stream;

/// An endless, deterministic sequence of batches of one size.
///
/// The images of each epoch are shuffled again, the epochs laid one behind the other and the whole cut into batches: a batch
/// may span two epochs (or more, if it is larger than one), and every image is seen equally often.
#[derive(Clone, Debug)]
pub struct Batches {
    seed: u64,
    size: usize,
    /// The shuffled images of `epoch`.
    order: Vec<u32>,
    epoch: Option<u64>,
    /// The batch last asked for.
    batch: Vec<u32>,
    step: Option<u64>,
}

impl Batches {
    /// Batches of `size` of the images 0 to `count` - 1, in an order that depends on nothing but these arguments.
    pub fn new(count: usize, size: usize, seed: u64) -> Result<Self> {
        for (what, value) in [("the number of images", count), ("the batch size", size)] {
            Error::unless_zero(what, value)?;
        }
        if u32::try_from(count).is_err() {
            return Err(Error::TooLarge { what: "the data set".to_owned(), size: count });
        }
        Ok(Self { seed, size, order: vec![0; count], epoch: None, batch: Vec::new(), step: None })
    }

    /// The images of batch `step`, (image): the same for every call, whatever was asked before.
    ///
    /// In a walk through consecutive steps each epoch is shuffled once; a jump costs one shuffle.
    pub fn indices(&mut self, step: u64) -> &[u32] {
        if self.step != Some(step) {
            self.step = Some(step);
            self.batch.clear();
            let mut position = u128::from(step) * self.size as u128;
            while self.batch.len() < self.size {
                let count = self.order.len();
                let start = (position % count as u128) as usize;
                self.shuffle((position / count as u128) as u64);
                let taken = (count - start).min(self.size - self.batch.len());
                self.batch.extend_from_slice(&self.order[start..start + taken]);
                position += taken as u128;
            }
        }
        &self.batch
    }

    fn shuffle(&mut self, epoch: u64) {
        if self.epoch != Some(epoch) {
            self.epoch = Some(epoch);
            Stream::new(self.seed, "batches", epoch).fill_permutation(&mut self.order);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn batches(count: usize, size: usize, seed: u64) -> Batches {
        Batches::new(count, size, seed).unwrap()
    }

    #[test]
    fn first_batches_never_change() {
        let mut batches = batches(10, 6, 2024);
        assert_eq!(batches.indices(0), [3, 8, 9, 6, 1, 0]);
        assert_eq!(batches.indices(1), [2, 4, 5, 7, 7, 8]);
    }

    #[test]
    fn nothing_and_too_much_are_refused() {
        assert_eq!(Batches::new(0, 1, 0).unwrap_err().to_string(), "the number of images is 0; it must be at least 1");
        assert_eq!(Batches::new(1, 0, 0).unwrap_err().to_string(), "the batch size is 0; it must be at least 1");
        assert!(matches!(Batches::new(1 << 32, 1, 0), Err(Error::TooLarge { .. })));
    }

    #[test]
    fn the_last_step_there_is_has_a_batch() {
        assert_eq!(batches(7, 100, 0).indices(u64::MAX).len(), 100);
    }

    #[test]
    fn seeds_and_epochs_have_different_orders() {
        let mut first = batches(1000, 1000, 1);
        let epoch = first.indices(0).to_vec();
        assert_ne!(first.indices(1), epoch);
        assert_ne!(batches(1000, 1000, 2).indices(0), epoch);
    }

    #[test]
    fn every_image_comes_to_every_place_equally_often() {
        let mut counts = [[0u32; 5]; 5];
        let mut batches = batches(5, 5, 3);
        for step in 0..10_000 {
            for (place, &image) in batches.indices(step).iter().enumerate() {
                counts[place][image as usize] += 1;
            }
        }
        // 2000 expected, with a standard deviation of 40.
        assert!(counts.as_flattened().iter().all(|count| count.abs_diff(2000) < 180), "{counts:?}");
    }

    proptest! {
        #[test]
        fn every_epoch_has_every_image_once(count in 1..50usize, size in 1..70usize, seed: u64) {
            let mut batches = batches(count, size, seed);
            let sequence: Vec<u32> = (0..count as u64).flat_map(|step| batches.indices(step).to_vec()).collect();
            for epoch in sequence.chunks(count) {
                let mut epoch = epoch.to_vec();
                epoch.sort_unstable();
                prop_assert_eq!(epoch, (0..count as u32).collect::<Vec<_>>());
            }
        }

        #[test]
        fn a_step_has_the_same_batch_whatever_was_asked_before(
            count in 1..50usize, size in 1..70usize, steps in prop::collection::vec(0..1000u64, 1..20)
        ) {
            let mut visited = batches(count, size, 7);
            for step in steps {
                let mut fresh = batches(count, size, 7);
                prop_assert_eq!(visited.indices(step), fresh.indices(step));
            }
        }
    }
}
