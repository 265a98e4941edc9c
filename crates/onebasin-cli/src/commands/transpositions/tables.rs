//! What was measured, as tables: means over the runs.

use onebasin::experiment::Correlations;
use onebasin::experiment::Moment;
use onebasin::experiment::OnLine;
use onebasin::experiment::Pair;
use onebasin::experiment::Started;
use onebasin::experiment::Transpositions;
use onebasin_report::Alignment::Right;
use onebasin_report::Table;

/// The columns of a pair.
const PAIR: [&str; 7] =
    ["transpositions", "distance", "aligned", "test loss barrier", "aligned", "test error barrier, %", "aligned"];

/// What the numbers are to be compared with.
pub(crate) fn summary(found: &Transpositions) -> String {
    let (units, unrelated) = (found.units, found.unrelated);
    format!("{units} units; {unrelated:.1} transpositions where nothing is in common. Means over the runs.")
}

/// One for each experiment that there is, with its caption.
pub(crate) fn tables(found: &Transpositions) -> Vec<(&'static str, Table)> {
    let mut tables = Vec::new();
    if !found.starts.is_empty() {
        tables.push(("After training, from starts that were permuted copies", starts(found)));
    }
    if !found.line.is_empty() {
        tables.push(("On the line between two networks with nothing in common", line(&found.line)));
    }
    if !found.dynamics.is_empty() {
        tables.push(("Two networks with nothing in common, in training", dynamics(&found.dynamics)));
    }
    tables
}

/// With the correlations below.
fn starts(found: &Transpositions) -> Table {
    let mut table = table(&["planted", "units recovered", "off"], &PAIR);
    for rows in by(&found.starts, |start| start.planted) {
        let mean = |of: fn(&Started) -> f64| mean(&rows, of);
        let own = [format!("{:.3}", mean(|start| start.recovered)), format!("{:.1}", mean(|start| start.off as f64))];
        let pairs: Vec<&Pair> = rows.iter().map(|start| &start.pair).collect();
        table.push([rows[0].planted.to_string()].into_iter().chain(own).chain(pair(&pairs)));
    }
    if let Some(found) = found.correlations {
        let Correlations { transpositions, distance_before, distance_after, .. } = found;
        let Correlations { loss_before, loss_after, error_before, error_after, .. } = found;
        let all = [transpositions, distance_before, distance_after, loss_before, loss_after, error_before, error_after];
        let cells = all.map(|value| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}")));
        table.push(["correlation", "", ""].map(str::to_owned).into_iter().chain(cells));
    }
    table
}

fn line(points: &[OnLine]) -> Table {
    let mut table = table(&["tau", "from the first", "from the second"], &[]);
    for rows in by(points, |point| point.tau.to_bits()) {
        let cells = [|point: &OnLine| point.from_first as f64, |point: &OnLine| point.from_second as f64];
        let cells = cells.map(|of| format!("{:.1}", mean(&rows, of)));
        table.push([format!("{:.2}", rows[0].tau)].into_iter().chain(cells));
    }
    table
}

fn dynamics(moments: &[Moment]) -> Table {
    let mut table = table(&["epoch"], &PAIR);
    for rows in by(moments, |moment| moment.epoch.to_bits()) {
        let pairs: Vec<&Pair> = rows.iter().map(|moment| &moment.pair).collect();
        table.push([rows[0].epoch.to_string()].into_iter().chain(pair(&pairs)));
    }
    table
}

fn table(own: &[&str], others: &[&str]) -> Table {
    Table::new(own.iter().chain(others).map(|title| (*title, Right)))
}

fn pair(rows: &[&Pair]) -> [String; PAIR.len()] {
    let cell = |digits: usize, of: fn(&Pair) -> f64| format!("{:.digits$}", mean(rows, of));
    [
        cell(1, |pair| pair.transpositions as f64),
        cell(3, |pair| pair.distance_before),
        cell(3, |pair| pair.distance_after),
        cell(4, |pair| pair.test.loss.before),
        cell(4, |pair| pair.test.loss.after),
        cell(2, |pair| 100.0 * pair.test.error.before),
        cell(2, |pair| 100.0 * pair.test.error.after),
    ]
}

/// The rows of each key, keys in the order in which they come first.
pub(super) fn by<T, K: PartialEq>(rows: &[T], key: impl Fn(&T) -> K) -> Vec<Vec<&T>> {
    let mut groups: Vec<Vec<&T>> = Vec::new();
    for row in rows {
        match groups.iter_mut().find(|group| key(group[0]) == key(row)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

pub(super) fn mean<T>(rows: &[&T], of: impl Fn(&T) -> f64) -> f64 {
    rows.iter().map(|row| of(row)).sum::<f64>() / rows.len() as f64
}
