//! The inference that is timed, settings as in `peers/inference.py`; the networks of dense layers read MNIST.

use crate::Case;
use crate::networks::preset;
use onebasin::arch::{Arch, Mlp, Preset};
use onebasin::data;
use onebasin::data::{Dataset, Examples, Scaling, Split, Standardisation};
use onebasin::infer::{Hmc, HmcConfig, Inference, Optimise, Prior, Problem, Vi, ViConfig};
use onebasin::measure::{BarrierSettings, Curves};
use onebasin::net::{Likelihood, Precision};
use onebasin::params::Params;
use onebasin::path::Geodesic;
use onebasin::posterior::{Gaussian, Posterior, Predictor};
use onebasin::progress::Monitor;
use onebasin::rng::Stream;
use onebasin::threads::pool;
use onebasin_kernels::ThreadPool;
use rand_chacha::rand_core::Rng;
use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

const SAMPLES: usize = 128;

/// One step of variational inference: the batch, the draw, the gradient, Adam; and now and then what is logged.
pub(crate) fn vi(network: &str, precision: Precision, threads: usize) -> Result<Case, Box<dyn Error>> {
    let mut training = Training::new(network, precision, 0, threads)?;
    let call = move || {
        training.step();
        Ok(())
    };
    Ok(Case { flop: None, call: Box::new(call) })
}

/// One step of each of two trainings, side by side on a thread each.
pub(crate) fn vi_two(network: &str, precision: Precision) -> Result<Case, Box<dyn Error>> {
    let training = |seed| Training::new(network, precision, seed, 1);
    let trainings = [training(0)?, training(1)?].map(Mutex::new);
    let pool = ThreadPool::new(2)?;
    let call = move || {
        pool.for_each(2, |index| trainings[index].lock().expect("no training panicked").step());
        Ok(())
    };
    Ok(Case { flop: None, call: Box::new(call) })
}

struct Training {
    vi: Vi,
}

impl Training {
    fn new(network: &str, precision: Precision, seed: u64, threads: usize) -> Result<Self, Box<dyn Error>> {
        let preset = preset(network)?;
        let batch = if matches!(preset, Preset::Mlp(_)) { 500 } else { 128 };
        let config = ViConfig { optimise: Optimise::new(1e6, batch, 1e-3), std: Some(0.01), moped: None, samples: 1 };
        Ok(Self {
            vi: Vi::new(&config, &problem(preset, precision, Split::Train, 0.01)?, seed, &pool(threads)?, None)?,
        })
    }

    fn step(&mut self) {
        self.vi.step();
        if self.vi.done().is_multiple_of(self.vi.log_every()) {
            black_box(self.vi.info());
        }
    }
}

/// The mean predictive probabilities of 128 draws on the 10,000 test images.
pub(crate) fn predictive(network: &str, precision: Precision, threads: usize) -> Result<Case, Box<dyn Error>> {
    let problem = problem(preset(network)?, precision, Split::Test, 0.01)?;
    let layout = problem.arch.layout();
    let std = Params::from_values(layout, vec![0.01; layout.len()])?;
    let posterior = Posterior::Gaussian(Gaussian::new(problem.arch.initialise(0), std)?);
    let mut predictor = Predictor::new(&problem.arch, problem.likelihood, problem.precision, &pool(threads)?)?;
    let call = move || {
        black_box(predictor.mean(&posterior, &problem.training, SAMPLES, 0, &mut Monitor::silent())?);
        Ok(())
    };
    Ok(Case { flop: None, call: Box::new(call) })
}

/// A part of a barrier curve: three points of 16 draws on the 10,000 test images, with 200 replicates, and the mixture.
pub(crate) fn barrier(network: &str, precision: Precision, threads: usize) -> Result<Case, Box<dyn Error>> {
    let problem = problem(preset(network)?, precision, Split::Test, 0.01)?;
    let layout = problem.arch.layout();
    let end =
        |seed| Gaussian::new(problem.arch.initialise(seed), Params::from_values(layout, vec![0.01; layout.len()])?);
    let (from, to) = (end(0)?, end(1)?);
    let mut predictor = Predictor::new(&problem.arch, problem.likelihood, problem.precision, &pool(threads)?)?;
    let settings = BarrierSettings { points: 3, samples: 16, replicates: 200, seed: 0 };
    let call = move || {
        let path = Geodesic::new(&from, &to)?;
        black_box(Curves::along(&path, &mut predictor, &problem.training, false, settings, &mut Monitor::silent())?);
        Ok(())
    };
    Ok(Case { flop: None, call: Box::new(call) })
}

/// One trajectory of ten leapfrog steps over 10,000 images, and its decision.
pub(crate) fn hmc(threads: usize) -> Result<Case, Box<dyn Error>> {
    let Preset::Mlp(mlp) = preset("mlp")? else { return Err("the MLP is not one".into()) };
    let problem = problem(Preset::Mlp(Mlp { hidden: vec![512], ..mlp }), Precision::F32, Split::Test, 1.0)?;
    let config = HmcConfig {
        chains: 1,
        burn_in: 0,
        samples: 1_000_000,
        thin: 1,
        // Nine steps and a half, rounded up.
        trajectory: Some(9.5e-4),
        jitter: 0.0,
        step: Some(1e-4),
        acceptance: 0.8,
        max_leapfrog_steps: 10,
    };
    let mut hmc = Hmc::new(config, &problem, 0, &pool(threads)?, None)?;
    let call = move || {
        hmc.step();
        Ok(())
    };
    Ok(Case { flop: None, call: Box::new(call) })
}

/// Dense networks learn from MNIST, the others from noise.
fn problem(preset: Preset, precision: Precision, split: Split, variance: f64) -> Result<Problem, Box<dyn Error>> {
    let arch = Arch::new(preset)?;
    let dataset = if matches!(arch.preset(), Preset::Mlp(_)) { mnist(split)? } else { noise(&arch)? };
    let standardisation = Standardisation::of(Scaling::Unit, &dataset);
    Ok(Problem {
        training: Arc::new(Examples::new(dataset, standardisation)?),
        arch,
        likelihood: Likelihood::Softmax,
        prior: Prior { variance, scaling: onebasin::infer::Scaling::One },
        temperature: 1.0,
        precision,
    })
}

fn mnist(split: Split) -> Result<Dataset, Box<dyn Error>> {
    let folder = std::env::var_os("ONEBASIN_DATA").ok_or("set ONEBASIN_DATA to the folder that has MNIST")?;
    Ok(data::load("mnist", split, &PathBuf::from(folder))?)
}

/// Bytes of a generator, as many images as make no difference to a larger number.
fn noise(arch: &Arch) -> Result<Dataset, Box<dyn Error>> {
    let count = 6_000;
    let mut pixels = vec![0; count * arch.input().len()];
    Stream::new(0, "images", 0).generator().fill_bytes(&mut pixels);
    let labels = (0..10).cycle().take(count).collect();
    Ok(Dataset::new("noise", arch.input(), arch.classes(), 255, pixels, labels)?)
}
