//! The gradient of every parameter tensor of every preset agrees with finite differences of the log-likelihood.

use onebasin::arch::{Activation, Arch, Cnn, Mlp, Normalisation, Preset, ResNet, Shortcut};
use onebasin::model::Batch;
use onebasin::net::Net;
use onebasin::params::Params;
use onebasin::rng::Stream;
use onebasin::threads::pool;

fn presets() -> Vec<Preset> {
    let mut presets: Vec<Preset> = Vec::new();
    for (hidden, activation) in
        [(vec![], Activation::Relu), (vec![21, 18], Activation::Relu), (vec![33], Activation::Tanh)]
    {
        presets.push(Mlp { input: "8x8x1".parse().unwrap(), classes: 10, hidden, activation }.into());
    }
    for (input, stack, hidden, activation) in [
        ("28x28x1", "6,max,17/2,average", vec![20], Activation::Relu),
        ("32x32x3", "5/2,average,9,max", vec![], Activation::Tanh),
        ("9x6x2", "max,4", vec![7], Activation::Relu),
        ("1x9x3", "4,5/2", vec![], Activation::Tanh),
        ("8x8x1", "average", vec![], Activation::Relu),
    ] {
        let stack = stack.split(',').map(|stage| stage.parse().unwrap()).collect();
        presets.push(Cnn { input: input.parse().unwrap(), classes: 7, stack, hidden, activation }.into());
    }
    for input in ["8x8x1", "28x28x1", "32x32x3"] {
        for normalisation in [Normalisation::None, Normalisation::Layer, Normalisation::Frn] {
            for shortcut in [Shortcut::Projection, Shortcut::Padded] {
                let input = input.parse().unwrap();
                presets.push(ResNet { input, classes: 10, depth: 8, width: 1, normalisation, shortcut }.into());
            }
        }
    }
    presets
}

/// (f(x + h d) - f(x - h d)) / 2h along the gradient of one tensor must be that gradient's norm.
#[test]
fn finite_differences_agree_for_every_tensor_of_every_preset() {
    for preset in presets() {
        let arch = Arch::new(preset.clone()).unwrap();
        let mut net = Net::new(&arch, &pool(2).unwrap()).unwrap();
        let mut images = vec![0.0; 6 * arch.input().len()];
        Stream::new(5, "images", 0).fill_normal(&mut images);
        let labels: Vec<u32> = (0..6).map(|image| image * 5 % arch.classes() as u32).collect();
        let batch = Batch { inputs: &images, labels: &labels };
        // Biases and thresholds begin at zero: noise moves every tensor to a general position.
        let mut noise = Params::zeros(arch.layout());
        Stream::new(5, "noise", 0).fill_normal(noise.values_mut());
        let mut params = arch.initialise(5);
        params.add_scaled(0.05, &noise).unwrap();
        let mut gradient = Params::zeros(arch.layout());
        net.gradient(&params, batch, &mut gradient).unwrap();
        for tensor in arch.layout().tensors() {
            let mut direction = Params::zeros(arch.layout());
            direction.view_mut(tensor.name()).unwrap().copy_from_slice(gradient.view(tensor.name()).unwrap());
            let norm = direction.norm();
            assert!(norm > 1e-6, "{preset:?}: {} has no gradient", tensor.name());
            direction.scale((1.0 / norm) as f32);
            let mut slope = |step: f64| {
                let mut at = |step: f64| {
                    let mut moved = params.clone();
                    moved.add_scaled(step as f32, &direction).unwrap();
                    net.log_likelihood(&moved, batch).unwrap()
                };
                (at(step) - at(-step)) / (2.0 * step)
            };
            // Rounding spoils small steps, kinks and curvature large ones: one of these must agree.
            let errors: Vec<f64> =
                [1e-2, 3e-3, 1e-3, 3e-4].into_iter().map(|step| (slope(step) - norm).abs() / norm).collect();
            let best = errors.iter().copied().fold(f64::INFINITY, f64::min);
            assert!(best < 1e-2, "{preset:?}: {} is off by {errors:?}, norm {norm}", tensor.name());
        }
    }
}
