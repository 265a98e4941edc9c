//! The softmax temperature at which probabilities predict best.

use crate::kernels::Team;

/// Where the logarithm of the inverse temperature is sought.
const RANGE: [f64; 2] = [-3.0, 3.0];
/// Steps of the search: they leave a part of 10⁻⁴ of the range.
const STEPS: usize = 20;

/// Probabilities of some images at all samples, and the images' labels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sampled<'a> {
    /// (sample, image, class)
    pub(super) probabilities: &'a [f32],
    pub(super) labels: &'a [u32],
    pub(super) classes: usize,
}

impl Sampled<'_> {
    /// The inverse temperature b with the least loss of the mean over samples, if each sample predicts softmax(b z), z its logits.
    ///
    /// By golden sections: the loss falls, then rises, in all but odd cases, and then one of its dips is found.
    pub(super) fn best_inverse_temperature(&self, team: &Team) -> f64 {
        let ratio = 0.5 * (5f64.sqrt() - 1.0);
        let [mut low, mut high] = RANGE;
        let [mut left, mut right] = [high - ratio * (high - low), low + ratio * (high - low)];
        let [mut at_left, mut at_right] = [left, right].map(|log| self.loss(log.exp(), team));
        for _ in 0..STEPS {
            if at_left < at_right {
                (high, right, at_right) = (right, left, at_left);
                left = high - ratio * (high - low);
                at_left = self.loss(left.exp(), team);
            } else {
                (low, left, at_left) = (left, right, at_right);
                right = low + ratio * (high - low);
                at_right = self.loss(right.exp(), team);
            }
        }
        (0.5 * (low + high)).exp()
    }

    fn loss(&self, inverse: f64, team: &Team) -> f64 {
        let each = self.labels.len() * self.classes;
        let samples = self.probabilities.len() / each;
        let mut losses = vec![0.0; self.labels.len()];
        let share = team.share(losses.len());
        team.chunks(&mut losses, share, |part, losses| {
            for (index, loss) in losses.iter_mut().enumerate() {
                let image = part * share + index;
                let rows =
                    self.probabilities.chunks_exact(each).map(|sample| &sample[image * self.classes..][..self.classes]);
                let label = self.labels[image] as usize;
                let mean: f64 = rows.map(|row| at_label(row, label, inverse)).sum::<f64>() / samples as f64;
                *loss = -mean.max(f64::from(f32::MIN_POSITIVE)).ln();
            }
        });
        losses.iter().sum::<f64>() / losses.len() as f64
    }
}

/// softmax(b z) at the label, from softmax(z).
fn at_label(row: &[f32], label: usize, inverse: f64) -> f64 {
    let power = |probability: f32| f64::from((probability.max(f32::MIN_POSITIVE).ln()) * inverse as f32).exp();
    power(row[label]) / row.iter().map(|probability| power(*probability)).sum::<f64>()
}

/// Turns softmax(z) into softmax(b z), (sample, image, class).
pub(super) fn temper(probabilities: &mut [f32], classes: usize, inverse: f64, team: &Team) {
    let share = team.share(probabilities.len() / classes) * classes;
    team.chunks(probabilities, share, |_, rows| {
        for row in rows.chunks_exact_mut(classes) {
            let mut sum = 0.0;
            for probability in &mut *row {
                *probability = (probability.max(f32::MIN_POSITIVE).ln() * inverse as f32).exp();
                sum += *probability;
            }
            for probability in row {
                *probability /= sum;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_temperature_is_found() {
        // Labels that follow softmax(z) when softmax(3 z) is given: the best inverse temperature is 1/3.
        let classes = 2;
        let (mut probabilities, mut labels) = (Vec::new(), Vec::new());
        for step in 1..100u32 {
            let first = f64::from(step) / 100.0;
            let z = (first / (1.0 - first)).ln();
            for copy in 0..100 {
                labels.push(u32::from(copy >= step));
                let given = 1.0 / (1.0 + (-3.0 * z).exp());
                probabilities.extend([given as f32, 1.0 - given as f32]);
            }
        }
        let sampled = Sampled { probabilities: &probabilities, labels: &labels, classes };
        let team = Team::new(2).unwrap();
        assert!((sampled.best_inverse_temperature(&team) - 1.0 / 3.0).abs() < 1e-3);
        let mut tempered = probabilities.clone();
        temper(&mut tempered, classes, 1.0 / 3.0, &team);
        let sampled = Sampled { probabilities: &tempered, ..sampled };
        assert!((sampled.best_inverse_temperature(&team) - 1.0).abs() < 1e-3);
    }
}
