//! The alignment that is timed: two posteriors of independent noise, the same as in `peers/alignment.py`.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "numbers of 18 bits, and scales near one"
)]

use crate::Case;
use crate::networks::preset;
use onebasin::align;
use onebasin::align::{Settings, Solver};
use onebasin::arch::{Arch, Preset, ResNet, Role};
use onebasin::params::Params;
use onebasin::posterior::Gaussian;
use onebasin::progress::Monitor;
use onebasin::symmetry::Spec;
use onebasin_kernels::ThreadPool;
use std::error::Error;
use std::hint::black_box;

const STD: f32 = 0.01;
const STD_SPREAD: f32 = 0.3;

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
