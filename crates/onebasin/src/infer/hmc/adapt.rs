//! Dual averaging of the step size (Hoffman and Gelman 2014, section 3.2).

use super::super::State;
use crate::error::Result;

/// Their γ, t₀ and κ.
const SHRINKAGE: f64 = 0.05;
const OFFSET: f64 = 10.0;
const FORGETTING: f64 = 0.75;

/// Where the adaptation stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct DualAveraging {
    /// μ: the logarithm it is drawn towards.
    centre: f64,
    /// Mean shortfall of the acceptance.
    shortfall: f64,
    /// The averaged logarithm of the step size, which remains in the end.
    average: f64,
    count: f64,
}

impl DualAveraging {
    pub(super) fn new(step_size: f64) -> Self {
        Self { centre: (10.0 * step_size).ln(), shortfall: 0.0, average: step_size.ln(), count: 0.0 }
    }

    /// The step size to use after a trajectory was accepted with this probability.
    pub(super) fn update(&mut self, acceptance: f64, aim: f64) -> f64 {
        self.count += 1.0;
        let weight = 1.0 / (self.count + OFFSET);
        self.shortfall += weight * (aim - acceptance - self.shortfall);
        let log_step = self.centre - self.count.sqrt() / SHRINKAGE * self.shortfall;
        let weight = self.count.powf(-FORGETTING);
        self.average += weight * (log_step - self.average);
        log_step.exp()
    }

    /// The step size that remains.
    pub(super) fn finish(&self) -> f64 {
        self.average.exp()
    }

    pub(super) fn save(&self, state: &mut State) {
        for (name, number) in ["centre", "shortfall", "average", "count"].iter().zip(self.numbers()) {
            state.put_number(&format!("adapt.{name}"), number);
        }
    }

    pub(super) fn load(state: &State) -> Result<Self> {
        let number = |name| state.get_number(name);
        Ok(Self {
            centre: number("adapt.centre")?,
            shortfall: number("adapt.shortfall")?,
            average: number("adapt.average")?,
            count: number("adapt.count")?,
        })
    }

    fn numbers(&self) -> [f64; 4] {
        [self.centre, self.shortfall, self.average, self.count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_size_settles_where_the_acceptance_is_as_wanted() {
        // A sampler whose acceptance falls with the step size: exp(-s), 0.8 at s = 0.223.
        let mut adaptation = DualAveraging::new(5.0);
        let mut step: f64 = 5.0;
        for _ in 0..2000 {
            step = adaptation.update((-step).exp(), 0.8);
        }
        let wanted = -(0.8f64.ln());
        assert!((adaptation.finish() / wanted - 1.0).abs() < 0.05, "{} for {wanted}", adaptation.finish());
    }
}
