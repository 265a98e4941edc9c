//! Alignments of posteriors.

use super::StageReport;
use crate::draw;
use crate::table::Table;
use onebasin::experiment::stages::align::{
    AlignResult, Aligned, BeforeAndAfter, Objective, Outcome, Pair, Permutation, RelabelledGroup, RelabelledSamples,
    Together,
};
use std::collections::BTreeMap;

/// A value of a pair as text.
type Value = fn(&Pair) -> String;
/// A name, three numbers, and the title and the cell of each group of units.
type Row = (String, [String; 3], Vec<(String, String)>);

/// The permutations of each posterior, then the totals, with a blank line between them.
pub fn text(result: &AlignResult) -> String {
    let tables = pairs(result).unwrap_or_else(|| result.tables());
    tables.iter().map(|(_, table)| table.text()).collect::<Vec<_>>().join("\n")
}

/// The permutations of each posterior that was aligned with the first alone, and the totals; none for other alignments.
pub(crate) fn pairs(result: &AlignResult) -> Option<Vec<(String, Table)>> {
    let Outcome::Pairs { members, .. } = &result.outcome else { return None };
    let mut tables: Vec<_> =
        members.iter().map(|pair| (format!("Permutations of {}", pair.aligned.name), permutations(pair))).collect();
    tables.push(("Totals".to_owned(), pair_totals(members)));
    Some(tables)
}

/// How much of the gain that no permutations can exceed an alignment reaches.
pub(crate) fn share_of_gain(objective: &Objective) -> f64 {
    let Objective { value, bound } = objective;
    (value.after - value.before) / (bound - value.before)
}

impl StageReport for AlignResult {
    const TITLE: &'static str = "Alignment";

    fn finding(&self) -> Option<String> {
        match &self.outcome {
            Outcome::Pairs { members, .. } => members.first().map(|Pair { aligned, objective, .. }| {
                let (BeforeAndAfter { before, after }, share) = (aligned.w2, 100.0 * share_of_gain(objective));
                let share = Some(share).filter(|share| share.is_finite()).map_or_else(String::new, |share| {
                    format!("; the objective gains {share:.1} % of what no permutations can exceed")
                });
                format!("Alignment of {} takes its W2 distance from {before:.3} to {after:.3}{share}.", aligned.name)
            }),
            Outcome::Together { together, .. } | Outcome::Relabelled { together, .. } => {
                let [before, after] = [together.history.first()?, together.history.last()?].map(|value| number(*value));
                Some(format!("Alignment takes the objective of all posteriors from {before} to {after}."))
            }
        }
    }

    fn rename(&mut self, names: &BTreeMap<String, String>) {
        let rename = |name: &mut String| {
            if let Some(better) = names.get(name) {
                name.clone_from(better);
            }
        };
        match &mut self.outcome {
            Outcome::Pairs { members, .. } => members.iter_mut().for_each(|pair| rename(&mut pair.aligned.name)),
            Outcome::Together { members, .. } => members.iter_mut().for_each(|member| rename(&mut member.name)),
            Outcome::Relabelled { members, .. } => members.iter_mut().for_each(|member| rename(&mut member.name)),
        }
    }

    /// Members and totals; none of pairs, which another section compares with all pairs of the experiment.
    fn tables(&self) -> Vec<(String, Table)> {
        let (members, together) = match &self.outcome {
            Outcome::Pairs { .. } => return Vec::new(),
            Outcome::Together { together, members, .. } => (posteriors(members), together),
            Outcome::Relabelled { together, members, .. } => (samples(members), together),
        };
        vec![("Permutations of each posterior".to_owned(), members), ("Totals".to_owned(), totals(together))]
    }
}

/// One line for each permutation.
fn permutations(pair: &Pair) -> Table {
    let title = format!("permutation of {}", pair.aligned.name);
    let rows = pair.aligned.permutations.iter().enumerate().map(|(index, permutation)| {
        let Permutation { name, size, transpositions, fixed_points } = permutation;
        let counts = [size, transpositions, fixed_points].map(ToString::to_string);
        // A loss has no shares.
        let share = pair.groups.get(index).map(|part| part.objective);
        let objectives =
            [share.map(|share| share.before), share.map(|share| share.after)].map(|value| draw::or_dash(value, number));
        draw::row(name, counts.into_iter().chain(objectives))
    });
    draw::table(&[&title], ["units", "NoT", "fixed", "objective before", "after"]).with(rows)
}

/// One column for each pair.
fn pair_totals(pairs: &[Pair]) -> Table {
    let rows: [(&str, Value); 9] = [
        ("objective before", |pair| number(pair.objective.value.before)),
        ("objective after", |pair| number(pair.objective.value.after)),
        ("upper bound", |pair| number(pair.objective.bound)),
        ("share of possible gain", |pair| format!("{:.4}", share_of_gain(&pair.objective))),
        ("W2 distance before", |pair| number(pair.aligned.w2.before)),
        ("W2 distance after", |pair| number(pair.aligned.w2.after)),
        ("assignment problems", |pair| pair.assignments.to_string()),
        ("seconds", |pair| format!("{:.2}", pair.seconds)),
        ("change of the function", |pair| format!("{:.1e}", pair.aligned.change_of_function)),
    ];
    let titles = pairs.iter().map(|pair| pair.aligned.name.as_str());
    draw::table(&["total"], titles).with(rows.map(|(name, of)| draw::row(name, pairs.iter().map(of))))
}

/// One line for each posterior; its distances are those from the first.
fn posteriors(members: &[Aligned]) -> Table {
    let row = |Aligned { name, w2, change_of_function, permutations, .. }: &Aligned| {
        let numbers = [number(w2.before), number(w2.after), format!("{change_of_function:.1e}")];
        let groups = permutations.iter().map(|group| (format!("NoT {}", group.name), group.transpositions.to_string()));
        (name.clone(), numbers, groups.collect())
    };
    by_group(["W2 before", "after", "change of the function"], &members.iter().map(row).collect::<Vec<_>>())
}

/// One line for each file of samples.
fn samples(members: &[RelabelledSamples]) -> Table {
    let row = |RelabelledSamples { name, samples, changed, change_of_function, permutations, .. }: &_| {
        let numbers = [samples.to_string(), changed.to_string(), format!("{change_of_function:.1e}")];
        let mean = |group: &RelabelledGroup| format!("{:.1}", group.mean_transpositions);
        let groups = permutations.iter().map(|group| (format!("mean NoT {}", group.name), mean(group)));
        (name.clone(), numbers, groups.collect())
    };
    by_group(["samples", "relabelled", "change of the function"], &members.iter().map(row).collect::<Vec<_>>())
}

/// A table of names, of numbers, and of a column for each group of units.
fn by_group(numbers: [&str; 3], rows: &[Row]) -> Table {
    let groups = rows.first().map_or(&[][..], |(.., groups)| groups).iter().map(|(title, _)| title.as_str());
    draw::table(&["posterior"], numbers.into_iter().chain(groups)).with(rows.iter().map(|(name, numbers, groups)| {
        draw::row(name, numbers.iter().chain(groups.iter().map(|(_, cell)| cell)).cloned())
    }))
}

fn totals(together: &Together) -> Table {
    let Together { method, history, assignments, seconds } = together;
    let end = |value: Option<&f64>| draw::or_dash(value, |value| number(*value));
    let rows = [
        ["objective before", &end(history.first())],
        ["objective after", &end(history.last())],
        ["rounds", &history.len().saturating_sub(1).to_string()],
        ["assignment problems", &assignments.to_string()],
    ];
    let timed = (*seconds > 0.0).then(|| format!("{seconds:.2}"));
    draw::table(&["total"], [method.as_str()]).with(rows).with(timed.iter().map(|seconds| ["seconds", seconds]))
}

/// Six significant digits, whatever the size.
pub(super) fn number(value: f64) -> String {
    let digits = if value == 0.0 || !value.is_finite() { 0 } else { value.abs().log10().floor() as i32 };
    if (-4..9).contains(&digits) { format!("{value:.*}", (5 - digits).max(0) as usize) } else { format!("{value:.5e}") }
}
