//! The alignment that is timed: two posteriors of independent noise, the same as in `peers/alignment.py`.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "numbers of 18 bits, scales near one, and pixels"
)]

use crate::Case;
use crate::networks::preset;
use onebasin::align;
use onebasin::align::{Between, Learning, Session, Settings, Solver, Tau};
use onebasin::arch::{Arch, Preset, ResNet, Role};
use onebasin::data::{Dataset, Examples, Scaling, Standardisation};
use onebasin::net::{Likelihood, Precision};
use onebasin::params::Params;
use onebasin::posterior::Gaussian;
use onebasin::progress::Monitor;
use onebasin::symmetry::Spec;
use onebasin_kernels::ThreadPool;
use std::error::Error;
use std::hint::black_box;

const STD: f32 = 0.01;
const STD_SPREAD: f32 = 0.3;
/// Examples of learned matching, the last thousand of which are for validation.
const IMAGES: usize = 5000;

/// The whole way from two posteriors to permutations, objective and bound.
pub(crate) fn case(network: &str, solver: &str, threads: usize) -> Result<Case, Box<dyn Error>> {
    let solver = match solver {
        "descent" => Solver::CoordinateDescent,
        "forward" => Solver::Greedy,
        "best" => Solver::Best,
        _ => return Err(format!("there is no solver `{solver}`").into()),
    };
    let arch = Arch::new(widened(network)?)?;
    let spec = Spec::of(&arch);
    let (fixed, moved) = (posterior(&arch, 1)?, posterior(&arch, 2)?);
    let pool = ThreadPool::new(threads)?;
    let call = move || {
        let settings = Settings { solver, ..Settings::default() };
        let _ = black_box(align::pair(&spec, &fixed, &moved, settings, &pool, &mut Monitor::silent())?);
        Ok(())
    };
    Ok(Case { flop: None, call: Box::new(call) })
}

/// Learned matching of two points: 20 steps of 256 examples, and the validation before and behind them.
pub(crate) fn learned(network: &str, precision: Precision, threads: usize) -> Result<Case, Box<dyn Error>> {
    let arch = Arch::new(widened(network)?)?;
    let point = |seed| {
        let (mean, _) = posterior(&arch, seed)?.into_parts();
        Ok::<_, Box<dyn Error>>(Gaussian::new(mean, Params::zeros(arch.layout()))?)
    };
    let (fixed, moved) = (point(1)?, point(2)?);
    let pixels = (0..IMAGES * arch.input().len()).map(|at| (128.0 + 40.0 * noise(3, 0, at)) as u8).collect();
    let labels = (0..10).cycle().take(IMAGES).collect();
    let dataset = Dataset::new("noise", arch.input(), arch.classes(), 255, pixels, labels)?;
    let standardisation = Standardisation::of(Scaling::Standard, &dataset);
    let examples = Examples::new(dataset, standardisation)?;
    let pool = ThreadPool::new(threads)?;
    let tau = Tau::Midpoint;
    let learning =
        Learning { steps: 20, restarts: 0, batch: 256, learning_rate: 0.1, tau, repair: false, precision, seed: 0 };
    let call = move || {
        let (fixed, moved) = (&fixed, &moved);
        let between = Between { arch: &arch, likelihood: Likelihood::Softmax, fixed, moved, examples: &examples };
        let mut session = Session { resume: None, save: &mut |_| Ok(()), expired: &|| false };
        let _ = black_box(align::learn(between, &[], learning, &mut session, &pool, &mut Monitor::silent())?);
        Ok(())
    };
    Ok(Case { flop: None, call: Box::new(call) })
}

/// A network that is timed elsewhere too, or one such as `resnet20-frn-x4`.
fn widened(name: &str) -> Result<Preset, Box<dyn Error>> {
    match name.split_once("-x") {
        None => preset(name),
        Some((name, width)) => match preset(name)? {
            Preset::Resnet(resnet) => Ok(Preset::Resnet(ResNet { width: width.parse()?, ..resnet })),
            _ => Err(format!("`{name}` has no width").into()),
        },
    }
}

fn posterior(arch: &Arch, seed: u64) -> Result<Gaussian, Box<dyn Error>> {
    let (mut mean, mut std) = (Params::zeros(arch.layout()), Params::zeros(arch.layout()));
    for (tensor, role) in arch.layout().tensors().iter().zip(arch.roles()) {
        let fan_in = match role {
            Role::Weight { fan_in } => *fan_in,
            _ => tensor.range().len(),
        };
        let scale = (2.0 / fan_in as f64).sqrt() as f32;
        for at in tensor.range() {
            mean.values_mut()[at] = scale * noise(seed, 0, at);
            std.values_mut()[at] = STD * (1.0 + STD_SPREAD * noise(seed, 1, at)).max(0.1);
        }
    }
    Ok(Gaussian::new(mean, std)?)
}

/// A number of variance one from a hash of its index: the sum of four uniform ones.
fn noise(seed: u64, part: u64, index: usize) -> f32 {
    let mut hashed = (index as u64).wrapping_add((seed * 4 + part) << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for (shift, factor) in [(30, 0xBF58_476D_1CE4_E5B9_u64), (27, 0x94D0_49BB_1331_11EB)] {
        hashed = (hashed ^ (hashed >> shift)).wrapping_mul(factor);
    }
    hashed ^= hashed >> 31;
    let sum: i64 = (0..4).map(|part| ((hashed >> (16 * part)) & 0xffff) as i64).sum();
    ((sum - 2 * 65535) as f64 * (3f64.sqrt() / 65535.0)) as f32
}
