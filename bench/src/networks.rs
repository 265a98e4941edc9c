//! The networks and random numbers that are timed; sizes as in `peers/networks.py`.

use crate::Case;
use onebasin::arch::{Activation, Arch, Mlp, Normalisation, Op, Preset, ResNet, Shape, Shortcut};
use onebasin::model::Batch;
use onebasin::net::{Net, Precision};
use onebasin::params::Params;
use onebasin::rng::Stream;
use onebasin::threads::pool;
use std::error::Error;
use std::hint::black_box;

const CLASSES: usize = 10;
const LOGITS_IMAGES: usize = 10_000;
const NORMALS: usize = 1_000_000;

/// Forward and backward: the gradient of the log-likelihood of one batch.
pub(crate) fn gradient(network: &str, precision: Precision, threads: usize) -> Result<Case, Box<dyn Error>> {
    let preset = preset(network)?;
    let count = if matches!(preset, Preset::Mlp(_)) { 500 } else { 128 };
    let arch = Arch::new(preset)?;
    let params = arch.initialise(0);
    let mut gradient = Params::zeros(arch.layout());
    let mut net = Net::new(&arch, &pool(threads)?)?.with_precision(precision);
    let images = normal_images(&arch, count);
    let labels: Vec<u32> = (0..10).cycle().take(count).collect();
    let call = Box::new(move || {
        net.gradient(&params, Batch { inputs: &images, labels: &labels }, &mut gradient)?;
        Ok(())
    });
    Ok(Case { flop: Some(gradient_flops(&arch) * count as u64), call })
}

/// The logits of many images.
pub(crate) fn logits(network: &str, precision: Precision, threads: usize) -> Result<Case, Box<dyn Error>> {
    let arch = Arch::new(preset(network)?)?;
    let params = arch.initialise(0);
    let mut net = Net::new(&arch, &pool(threads)?)?.with_precision(precision);
    let images = normal_images(&arch, LOGITS_IMAGES);
    let mut logits = vec![0.0; LOGITS_IMAGES * CLASSES];
    let call = Box::new(move || Ok(net.logits(&params, &images, &mut logits)?));
    Ok(Case { flop: Some(arch.flops() * LOGITS_IMAGES as u64), call })
}

/// A million normal random numbers, on one core.
pub(crate) fn normals() -> Case {
    let mut values = vec![0.0; NORMALS];
    let mut index = 0;
    let call = Box::new(move || {
        Stream::new(0, "normals", index).fill_normal(black_box(&mut values));
        index += 1;
        Ok(())
    });
    Case { flop: None, call }
}

pub(crate) fn preset(network: &str) -> Result<Preset, Box<dyn Error>> {
    let resnet = |normalisation| {
        Preset::Resnet(ResNet {
            input: Shape { height: 32, width: 32, channels: 3 },
            classes: CLASSES,
            depth: 20,
            width: 1,
            normalisation,
            shortcut: Shortcut::Projection,
        })
    };
    match network {
        "mlp" => Ok(Preset::Mlp(Mlp {
            input: Shape { height: 28, width: 28, channels: 1 },
            classes: CLASSES,
            hidden: vec![512; 3],
            activation: Activation::Relu,
        })),
        "resnet20-none" => Ok(resnet(Normalisation::None)),
        "resnet20-frn" => Ok(resnet(Normalisation::Frn)),
        "resnet20-layer" => Ok(resnet(Normalisation::Layer)),
        _ => Err(format!("there is no network `{network}`").into()),
    }
}

/// (count, height, width, channels)
fn normal_images(arch: &Arch, count: usize) -> Vec<f32> {
    let mut images = vec![0.0; count * arch.input().len()];
    Stream::new(0, "images", 0).fill_normal(&mut images);
    images
}

/// Of one image: each layer multiplies its weights with its input, with the gradient of its output and that with
/// the input again; the first layer's input needs no gradient.
fn gradient_flops(arch: &Arch) -> u64 {
    let first = arch.nodes().iter().find_map(|node| match node.op {
        Op::Dense { weight, .. } | Op::Conv { weight, .. } => Some((weight, node.shape.height * node.shape.width)),
        _ => None,
    });
    let (weight, positions) = first.expect("every network ends in a dense layer");
    3 * arch.flops() - 2 * (positions * arch.layout().tensors()[weight].range().len()) as u64
}
