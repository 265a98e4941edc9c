//! PNG images have the requested size and show what the SVG shows.

use crate::sample;
use resvg::tiny_skia::Pixmap;

#[test]
fn an_image_has_its_size_and_shows_text_and_data() {
    for figure in sample::page().figures() {
        let image = Pixmap::decode_png(&figure.png(640).unwrap()).unwrap();
        assert_eq!(image.width(), 640);
        assert!((250..700).contains(&image.height()));
        assert!(image.pixels().iter().all(|pixel| pixel.alpha() == 255));
        let dark_pixels = |left: u32, right: u32, top: u32, bottom: u32| {
            let dark = |x: u32, y: u32| image.pixel(x, y).is_some_and(|pixel| pixel.red() < 200 || pixel.green() < 200);
            (top..bottom).flat_map(|y| (left..right).map(move |x| (x, y))).filter(|&(x, y)| dark(x, y)).count()
        };
        // Text: the title at the top, the label of the vertical axis at the left.
        assert!(dark_pixels(0, 640, 0, 48) > 100, "{}", figure.id);
        assert!(dark_pixels(0, 40, 60, image.height() - 60) > 100, "{}", figure.id);
        assert!(dark_pixels(100, 400, 60, image.height() - 80) > 500, "{}", figure.id);
    }
}

#[test]
fn the_font_has_the_characters_that_figures_use() {
    let titled =
        |title: &str| onebasin_report::Figure { title: title.to_owned(), ..sample::widths() }.png(250).unwrap();
    // A character that the font lacks is a box or nothing.
    let missing = [titled("\u{13000}"), titled("")];
    for sign in "λσΩ→±×−–…⁻⁷₂é½²∞≤√·".chars() {
        assert!(!missing.contains(&titled(&sign.to_string())), "{sign}");
    }
}

#[test]
fn an_image_without_pixels_is_refused() {
    let error = sample::widths().png(0).unwrap_err();
    assert_eq!(error.to_string(), "an image cannot be 0 by 0 pixels large");
}
