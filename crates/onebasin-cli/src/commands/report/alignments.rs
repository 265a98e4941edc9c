//! Alignments by several criteria and solvers, compared with each other.

use super::Results;
use super::draw;
use super::page::Parts;
use super::page::duration;
use super::sections;
use super::sweep;
use onebasin_report::Alignment::Left;
use onebasin_report::Alignment::Right;
use onebasin_report::Block;
use onebasin_report::Headline;
use onebasin_report::Section;
use onebasin_report::Series;
use onebasin_report::Table;
use serde::Deserialize;

/// What is read of the report of an alignment.
#[derive(Debug, Deserialize)]
struct Report {
    settings: Settings,
    members: Vec<Member>,
}

#[derive(Debug, Deserialize)]
struct Settings {
    channel: String,
    solver: String,
}

#[derive(Debug, Deserialize)]
struct Member {
    objective: Objective,
    distance: Distance,
    assignments: usize,
    permutations: Vec<Permutation>,
}

#[derive(Debug, Deserialize)]
struct Objective {
    before: f64,
    after: f64,
    bound: f64,
}

#[derive(Debug, Deserialize)]
struct Distance {
    before: f64,
    after: f64,
}

#[derive(Debug, Deserialize)]
struct Permutation {
    transpositions: usize,
}

/// One alignment.
struct Entry {
    /// What was swept, in words, and as a number.
    cell: String,
    x: Option<f64>,
    name: String,
    member: Member,
    seconds: Option<f64>,
}

/// Appends a section, if anything was aligned for its own sake.
pub(super) fn of(results: &Results, prefix: &str, parts: &mut Parts) -> anyhow::Result<()> {
    let mut entries = Vec::new();
    for cell in &results.measures.cells {
        let words: Vec<String> = cell.settings.values().map(sweep::text).collect();
        for (name, value) in cell.stages.iter().filter(|(name, _)| name.starts_with("align/")) {
            let Report { settings, members } = sections::read(name, value)?;
            for (index, member) in members.into_iter().enumerate() {
                let place = format!("cells/{}/{name}/members/{index}/seconds", cell.id);
                entries.push(Entry {
                    cell: words.join(", "),
                    x: cell.settings.values().next().and_then(sweep::number),
                    name: format!("{}, {}", settings.channel, settings.solver),
                    member,
                    seconds: results.times.seconds.get(&place).copied(),
                });
            }
        }
    }
    if entries.is_empty() {
        return Ok(());
    }
    let key = results.measures.cells.iter().find_map(|cell| cell.settings.keys().next());
    let mut blocks = Vec::new();
    if let Some(key) = key.filter(|_| entries.iter().all(|entry| entry.x.is_some())) {
        blocks.push(times(&entries, &sweep::short(key), prefix));
        let slowest = entries.iter().filter_map(|entry| Some((entry, entry.seconds?)));
        let slowest = slowest.max_by(|(_, a), (_, b)| a.total_cmp(b));
        parts.headlines.extend(slowest.map(|(entry, seconds)| Headline {
            label: format!("The slowest alignment: {}, {} {}", entry.name, sweep::short(key), entry.cell),
            value: duration(seconds),
            note: results.times.machine.clone(),
        }));
    }
    blocks.push(table(&entries, key.map(|key| sweep::short(key)).as_deref(), prefix));
    parts.sections.push(Section { id: format!("{prefix}alignments"), title: "Alignments".to_owned(), blocks });
    Ok(())
}

fn times(entries: &[Entry], key: &str, prefix: &str) -> Block {
    let mut series: Vec<Series> = Vec::new();
    for entry in entries {
        let point = draw::point(entry.x.unwrap_or(f64::NAN), entry.seconds.unwrap_or(f64::NAN));
        match series.iter_mut().find(|series| series.name == entry.name) {
            Some(series) => series.points.push(point),
            None => series.push(draw::marked(&entry.name, "", [point])),
        }
    }
    Block::Figure(draw::lines(
        format!("{prefix}alignment-seconds"),
        &format!("Seconds of an alignment against {key}"),
        "The search for the permutations alone, without reading and writing.",
        [draw::log(key), draw::log("seconds")],
        series,
    ))
}

fn table(entries: &[Entry], key: Option<&str>, prefix: &str) -> Block {
    let titles = ["part of the gain", "seconds", "W2 before", "W2 after", "NoT", "assignments"];
    let swept = key.map(|key| (key, Right)).into_iter();
    let columns = swept.chain([("channel, solver", Left)]);
    let mut table = Table::new(columns.chain(titles.map(|title| (title, Right))));
    for Entry { cell, name, member, seconds, .. } in entries {
        let Objective { before, after, bound } = member.objective;
        let cells = [
            name.clone(),
            format!("{:.4}", (after - before) / (bound - before)),
            seconds.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.3}")),
            format!("{:.4}", member.distance.before),
            format!("{:.4}", member.distance.after),
            member.permutations.iter().map(|permutation| permutation.transpositions).sum::<usize>().to_string(),
            member.assignments.to_string(),
        ];
        table.push(key.map(|_| cell.clone()).into_iter().chain(cells));
    }
    let caption = "What each alignment gains, as a part of what no permutations could exceed";
    Block::Table { id: format!("{prefix}alignments-table"), caption: caption.to_owned(), table }
}
