//! The softmax temperature at which samples predict best, fitted on one half of the examples and used for the other.

use onebasin_kernels::likelihood::Softmax;
use onebasin_kernels::{Isa, ThreadPool};

/// Where the logarithm of the inverse temperature is looked for.
const RANGE: [f64; 2] = [-3.0, 3.0];
/// Steps of the search: they leave a part of 10⁻⁴ of the range.
const STEPS: usize = 20;

/// Turns softmax(z) into softmax(z/T), z the logits of a sample, and returns the T of examples with an even and an odd index.
///
/// The T of each half is the best one of the other half, so no example has a T that its own label was used for.
///
/// probabilities: (sample, example, class), labels: (example)
pub(super) fn cross_fit(probabilities: &mut [f32], labels: &[u32], classes: usize, pool: &ThreadPool) -> [f64; 2] {
    let isa = Isa::detect();
    let share = pool.share(probabilities.len());
    // Logits up to a constant of each row, which a softmax does not see. NaN stays what it is.
    pool.chunks(probabilities, share, |_, probabilities| {
        for value in probabilities {
            *value = if *value < f32::MIN_POSITIVE { f32::MIN_POSITIVE.ln() } else { value.ln() };
        }
    });
    let sampled = Sampled { logits: probabilities, labels, classes, isa };
    let inverses = [1, 0].map(|other| sampled.best_inverse_temperature(other, pool));
    let share = pool.share(labels.len());
    for sample in probabilities.chunks_exact_mut(labels.len() * classes) {
        pool.chunks(sample, share * classes, |part, rows| {
            for (index, row) in rows.chunks_exact_mut(classes).enumerate() {
                let scale = inverses[(part * share + index) % 2] as f32;
                isa.run(Softmax { rows: row, classes, scale });
            }
        });
    }
    inverses.map(f64::recip)
}

/// Logits of some examples at all samples, and their labels.
#[derive(Clone, Copy, Debug)]
struct Sampled<'a> {
    /// (sample, example, class)
    logits: &'a [f32],
    labels: &'a [u32],
    classes: usize,
    isa: Isa,
}

impl Sampled<'_> {
    /// The inverse temperature b with the least loss of the mean over samples plus ½ (ln b)², if each sample predicts
    /// softmax(b z), z its logits, on the examples whose index has this parity.
    ///
    /// The loss alone would want the largest b wherever it sees no mistake, and one mistake in the other half would cost more
    /// than all else. The second term is that of a standard normal prior of ln b, which a hundred examples outweigh.
    ///
    /// By golden sections: the sum falls, then rises, in all but odd cases, and then one of its dips is found.
    fn best_inverse_temperature(&self, parity: usize, pool: &ThreadPool) -> f64 {
        let sum = |log: f64| self.loss(parity, log.exp(), pool) + 0.5 * log * log;
        let ratio = 0.5 * (5f64.sqrt() - 1.0);
        let [mut low, mut high] = RANGE;
        let [mut left, mut right] = [high - ratio * (high - low), low + ratio * (high - low)];
        let [mut at_left, mut at_right] = [left, right].map(sum);
        for _ in 0..STEPS {
            if at_left < at_right {
                (high, right, at_right) = (right, left, at_left);
                left = high - ratio * (high - low);
                at_left = sum(left);
            } else {
                (low, left, at_left) = (left, right, at_right);
                right = low + ratio * (high - low);
                at_right = sum(right);
            }
        }
        (0.5 * (low + high)).exp()
    }

    /// The sum of the losses of the examples whose index has this parity.
    fn loss(&self, parity: usize, inverse: f64, pool: &ThreadPool) -> f64 {
        let Self { logits, labels, classes, isa } = *self;
        let each = labels.len() * classes;
        let samples = (logits.len() / each) as f64;
        let mut losses = vec![0.0; (labels.len() - parity).div_ceil(2)];
        let share = pool.share(losses.len());
        pool.chunks(&mut losses, share, |part, losses| {
            let mut row = vec![0.0; classes];
            // Sample by sample, in the order of memory: each loss is the probability of its label, summed, until the end.
            for sample in logits.chunks_exact(each) {
                for (index, sum) in losses.iter_mut().enumerate() {
                    let example = 2 * (part * share + index) + parity;
                    row.copy_from_slice(&sample[example * classes..][..classes]);
                    isa.run(Softmax { rows: &mut row, classes, scale: inverse as f32 });
                    *sum += f64::from(row[labels[example] as usize]);
                }
            }
            for loss in losses {
                *loss = -(*loss / samples).max(f64::from(f32::MIN_POSITIVE)).ln();
            }
        });
        losses.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASSES: usize = 2;

    /// Examples whose labels follow softmax(z) when softmax(sharper z) is given; each is there twice, once in each half.
    fn known(sharper: f64) -> (Vec<f32>, Vec<u32>) {
        let (mut probabilities, mut labels) = (Vec::new(), Vec::new());
        for step in 1..100u32 {
            let first = f64::from(step) / 100.0;
            let z = (first / (1.0 - first)).ln();
            for copy in 0..200 {
                labels.push(u32::from(copy / 2 >= step));
                let given = 1.0 / (1.0 + (-sharper * z).exp());
                probabilities.extend([given as f32, 1.0 - given as f32]);
            }
        }
        (probabilities, labels)
    }

    #[test]
    fn a_known_temperature_is_found_on_both_halves() {
        let pool = ThreadPool::new(2).unwrap();
        let (mut probabilities, labels) = known(3.0);
        let [even, odd] = cross_fit(&mut probabilities, &labels, CLASSES, &pool);
        assert!((even - 3.0).abs() < 1e-2 && even == odd, "{even} and {odd}");
        // Nothing is left to be found, and what was found is softmax(z).
        for (found, expected) in probabilities.iter().zip(known(1.0).0) {
            assert!((found - expected).abs() < 1e-3, "{found} and {expected}");
        }
        let again = cross_fit(&mut probabilities, &labels, CLASSES, &pool);
        assert!(again.iter().all(|temperature| (temperature - 1.0).abs() < 1e-3), "{again:?}");
    }

    #[test]
    fn no_example_has_a_temperature_that_its_label_was_used_for() {
        let (given, labels) = known(3.0);
        let fit = |labels: &[u32], threads: usize| {
            let mut probabilities = given.clone();
            let pool = ThreadPool::new(threads).unwrap();
            let temperatures = cross_fit(&mut probabilities, labels, CLASSES, &pool);
            (temperatures, probabilities)
        };
        let (before, predicted) = fit(&labels, 1);
        let is_even = |index: usize| index.is_multiple_of(2);
        let flipped = |(index, label): (usize, &u32)| if is_even(index) { 1 - label } else { *label };
        let changed: Vec<u32> = labels.iter().enumerate().map(flipped).collect();
        let (after, then) = fit(&changed, 3);
        assert_eq!(after[0], before[0]);
        // Labels that are mostly wrong want the highest temperature.
        assert!(before[1] < 4.0 && after[1] > 20.0, "{before:?} and {after:?}");
        let rows = predicted.chunks(CLASSES).zip(then.chunks(CLASSES)).enumerate();
        rows.for_each(|(index, (before, after))| assert_eq!(before == after, is_even(index) || before[0] == 0.5));
    }

    #[test]
    fn a_half_without_mistakes_makes_nobody_sure() {
        let pool = ThreadPool::alone();
        let (mut probabilities, mut labels) = ([0.1, 0.9].repeat(100), vec![1; 100]);
        labels[1] = 0;
        let [even, odd] = cross_fit(&mut probabilities, &labels, CLASSES, &pool);
        // Of 50 examples, all are right, or all but one, which is less than they say.
        assert!(odd > 0.3 && odd < 0.6 && even > odd && even < 1.0, "{even} and {odd}");
        // Nothing is known of the other half of a single example.
        let mut single = [0.25, 0.75, 0.5, 0.5];
        let [even, _] = cross_fit(&mut single, &[1], CLASSES, &pool);
        assert!((even - 1.0).abs() < 1e-3 && (single[0] - 0.25).abs() < 1e-3 && single[3] == 0.5, "{single:?}");
    }

    #[test]
    fn nan_is_kept() {
        let pool = ThreadPool::alone();
        let mut broken = [f32::NAN, f32::NAN, 0.0, 1.0, 0.3, 0.7];
        let temperatures = cross_fit(&mut broken, &[0, 1, 1], CLASSES, &pool);
        assert!(temperatures.iter().all(|temperature| temperature.is_finite()), "{temperatures:?}");
        assert_eq!(broken.map(f32::is_nan), [true, true, false, false, false, false]);
    }
}
