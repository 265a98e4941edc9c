//! Pixels are scaled and shifted with the same bits on every instruction set.

use crate::plain::normals;
use onebasin_kernels::Isa;
use onebasin_kernels::elementwise::ScaleAndShift;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_scale_for_all(pixels in prop::collection::vec(0..=255u8, 0..200)) {
        let (scale, shift) = (normals("scale", 1), normals("shift", 1));
        // Rounded twice: a fused operation would have other bits.
        let expected: Vec<f32> = pixels.iter().map(|pixel| f32::from(*pixel) * scale[0] + shift[0]).collect();
        for isa in Isa::available() {
            let mut values = vec![f32::NAN; pixels.len()];
            isa.run(ScaleAndShift { pixels: &pixels, values: &mut values, scale: &scale, shift: &shift });
            prop_assert_eq!(&values, &expected, "{:?}", isa);
        }
    }

    #[test]
    fn one_scale_for_each_value_of_a_row(row in 2..40usize, pixels in prop::collection::vec(0..=255u8, 200)) {
        let (scale, shift) = (normals("scale", row), normals("shift", row));
        let pixels = &pixels[..200 / row * row];
        let expected: Vec<f32> =
            pixels.iter().enumerate().map(|(at, pixel)| f32::from(*pixel) * scale[at % row] + shift[at % row]).collect();
        for isa in Isa::available() {
            let mut values = vec![f32::NAN; pixels.len()];
            isa.run(ScaleAndShift { pixels, values: &mut values, scale: &scale, shift: &shift });
            prop_assert_eq!(&values, &expected, "{:?}", isa);
        }
    }
}
