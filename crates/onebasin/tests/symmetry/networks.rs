//! One network of every kind, with parameters in general position, for the other tests.

use onebasin::arch::{Activation, Arch, Cnn, Mlp, Normalisation, ResNet, Role, Shortcut};
use onebasin::net::Net;
use onebasin::params::Params;
use onebasin::rng::Stream;
use onebasin::threads::pool;

pub(crate) const NORMALISATIONS: [Normalisation; 3] = [Normalisation::None, Normalisation::Layer, Normalisation::Frn];
pub(crate) const SHORTCUTS: [Shortcut; 2] = [Shortcut::Projection, Shortcut::Padded];

/// Depths of residual networks; an unoptimised build has time for one.
const DEPTHS: &[usize] = if cfg!(debug_assertions) { &[8] } else { &[8, 14, 20] };

pub(crate) fn mlp(hidden: &[usize], activation: Activation) -> Arch {
    Arch::new(Mlp { input: "3x4x2".parse().unwrap(), classes: 5, hidden: hidden.to_vec(), activation }).unwrap()
}

pub(crate) fn cnn(stack: &[&str], hidden: &[usize], activation: Activation) -> Arch {
    let stack = stack.iter().map(|stage| stage.parse().unwrap()).collect();
    let input = "9x11x2".parse().unwrap();
    Arch::new(Cnn { input, classes: 5, stack, hidden: hidden.to_vec(), activation }).unwrap()
}

pub(crate) fn resnet(depth: usize, normalisation: Normalisation, shortcut: Shortcut) -> Arch {
    let input = "8x8x3".parse().unwrap();
    Arch::new(ResNet { input, classes: 5, depth, width: 1, normalisation, shortcut }).unwrap()
}

/// Networks of every preset and option, all of the same non-linearity where there is a choice.
pub(crate) fn every_network(activation: Activation) -> Vec<Arch> {
    let mut all = vec![
        mlp(&[], activation),
        mlp(&[7], activation),
        mlp(&[33, 1, 20], activation),
        cnn(&["5"], &[], activation),
        cnn(&["17", "max", "6/2"], &[30], activation),
        cnn(&["3/2", "average", "9", "4"], &[8, 6], activation),
        cnn(&["max"], &[8], activation),
    ];
    if activation == Activation::Relu {
        for &depth in DEPTHS {
            for normalisation in NORMALISATIONS {
                all.extend(SHORTCUTS.map(|shortcut| resnet(depth, normalisation, shortcut)));
            }
        }
    }
    all
}

/// Parameters of which no two are equal: initial ones, with noise on all that they leave constant.
pub(crate) fn generic(arch: &Arch, seed: u64) -> Params {
    let mut params = arch.initialise(seed);
    for (tensor, role) in arch.layout().tensors().iter().zip(arch.roles()) {
        if !matches!(role, Role::Weight { .. }) {
            let mut noise = vec![0.0; tensor.range().len()];
            Stream::new(seed, tensor.name(), 0).fill_normal(&mut noise);
            for (value, noise) in params.values_mut()[tensor.range()].iter_mut().zip(noise) {
                *value += 0.3 * noise;
            }
        }
    }
    params
}

/// The logits of a few random images, (image, class).
pub(crate) fn logits(arch: &Arch, params: &Params) -> Vec<f32> {
    let count = 3;
    let mut images = vec![0.0; count * arch.input().len()];
    Stream::new(3, "images", 0).fill_normal(&mut images);
    let mut logits = vec![0.0; count * arch.classes()];
    Net::new(arch, &pool(1).unwrap()).unwrap().logits(params, &images, &mut logits).unwrap();
    logits
}
