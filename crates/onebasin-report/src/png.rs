//! Figures as PNG: the SVG, drawn with letters that the crate brings along.

use crate::figure::Figure;
use resvg::tiny_skia::Color;
use resvg::tiny_skia::Pixmap;
use resvg::tiny_skia::Transform;
use resvg::usvg::Options;
use resvg::usvg::Tree;
use resvg::usvg::fontdb::Database;
use std::sync::Arc;

/// Latin, Greek and some signs; `font/README.md` says of which font, and how they were chosen.
const FONT: &[u8] = include_bytes!("font/DejaVuSans-subset.ttf");

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
    /// The drawing is not understood.
    #[error("the figure cannot be drawn: {0}")]
    Svg(#[from] resvg::usvg::Error),
    /// The pixels cannot be written.
    #[error("the pixels cannot be written: {0}")]
    Encoding(String),
}

impl Figure {
    /// The figure on white, `width` pixels wide.
    pub fn png(&self, width: u32) -> Result<Vec<u8>, PngError> {
        let mut fonts = Database::new();
        fonts.load_font_data(FONT.to_vec());
        let options = Options { fontdb: Arc::new(fonts), font_family: "DejaVu Sans".to_owned(), ..Options::default() };
        let tree = Tree::from_str(&self.svg(), &options)?;
        let zoom = width as f32 / tree.size().width();
        let height = (tree.size().height() * zoom).ceil() as u32;
        let mut pixels = Pixmap::new(width, height).ok_or(PngError::Size { width, height })?;
        // The last row is not always covered whole.
        pixels.fill(Color::WHITE);
        resvg::render(&tree, Transform::from_scale(zoom, zoom), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| PngError::Encoding(error.to_string()))
    }
}
