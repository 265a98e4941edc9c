//! Convolutions and dense layers, forward and backward, against sums of products in f64.

use crate::plain::{close, halves, normals, packed, unpacked};
use onebasin_kernels::bf16::{Factors, RoundBlocks, RoundNeighbours, RoundTogether};
use onebasin_kernels::convolve::Convolve;
use onebasin_kernels::geometry::{Geometry, Plane, TILE, blocks};
use onebasin_kernels::lanes::BLOCK;
use onebasin_kernels::outer::WeightGradient;
use onebasin_kernels::{Isa, pack};
use proptest::prelude::*;

/// One convolution in plain (height, width, channels) arrays.
#[derive(Clone, Debug)]
struct Plain {
    kernel: usize,
    stride: usize,
    inputs: usize,
    units: usize,
    height: usize,
    width: usize,
    images: usize,
}

impl Plain {
    fn geometry(&self) -> Geometry {
        Geometry {
            kernel: self.kernel,
            stride: self.stride,
            inputs: self.inputs,
            units: self.units,
            from: Plane::image(self.height, self.width),
            to: Plane::image(self.height.div_ceil(self.stride), self.width.div_ceil(self.stride)),
        }
    }

    /// Calls `visit(input index, weight index, output index)` for every product of every image.
    fn for_each(&self, mut visit: impl FnMut(usize, usize, usize)) {
        let Geometry { to, .. } = self.geometry();
        let pad = self.kernel / 2;
        for image in 0..self.images {
            for row in 0..to.height {
                for column in 0..to.width {
                    for tap in 0..self.kernel * self.kernel {
                        let x_row = (row * self.stride + tap / self.kernel).wrapping_sub(pad);
                        let x_column = (column * self.stride + tap % self.kernel).wrapping_sub(pad);
                        if x_row >= self.height || x_column >= self.width {
                            continue;
                        }
                        for input in 0..self.inputs {
                            for unit in 0..self.units {
                                visit(
                                    ((image * self.height + x_row) * self.width + x_column) * self.inputs + input,
                                    (tap * self.inputs + input) * self.units + unit,
                                    ((image * to.height + row) * to.width + column) * self.units + unit,
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Numbers as factors of a sum over neighbours.
fn neighbours(isa: Isa, factors: Factors, values: &[f32]) -> Vec<f32> {
    if factors == Factors::Singles {
        return values.to_vec();
    }
    let mut pairs = vec![f32::NAN; values.len() / 2];
    isa.run(RoundNeighbours { from: values, to: &mut pairs });
    pairs
}

/// Blocks of 16 as factors of a sum over blocks; whatever is behind the last is a zero.
fn rows(isa: Isa, factors: Factors, values: &[f32]) -> Vec<f32> {
    if factors == Factors::Singles {
        return values.to_vec();
    }
    let mut pairs = vec![f32::NAN; values.len().div_ceil(2 * BLOCK) * BLOCK];
    isa.run(RoundBlocks { from: values, to: &mut pairs });
    pairs
}

/// Images of `len` numbers as factors of a sum over images.
fn images(isa: Isa, factors: Factors, len: usize, values: &[f32]) -> Vec<f32> {
    if factors == Factors::Singles {
        return values.to_vec();
    }
    let mut pairs = vec![f32::NAN; values.len().div_ceil(2 * len) * len];
    for (both, to) in values.chunks(2 * len).zip(pairs.chunks_exact_mut(len)) {
        isa.run(RoundTogether { first: &both[..len], second: both.get(len..).filter(|rest| !rest.is_empty()), to });
    }
    pairs
}

/// Random numbers that are exact as such factors: their products are too, so that sums are as close as those of f32.
fn exact(factors: Factors, label: &str, len: usize) -> Vec<f32> {
    let values = normals(label, len);
    if factors == Factors::Singles { values } else { halves(&values) }
}

fn any_factors() -> impl Strategy<Value = Factors> {
    any::<bool>().prop_map(|pairs| if pairs { Factors::Pairs } else { Factors::Singles })
}

fn convolutions() -> impl Strategy<Value = Plain> {
    (0..4usize, 1..41usize, 1..70usize, 1..20usize, 1..20usize, 1..3usize).prop_map(
        |(kind, inputs, units, height, width, images)| Plain {
            kernel: if kind < 2 { 3 } else { 1 },
            stride: kind % 2 + 1,
            inputs,
            units,
            height,
            width,
            images,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn convolution_forward(plain in convolutions(), extras in 0..8u8, factors in any_factors()) {
        let geometry = plain.geometry();
        let (from, to) = (geometry.from, geometry.to);
        let (with_bias, with_residual, relu) = (extras & 1 != 0, extras & 2 != 0, extras & 4 != 0);
        let outputs = plain.images * to.height * to.width * plain.units;
        let x = exact(factors, "x", plain.images * plain.height * plain.width * plain.inputs);
        let weights = exact(factors, "w", plain.kernel * plain.kernel * plain.inputs * plain.units);
        let bias = normals("b", plain.units);
        let residual = normals("r", outputs);
        let mut expected = vec![0.0f64; outputs];
        plain.for_each(|i, w, o| expected[o] += f64::from(x[i]) * f64::from(weights[w]));
        for (index, value) in expected.iter_mut().enumerate() {
            if with_bias { *value += f64::from(bias[index % plain.units]); }
            if with_residual { *value += f64::from(residual[index]); }
            if relu { *value = value.max(0.0); }
        }
        let weight_block = plain.kernel * plain.kernel * blocks(plain.inputs) * TILE;
        let mut tiles = vec![0.0; geometry.tiles() * TILE];
        pack::weights_forward(&geometry, 0..blocks(geometry.units), &weights, &mut tiles);
        let mut padded_bias = bias.clone();
        padded_bias.resize(blocks(plain.units) * BLOCK, 0.0);
        let x = packed(from, plain.inputs, plain.images, &x);
        let residual = packed(to, plain.units, plain.images, &residual);
        let pass = geometry.forward();
        let size = (plain.kernel * plain.kernel * plain.inputs) as f64;
        for isa in Isa::available() {
            let (x, tiles) = (neighbours(isa, factors, &x), rows(isa, factors, &tiles));
            let out_len = blocks(plain.units) * to.block();
            let mut out = vec![0.0; plain.images * out_len];
            for ((out, x), residual) in out
                .chunks_exact_mut(out_len)
                .zip(x.chunks_exact(blocks(plain.inputs) * from.block() / factors.packed()))
                .zip(residual.chunks_exact(out_len))
            {
                isa.run(Convolve {
                    pass: &pass,
                    columns: pass.columns,
                    factors,
                    x,
                    weights: &tiles,
                    weight_block: weight_block / factors.packed(),
                    unit_blocks: blocks(plain.units),
                    out,
                    bias: with_bias.then_some(&padded_bias),
                    residual: with_residual.then_some(residual),
                    relu,
                    accumulate: false,
                });
            }
            close(&unpacked(to, plain.units, plain.images, &out), &expected, size.sqrt() + 1.0, 1e-5)?;
            // The zero border and the padding channels are what the next layer relies on.
            let inside = packed(to, plain.units, plain.images, &unpacked(to, plain.units, plain.images, &out));
            prop_assert!(inside == out, "something outside the image was written");
        }
    }

    #[test]
    fn convolution_input_gradient(plain in convolutions(), accumulate: bool, factors in any_factors()) {
        let geometry = plain.geometry();
        let (from, to) = (geometry.from, geometry.to);
        let inputs = plain.images * plain.height * plain.width * plain.inputs;
        let dy = exact(factors, "dy", plain.images * to.height * to.width * plain.units);
        let weights = exact(factors, "w", plain.kernel * plain.kernel * plain.inputs * plain.units);
        let before = normals("before", inputs);
        let mut expected: Vec<f64> =
            before.iter().map(|value| if accumulate { f64::from(*value) } else { 0.0 }).collect();
        plain.for_each(|i, w, o| expected[i] += f64::from(dy[o]) * f64::from(weights[w]));
        let weight_block = plain.kernel * plain.kernel * blocks(plain.units) * TILE;
        let mut tiles = vec![0.0; geometry.tiles() * TILE];
        for (block, tiles) in tiles.chunks_exact_mut(weight_block).enumerate() {
            pack::weights_backward(&geometry, block, &weights, tiles);
        }
        let dy = packed(to, plain.units, plain.images, &dy);
        let size = (plain.kernel * plain.kernel * plain.units) as f64;
        for isa in Isa::available() {
            let mut dx = packed(from, plain.inputs, plain.images, &before);
            let (dy, tiles) = (neighbours(isa, factors, &dy), rows(isa, factors, &tiles));
            for (dx, dy) in dx
                .chunks_exact_mut(blocks(plain.inputs) * from.block())
                .zip(dy.chunks_exact(blocks(plain.units) * to.block() / factors.packed()))
            {
                for pass in &geometry.backward() {
                    isa.run(Convolve {
                        pass,
                        columns: pass.columns,
                        factors,
                        x: dy,
                        weights: &tiles,
                        weight_block: weight_block / factors.packed(),
                        unit_blocks: blocks(plain.inputs),
                        out: dx,
                        bias: None,
                        residual: None,
                        relu: false,
                        accumulate,
                    });
                }
            }
            close(&unpacked(from, plain.inputs, plain.images, &dx), &expected, size.sqrt() + 1.0, 1e-5)?;
            let inside = packed(from, plain.inputs, plain.images, &unpacked(from, plain.inputs, plain.images, &dx));
            prop_assert!(inside == dx, "something outside the image was written");
        }
    }

    #[test]
    fn convolution_weight_gradient(plain in convolutions(), accumulate: bool, factors in any_factors()) {
        let geometry = plain.geometry();
        let x = exact(factors, "x", plain.images * plain.height * plain.width * plain.inputs);
        let dy = exact(factors, "dy", plain.images * geometry.to.height * geometry.to.width * plain.units);
        let before = normals("before", plain.kernel * plain.kernel * plain.inputs * plain.units);
        let mut expected: Vec<f64> =
            before.iter().map(|value| if accumulate { f64::from(*value) } else { 0.0 }).collect();
        plain.for_each(|i, w, o| expected[w] += f64::from(x[i]) * f64::from(dy[o]));
        let x = packed(geometry.from, plain.inputs, plain.images, &x);
        let dy = packed(geometry.to, plain.units, plain.images, &dy);
        let size = (plain.images * geometry.to.height * geometry.to.width) as f64;
        for isa in Isa::available() {
            let mut gradient = before.clone();
            let x = images(isa, factors, blocks(plain.inputs) * geometry.from.block(), &x);
            let dy = images(isa, factors, blocks(plain.units) * geometry.to.block(), &dy);
            isa.run(WeightGradient {
                geometry: &geometry,
                factors,
                columns: geometry.to.width,
                images: plain.images.div_ceil(factors.packed()),
                x: &x,
                dy: &dy,
                input_blocks: 0..blocks(plain.inputs),
                gradient: &mut gradient,
                accumulate,
            });
            close(&gradient, &expected, size.sqrt() + 1.0, 1e-5)?;
        }
    }

    #[test]
    fn dense_layers(
        inputs in 1..100usize, units in 1..100usize, images in 1..300usize, spare in 0..40usize, factors in any_factors(),
    ) {
        // A dense layer is a 1x1 convolution over the images; the plane may have room for more of them.
        let plane = Plane::vectors(images + spare);
        let geometry = Geometry { kernel: 1, stride: 1, inputs, units, from: plane, to: plane };
        let (x, dy) = (exact(factors, "x", images * inputs), exact(factors, "dy", images * units));
        let weights = exact(factors, "w", inputs * units);
        let mut out = vec![0.0f64; images * units];
        let mut dx = vec![0.0f64; images * inputs];
        let mut gradient = vec![0.0f64; inputs * units];
        for image in 0..images {
            for input in 0..inputs {
                for unit in 0..units {
                    let (i, o, w) = (image * inputs + input, image * units + unit, input * units + unit);
                    out[o] += f64::from(x[i]) * f64::from(weights[w]);
                    dx[i] += f64::from(dy[o]) * f64::from(weights[w]);
                    gradient[w] += f64::from(x[i]) * f64::from(dy[o]);
                }
            }
        }
        let blocked = |features: usize, values: &[f32]| {
            let mut blocked = vec![0.0; blocks(features) * plane.block()];
            pack::vectors(plane, features, 0..blocks(features), values, &mut blocked);
            blocked
        };
        let plain = |features: usize, blocked: &[f32]| -> Vec<f32> {
            (0..images * features)
                .map(|index| {
                    let (image, feature) = (index / features, index % features);
                    blocked[feature / BLOCK * plane.block() + image * BLOCK + feature % BLOCK]
                })
                .collect()
        };
        let (forward_block, backward_block) = (blocks(inputs) * TILE, blocks(units) * TILE);
        let (mut forward, mut backward) = (vec![0.0; geometry.tiles() * TILE], vec![0.0; geometry.tiles() * TILE]);
        pack::weights_forward(&geometry, 0..blocks(geometry.units), &weights, &mut forward);
        for (block, tiles) in backward.chunks_exact_mut(backward_block).enumerate() {
            pack::weights_backward(&geometry, block, &weights, tiles);
        }
        let (x, dy) = (blocked(inputs, &x), blocked(units, &dy));
        let (forward_pass, backward_passes) = (geometry.forward(), geometry.backward());
        for isa in Isa::available() {
            let run = |pass, x: &[f32], weights: &[f32], weight_block: usize, unit_blocks| {
                let mut out = vec![0.0; unit_blocks * plane.block()];
                let (x, weights) = (&neighbours(isa, factors, x), &rows(isa, factors, weights));
                isa.run(Convolve {
                    pass, columns: images, factors, x, weights, weight_block: weight_block / factors.packed(), unit_blocks,
                    out: &mut out, bias: None, residual: None, relu: false, accumulate: false,
                });
                out
            };
            let ours = run(&forward_pass, &x, &forward, forward_block, blocks(units));
            close(&plain(units, &ours), &out, (inputs as f64).sqrt() + 1.0, 1e-5)?;
            let ours = run(&backward_passes[0], &dy, &backward, backward_block, blocks(inputs));
            close(&plain(inputs, &ours), &dx, (units as f64).sqrt() + 1.0, 1e-5)?;
            // In two parts, as two threads would.
            let columns_of = |blocked: &[f32]| -> Vec<f32> {
                let used = blocked.chunks_exact(plane.block()).map(|block| rows(isa, factors, &block[..images * BLOCK]));
                used.flatten().collect()
            };
            let (x, dy) = if factors == Factors::Pairs { (columns_of(&x), columns_of(&dy)) } else { (x.clone(), dy.clone()) };
            let pairs = Plane::vectors(images).in_pairs();
            let geometry = match factors {
                Factors::Singles => geometry,
                Factors::Pairs => Geometry { from: pairs, to: pairs, ..geometry },
            };
            let mut ours = vec![0.0; inputs * units];
            let middle = blocks(inputs) / 2;
            let (first, second) = ours.split_at_mut((middle * BLOCK).min(inputs) * units);
            for (input_blocks, gradient) in [(0..middle, first), (middle..blocks(inputs), second)] {
                isa.run(WeightGradient {
                    geometry: &geometry, factors, columns: images.div_ceil(factors.packed()), images: 1, x: &x, dy: &dy,
                    input_blocks, gradient, accumulate: false,
                });
            }
            close(&ours, &gradient, (images as f64).sqrt() + 1.0, 1e-5)?;
        }
    }
}
