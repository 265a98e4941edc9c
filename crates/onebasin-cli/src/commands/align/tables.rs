//! What is known of an alignment, as tables.

use super::report::Aligned;
use super::report::Outcome;
use super::report::Pair;
use super::report::Permutation;
use super::report::Relabelled;
use super::report::Together;
use onebasin_report::Alignment::Left;
use onebasin_report::Alignment::Right;
use onebasin_report::Table;

impl Outcome {
    /// What was done to each posterior, then the totals, with a blank line between them.
    pub(super) fn text(&self) -> String {
        let tables = match self {
            Self::Pairs { members, .. } => members.iter().map(Pair::table).chain([totals(members)]).collect(),
            Self::Together { together, members, .. } => vec![lines(members), together.totals()],
            Self::Relabelled { together, members, .. } => vec![files(members), together.totals()],
        };
        tables.iter().map(Table::text).collect::<Vec<_>>().join("\n")
    }
}

impl Pair {
    /// One line for each permutation.
    fn table(&self) -> Table {
        let title = format!("permutation of {}", self.aligned.name);
        let columns = [(title.as_str(), Left), ("units", Right), ("NoT", Right), ("fixed", Right)];
        let mut table = Table::new(columns.into_iter().chain([("objective before", Right), ("after", Right)]));
        for (permutation, part) in self.aligned.permutations.iter().zip(&self.groups) {
            let Permutation { name, size, transpositions, fixed_points } = permutation;
            let [size, transpositions, fixed_points] = [size, transpositions, fixed_points].map(ToString::to_string);
            let [before, after] = [part.objective.before, part.objective.after].map(number);
            table.push([name, &size, &transpositions, &fixed_points, &before, &after]);
        }
        table
    }
}

/// One column for each pair.
fn totals(pairs: &[Pair]) -> Table {
    let names = pairs.iter().map(|pair| (pair.aligned.name.as_str(), Right));
    let mut totals = Table::new(std::iter::once(("total", Left)).chain(names));
    let mut row = |name: &str, value: &dyn Fn(&Pair) -> String| {
        totals.push(std::iter::once(name.to_owned()).chain(pairs.iter().map(value)));
    };
    row("objective before", &|pair| number(pair.objective.value.before));
    row("objective after", &|pair| number(pair.objective.value.after));
    row("upper bound", &|pair| number(pair.objective.bound));
    row("after / bound", &|pair| format!("{:.4}", pair.objective.value.after / pair.objective.bound));
    row("W2 distance before", &|pair| number(pair.aligned.distance.before));
    row("W2 distance after", &|pair| number(pair.aligned.distance.after));
    row("assignment problems", &|pair| pair.assignments.to_string());
    row("seconds", &|pair| format!("{:.2}", pair.seconds));
    row("change of the function", &|pair| format!("{:.1e}", pair.aligned.change_of_function));
    totals
}

/// One line for each posterior; its distances are those from the first.
fn lines(members: &[Aligned]) -> Table {
    let groups = members[0].permutations.iter().map(|permutation| format!("NoT {}", permutation.name));
    let mut table = wide(["posterior", "W2 before", "after", "change of the function"], groups);
    for Aligned { name, distance, change_of_function, permutations, .. } in members {
        let numbers = [number(distance.before), number(distance.after), format!("{change_of_function:.1e}")];
        let transpositions = permutations.iter().map(|permutation| permutation.transpositions.to_string());
        table.push(std::iter::once(name.clone()).chain(numbers).chain(transpositions));
    }
    table
}

/// One line for each file of samples.
fn files(members: &[Relabelled]) -> Table {
    let groups = members[0].permutations.iter().map(|group| format!("mean NoT {}", group.name));
    let mut table = wide(["posterior", "samples", "relabelled", "change of the function"], groups);
    for Relabelled { name, samples, changed, change_of_function, permutations, .. } in members {
        let numbers = [samples.to_string(), changed.to_string(), format!("{change_of_function:.1e}")];
        let transpositions = permutations.iter().map(|group| format!("{:.1}", group.mean_transpositions));
        table.push(std::iter::once(name.clone()).chain(numbers).chain(transpositions));
    }
    table
}

/// A table of a name and of numbers, the last ones for each group.
fn wide([name, numbers @ ..]: [&str; 4], groups: impl Iterator<Item = String>) -> Table {
    let groups: Vec<String> = groups.collect();
    let numbers = numbers.into_iter().chain(groups.iter().map(String::as_str));
    Table::new(std::iter::once((name, Left)).chain(numbers.map(|title| (title, Right))))
}

impl Together {
    fn totals(&self) -> Table {
        let [before, .., after] = self.history[..] else { unreachable!("there is a round after none") };
        let mut totals = Table::new([("total", Left), (self.method, Right)]);
        totals.push(["objective before", &number(before)]);
        totals.push(["objective after", &number(after)]);
        totals.push(["rounds", &(self.history.len() - 1).to_string()]);
        totals.push(["assignment problems", &self.assignments.to_string()]);
        totals.push(["seconds", &format!("{:.2}", self.seconds)]);
        totals
    }
}

/// Six significant digits, whatever the size.
fn number(value: f64) -> String {
    let digits = if value == 0.0 || !value.is_finite() { 0 } else { value.abs().log10().floor() as i32 };
    if (-4..9).contains(&digits) { format!("{value:.*}", (5 - digits).max(0) as usize) } else { format!("{value:.5e}") }
}
