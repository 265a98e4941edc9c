//! What a network promises beyond its numbers: the same bits on any number of threads, and an outcome for bad input.

use onebasin::arch::{Activation, Arch, Cnn, Mlp, Normalisation, ResNet, Shortcut};
use onebasin::error::Error;
use onebasin::model::Batch;
use onebasin::net::{Net, Precision};
use onebasin::params::{Layout, Params};
use onebasin::rng::Stream;
use onebasin::threads::pool;
use onebasin_kernels::Isa;
use std::sync::Arc;

fn mlp(hidden: &[usize]) -> Arch {
    let input = "8x8x1".parse().unwrap();
    Arch::new(Mlp { input, classes: 10, hidden: hidden.to_vec(), activation: Activation::Relu }).unwrap()
}

fn cnn() -> Arch {
    let stack = ["17", "max", "20/2"].map(|stage| stage.parse().unwrap()).to_vec();
    let input = "9x11x2".parse().unwrap();
    Arch::new(Cnn { input, classes: 5, stack, hidden: vec![30], activation: Activation::Tanh }).unwrap()
}

fn resnet(normalisation: Normalisation) -> Arch {
    let input = "16x16x3".parse().unwrap();
    let shortcut = Shortcut::Projection;
    Arch::new(ResNet { input, classes: 10, depth: 8, width: 1, normalisation, shortcut }).unwrap()
}

fn images(arch: &Arch, count: usize) -> Vec<f32> {
    let mut images = vec![0.0; count * arch.input().len()];
    Stream::new(3, "images", 0).fill_normal(&mut images);
    images
}

fn labels(arch: &Arch, count: usize) -> Vec<u32> {
    (0..count).map(|image| (image * 7 % arch.classes()) as u32).collect()
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let archs =
        [mlp(&[100, 37]), cnn(), resnet(Normalisation::None), resnet(Normalisation::Layer), resnet(Normalisation::Frn)];
    for arch in archs {
        // Fewer images than a shard holds, a few shards, and more than one shard of vectors.
        for count in [1, 67, 1500] {
            if count == 1500 && !matches!(arch.preset(), onebasin::arch::Preset::Mlp(_)) {
                continue;
            }
            let (images, labels, params) = (images(&arch, count), labels(&arch, count), arch.initialise(8));
            let batch = Batch { inputs: &images, labels: &labels };
            let run = |threads: usize, precision: Precision| {
                let mut net = Net::new(&arch, &pool(threads).unwrap()).unwrap().with_precision(precision);
                let mut logits = vec![0.0; count * arch.classes()];
                net.logits(&params, &images, &mut logits).unwrap();
                let mut gradient = Params::zeros(arch.layout());
                let value = net.gradient(&params, batch, &mut gradient).unwrap();
                let mut again = Params::zeros(arch.layout());
                assert_eq!(net.gradient(&params, batch, &mut again).unwrap(), value);
                assert!(again == gradient, "the second call differs from the first");
                assert_eq!(net.log_likelihood(&params, batch).unwrap(), value);
                let mut seen = Vec::new();
                net.activations(&params, &images, |hidden| {
                    seen.push((hidden.index, hidden.first, hidden.before.to_vec(), hidden.after.to_vec()));
                })
                .unwrap();
                (logits, value, gradient, seen)
            };
            for precision in [Precision::F32, Precision::Bf16] {
                let one = run(1, precision);
                assert!(one.1.is_finite() && one.2.norm() > 0.0);
                for threads in [2, 7] {
                    let same = run(threads, precision) == one;
                    assert!(same, "{threads} threads differ on {:?}, {count} images, {precision}", arch.preset());
                }
            }
        }
    }
}

/// Factors of bf16 are off by up to 2⁻⁸ of themselves, at random: so is what a few layers make of them, about.
#[test]
fn products_of_bf16_are_close_to_those_of_f32() {
    for arch in [mlp(&[100, 37]), cnn(), resnet(Normalisation::Layer), resnet(Normalisation::Frn)] {
        let (images, labels, params) = (images(&arch, 67), labels(&arch, 67), arch.initialise(8));
        let batch = Batch { inputs: &images, labels: &labels };
        let run = |isa: Isa, precision: Precision| {
            let mut net = Net::on(isa, &arch, &pool(2).unwrap()).unwrap().with_precision(precision);
            let mut logits = vec![0.0; 67 * arch.classes()];
            net.logits(&params, &images, &mut logits).unwrap();
            let mut gradient = Params::zeros(arch.layout());
            net.gradient(&params, batch, &mut gradient).unwrap();
            (logits, gradient.values().to_vec())
        };
        let off = |some: &[f32], exact: &[f32]| {
            let norm =
                |values: &mut dyn Iterator<Item = f32>| values.map(|value| f64::from(value).powi(2)).sum::<f64>();
            let difference = norm(&mut some.iter().zip(exact).map(|(some, exact)| some - exact));
            (difference / norm(&mut exact.iter().copied())).sqrt()
        };
        let exact = run(Isa::detect(), Precision::F32);
        for isa in Isa::available() {
            let rounded = run(isa, Precision::Bf16);
            let (logits, gradient) = (off(&rounded.0, &exact.0), off(&rounded.1, &exact.1));
            // Not the same either: then nothing would have been rounded.
            assert!((1e-4..0.02).contains(&logits), "{isa:?}, {:?}: logits {logits}", arch.preset());
            assert!((1e-4..0.05).contains(&gradient), "{isa:?}, {:?}: gradient {gradient}", arch.preset());
        }
    }
}

/// The gradient of a batch is the sum of the gradients of its halves, however it is cut into shards.
#[test]
fn gradients_add_up() {
    for arch in [mlp(&[33]), cnn(), resnet(Normalisation::Frn)] {
        let (images, labels, params) = (images(&arch, 41), labels(&arch, 41), arch.initialise(2));
        let mut net = Net::new(&arch, &pool(2).unwrap()).unwrap();
        let mut of = |range: std::ops::Range<usize>| {
            let mut gradient = Params::zeros(arch.layout());
            let len = arch.input().len();
            let batch = Batch { inputs: &images[range.start * len..range.end * len], labels: &labels[range] };
            let value = net.gradient(&params, batch, &mut gradient).unwrap();
            (value, gradient)
        };
        let ((first, mut sum), (second, other), (whole, expected)) = (of(0..17), of(17..41), of(0..41));
        assert!((first + second - whole).abs() < 1e-5 * whole.abs());
        sum.add_scaled(1.0, &other).unwrap();
        sum.add_scaled(-1.0, &expected).unwrap();
        assert!(sum.norm() < 1e-5 * expected.norm(), "{}", sum.norm() / expected.norm());
    }
}

/// Nothing of a larger batch stays behind in the buffers of a smaller one.
#[test]
fn a_smaller_batch_after_a_larger_one_is_like_the_first() {
    for arch in [mlp(&[33]), cnn(), resnet(Normalisation::Layer), resnet(Normalisation::Frn)] {
        let (images, labels, params) = (images(&arch, 41), labels(&arch, 41), arch.initialise(2));
        let of = |net: &mut Net, count: usize| {
            let mut gradient = Params::zeros(arch.layout());
            let batch = Batch { inputs: &images[..count * arch.input().len()], labels: &labels[..count] };
            let value = net.gradient(&params, batch, &mut gradient).unwrap();
            (value, gradient)
        };
        for precision in [Precision::F32, Precision::Bf16] {
            let new = || Net::new(&arch, &pool(2).unwrap()).unwrap().with_precision(precision);
            let mut used = new();
            for count in [41, 5, 41, 1] {
                let fresh = of(&mut new(), count);
                assert!(of(&mut used, count) == fresh, "{count} images in {:?}, {precision}", arch.preset());
            }
        }
    }
}

#[test]
fn activations_are_what_the_next_layer_reads() {
    let arch = mlp(&[20]);
    let (images, params) = (images(&arch, 9), arch.initialise(4));
    let mut net = Net::new(&arch, &pool(1).unwrap()).unwrap();
    let mut logits = vec![0.0; 90];
    net.logits(&params, &images, &mut logits).unwrap();
    let mut calls = 0;
    net.activations(&params, &images, |hidden| {
        calls += 1;
        assert_eq!((hidden.index, hidden.name, hidden.first), (0, "hidden1.out", 0));
        assert_eq!((hidden.shape.channels, hidden.before.len()), (20, 9 * 20));
        assert!(hidden.before.iter().zip(hidden.after).all(|(before, after)| *after == before.max(0.0)));
        let weight = params.view("head.weight").unwrap();
        for image in 0..9 {
            for class in 0..10 {
                let sum: f32 = (0..20).map(|unit| hidden.after[image * 20 + unit] * weight[unit * 10 + class]).sum();
                assert!((sum - logits[image * 10 + class]).abs() < 1e-5);
            }
        }
    })
    .unwrap();
    assert_eq!(calls, 1);
}

#[test]
fn activations_of_images_come_in_order() {
    let arch = resnet(Normalisation::Layer);
    let (images, params) = (images(&arch, 50), arch.initialise(4));
    let names: Vec<&str> = arch.hidden().map(|(_, node)| node.name.as_str()).collect();
    assert_eq!(names[..3], ["stem.out", "stage1.block1.inner", "stage1.block1.out"]);
    let mut seen = vec![0; names.len()];
    Net::new(&arch, &pool(2).unwrap())
        .unwrap()
        .activations(&params, &images, |hidden| {
            assert_eq!((hidden.name, hidden.first), (names[hidden.index], seen[hidden.index]));
            let count = hidden.after.len() / hidden.shape.len();
            assert_eq!(hidden.before.len(), count * hidden.shape.len());
            assert!(hidden.before.iter().zip(hidden.after).all(|(before, after)| *after == before.max(0.0)));
            seen[hidden.index] += count;
        })
        .unwrap();
    assert!(seen.iter().all(|count| *count == 50), "{seen:?}");
}

#[test]
fn nan_parameters_are_a_value_not_a_crash() {
    for arch in
        [mlp(&[20]), cnn(), resnet(Normalisation::None), resnet(Normalisation::Layer), resnet(Normalisation::Frn)]
    {
        for (tensor, precision) in
            [(0, Precision::F32), (0, Precision::Bf16), (arch.layout().tensors().len() - 1, Precision::F32)]
        {
            let mut params = arch.initialise(1);
            params.values_mut()[arch.layout().tensors()[tensor].range().start] = f32::NAN;
            let mut net = Net::new(&arch, &pool(2).unwrap()).unwrap().with_precision(precision);
            let (images, labels) = (images(&arch, 4), labels(&arch, 4));
            let batch = Batch { inputs: &images, labels: &labels };
            let mut gradient = Params::zeros(arch.layout());
            let value = net.gradient(&params, batch, &mut gradient).unwrap();
            assert!(value.is_nan(), "{:?}: {value}", arch.preset());
            assert!(gradient.norm().is_nan());
            // The network recovers: no NaN stays behind in a buffer.
            let healthy = arch.initialise(1);
            let value = net.gradient(&healthy, batch, &mut gradient).unwrap();
            assert!(value.is_finite() && gradient.norm().is_finite(), "{:?}: {value}", arch.preset());
        }
    }
}

#[test]
fn a_nan_in_any_parameter_shows() {
    let input = "6x6x1".parse().unwrap();
    let stack = ["3", "max", "2"].map(|stage| stage.parse().unwrap()).to_vec();
    let cnn = Cnn { input, classes: 3, stack, hidden: vec![], activation: Activation::Relu };
    let frn = ResNet {
        input,
        classes: 3,
        depth: 8,
        width: 1,
        normalisation: Normalisation::Frn,
        shortcut: Shortcut::Projection,
    };
    for arch in [Arch::new(cnn).unwrap(), Arch::new(frn).unwrap()] {
        let (images, labels, params) = (images(&arch, 2), labels(&arch, 2), arch.initialise(1));
        let mut net = Net::new(&arch, &pool(1).unwrap()).unwrap();
        for tensor in arch.layout().tensors() {
            // Every value of small tensors, some of large ones.
            for index in tensor.range().step_by(tensor.range().len().div_ceil(20)) {
                let mut params = params.clone();
                params.values_mut()[index] = f32::NAN;
                let value = net.log_likelihood(&params, Batch { inputs: &images, labels: &labels }).unwrap();
                assert!(value.is_nan(), "{} [{}]: {value}", tensor.name(), index - tensor.range().start);
            }
        }
    }
}

#[test]
fn an_instruction_set_is_there_or_an_error() {
    for isa in [Isa::Portable, Isa::Avx2, Isa::Avx512] {
        match Net::on(isa, &mlp(&[4]), &pool(1).unwrap()) {
            Ok(_) => assert!(Isa::available().contains(&isa)),
            Err(error) => assert_eq!(error.to_string(), format!("this machine does not have {isa:?}")),
        }
    }
}

fn message<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn an_empty_batch_is_an_error() {
    let arch = mlp(&[4]);
    let (params, mut gradient) = (arch.initialise(0), Params::zeros(arch.layout()));
    let mut net = Net::new(&arch, &pool(1).unwrap()).unwrap();
    let empty = Batch { inputs: &[], labels: &[] };
    assert_eq!(net.gradient(&params, empty, &mut gradient), Err(Error::EmptyBatch));
    assert_eq!(net.log_likelihood(&params, empty), Err(Error::EmptyBatch));
    assert_eq!(net.logits(&params, &[], &mut []), Err(Error::EmptyBatch));
    assert_eq!(net.activations(&params, &[], |_| {}), Err(Error::EmptyBatch));
}

#[test]
fn arrays_of_the_wrong_length_are_errors() {
    let arch = mlp(&[4]);
    let params = arch.initialise(0);
    let mut net = Net::new(&arch, &pool(1).unwrap()).unwrap();
    assert_eq!(
        message(net.logits(&params, &[0.0; 65], &mut [0.0; 10])),
        "the array of inputs has 65 values, but 128 are needed (whole examples of 8x8x1)"
    );
    assert_eq!(
        message(net.logits(&params, &[0.0; 64], &mut [0.0; 11])),
        "the array of logits has 11 values, but 10 are needed (1 examples, 10 classes)"
    );
    assert_eq!(
        message(net.log_likelihood(&params, Batch { inputs: &[0.0; 64], labels: &[1, 2] })),
        "the array of labels has 2 values, but 1 are needed (1 examples)"
    );
}

#[test]
fn a_label_that_is_no_class_is_an_error() {
    let arch = mlp(&[4]);
    let mut net = Net::new(&arch, &pool(1).unwrap()).unwrap();
    let batch = Batch { inputs: &[0.0; 128], labels: &[9, 10] };
    assert_eq!(
        message(net.log_likelihood(&arch.initialise(0), batch)),
        "label 10 of example 1 is not one of the 10 classes (0 to 9)"
    );
}

#[test]
fn parameters_of_another_network_are_an_error() {
    let (arch, other) = (mlp(&[4]), mlp(&[5]));
    let mut net = Net::new(&arch, &pool(1).unwrap()).unwrap();
    let difference = "the parameters do not have the layout that is needed: \
        `hidden1.weight` [64, 5] where `hidden1.weight` [64, 4] is expected";
    let mut logits = [0.0; 10];
    assert_eq!(message(net.logits(&other.initialise(0), &[0.0; 64], &mut logits)), difference);
    let batch = Batch { inputs: &[0.0; 64], labels: &[0] };
    let mut gradient = Params::zeros(other.layout());
    assert_eq!(message(net.gradient(&arch.initialise(0), batch, &mut gradient)), difference);
    // An equal layout built elsewhere is as good as the network's own.
    let tensors: Vec<_> = arch.layout().tensors().iter().map(|tensor| (tensor.name(), tensor.shape())).collect();
    let own = Params::zeros(&Arc::new(Layout::new(tensors).unwrap()));
    net.logits(&own, &[0.0; 64], &mut logits).unwrap();
}

#[test]
fn no_threads_is_an_error() {
    assert_eq!(pool(0).unwrap_err().to_string(), "`threads` is 0; it must be at least 1");
}
