//! Figures of any data are well-formed, inside their frame, and deterministic.

use crate::sample;
use onebasin_report::{Chart, Figure, Scale, Series};
use proptest::prelude::*;

/// Returns all coordinates in the paths of lines, after checks that hold for any figure.
fn coordinates(figure: &Figure) -> Vec<f64> {
    let svg = figure.svg();
    assert_eq!(svg, figure.svg());
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    assert!(!figure.text(40, 8).is_empty());
    let document = roxmltree::Document::parse(&svg).unwrap();
    let view: Vec<f64> = document
        .root_element()
        .attribute("viewBox")
        .unwrap()
        .split(' ')
        .map(|number| number.parse().unwrap())
        .collect();
    let series = document.descendants().filter(|node| node.attribute("data-series").is_some());
    let lines = series.flat_map(|series| series.children()).filter(|node| node.attribute("fill") == Some("none"));
    let mut all = Vec::new();
    for d in lines.filter_map(|line| line.attribute("d")).filter(|d| !d.contains(['m', 'h'])) {
        for pair in d.split(['M', 'L']).skip(1) {
            let (x, y) = pair.split_once(' ').unwrap();
            let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
            assert!((view[0]..=view[0] + view[2]).contains(&x) && (view[1]..=view[1] + view[3]).contains(&y), "{pair}");
            all.extend([x, y]);
        }
    }
    all
}

fn figure(scales: [Scale; 2], series: Vec<Series>) -> Figure {
    sample::lines("it", sample::axis("x", scales[0]), sample::axis("y", scales[1]), series)
}

fn scale() -> impl Strategy<Value = Scale> {
    prop::sample::select(vec![Scale::Linear, Scale::Log])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn any_numbers_make_a_figure(
        scales in [scale(), scale()],
        all in prop::collection::vec(
            (prop::collection::vec(any::<(f64, f64, Option<f64>)>(), 0..12), any::<bool>(), any::<bool>()), 0..13,
        ),
    ) {
        let make = |(points, markers, reference)| Series { markers, reference, ..sample::series("name", "group", points) };
        coordinates(&figure(scales, all.into_iter().map(make).collect()));
    }
}

#[test]
fn a_line_has_a_gap_where_a_number_is_missing() {
    let holes = [1.0, 2.0, f64::NAN, 4.0, 5.0, f64::INFINITY, 3.0, -1.0];
    let points = || holes.iter().enumerate().map(|(x, &y)| (x as f64 + 1.0, y, None));
    let linear = figure([Scale::Linear; 2], vec![sample::series("", "", points())]).svg();
    let pieces = |svg: &str| svg.matches("stroke-width=\"1.8\"").count();
    assert_eq!(pieces(&linear), 3);
    // The last number has no logarithm, so the point before it is a dot.
    let log = figure([Scale::Log; 2], vec![sample::series("", "", points())]).svg();
    assert_eq!((pieces(&log), log.matches("<circle").count()), (2, 1));
}

#[test]
fn a_constant_line_lies_inside_its_axis() {
    for value in [0.0, 2.3, -1e-12, 1e9] {
        let points = (0..5).map(|x| (f64::from(x), value, Some(0.0)));
        let all = coordinates(&figure([Scale::Linear; 2], vec![sample::series("", "", points)]));
        let heights: Vec<f64> = all.into_iter().skip(1).step_by(2).collect();
        assert!(heights.iter().all(|&height| height == heights[0] && (30.0..250.0).contains(&height)), "{heights:?}");
    }
}

#[test]
fn points_that_coincide_are_written_once() {
    let points = (0..10_000).map(|x| (f64::from(x), (f64::from(x) / 700.0).sin(), None));
    let svg = figure([Scale::Linear; 2], vec![sample::series("wave", "", points)]).svg();
    assert!((10_000..60_000).contains(&svg.len()), "{}", svg.len());
}

#[test]
fn equal_names_have_equal_colours_and_different_dashes() {
    let svg = sample::barrier().svg();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let style = |index: &str| {
        let group = document.descendants().find(|node| node.attribute("data-series") == Some(index)).unwrap();
        let line = group.children().find(|node| node.attribute("stroke-width") == Some("1.8")).unwrap();
        (group.attribute("color").unwrap(), line.attribute("stroke-dasharray"))
    };
    let (test, train, other) = (style("0"), style("4"), style("1"));
    assert_eq!(test.0, train.0);
    assert_ne!(test.1, train.1);
    assert_ne!(test.0, other.0);
    assert_eq!(test.1, other.1);
}

#[test]
fn a_heat_map_is_blank_where_there_is_no_number() {
    let mut figure = sample::plane();
    let area = |figure: &Figure| {
        let svg = figure.svg();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let cells = document.descendants().find(|node| node.attribute("class") == Some("cells")).unwrap();
        let paths = cells.children().filter_map(|path| path.attribute("d").map(str::to_owned));
        let rectangles: Vec<String> =
            paths.flat_map(|d| d.split_terminator('z').map(str::to_owned).collect::<Vec<_>>()).collect();
        let size = |rectangle: &String| {
            let numbers: Vec<f64> =
                rectangle.split(['M', 'H', 'V', ' ']).skip(1).map(|number| number.parse().unwrap()).collect();
            (numbers[2] - numbers[0]) * (numbers[3] - numbers[1])
        };
        rectangles.iter().map(size).sum::<f64>()
    };
    let before = area(&figure);
    let Chart::HeatMap(map) = &mut figure.chart else { panic!("not a heat map") };
    let (columns, rows, blank) = (map.xs.len(), map.ys.len(), map.values.iter().filter(|value| value.is_nan()).count());
    map.values.iter_mut().for_each(|value| *value = if value.is_nan() { 1.0 } else { *value });
    let whole = area(&figure);
    let part = blank as f64 / (columns * rows) as f64;
    assert!((before / whole - (1.0 - part)).abs() < 0.01, "{before} {whole} {part}");
}

#[test]
fn heat_maps_of_a_single_cell_or_none_are_drawn() {
    let mut figure = sample::plane();
    let Chart::HeatMap(map) = &mut figure.chart else { panic!("not a heat map") };
    (map.xs, map.ys, map.values) = (vec![2.0], vec![3.0], vec![1.0]);
    assert!(figure.svg().contains("class=\"cells\""));
    let Chart::HeatMap(map) = &mut figure.chart else { panic!("not a heat map") };
    (map.xs, map.values) = (vec![], vec![]);
    roxmltree::Document::parse(&figure.svg()).unwrap();
    assert!(!figure.text(20, 5).is_empty());
}
