//! What can be seen of the parameters alone: whether chains agree on them, and their standard deviations.

use crate::error::Result;
use crate::infer::diagnostics;
use crate::infer::diagnostics::Convergence;
use crate::params::Params;
use crate::posterior::Draws;
use serde::{Deserialize, Serialize};

/// Largest number of parameters that are looked at.
const PARAMETERS: usize = 4000;

/// The convergence of parameters, all or 4,000 at equal distances, over all points of `samples`: `chains` chains of equal
/// length, one after the other. Each point is read once.
pub fn mixing(samples: &dyn Draws, chains: usize) -> Result<Convergence> {
    let (count, len) = (samples.draws(usize::MAX), samples.layout().len());
    let parameters = len.min(PARAMETERS);
    // (parameter, chain, sample)
    let mut series = vec![0.0; parameters * count];
    let mut point = Params::zeros(samples.layout());
    for index in 0..count {
        samples.draw(0, index, count, &mut point)?;
        for (chosen, series) in series.chunks_exact_mut(count).enumerate() {
            series[index] = f64::from(point.values()[chosen * len / parameters]);
        }
    }
    Ok(diagnostics::summarise(series.chunks_exact(count), chains))
}

/// Bins for each factor of ten.
const BINS: f64 = 10.0;

/// The standard deviations of one tensor, counted in equal bins on a logarithmic axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StdHistogram {
    /// Name of the tensor.
    pub tensor: String,
    /// How many are zero or no number, and so in no bin.
    pub outside: usize,
    /// The borders of the bins, powers of 10^(1/10): one more than bins, or none if there is no bin.
    pub borders: Vec<f64>,
    /// How many are in each bin, its lower border included.
    pub counts: Vec<usize>,
}

impl StdHistogram {
    /// A histogram for each tensor, with bins from its smallest to its largest value.
    pub fn of(std: &Params) -> Vec<Self> {
        std.layout().tensors().iter().map(|tensor| Self::count(tensor.name(), &std.values()[tensor.range()])).collect()
    }

    fn count(tensor: &str, values: &[f32]) -> Self {
        let bin = |value: &f32| (f64::from(*value).log10() * BINS).floor() as i32;
        let inside = || values.iter().filter(|value| **value > 0.0 && value.is_finite()).map(bin);
        let outside = values.len() - inside().count();
        let mut histogram = Self { tensor: tensor.to_owned(), outside, borders: vec![], counts: vec![] };
        if let (Some(first), Some(last)) = (inside().min(), inside().max()) {
            histogram.borders = (first..=last + 1).map(|bin| 10f64.powf(f64::from(bin) / BINS)).collect();
            histogram.counts = vec![0; (last + 1 - first) as usize];
            inside().for_each(|bin| histogram.counts[(bin - first) as usize] += 1);
        }
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_counted_once_between_its_borders() {
        let values = [0.0, 0.011, 0.012, f32::NAN, 0.013, 0.1003, 0.3];
        let StdHistogram { outside, borders, counts, .. } = StdHistogram::count("a", &values);
        assert_eq!((outside, borders.len(), counts.len()), (2, 16, 15));
        assert_eq!(counts.iter().sum::<usize>(), 5);
        for (index, count) in counts.iter().enumerate() {
            let range = borders[index]..borders[index + 1];
            assert_eq!(*count, values.iter().filter(|value| range.contains(&f64::from(**value))).count());
        }
        let none = StdHistogram::count("a", &[0.0]);
        assert_eq!((none.outside, none.borders.len(), none.counts.len()), (1, 0, 0));
    }
}
