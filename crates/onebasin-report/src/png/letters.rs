//! Lines of text as outlines.

use tiny_skia::Path;
use tiny_skia::PathBuilder;
use ttf_parser::Face;
use ttf_parser::OutlineBuilder;

/// Latin, Greek and some signs; `font/README.md` says of which font, and how they were chosen.
const FONT: &[u8] = include_bytes!("font/DejaVuSans-subset.ttf");

/// The part of a line of text that lies left of its point: nothing, half or all.
pub(super) fn part_before(anchor: &str) -> f32 {
    match anchor {
        "end" => 1.0,
        "middle" => 0.5,
        _ => 0.0,
    }
}

/// The outlines of a line of text, whose baseline has the point (x, y) after `before` of its length. None if it is blank.
pub(super) fn outlines(text: &str, size: f32, [x, y]: [f32; 2], before: f32) -> Option<Path> {
    let face = Face::parse(FONT, 0).expect("the font was tested");
    let zoom = size / f32::from(face.units_per_em());
    // The first glyph of a font stands for all that it has not.
    let glyphs: Vec<_> = text.chars().map(|c| face.glyph_index(c).unwrap_or_default()).collect();
    let advance = |glyph| zoom * f32::from(face.glyph_hor_advance(glyph).unwrap_or(0));
    let mut left = x - before * glyphs.iter().map(|&glyph| advance(glyph)).sum::<f32>();
    let mut pen = Pen { path: PathBuilder::new(), origin: [left, y], zoom };
    for glyph in glyphs {
        pen.origin[0] = left;
        face.outline_glyph(glyph, &mut pen);
        left += advance(glyph);
    }
    pen.path.finish()
}

/// Draws glyphs, whose vertical axis points upwards.
struct Pen {
    path: PathBuilder,
    origin: [f32; 2],
    zoom: f32,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> [f32; 2] {
        [self.origin[0] + self.zoom * x, self.origin[1] - self.zoom * y]
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let [x, y] = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let [x, y] = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let [[x1, y1], [x, y]] = [self.at(x1, y1), self.at(x, y)];
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let [[x1, y1], [x2, y2], [x, y]] = [self.at(x1, y1), self.at(x2, y2), self.at(x, y)];
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}
