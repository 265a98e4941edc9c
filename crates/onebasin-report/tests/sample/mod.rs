//! A page with every kind of content, with numbers like those of an alignment of two networks.

use onebasin_report::Alignment::{Left, Right};
use onebasin_report::{
    Annotation, Axis, Block, Chart, Figure, Headline, HeatMap, Lines, Page, Point, Scale, Section, Series, Table,
};

pub(crate) fn axis(label: &str, scale: Scale) -> Axis {
    Axis { label: label.to_owned(), scale, categories: Vec::new() }
}

pub(crate) fn series(name: &str, group: &str, points: impl IntoIterator<Item = (f64, f64, Option<f64>)>) -> Series {
    let points = points.into_iter().map(|(x, y, error)| Point { x, y, error }).collect();
    Series { name: name.to_owned(), group: group.to_owned(), colour: None, reference: false, markers: false, points }
}

pub(crate) fn lines(id: &str, x: Axis, y: Axis, series: Vec<Series>) -> Figure {
    let chart = Chart::Lines(Lines { x, y, equal: false, series });
    Figure { id: id.to_owned(), title: format!("The figure {id}"), caption: String::new(), chart }
}

pub(crate) fn heat_map(map: HeatMap) -> Figure {
    let [id, title, caption] = ["plane", "The plane", ""].map(str::to_owned);
    Figure { id, title, caption, chart: Chart::HeatMap(map) }
}

fn named(figure: Figure, title: &str, caption: &str) -> Figure {
    Figure { title: title.to_owned(), caption: caption.to_owned(), ..figure }
}

/// Returns the loss along the path between two networks, with a barrier that alignment removes.
pub(crate) fn barrier() -> Figure {
    let path = |height: f64, floor: f64, error: f64| {
        (0..=50).map(move |step| {
            let at = f64::from(step) / 50.0;
            let rise = (4.0 * at * (1.0 - at)).powf(1.6);
            let ripple = 0.012 * (17.0 * at + 40.0 * height).sin() * rise;
            (at, floor + height * rise + ripple, Some(error * (0.15 + rise)))
        })
    };
    let mut all = Vec::new();
    for (group, floor, error) in [("test", 0.062, 0.05), ("train", 0.004, 0.02)] {
        all.push(series("unaligned", group, path(1.93, floor, error)));
        all.push(series("means aligned", group, path(0.31, floor, 0.5 * error)));
        all.push(series("Wasserstein aligned", group, path(0.018, floor, 0.3 * error)));
        let mixture = (0..=50).map(move |step| (f64::from(step) / 50.0, 0.8 * floor, None));
        all.push(Series { reference: true, ..series("mixture of both", group, mixture) });
    }
    let figure =
        lines("barrier", axis("position λ on the geodesic", Scale::Linear), axis("loss (nats)", Scale::Linear), all);
    let caption = "Mean negative log-likelihood along the Wasserstein geodesic from the first posterior (λ = 0) to the second \
                   (λ = 1), for different alignments of its units. Bands are standard errors over examples.";
    named(figure, "Alignment removes the barrier", caption)
}

/// Returns barriers over the width of a network, with error bars.
pub(crate) fn widths() -> Figure {
    let sweep = |scale: f64, power: f64| {
        (3..=10).map(move |exponent| {
            let width = 2_f64.powi(exponent);
            let barrier = scale * (width / 8.0).powf(-power) * (1.0 + 0.1 * (3.0 * width).sin());
            (width, barrier, Some(0.16 * barrier))
        })
    };
    let marked = |name, points| Series { markers: true, ..series(name, "", points) };
    let all = vec![
        marked("unaligned", sweep(2.2, 0.06).collect::<Vec<_>>()),
        marked("means aligned", sweep(1.6, 0.55).collect()),
        marked("Wasserstein aligned", sweep(1.1, 1.05).collect()),
    ];
    let figure =
        lines("widths", axis("units in each hidden layer", Scale::Log), axis("barrier (nats)", Scale::Log), all);
    named(
        figure,
        "Wider networks have lower barriers",
        "Height of the barrier over the width of the network; bars are standard errors over five pairs.",
    )
}

/// Returns the loss on the plane through two networks and the second one aligned.
pub(crate) fn plane() -> Figure {
    let corners = [("first", 0.0, 0.0), ("second", 31.0, 0.0), ("second, aligned", 9.5, 13.0)];
    let xs: Vec<f64> = (0..41).map(|index| -8.0 + 1.15 * f64::from(index)).collect();
    let ys: Vec<f64> = (0..33).map(|index| -9.0 + 1.0 * f64::from(index)).collect();
    let loss = |x: f64, y: f64| {
        let distance = |(_, px, py): &(&str, f64, f64)| ((x - px).powi(2) + 1.4 * (y - py).powi(2)) / 60.0;
        let basin = corners.iter().map(distance).fold(f64::INFINITY, f64::min);
        if x > 35.0 && y > 20.0 { f64::NAN } else { 0.05 + 2.3 * (1.0 - (-basin).exp()) + 0.01 * basin }
    };
    let values = ys.iter().flat_map(|&y| xs.iter().map(move |&x| loss(x, y))).collect();
    let annotation = |(name, x, y): (&str, f64, f64)| Annotation { name: name.to_owned(), x, y };
    let figure = heat_map(HeatMap {
        x: axis("distance from the first (x)", Scale::Linear),
        y: axis("distance across (y)", Scale::Linear),
        xs,
        ys,
        equal: true,
        value: axis("loss (nats)", Scale::Log),
        limits: None,
        values,
        annotations: corners.into_iter().map(annotation).collect(),
    });
    let caption = "Loss on the plane through three networks. Blank cells were not measured.";
    named(figure, "Both networks and the aligned one", caption)
}

/// Returns the same on other examples.
fn another_plane() -> Figure {
    Figure { id: "plane-test".to_owned(), ..plane() }
}

/// Returns histograms of standard deviations.
pub(crate) fn deviations() -> Figure {
    let histogram = |centre: f64, spread: f64| {
        (0..60).map(move |bin| {
            let log = -3.0 + 0.05 * f64::from(bin);
            (10_f64.powf(log), 21_000.0 * (-0.5 * ((log - centre) / spread).powi(2)).exp(), None)
        })
    };
    let all = vec![
        series("direct", "", histogram(-0.75, 0.22)),
        series("relabelled", "", histogram(-1.6, 0.3)),
        series("single chain", "", histogram(-1.75, 0.26)),
    ];
    let figure =
        lines("deviations", axis("standard deviation σ of a weight", Scale::Log), axis("weights", Scale::Linear), all);
    named(figure, "Relabelled samples are narrow", "Histogram of the standard deviations of all weights.")
}

pub(crate) fn results() -> Table {
    let mut table = Table::new([
        ("alignment", Left),
        ("barrier, train", Right),
        ("barrier, test", Right),
        ("error at λ = ½, %", Right),
        ("distance", Right),
        ("seconds", Right),
    ]);
    table.push(["unaligned", "1.926 ± 0.019", "1.931 ± 0.048", "61.20", "43.81", "-"]);
    table.push(["means aligned", "0.309 ± 0.010", "0.312 ± 0.026", "9.41", "36.02", "1.9"]);
    table.push(["Wasserstein aligned", "0.016 ± 0.006", "0.018 ± 0.015", "2.07", "31.44", "2.4"]);
    table
}

const SUMMARY: &str = "Two mean-field posteriors of a 784-512-512-512-10 network are 1.93 nats apart along the geodesic. \
                       After alignment, the barrier is 0.02 nats.\n\n\
                       All numbers are for 10,000 test examples unless stated otherwise.";
const SYMMETRY: &str = "A permutation of hidden units does not change the function of a network. Two posteriors with a loss \
                        barrier between them may therefore represent the same functions.";
const COMMAND: &str = "onebasin barrier runs/mnist-a/posterior.safetensors runs/mnist-b/posterior.safetensors \
                       --criterion w2 -o results/barrier";

pub(crate) fn page() -> Page {
    let headline = |label: &str, value: &str, note: &str| Headline {
        label: label.to_owned(),
        value: value.to_owned(),
        note: note.to_owned(),
    };
    let section = |id: &str, title: &str, blocks| Section { id: id.to_owned(), title: title.to_owned(), blocks };
    let text = |text: &str| Block::Text(text.to_owned());
    let caption = "Barriers and distances for each alignment of the units.".to_owned();
    let table = Block::Table { id: "alignments".to_owned(), caption, table: results() };
    let barrier = vec![text(SYMMETRY), Block::Figure(barrier()), table, Block::Code(COMMAND.to_owned())];
    let relabelled = text("Samples of several chains are relabelled before a Gaussian is fitted.");
    let entry = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Page {
        title: "Two posteriors of MNIST in one basin".to_owned(),
        finding: "Alignment lowers the test loss barrier from 1.931 ± 0.048 to 0.018 ± 0.015 nats.".to_owned(),
        summary: SUMMARY.to_owned(),
        headlines: vec![
            headline("Barrier, unaligned", "1.931 nats", "± 0.048 on test examples"),
            headline("Barrier, aligned", "0.018 nats", "± 0.015; not significant at 2σ"),
            headline("Error of the barycentre", "2.07 %", "1.94 % and 1.98 % at the ends"),
            headline("Distance W₂", "43.8 → 31.4", "of all parameters"),
        ],
        sections: vec![
            section("barrier", "The barrier", barrier),
            section("widths", "The width of networks", vec![Block::Figure(widths())]),
            section("plane", "The plane", vec![Block::Figure(plane()), Block::Figure(another_plane())]),
            section("deviations", "Standard deviations", vec![relabelled, Block::Figure(deviations())]),
        ],
        provenance: vec![
            entry("version", "onebasin 0.1.0"),
            entry("command", "onebasin report results/barrier -o report.html"),
            entry("data", "mnist, SHA-256 440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
            entry("seed", "1"),
        ],
    }
}
