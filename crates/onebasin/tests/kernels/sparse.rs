//! Dense layers that leave zeros out have the same bits as those that multiply them.

use crate::plain::normals;
use onebasin_kernels::bf16::Factors;
use onebasin_kernels::convolve::Convolve;
use onebasin_kernels::geometry::{Geometry, Plane, TILE, blocks};
use onebasin_kernels::lanes::BLOCK;
use onebasin_kernels::outer::WeightGradient;
use onebasin_kernels::sparse::{Occupancy, Occupy, SparseForward, SparseWeightGradient, StripFeatures};
use onebasin_kernels::{Isa, pack};
use proptest::prelude::*;

/// Which inputs are zero.
#[derive(Clone, Copy, Debug)]
enum Pattern {
    /// None.
    Full,
    /// Half of them, at random.
    Half,
    /// Nineteen in twenty, at random.
    Few,
    /// Whole blocks of features, and whole images; some of the others.
    Blocks,
    /// All, some of them with a sign.
    Empty,
}

impl Pattern {
    /// The inputs (image, feature).
    fn inputs(self, images: usize, features: usize) -> Vec<f32> {
        let (values, coins) = (normals("x", images * features), normals("coins", images * features));
        let keep = |index: usize| {
            let (image, feature, coin) = (index / features, index % features, coins[index]);
            match self {
                Self::Full => true,
                Self::Half => coin > 0.0,
                Self::Few => coin > 1.645,
                Self::Blocks => feature / BLOCK % 3 != 1 && image % 4 != 2 && coin > -1.0,
                Self::Empty => false,
            }
        };
        let zero = |index: usize| if index.is_multiple_of(3) { -0.0 } else { 0.0 };
        (0..values.len()).map(|index| if keep(index) { values[index] } else { zero(index) }).collect()
    }
}

/// A dense layer, with room for more images than there are.
#[derive(Clone, Debug)]
struct Layer {
    inputs: usize,
    units: usize,
    images: usize,
    spare: usize,
    pattern: Pattern,
}

impl Layer {
    fn plane(&self) -> Plane {
        Plane::vectors(self.images + self.spare)
    }

    fn geometry(&self) -> Geometry {
        let plane = self.plane();
        Geometry { kernel: 1, stride: 1, inputs: self.inputs, units: self.units, from: plane, to: plane }
    }

    fn blocked(&self, features: usize, values: &[f32]) -> Vec<f32> {
        let mut blocked = vec![0.0; blocks(features) * self.plane().block()];
        pack::vectors(self.plane(), features, 0..blocks(features), values, &mut blocked);
        blocked
    }

    fn x(&self) -> Vec<f32> {
        self.blocked(self.inputs, &self.pattern.inputs(self.images, self.inputs))
    }

    fn occupancy(&self, isa: Isa, x: &[f32]) -> Vec<Occupancy> {
        x.chunks_exact(self.plane().block())
            .map(|values| {
                let mut occupancy = Occupancy::with_capacity(self.images);
                // Twice: the second must not remember the first.
                for _ in 0..2 {
                    isa.run(Occupy { values: &values[..self.images * BLOCK], occupancy: &mut occupancy });
                }
                occupancy
            })
            .collect()
    }

    fn strips(&self, occupancy: &[Occupancy]) -> Vec<StripFeatures> {
        let mut strips: Vec<_> = (0..self.images.div_ceil(StripFeatures::IMAGES))
            .map(|_| StripFeatures::with_capacity(self.inputs))
            .collect();
        for _ in 0..2 {
            strips.iter_mut().enumerate().for_each(|(strip, features)| features.fill(strip, occupancy));
        }
        strips
    }
}

/// Sizes around the blocks, the strips of 5 images, the groups of 6 blocks of inputs, the 4 blocks of units and the chunks of
/// 168 images.
fn layers() -> impl Strategy<Value = Layer> {
    let images = prop_oneof![3 => 1..24usize, 1 => 165..180usize];
    let inputs = prop_oneof![1..50usize, 90..120usize, 185..200usize];
    let units = prop_oneof![1..70usize, 110..130usize];
    let patterns = [Pattern::Full, Pattern::Half, Pattern::Few, Pattern::Blocks, Pattern::Empty];
    (inputs, units, images, 0..3usize, prop::sample::select(patterns.to_vec()))
        .prop_map(|(inputs, units, images, spare, pattern)| Layer { inputs, units, images, spare, pattern })
}

/// The bits of the images in use, of (block, image, 16).
fn bits(layer: &Layer, values: &[f32]) -> Vec<u32> {
    let blocks = values.chunks_exact(layer.plane().block());
    blocks.flat_map(|block| block[..layer.images * BLOCK].iter().map(|value| value.to_bits())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn forward_has_the_bits_of_the_dense_layer(layer in layers(), relu: bool) {
        let geometry = layer.geometry();
        let (x, weights) = (layer.x(), normals("w", layer.inputs * layer.units));
        let mut bias = normals("b", layer.units);
        bias.resize(blocks(layer.units) * BLOCK, 0.0);
        let mut tiles = vec![0.0; geometry.tiles() * TILE];
        pack::weights_forward(&geometry, 0..blocks(layer.units), &weights, &mut tiles);
        let (pass, block, unit_blocks) = (geometry.forward(), layer.plane().block(), blocks(layer.units));
        for isa in Isa::available() {
            let (mut dense, mut sparse) = (vec![f32::NAN; unit_blocks * block], vec![f32::NAN; unit_blocks * block]);
            isa.run(Convolve {
                pass: &pass, columns: layer.images, factors: Factors::Singles, x: &x, weights: &tiles,
                weight_block: blocks(layer.inputs) * TILE, unit_blocks, out: &mut dense, bias: Some(&bias), residual: None, relu, accumulate: false,
            });
            let strips = layer.strips(&layer.occupancy(isa, &x));
            isa.run(SparseForward {
                inputs: layer.inputs, strips: &strips, columns: layer.images, x: &x, x_block: block, weights: &tiles,
                unit_blocks, out: &mut sparse, out_block: block, bias: &bias, relu,
            });
            prop_assert!(bits(&layer, &sparse) == bits(&layer, &dense), "{isa:?}");
            prop_assert!(dense.iter().filter(|value| value.is_nan()).count() == unit_blocks * layer.spare * BLOCK);
            prop_assert!(sparse.iter().filter(|value| value.is_nan()).count() == unit_blocks * layer.spare * BLOCK);
        }
    }

    #[test]
    fn weight_gradients_have_the_bits_of_the_dense_layer(layer in layers(), accumulate: bool) {
        let geometry = layer.geometry();
        let (x, dy) = (layer.x(), layer.blocked(layer.units, &normals("dy", layer.images * layer.units)));
        // What is replaced may be anything.
        let before = if accumulate { normals("before", layer.inputs * layer.units) } else { vec![f32::NAN; layer.inputs * layer.units] };
        let (block, input_blocks) = (layer.plane().block(), blocks(layer.inputs));
        for isa in Isa::available() {
            let (mut dense, mut sparse) = (before.clone(), before.clone());
            isa.run(WeightGradient {
                geometry: &geometry, factors: Factors::Singles, columns: layer.images, images: 1, x: &x, dy: &dy,
                input_blocks: 0..input_blocks, gradient: &mut dense, accumulate,
            });
            let occupancy = layer.occupancy(isa, &x);
            // In two parts, as two threads would.
            let middle = input_blocks / 2;
            let (first, second) = sparse.split_at_mut((middle * BLOCK).min(layer.inputs) * layer.units);
            for (input_blocks, gradient) in [(0..middle, first), (middle..input_blocks, second)] {
                isa.run(SparseWeightGradient {
                    inputs: layer.inputs, units: layer.units, occupancy: &occupancy, columns: layer.images, x: &x,
                    x_block: block, dy: &dy, dy_block: block, input_blocks, gradient, accumulate,
                });
            }
            let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            prop_assert!(bits(&sparse) == bits(&dense), "{isa:?}");
            prop_assert!(sparse.iter().all(|value| value.is_finite()));
        }
    }

    #[test]
    fn occupied_pairs_are_counted(layer in layers(), odd: bool) {
        let mut x = layer.x();
        if odd {
            // Neither is zero.
            x[0] = f32::NAN;
            x[1] = f32::from_bits(1);
        }
        let expected: usize = x
            .chunks_exact(layer.plane().block())
            .flat_map(|block| block[..layer.images * BLOCK].chunks_exact(8))
            .filter(|eight| eight.iter().any(|value| *value != 0.0))
            .count();
        for isa in Isa::available() {
            let found: usize = layer.occupancy(isa, &x).iter().map(Occupancy::occupied).sum();
            prop_assert_eq!(found, expected, "{:?}", isa);
        }
    }
}
