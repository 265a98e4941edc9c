//! Hamiltonian trajectories against a plain sampler in f64, and how their errors depend on the step size.

use crate::exact::{CLASSES, Data, Exact, PARAMETERS, problem};
use onebasin::infer::{Hmc, HmcConfig, Inference, Info, Problem, Scaling};
use onebasin::params::Params;
use onebasin::posterior::{Gaussian, Posterior};
use onebasin::rng::Stream;
use onebasin::threads::pool;
use rand_chacha::rand_core::Rng;

fn config(chains: usize, step: f64, jitter: f64) -> HmcConfig {
    HmcConfig {
        chains,
        burn_in: 0,
        samples: 1000,
        thin: 1,
        trajectory: Some(0.5),
        jitter,
        step: Some(step),
        acceptance: 0.8,
        max_leapfrog_steps: 1000,
    }
}

fn value(info: &Info, name: &str) -> f64 {
    info.0.iter().find(|(known, _)| *known == name).unwrap().1
}

fn positions(hmc: &Hmc) -> Vec<Vec<f64>> {
    let states = (0..hmc.chains()).map(|chain| hmc.state().vectors[&format!("chain{chain}/position")].clone());
    states.map(|position| position.into_iter().map(f64::from).collect()).collect()
}

/// The log posterior in f64, up to a constant, and its gradient.
struct Target {
    data: Data,
    exact: Exact,
    temperature: f64,
}

impl Target {
    fn of(problem: &Problem) -> Self {
        Self { data: Data::of(problem), exact: Exact::of(problem), temperature: problem.temperature }
    }

    fn value(&self, point: &[f64]) -> f64 {
        let prior: f64 = point
            .iter()
            .enumerate()
            .map(|(index, value)| -0.5 * self.exact.prior[index / CLASSES] * value * value)
            .sum();
        (self.data.log_likelihood(point) + prior) / self.temperature
    }

    fn gradient(&self, point: &[f64]) -> Vec<f64> {
        let likelihood = self.data.gradient(point);
        let slope = |index: usize| likelihood[index] - self.exact.prior[index / CLASSES] * point[index];
        (0..point.len()).map(|index| slope(index) / self.temperature).collect()
    }

    /// Textbook leapfrog: half a kick, a drift and half a kick for each step. Returns the change of the energy.
    fn leapfrog(&self, point: &mut [f64], momentum: &mut [f64], step: f64, count: usize) -> f64 {
        let energy = |point: &[f64], momentum: &[f64]| -> f64 {
            momentum.iter().map(|value| 0.5 * value * value).sum::<f64>() - self.value(point)
        };
        let before = energy(point, momentum);
        let kick = |point: &[f64], momentum: &mut [f64]| {
            momentum.iter_mut().zip(self.gradient(point)).for_each(|(value, slope)| *value += 0.5 * step * slope);
        };
        for _ in 0..count {
            kick(point, momentum);
            point.iter_mut().zip(&*momentum).for_each(|(value, momentum)| *value += step * momentum);
            kick(point, momentum);
        }
        energy(point, momentum) - before
    }
}

/// The same proposals, energies and decisions, from the same random numbers.
#[test]
fn trajectories_are_those_of_a_plain_sampler() {
    const SEED: u64 = 31;
    for (scaling, temperature, step) in
        [(Scaling::One, 1.0, 0.06), (Scaling::FanIn, 0.5, 0.05), (Scaling::One, 2.0, 0.12)]
    {
        let problem = problem(scaling, temperature);
        let target = Target::of(&problem);
        let mut hmc = Hmc::new(config(1, step, 0.3), &problem, SEED, &pool(1).unwrap(), None).unwrap();
        // The seed of the first chain.
        let seed = Stream::new(SEED, "member", 0).generator().next_u64();
        let (mut accepted, mut rejected) = (0, 0);
        for iteration in 0..60 {
            let here = positions(&hmc).remove(0);
            hmc.step();
            let there = positions(&hmc).remove(0);

            let mut momentum = vec![0.0; PARAMETERS];
            Stream::new(seed, "momentum", iteration).fill_normal(&mut momentum);
            let mut momentum: Vec<f64> = momentum.into_iter().map(f64::from).collect();
            let mut generator = Stream::new(seed, "trajectory", iteration).generator();
            let mut uniform = || (generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            let length = 0.5 * (1.0 + 0.3 * (2.0 * uniform() - 1.0));
            let mut proposal = here.clone();
            let error = target.leapfrog(&mut proposal, &mut momentum, step, (length / step).ceil() as usize);
            let probability = (-error).exp().min(1.0);
            let info = hmc.info();
            // Ten steps of f32 with a force of up to 12² times the distance, energies of some hundreds.
            let allowed = 1e-3 * (1.0 + error.abs());
            assert!((value(&info, "energy_error") - error.abs()).abs() < allowed, "{iteration}: not {error}");
            assert!((value(&info, "acceptance") - probability).abs() < 1e-3, "{iteration}: not {probability}");
            let expected = if uniform() < probability { &proposal } else { &here };
            if expected == &here {
                rejected += 1;
            } else {
                accepted += 1;
            }
            for (found, expected) in there.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-4, "{iteration}: {found}, not {expected}");
            }
        }
        assert!(accepted > 20 && rejected > 2, "{accepted} accepted, {rejected} rejected: nothing was tried");
    }
}

/// The mean |error of the energy| of one trajectory of each of 50 chains, from points around the exact mean.
fn mean_energy_error(problem: &Problem, step: f64) -> f64 {
    let exact = Exact::of(problem);
    let params = |values: Vec<f64>| {
        let values = values.into_iter().map(|value| value as f32).collect();
        Params::from_values(problem.arch.layout(), values).unwrap()
    };
    let stds = (0..PARAMETERS).map(|index| exact.inverse[index / CLASSES][index / CLASSES].sqrt()).collect();
    let from = Posterior::Gaussian(Gaussian::new(params(exact.mean), params(stds)).unwrap());
    let mut hmc = Hmc::new(config(50, step, 0.0), problem, 6, &pool(1).unwrap(), Some(&from)).unwrap();
    hmc.step();
    value(&hmc.info(), "energy_error")
}

#[test]
fn half_the_step_makes_a_quarter_of_the_energy_error() {
    let problem = problem(Scaling::One, 1.0);
    let errors = [32.0, 64.0, 128.0].map(|steps| mean_energy_error(&problem, 1.0 / steps));
    // Of second order up to terms of fourth: (ω h)² ≤ (12/32)² = 0.14 times as much, of either sign.
    let ratios = [errors[0] / errors[1], errors[1] / errors[2]];
    assert!(ratios.iter().all(|ratio| (3.7..4.3).contains(ratio)), "{errors:?}: {ratios:?}");
}

#[test]
fn an_absurd_step_diverges_and_is_rejected() {
    let problem = problem(Scaling::One, 1.0);
    // The first overflows the energy, the second f32 itself.
    for step in [20.0, 1e29] {
        let config = HmcConfig { trajectory: Some(5.0 * step), ..config(3, step, 0.2) };
        let mut hmc = Hmc::new(config, &problem, 2, &pool(1).unwrap(), None).unwrap();
        let start = positions(&hmc);
        for _ in 0..4 {
            hmc.step();
            assert_eq!(positions(&hmc), start);
            assert_eq!(hmc.fresh().len(), 3, "a rejected trajectory yields its beginning as a sample");
        }
        let info = hmc.info();
        assert_eq!((value(&info, "divergences"), value(&info, "acceptance")), (12.0, 0.0));
        assert_eq!(value(&info, "energy_error"), f64::INFINITY);
        assert!(value(&info, "nll").is_finite());
    }
}

#[test]
fn divergences_are_counted_anew_after_the_burn_in() {
    let config = HmcConfig { burn_in: 5, trajectory: Some(100.0), ..config(3, 20.0, 0.2) };
    let mut hmc = Hmc::new(config, &problem(Scaling::One, 1.0), 2, &pool(1).unwrap(), None).unwrap();
    let mut seen = Vec::new();
    for _ in 0..8 {
        hmc.step();
        seen.push(value(&hmc.info(), "divergences"));
    }
    assert_eq!(seen, [3.0, 6.0, 9.0, 12.0, 0.0, 3.0, 6.0, 9.0]);
}

#[test]
fn the_step_size_is_adapted_to_the_acceptance_asked_for() {
    for temperature in [1.0, 0.01] {
        let problem = problem(Scaling::One, temperature);
        for acceptance in [0.6, 0.8, 0.95] {
            let trajectory = Some(0.5 * temperature.sqrt());
            let config = HmcConfig { burn_in: 500, step: None, acceptance, trajectory, ..config(4, 1.0, 0.2) };
            let mut hmc = Hmc::new(config, &problem, 2, &pool(1).unwrap(), None).unwrap();
            (0..1500).for_each(|_| hmc.step());
            let found = value(&hmc.info(), "acceptance_since_burn_in");
            // What remains is the mean of the logarithms of step sizes on both sides, and the acceptance is concave in
            // them: it ends above the aim, the more so the lower that is.
            assert!((-0.03..0.12).contains(&(found - acceptance)), "{found}, not {acceptance}");
            // And it is adapted no more.
            let step = value(&hmc.info(), "step_size");
            hmc.step();
            assert_eq!(value(&hmc.info(), "step_size"), step);
        }
    }
}
