//! Colours mean the same in all figures of a page, no line hides another, kinds are not joined, and maps are not stretched.

use crate::sample;
use onebasin_report::{Axis, Block, Chart, Figure, Page, Scale, Section, Series};
use std::collections::BTreeMap;

fn linear(label: &str) -> Axis {
    sample::axis(label, Scale::Linear)
}

fn flat(name: &str, group: &str, height: f64) -> Series {
    sample::series(name, group, (0..5).map(|x| (f64::from(x), height, None)))
}

/// Returns the colour and the width of the line of each series.
fn drawn(figure: &Figure) -> Vec<(String, f64)> {
    let svg = figure.svg();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let mut all = BTreeMap::new();
    for group in document.descendants().filter(|node| node.has_attribute("data-series")) {
        let line = group.children().find(|node| node.attribute("class") == Some("line")).unwrap();
        let index: usize = group.attribute("data-series").unwrap().parse().unwrap();
        let width = line.attribute("stroke-width").unwrap().parse().unwrap();
        all.insert(index, (group.attribute("color").unwrap().to_owned(), width));
    }
    all.into_values().collect()
}

/// Returns a page of figures with series of these names.
fn page(figures: &[&[&str]]) -> Page {
    let figure = |(index, names): (usize, &&[&str])| {
        let series = names.iter().enumerate().map(|(height, name)| flat(name, "", height as f64)).collect();
        Block::Figure(sample::lines(&format!("figure-{index}"), linear("x"), linear("y"), series))
    };
    let section = Section { blocks: figures.iter().enumerate().map(figure).collect(), ..Section::default() };
    let mut page = Page { sections: vec![section], ..sample::page() };
    page.assign_colours();
    page
}

#[test]
fn a_name_has_one_colour_in_all_figures() {
    let page = page(&[&["no alignment", "w2", "kl"], &["kl", "w2"], &["other", "kl"]]);
    let colours: Vec<Vec<String>> =
        page.figures().map(|figure| drawn(figure).into_iter().map(|(colour, _)| colour).collect()).collect();
    assert_eq!([&colours[1][0], &colours[1][1]], [&colours[0][2], &colours[0][1]]);
    assert_eq!(colours[2][1], colours[0][2]);
    assert!(!colours[0].contains(&colours[2][0]), "{colours:?}");
}

#[test]
fn more_names_than_colours_are_told_apart_in_each_figure() {
    let first: Vec<String> = (0..8).map(|index| format!("first {index}")).collect();
    let second: Vec<String> = (0..8).map(|index| format!("second {index}")).collect();
    let names = |all: &[String], more: &[&str]| {
        all.iter().map(String::as_str).chain(more.iter().copied()).map(str::to_owned).collect::<Vec<_>>()
    };
    let figures = [names(&first, &[]), names(&second, &[]), names(&first, &["a ninth"])];
    let figures: Vec<Vec<&str>> = figures.iter().map(|names| names.iter().map(String::as_str).collect()).collect();
    let page = page(&figures.iter().map(Vec::as_slice).collect::<Vec<_>>());
    for figure in page.figures().take(2) {
        let mut colours: Vec<String> = drawn(figure).into_iter().map(|(colour, _)| colour).collect();
        colours.sort();
        colours.dedup();
        assert_eq!(colours.len(), 8);
    }
    // The ninth name has a colour of another, but other dashes.
    let svg = page.figures().nth(2).unwrap().svg();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let ninth = document.descendants().find(|node| node.attribute("data-series") == Some("8")).unwrap();
    assert!(ninth.children().any(|line| line.has_attribute("stroke-dasharray")), "{svg}");
}

#[test]
fn a_line_that_another_covers_is_wider() {
    let figure = |gap: f64| {
        let series = vec![flat("below", "", 1.0), flat("above", "", 1.0 + gap), flat("zero", "", 0.0)];
        sample::lines("it", linear("x"), linear("y"), series)
    };
    let widths = |gap| drawn(&figure(gap)).into_iter().map(|(_, width)| width).collect::<Vec<_>>();
    let together = widths(0.0);
    assert!(together[0] > 2.0 * together[1] && together[1] == together[2], "{together:?}");
    let groups = vec![flat("one", "train", 1.0), flat("one", "test", 1.0), flat("zero", "train", 0.0)];
    let groups = drawn(&sample::lines("it", linear("x"), linear("y"), groups));
    assert!(groups.iter().all(|(_, width)| *width == groups[0].1), "{groups:?}");
    let apart = widths(0.3);
    assert!(apart.iter().all(|width| *width == apart[0]), "{apart:?}");
}

#[test]
fn the_legend_has_names_and_then_groups() {
    let names = ["no alignment", "w2", "w2, natural", "w2, rescaled", "mixture"];
    let series = ["train", "test"].iter().flat_map(|group| names.iter().map(|name| flat(name, group, 1.0))).collect();
    let svg = sample::lines("it", linear("x"), linear("y"), series).svg();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let legend = document.descendants().find(|node| node.attribute("class") == Some("legend")).unwrap();
    let texts: Vec<&str> =
        legend.children().filter_map(|node| node.text()).map(str::trim).filter(|it| !it.is_empty()).collect();
    assert_eq!(texts, [&names[..], &["train", "test"]].concat());
}

#[test]
fn kinds_have_names_and_no_line_joins_them() {
    let kinds = ["greedy", "best of all solvers that there are", "frank-wolfe"].map(str::to_owned).to_vec();
    let marked = |name: &str| Series {
        markers: true,
        ..sample::series(name, "", (0..3).map(|x| (f64::from(x), 1.0, Some(0.1))))
    };
    let x = Axis { categories: kinds.clone(), ..linear("solver") };
    let figure = sample::lines("it", x, linear("y"), vec![marked("one"), marked("two")]);
    let svg = figure.svg();
    assert!(!svg.contains("class=\"line\""), "{svg}");
    assert!(svg.contains(">greedy</text>") && svg.contains(">frank-wolfe</text>"), "{svg}");
    assert!(figure.csv().contains("\none,,best of all solvers that there are,1,0.1\n"), "{}", figure.csv());
    // Equal points of two series stand beside each other.
    let document = roxmltree::Document::parse(&svg).unwrap();
    let bars: Vec<&str> = document
        .descendants()
        .filter(|node| node.attribute("class") == Some("error"))
        .filter_map(|node| node.attribute("d"))
        .collect();
    assert!(bars.len() == 2 && bars[0] != bars[1], "{bars:?}");
}

#[test]
fn equal_distances_have_equal_lengths_on_a_map() {
    let figure = sample::plane();
    let Chart::HeatMap(map) = &figure.chart else { panic!("not a heat map") };
    let svg = figure.svg();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let number = |node: &roxmltree::Node, name| node.attribute(name).unwrap().parse::<f64>().unwrap();
    let dots: Vec<[f64; 2]> = document
        .descendants()
        .filter(|node| node.has_tag_name("circle"))
        .map(|node| [number(&node, "cx"), number(&node, "cy")])
        .collect();
    let ratio = |index: usize| {
        let length = (dots[index][0] - dots[0][0]).hypot(dots[index][1] - dots[0][1]);
        let [from, to] = [&map.annotations[0], &map.annotations[index]];
        length / (to.x - from.x).hypot(to.y - from.y)
    };
    assert!((ratio(1) / ratio(2) - 1.0).abs() < 0.02, "{} and {}", ratio(1), ratio(2));
}

#[test]
fn maps_with_equal_limits_have_one_colour_scale() {
    let colour = |high: f64| {
        let mut figure = sample::plane();
        let Chart::HeatMap(map) = &mut figure.chart else { panic!("not a heat map") };
        map.value = linear("loss");
        (map.xs, map.ys, map.values) = (vec![0.0, 1.0], vec![0.0], vec![1.0, high]);
        map.limits = Some([0.0, 4.0]);
        let svg = figure.svg();
        let cells = svg.split_once("class=\"cells\"").unwrap().1;
        cells.split_once("fill=\"").unwrap().1[..7].to_owned()
    };
    assert_eq!(colour(2.0), colour(4.0));
}
