//! Paints elements of SVG: as much of it as our drawings use, and no more.

use super::letters;
use roxmltree::Node;
use tiny_skia::Color;
use tiny_skia::FillRule;
use tiny_skia::LineJoin;
use tiny_skia::Paint;
use tiny_skia::Path;
use tiny_skia::PathBuilder;
use tiny_skia::Pixmap;
use tiny_skia::Rect;
use tiny_skia::Stroke;
use tiny_skia::StrokeDash;
use tiny_skia::Transform;

/// Paints a shape or a line of text. All else, such as groups, only has attributes for what is in it.
pub(super) fn paint(pixels: &mut Pixmap, node: Node, place: Transform) {
    let number = |name| node.attribute(name).map_or(0.0, read);
    let shape = match node.tag_name().name() {
        "path" => outline(node.attribute("d").unwrap_or("")),
        "circle" => PathBuilder::from_circle(number("cx"), number("cy"), number("r")),
        "rect" => {
            Rect::from_xywh(number("x"), number("y"), number("width"), number("height")).map(PathBuilder::from_rect)
        }
        "text" => {
            let size = inherited(node, "font-size").map_or(0.0, read);
            let before = letters::part_before(node.attribute("text-anchor").unwrap_or("start"));
            letters::outlines(node.text().unwrap_or(""), size, [number("x"), number("y")], before)
        }
        _ => None,
    };
    let Some(shape) = shape else { return };
    let turn = node.attribute("transform").and_then(|turn| turn.strip_prefix("rotate("));
    let turn = turn.map(|turn| numbers(turn.trim_end_matches(')')));
    let place = turn.map_or(place, |turn| place.pre_concat(Transform::from_rotate_at(turn[0], turn[1], turn[2])));
    let smooth = inherited(node, "shape-rendering") != Some("crispEdges");
    let ink = |what, opacity| {
        let mut ink = Paint { anti_alias: smooth, ..Paint::default() };
        ink.set_color(colour(node, what, opacity)?);
        Some(ink)
    };
    let mut layers = [Layer::Fill, Layer::Stroke];
    if node.attribute("paint-order") == Some("stroke") {
        layers.reverse();
    }
    for layer in layers {
        match layer {
            Layer::Fill => {
                let Some(ink) = ink("fill", "fill-opacity") else { continue };
                pixels.fill_path(&shape, &ink, FillRule::Winding, place, None);
            }
            Layer::Stroke => {
                let Some(ink) = ink("stroke", "stroke-opacity") else { continue };
                pixels.stroke_path(&shape, &ink, &stroke(node), place, None);
            }
        }
    }
}

enum Layer {
    Fill,
    Stroke,
}

/// An attribute of the element or of the nearest one around it that has it.
fn inherited<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    node.ancestors().find_map(|around| around.attribute(name))
}

fn colour(node: Node, what: &str, opacity: &str) -> Option<Color> {
    let mut name = inherited(node, what)?;
    if name == "currentColor" {
        name = inherited(node, "color")?;
    }
    let hex = u32::from_str_radix(name.strip_prefix('#')?, 16).ok()?;
    let [_, r, g, b] = hex.to_be_bytes();
    let mut colour = Color::from_rgba8(r, g, b, 255);
    colour.set_alpha(inherited(node, opacity).map_or(1.0, read));
    Some(colour)
}

fn stroke(node: Node) -> Stroke {
    let dash = node.attribute("stroke-dasharray").and_then(|lengths| StrokeDash::new(numbers(lengths), 0.0));
    let line_join = match node.attribute("stroke-linejoin") {
        Some("round") => LineJoin::Round,
        _ => LineJoin::Miter,
    };
    Stroke { width: node.attribute("stroke-width").map_or(1.0, read), line_join, dash, ..Stroke::default() }
}

/// The path that `d` describes. None if it is empty.
fn outline(d: &str) -> Option<Path> {
    let mut path = PathBuilder::new();
    let mut at = [0.0, 0.0];
    let mut rest = d;
    while let Some(command) = rest.chars().next() {
        let end = rest[1..].find(|c: char| c.is_ascii_alphabetic()).map_or(rest.len(), |end| end + 1);
        let given = numbers(&rest[1..end]);
        rest = &rest[end..];
        let behind = |index: usize| [at[0] + given[index], at[1] + given[index + 1]];
        match command {
            'M' | 'L' => at = [given[0], given[1]],
            'm' | 'l' => at = behind(0),
            'H' => at[0] = given[0],
            'h' => at[0] += given[0],
            'V' => at[1] = given[0],
            'v' => at[1] += given[0],
            'c' => {
                let [first, second, last] = [behind(0), behind(2), behind(4)];
                path.cubic_to(first[0], first[1], second[0], second[1], last[0], last[1]);
                at = last;
            }
            'z' => path.close(),
            other => panic!("drawings have no command {other}"),
        }
        match command {
            'M' | 'm' => path.move_to(at[0], at[1]),
            'c' | 'z' => {}
            _ => path.line_to(at[0], at[1]),
        }
    }
    path.finish()
}

/// Numbers with blanks between them, or a minus that begins the next.
pub(super) fn numbers(text: &str) -> Vec<f32> {
    text.replace('-', " -").split_whitespace().map(read).collect()
}

fn read(number: &str) -> f32 {
    number.parse().expect("drawings are made of numbers")
}
