//! What was measured, as figures and headlines: means over the runs.

use super::tables::by;
use super::tables::mean;
use crate::commands::report::draw;
use onebasin::experiment::OnLine;
use onebasin::experiment::Pair;
use onebasin::experiment::Transpositions;
use onebasin_report::Axis;
use onebasin_report::Figure;
use onebasin_report::Headline;
use onebasin_report::Series;

pub(crate) use super::tables::summary;
pub(crate) use super::tables::tables;

/// How much of what was planted is found again, and what it says of the barrier.
pub(crate) fn headlines(found: &Transpositions) -> Vec<Headline> {
    let Some(correlations) = found.correlations else { return Vec::new() };
    let recovered = found.starts.iter().map(|start| start.recovered).fold(1.0, f64::min);
    let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}"));
    vec![
        Headline {
            label: "Planted units found again after training".to_owned(),
            value: format!("{:.1} %", 100.0 * recovered),
            note: "the least of all runs".to_owned(),
        },
        Headline {
            label: "Correlation of transpositions with the loss barrier".to_owned(),
            value: number(correlations.loss_before),
            note: format!("with the distance {}", number(correlations.distance_before)),
        },
    ]
}

/// Against the number planted, along the line, and over the epochs.
pub(crate) fn figures(found: &Transpositions, id: &str) -> Vec<Figure> {
    let mut figures = Vec::new();
    if !found.starts.is_empty() {
        let groups = by(&found.starts, |start| start.planted);
        let rows: Vec<(f64, Vec<&Pair>)> = groups
            .iter()
            .map(|rows| (rows[0].planted as f64, rows.iter().map(|start| &start.pair).collect()))
            .collect();
        figures.extend(of_pairs(&format!("{id}-starts"), "transpositions planted at the start", &rows));
    }
    if !found.line.is_empty() {
        let groups = by(&found.line, |point| point.tau.to_bits());
        let of = |name: &str, of: fn(&OnLine) -> f64| {
            draw::marked(name, "", groups.iter().map(|rows| draw::point(rows[0].tau, mean(rows, of))))
        };
        figures.push(draw::lines(
            format!("{id}-line"),
            "Transpositions along the line between two networks",
            "How many it takes to align each point of the line with either end; the networks have nothing in common.",
            [draw::linear("τ"), draw::linear("transpositions")],
            vec![
                of("from the first", |point| point.from_first as f64),
                of("from the second", |point| point.from_second as f64),
            ],
        ));
    }
    if !found.dynamics.is_empty() {
        let groups = by(&found.dynamics, |moment| moment.epoch.to_bits());
        let rows: Vec<(f64, Vec<&Pair>)> =
            groups.iter().map(|rows| (rows[0].epoch, rows.iter().map(|moment| &moment.pair).collect())).collect();
        figures.extend(of_pairs(&format!("{id}-dynamics"), "epochs of training", &rows));
    }
    figures
}

/// Transpositions, distance and barrier.
fn of_pairs(id: &str, against: &str, rows: &[(f64, Vec<&Pair>)]) -> Vec<Figure> {
    let series = |name: &str, of: fn(&Pair) -> f64| -> Series {
        draw::marked(name, "", rows.iter().map(|(x, pairs)| draw::point(*x, mean(pairs, of))))
    };
    let figure = |kind: &str, title: &str, caption: &str, y: Axis, series: Vec<Series>| {
        let title = format!("{title} against {against}");
        draw::lines(format!("{id}-{kind}"), &title, caption, [draw::linear(against), y], series)
    };
    vec![
        figure(
            "transpositions",
            "Transpositions after training",
            "How many it takes to align the second network with the first.",
            draw::linear("transpositions"),
            vec![series("found", |pair| pair.transpositions as f64)],
        ),
        figure(
            "distance",
            "Distance",
            "Between all weights of the two networks.",
            draw::linear("distance"),
            vec![series("as they are", |pair| pair.distance_before), series("aligned", |pair| pair.distance_after)],
        ),
        figure(
            "barrier",
            "Test loss barrier",
            "At the midpoint between the two networks.",
            draw::linear("loss barrier, nats"),
            vec![series("as they are", |pair| pair.test.loss.before), series("aligned", |pair| pair.test.loss.after)],
        ),
    ]
}
