//! Pictures have the size that was asked for, and something is to be seen on them.

use crate::sample;
use tiny_skia::Pixmap;

#[test]
fn a_picture_has_its_size_and_all_that_the_drawing_has() {
    for figure in sample::page().figures() {
        let picture = Pixmap::decode_png(&figure.png(640).unwrap()).unwrap();
        assert_eq!(picture.width(), 640);
        assert!((250..700).contains(&picture.height()));
        assert!(picture.pixels().iter().all(|pixel| pixel.alpha() == 255));
        let inked = |left: u32, right: u32, top: u32, bottom: u32| {
            let dark =
                |x: u32, y: u32| picture.pixel(x, y).is_some_and(|pixel| pixel.red() < 200 || pixel.green() < 200);
            (top..bottom).flat_map(|y| (left..right).map(move |x| (x, y))).filter(|&(x, y)| dark(x, y)).count()
        };
        // Letters: the title above, the name of the vertical axis at the left edge.
        assert!(inked(0, 640, 0, 26) > 100, "{}", figure.id);
        assert!(inked(0, 24, 60, picture.height() - 60) > 100, "{}", figure.id);
        assert!(inked(100, 400, 60, picture.height() - 80) > 500, "{}", figure.id);
    }
}

#[test]
fn letters_that_figures_use_are_there() {
    let titled =
        |title: &str| onebasin_report::Figure { title: title.to_owned(), ..sample::widths() }.png(250).unwrap();
    // What the font lacks is a box, and a blank is nothing.
    let missing = [titled("\u{13000}"), titled("")];
    for sign in "λσΩ→±×−–…⁻⁷₂é½²∞≤√·".chars() {
        assert!(!missing.contains(&titled(&sign.to_string())), "{sign}");
    }
}

#[test]
fn a_picture_without_pixels_is_refused() {
    let error = sample::widths().png(0).unwrap_err();
    assert_eq!(error.to_string(), "a picture cannot be 0 by 0 pixels large");
}
