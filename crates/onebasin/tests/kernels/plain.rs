//! Plain arrays of random numbers, in and out of blocks, and how close two of them are.

use onebasin::rng::Stream;
use onebasin_kernels::geometry::{Plane, blocks};
use onebasin_kernels::lanes::BLOCK;
use onebasin_kernels::pack;
use proptest::prelude::*;

pub(crate) fn normals(label: &str, len: usize) -> Vec<f32> {
    let mut values = vec![0.0; len];
    Stream::new(9, label, len as u64).fill_normal(&mut values);
    values
}

/// The same numbers cut off to bf16.
pub(crate) fn halves(values: &[f32]) -> Vec<f32> {
    values.iter().map(|value| f32::from_bits(value.to_bits() & 0xffff_0000)).collect()
}

/// One random value for each channel, padded with zeros to whole blocks.
pub(crate) fn parameter(label: &str, channels: usize) -> Vec<f32> {
    let mut values = normals(label, channels);
    values.resize(blocks(channels) * BLOCK, 0.0);
    values
}

/// Whether all differences are within `tolerance` of the size of the numbers that went into each sum.
pub(crate) fn close(ours: &[f32], plain: &[f64], size: f64, tolerance: f64) -> Result<(), TestCaseError> {
    prop_assert_eq!(ours.len(), plain.len());
    for (index, (ours, plain)) in ours.iter().zip(plain).enumerate() {
        let off = (f64::from(*ours) - plain).abs();
        prop_assert!(off <= tolerance * size, "element {index}: {ours} against {plain}");
    }
    Ok(())
}

pub(crate) fn packed(plane: Plane, channels: usize, images: usize, values: &[f32]) -> Vec<f32> {
    let len = blocks(channels) * plane.block();
    let mut blocked = vec![0.0; images * len];
    let plain = values.chunks_exact(plane.height * plane.width * channels);
    for (image, blocked) in plain.zip(blocked.chunks_exact_mut(len)) {
        pack::image(plane, channels, image, blocked);
    }
    blocked
}

pub(crate) fn unpacked(plane: Plane, channels: usize, images: usize, blocked: &[f32]) -> Vec<f32> {
    let len = plane.height * plane.width * channels;
    let mut values = vec![0.0; images * len];
    for (image, blocked) in values.chunks_exact_mut(len).zip(blocked.chunks_exact(blocks(channels) * plane.block())) {
        pack::unpack_image(plane, channels, blocked, image);
    }
    values
}
