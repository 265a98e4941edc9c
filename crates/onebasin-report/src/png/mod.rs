//! Figures as PNG: paints what the SVG says, with letters that the crate brings along.

mod letters;
mod paint;

use crate::figure::Figure;
use roxmltree::Document;
use tiny_skia::Color;
use tiny_skia::Pixmap;
use tiny_skia::Transform;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// Nothing, or more than a picture can have.
    #[error("a picture cannot be {width} by {height} pixels large")]
    Size {
        /// As asked for.
        width: u32,
        /// As follows from the figure.
        height: u32,
    },
    /// The pixels cannot be written.
    #[error("the pixels cannot be written: {0}")]
    Encoding(String),
}

impl Figure {
    /// The figure on white, `width` pixels wide.
    pub fn png(&self, width: u32) -> Result<Vec<u8>, PngError> {
        let svg = self.svg();
        let document = Document::parse(&svg).expect("drawings are well-formed");
        let root = document.root_element();
        let view = paint::numbers(root.attribute("viewBox").expect("drawings have a size"));
        let zoom = width as f32 / view[2];
        let height = (view[3] * zoom).ceil() as u32;
        let mut pixels = Pixmap::new(width, height).ok_or(PngError::Size { width, height })?;
        pixels.fill(Color::WHITE);
        let place = Transform::from_translate(-view[0], -view[1]).post_scale(zoom, zoom);
        for node in root.descendants() {
            paint::paint(&mut pixels, node, place);
        }
        pixels.encode_png().map_err(|error| PngError::Encoding(error.to_string()))
    }
}
