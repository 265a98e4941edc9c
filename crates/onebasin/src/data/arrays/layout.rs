//! Brings inputs into the order of axes that networks here read: (example, row, column, channel).

use super::super::Values;
use super::Inputs;
use super::array::axes;
use crate::arch::Shape;
use crate::error::{Error, Result};

named_enum! {
    /// Order of the axes of images with channels.
    pub enum Layout {
        /// (example, row, column, channel).
        Hwc = "hwc",
        /// (example, channel, row, column).
        Chw = "chw",
    }
}

impl Layout {
    /// The order of images of this shape if nobody says: channels come first if the first axis is 1, 3 or 4 and the last is not.
    pub fn assumed(shape: [usize; 3]) -> Self {
        let is_channels = |size: usize| [1, 3, 4].contains(&size);
        if is_channels(shape[0]) && !is_channels(shape[2]) { Self::Chw } else { Self::Hwc }
    }

    /// The axes in words.
    pub fn axes(self) -> &'static str {
        match self {
            Self::Hwc => "(example, row, column, channel)",
            Self::Chw => "(example, channel, row, column)",
        }
    }

    fn other(self) -> Self {
        if self == Self::Hwc { Self::Chw } else { Self::Hwc }
    }
}

/// What one example of a file is to a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Arrangement {
    /// Its shape in a network.
    pub(in super::super) shape: Shape,
    /// The order of axes in the file; none of vectors and of images without channels.
    layout: Option<Layout>,
    /// What was assumed, in words, if something was.
    pub(in super::super) assumed: Option<String>,
}

impl Arrangement {
    /// Of examples of this shape, in the array `name`.
    pub(in super::super) fn new(name: &str, shape: &[usize], layout: Option<Layout>) -> Result<Self> {
        let found = match *shape {
            [] => Shape::vector(1),
            [features] => Shape::vector(features),
            [height, width] => Shape { height, width, channels: 1 },
            [first, second, third] => {
                let order = layout.unwrap_or_else(|| Layout::assumed([first, second, third]));
                let shape = match order {
                    Layout::Hwc => Shape { height: first, width: second, channels: third },
                    Layout::Chw => Shape { height: second, width: third, channels: first },
                };
                let assumed = layout.is_none().then(|| {
                    let (shape, other) = (axes(&[first, second, third]), order.other());
                    format!(
                        "examples of {shape} in `{name}` are read as {}; `data.layout = \"{other}\"` reads them as {}",
                        order.axes(),
                        other.axes()
                    )
                });
                return Ok(Self { shape, layout: Some(order), assumed });
            }
            _ => {
                let value = format_args!("of examples of {}", axes(shape));
                let expected = "of vectors (example, feature) or images (example, row, column), (example, row, column, channel) or \
                                (example, channel, row, column)";
                return Err(Error::OutOfRange { what: format!("`{name}`"), value: value.to_string(), expected });
            }
        };
        if let Some(layout) = layout {
            let expected =
                format!("left out: examples of {} in `{name}` have no axis of channels to find", axes(shape));
            return Err(Error::setting("layout", format_args!("\"{layout}\""), &expected));
        }
        Ok(Self { shape: found, layout: None, assumed: None })
    }
}

impl Inputs {
    /// The values as (example, row, column, channel), and the shape of one example; vectors have one channel for each feature.
    pub fn arranged(self, layout: Option<Layout>) -> Result<(Shape, Values)> {
        let Arrangement { shape, layout, .. } = Arrangement::new(&self.name, &self.shape, layout)?;
        if layout != Some(Layout::Chw) {
            return Ok((shape, self.values));
        }
        let values = match self.values {
            Values::Pixels(pixels) => Values::Pixels(channels_last(&pixels, shape)),
            Values::Numbers(numbers) => Values::Numbers(channels_last(&numbers, shape)),
        };
        Ok((shape, values))
    }
}

/// From (example, channel, row, column) to (example, row, column, channel).
fn channels_last<T: Copy>(values: &[T], shape: Shape) -> Vec<T> {
    let positions = shape.height * shape.width;
    let mut out = Vec::with_capacity(values.len());
    for planes in values.chunks_exact(shape.len()) {
        for position in 0..positions {
            out.extend((0..shape.channels).map(|channel| planes[channel * positions + position]));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arranged(shape: &[usize], layout: Option<Layout>) -> Result<(Shape, Vec<f32>)> {
        let values = Values::Numbers((0..2 * shape.iter().product::<usize>()).map(|value| value as f32).collect());
        let inputs = Inputs { name: "x".to_owned(), examples: 2, shape: shape.to_vec(), values };
        let (shape, Values::Numbers(values)) = inputs.arranged(layout)? else { panic!("they are numbers") };
        Ok((shape, values))
    }

    #[test]
    fn each_shape_is_what_a_network_reads() {
        for (shape, layout, expected) in [
            (&[][..], None, "1x1x1"),
            (&[5], None, "1x1x5"),
            (&[4, 6], None, "4x6x1"),
            (&[4, 6, 3], None, "4x6x3"),
            (&[3, 4, 6], None, "4x6x3"),
            (&[1, 8, 8], None, "8x8x1"),
            (&[4, 8, 8], None, "8x8x4"),
            (&[2, 8, 8], None, "2x8x8"),
            (&[3, 8, 3], None, "3x8x3"),
            (&[3, 8, 3], Some(Layout::Chw), "8x3x3"),
            (&[3, 4, 6], Some(Layout::Hwc), "3x4x6"),
        ] {
            assert_eq!(arranged(shape, layout).unwrap().0.to_string(), expected, "{shape:?} {layout:?}");
        }
    }

    #[test]
    fn channels_in_front_come_last() {
        // Two channels of one row and three columns.
        let (shape, values) = arranged(&[2, 1, 3], Some(Layout::Chw)).unwrap();
        assert_eq!(shape.to_string(), "1x3x2");
        assert_eq!(values, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0, 6.0, 9.0, 7.0, 10.0, 8.0, 11.0]);
        let (_, same) = arranged(&[2, 1, 3], Some(Layout::Hwc)).unwrap();
        assert_eq!(same, (0..12).map(|value| value as f32).collect::<Vec<_>>());
    }

    #[test]
    fn what_was_assumed_is_said_and_what_makes_no_sense_refused() {
        let assumed = Arrangement::new("x", &[3, 8, 8], None).unwrap().assumed.unwrap();
        assert!(assumed.contains("(3, 8, 8)") && assumed.contains("data.layout = \"hwc\""), "{assumed}");
        assert_eq!(Arrangement::new("x", &[3, 8, 8], Some(Layout::Chw)).unwrap().assumed, None);
        assert_eq!(Arrangement::new("x", &[8, 8], None).unwrap().assumed, None);
        for (shape, layout, named) in [(&[5][..], Some(Layout::Hwc), "`layout`"), (&[1, 2, 3, 4], None, "(1, 2, 3, 4)")]
        {
            let error = Arrangement::new("x", shape, layout).unwrap_err().to_string();
            assert!(error.contains(named) && error.contains("`x`"), "{error}");
        }
    }
}
