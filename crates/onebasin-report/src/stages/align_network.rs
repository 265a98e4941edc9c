//! Alignments of checkpoints of other libraries.

use super::StageReport;
use super::align::number;
use crate::draw;
use crate::table::Table;
use onebasin::experiment::stages::align::Permutation;
use onebasin::experiment::stages::align_network::{AlignNetworkResult, NetworkFacts, PermutedCheckpoint};
use onebasin::foreign::Checked;

/// A value of a checkpoint as text.
type Value = fn(&PermutedCheckpoint) -> String;

/// The permutations of each checkpoint, then the totals, with a blank line between them.
pub fn text(result: &AlignNetworkResult) -> String {
    result.tables().iter().map(|(_, table)| table.text()).collect::<Vec<_>>().join("\n")
}

impl StageReport for AlignNetworkResult {
    const TITLE: &'static str = "Alignment of checkpoints";

    fn finding(&self) -> Option<String> {
        let PermutedCheckpoint { name, w2, .. } = self.members.first()?;
        let (before, after) = (number(w2.before), number(w2.after));
        Some(format!("Alignment of {name} takes its distance from the first checkpoint from {before} to {after}."))
    }

    fn introduction(&self) -> String {
        let NetworkFacts { file, tensors, groups, units, share } = &self.network;
        format!(
            "{} reads {}. {} can be permuted, in {}: {:.0} % of the rows of its matrices.",
            file.display(),
            draw::count(*tensors, "tensor"),
            draw::count(*units, "unit"),
            draw::count(*groups, "group"),
            100.0 * share
        )
    }

    fn tables(&self) -> Vec<(String, Table)> {
        let permutations = |member: &PermutedCheckpoint| {
            let row = |Permutation { name, size, transpositions, fixed_points }: &Permutation| {
                draw::row(name.clone(), [size, transpositions, fixed_points].map(ToString::to_string))
            };
            let title = format!("permutation of {}", member.name);
            let rows = member.permutations.iter().map(row);
            (format!("Permutations of {}", member.name), draw::table(&[&title], ["units", "NoT", "fixed"]).with(rows))
        };
        let mut tables: Vec<(String, Table)> = self.members.iter().map(permutations).collect();
        tables.push(("Totals".to_owned(), totals(&self.members)));
        tables
    }
}

/// One column for each checkpoint.
fn totals(members: &[PermutedCheckpoint]) -> Table {
    let rows: [(&str, Value); 8] = [
        ("format", |member| member.format.clone()),
        ("posterior", |member| member.convention.clone()),
        ("objective before", |member| draw::or_dash(member.objective.map(|own| own.value.before), number)),
        ("objective after", |member| draw::or_dash(member.objective.map(|own| own.value.after), number)),
        ("distance before", |member| number(member.w2.before)),
        ("distance after", |member| number(member.w2.after)),
        ("seconds", |member| draw::or_dash(member.seconds, |seconds| format!("{seconds:.2}"))),
        ("change of the function", |member| match member.checked {
            Checked::Run { change, .. } => format!("{change:.1e}"),
            Checked::ByGraph { .. } => "not run".to_owned(),
        }),
    ];
    let titles = members.iter().map(|member| member.name.as_str());
    draw::table(&["total"], titles).with(rows.map(|(name, of)| draw::row(name, members.iter().map(of))))
}
