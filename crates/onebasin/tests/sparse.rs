//! A network of dense layers that leaves zeros of its images out computes the same bits as when it does not.
//!
//! Zeros are left out where a batch has enough of them. So the same images are given twice: alone, and followed by as many full
//! ones as it takes for all to be multiplied. These have no part in the result: a pixel of their own makes the network so sure of their
//! labels that their log-likelihood and its gradient are exactly zero.

use onebasin::arch::{Activation, Arch, Mlp};
use onebasin::model::Batch;
use onebasin::net::Net;
use onebasin::params::Params;
use onebasin::rng::Stream;
use onebasin::threads::pool;
use onebasin_kernels::Isa;

const PIXELS: usize = 11 * 19;
const CLASSES: usize = 7;
/// No image that counts has this pixel.
const MARK: usize = PIXELS - 1;
/// Together with up to 40 others one shard, of which they make more than four fifths.
const FULL: usize = 216;

fn normals(label: &str, len: usize) -> Vec<f32> {
    let mut values = vec![0.0; len];
    Stream::new(21, label, len as u64).fill_normal(&mut values);
    values
}

/// Images of which one pixel in twenty is not zero, whole rows are zero, and one in five is blank.
fn sparse_images(count: usize) -> Vec<f32> {
    let (values, coins) = (normals("values", count * PIXELS), normals("coins", count * PIXELS));
    let keep = |index: usize| {
        let (image, pixel) = (index / PIXELS, index % PIXELS);
        pixel != MARK && image % 5 != 3 && pixel / 19 % 4 != 1 && coins[index] > 1.645
    };
    (0..values.len()).map(|index| if keep(index) { values[index] } else { 0.0 }).collect()
}

fn full_images() -> Vec<f32> {
    let mut images: Vec<f32> = normals("full", FULL * PIXELS).into_iter().map(|value| value + 5.0).collect();
    images.chunks_exact_mut(PIXELS).for_each(|image| image[MARK] = 1.0);
    images
}

/// Random parameters, but the first unit of every layer answers to the mark alone and decides for the first class.
fn marked_params(arch: &Arch) -> Params {
    let mut params = arch.initialise(4);
    let tensors = arch.layout().tensors().to_vec();
    for (layer, weight) in tensors.iter().filter(|tensor| tensor.shape().len() == 2).enumerate() {
        let [inputs, units] = weight.shape() else { unreachable!() };
        let last = weight.name().starts_with("head");
        let values = params.view_mut(weight.name()).unwrap();
        if !last {
            (0..*inputs).for_each(|input| values[input * units] = 0.0);
        }
        values[if layer == 0 { MARK } else { 0 } * units] = 1e4;
    }
    params
}

#[derive(Debug, PartialEq)]
struct Outcome {
    logits: Vec<f32>,
    log_likelihood: f64,
    gradient: Params,
}

/// Of all `images`; the logits of the first `count`.
fn outcome(net: &mut Net, params: &Params, images: &[f32], count: usize) -> Outcome {
    let labels: Vec<u32> =
        (0..images.len() / PIXELS).map(|image| if image < count { (image * 3 % CLASSES) as u32 } else { 0 }).collect();
    let mut logits = vec![0.0; labels.len() * CLASSES];
    net.logits(params, images, &mut logits).unwrap();
    logits.truncate(count * CLASSES);
    let (mut gradient, batch) = (Params::zeros(params.layout()), Batch { inputs: images, labels: &labels });
    let log_likelihood = net.gradient(params, batch, &mut gradient).unwrap();
    assert_eq!(net.log_likelihood(params, batch).unwrap(), log_likelihood);
    Outcome { logits, log_likelihood, gradient }
}

#[test]
fn zeros_left_out_change_no_bit() {
    let input = "11x19x1".parse().unwrap();
    for hidden in [vec![], vec![70], vec![37, 130]] {
        for activation in [Activation::Relu, Activation::Tanh] {
            let arch = Arch::new(Mlp { input, classes: CLASSES, hidden: hidden.clone(), activation }).unwrap();
            let params = marked_params(&arch);
            for (isa, threads) in Isa::available().into_iter().flat_map(|isa| [(isa, 1), (isa, 3)]) {
                let mut net = Net::on(isa, &arch, &pool(threads).unwrap()).unwrap();
                for count in [1, 5, 33, 40] {
                    let mut images = sparse_images(count);
                    let alone = outcome(&mut net, &params, &images, count);
                    images.extend(full_images());
                    let among_full = outcome(&mut net, &params, &images, count);
                    assert!(
                        alone == among_full,
                        "{isa:?}, {threads} threads, {count} images, {hidden:?}, {activation:?}"
                    );
                    assert!(alone.log_likelihood < 0.0 && alone.gradient.norm() > 0.1);
                }
            }
        }
    }
}
