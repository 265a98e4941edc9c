//! What was measured, as figures and headlines.

use super::report::Report;
use super::report::Row;
use crate::commands::name_of;
use crate::commands::report::draw;
use anyhow::ensure;
use onebasin::measure::Barrier;
use onebasin::measure::Estimate;
use onebasin_report::Figure;
use onebasin_report::Headline;
use onebasin_report::Point;
use onebasin_report::Series;

/// A curve that rises by more than this many times as much as any other hides them.
const HIDES: f64 = 4.0;

impl Report {
    /// Refuses what somebody has changed beyond drawing.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        ensure!(self.curves.iter().all(|row| !row.measured.points.is_empty()), "a curve has no points");
        Ok(())
    }

    /// Loss and error along all paths; and without the highest curve, if that hides the others.
    pub(crate) fn figures(&self, id: &str) -> anyhow::Result<Vec<Figure>> {
        let all: Vec<&Row> = self.curves.iter().collect();
        let [from, to] = ["from A, τ = 0, to B, τ = 1", "the way from one posterior to the other"];
        let tau = || draw::linear("τ");
        let loss =
            "Loss of the predictive distribution along each path, in nats, with bands of twice the Monte Carlo error.";
        let mut figures = vec![draw::lines(
            format!("{id}-loss"),
            &format!("Loss on {to}"),
            &format!("{loss} The mixture is the reference: its loss never rises above the line between its ends."),
            [tau(), draw::linear("loss, nats")],
            series(&all, |row| &row.measured.points, |point| (point.tau, point.loss), 1.0)?,
        )];
        let aligned: Vec<&Row> = all.iter().copied().filter(|row| row.curve != "no alignment").collect();
        let rise = |rows: &[&Row]| rows.iter().map(|row| row.measured.loss.barrier.value).fold(0.0, f64::max);
        if !aligned.is_empty() && rise(&all) > HIDES * rise(&aligned) {
            figures.push(draw::lines(
                format!("{id}-loss-aligned"),
                "The same, once units are aligned",
                &format!("{loss} The posteriors as they were are left out, so that the others can be told apart."),
                [tau(), draw::linear("loss, nats")],
                series(&aligned, |row| &row.measured.points, |point| (point.tau, point.loss), 1.0)?,
            ));
        }
        figures.push(draw::lines(
            format!("{id}-error"),
            &format!("Error on {to}"),
            &format!("The part of the images that is classified wrongly, {from}."),
            [tau(), draw::linear("error, %")],
            series(&all, |row| &row.measured.points, |point| (point.tau, point.error), 100.0)?,
        ));
        Ok(figures)
    }

    /// The barrier as it was, aligned, and along the lowest of all paths; on the images that were looked at last.
    pub(crate) fn headlines(&self) -> anyhow::Result<Vec<Headline>> {
        let Some(split) = self.curves.last().map(|row| row.split) else { return Ok(Vec::new()) };
        let rows = || self.curves.iter().filter(|row| row.split == split && row.way.is_some());
        let lowest = rows()
            .filter(|row| !row.curve.ends_with("calibrated"))
            .min_by(|a, b| a.measured.loss.barrier.value.total_cmp(&b.measured.loss.barrier.value));
        let mut shown: Vec<&Row> = rows().take(1).collect();
        shown.extend(rows().find(|row| row.curve != "no alignment"));
        shown.extend(lowest.filter(|row| shown.iter().all(|other| other.curve != row.curve)));
        let note = format!("nats, {} images", name_of(&split)?);
        let headline = |row: &Row| Headline {
            label: format!("Loss barrier, {}", row.curve),
            value: with_error(row.measured.loss.barrier),
            note: note.clone(),
        };
        Ok(shown.into_iter().map(headline).collect())
    }

    /// The barriers of all curves that are paths: curve, images, loss and error.
    pub(crate) fn barriers(&self) -> anyhow::Result<Vec<(String, String, [Barrier; 2])>> {
        let paths = self.curves.iter().filter(|row| row.way.is_some());
        let measured = |row: &Row| [row.measured.loss.barrier, row.measured.error.barrier];
        paths.map(|row| Ok((row.curve.clone(), name_of(&row.split)?, measured(row)))).collect()
    }
}

/// A curve for each row.
fn series<'a, P: 'a>(
    rows: &[&'a Row],
    points: impl Fn(&'a Row) -> &'a [P],
    of: impl Fn(&P) -> (f64, Estimate),
    unit: f64,
) -> anyhow::Result<Vec<Series>> {
    let one = |row: &&'a Row| {
        let points = points(row).iter().map(|at| {
            let (x, Estimate { value, standard_error }) = of(at);
            Point { x, y: unit * value, error: standard_error.map(|error| 2.0 * unit * error) }
        });
        let series = draw::curve(&row.curve, &name_of(&row.split)?, points);
        Ok(Series { reference: row.way.is_none(), ..series })
    };
    rows.iter().map(one).collect()
}

fn with_error(Barrier { value, standard_error, .. }: Barrier) -> String {
    match standard_error {
        Some(error) => format!("{value:.4} ± {error:.4}"),
        None => format!("{value:.4}"),
    }
}
