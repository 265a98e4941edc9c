//! The report of one or several experiments or single stages: read from their folders, written as pages with figures and tables.

mod alignments;
mod experiment;
mod matrix;
mod names;
mod notes;
mod pairs;
mod sweep;
mod written;

use crate::error::{Error, Result};
use crate::figure::{Chart, Figure};
use crate::page::{Block, Headline, Page, Section};
use crate::stages;
use crate::stages::barrier::DECOMPOSITION;
use crate::table::Alignment::{Left, Right};
use crate::table::Table;
use experiment::{Experiment, Parts};
use onebasin::experiment::{Align, Barrier, Measures, Stage};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Width of a PNG in pixels.
const PIXELS: u32 = 1600;
/// Columns and rows of a figure in the summary.
const TERMINAL: [usize; 2] = [72, 16];
/// Most lines that a figure in the summary has: as many as there are letters for them.
const MOST_LINES: usize = 26;
/// Most rows that a table in the summary has.
const MOST_ROWS: usize = 50;

/// Report of one or several experiments.
#[derive(Debug)]
pub struct Report {
    experiments: Vec<Experiment>,
    page: Page,
}

impl Report {
    /// Reads the measures of finished experiments, or the results of single stages, from their folders.
    pub fn read(folders: &[PathBuf]) -> Result<Self> {
        let experiments = folders.iter().map(|folder| Experiment::read(folder)).collect::<Result<Vec<_>>>()?;
        let page = page_of(&experiments)?;
        Ok(Self { experiments, page })
    }

    /// Returns the measures of each experiment.
    pub fn measures(&self) -> impl Iterator<Item = &Measures> {
        self.experiments.iter().map(|experiment| &experiment.measures)
    }

    /// Returns the folder that the report of a single experiment or stage is written to unless another is named.
    pub fn output(&self) -> Option<PathBuf> {
        if let [only] = &self.experiments[..] { Some(only.output()) } else { None }
    }

    /// Writes the report, and returns the path of its page.
    ///
    /// A path that ends in `.md` becomes a Markdown file with a folder of figures beside it; any other path becomes a folder
    /// with `index.html`, `report.md` and all figures and tables. `report.json` lists what was written: an error names the
    /// first file that would be replaced although no earlier report wrote it, and then nothing is written.
    pub fn write(&self, output: &Path) -> Result<PathBuf> {
        if output.extension().is_some_and(|extension| extension == "md") {
            let [page, beside] = [output.file_name(), output.file_stem()]
                .map(|name| name.unwrap_or_default().to_string_lossy().into_owned());
            let mut files = self.figures(&beside, &["svg", "csv"])?;
            files.push((page, self.page.markdown(&beside).into_bytes()));
            written::write_all(
                output.parent().unwrap_or(Path::new("")),
                &format!("{beside}/{}", written::LIST),
                &files,
            )?;
            return Ok(output.to_owned());
        }
        let mut files = self.figures("figures", &["svg", "png", "csv"])?;
        files.extend(tables(&self.page).map(|(id, _, table)| (format!("figures/{id}.csv"), table.csv().into_bytes())));
        files.push(("report.md".to_owned(), self.page.markdown("figures").into_bytes()));
        files.push(("index.html".to_owned(), self.page.html().into_bytes()));
        written::write_all(output, written::LIST, &files)?;
        Ok(output.join("index.html"))
    }

    /// Returns the first figure, the first table, the first decomposition of a barrier and what was found as plain text.
    pub fn summary(&self) -> String {
        let figure = self.page.figures().next().map(|figure| {
            let figure = with_last_group(figure.clone());
            match &figure.chart {
                Chart::Lines(lines) if lines.series.len() > MOST_LINES => {
                    format!("{}: {} lines, which the page has\n\n", figure.title, lines.series.len())
                }
                _ => format!("{}\n{}\n", figure.title, figure.text(TERMINAL[0], TERMINAL[1])),
            }
        });
        let [first, decomposition] = ["", DECOMPOSITION].map(|caption| {
            let mut tables = tables(&self.page).filter(|(_, captioned, _)| *captioned != notes::FAILURES);
            tables.find(|(_, captioned, _)| captioned.starts_with(caption)).map(|(_, _, table)| first_rows(table))
        });
        let decomposition = decomposition.map(|table| format!("\n{table}"));
        let finding = if self.page.finding.is_empty() { String::new() } else { format!("\n{}\n", self.page.finding) };
        figure.unwrap_or_default() + &first.unwrap_or_default() + &decomposition.unwrap_or_default() + &finding
    }

    /// Each figure in each format, by the name of its file in a folder.
    fn figures(&self, folder: &str, formats: &[&str]) -> Result<Vec<(String, Vec<u8>)>> {
        let mut files = Vec::new();
        for figure in self.page.figures() {
            for format in formats {
                let bytes = match *format {
                    "svg" => figure.svg().into_bytes(),
                    "png" => figure.png(PIXELS)?,
                    _ => figure.csv().into_bytes(),
                };
                files.push((format!("{folder}/{}.{format}", figure.id), bytes));
            }
        }
        Ok(files)
    }
}

/// All tables from top to bottom, with their identifiers and captions.
fn tables(page: &Page) -> impl Iterator<Item = (&str, &str, &Table)> {
    let blocks = page.sections.iter().flat_map(|section| &section.blocks);
    blocks.filter_map(|block| match block {
        Block::Table { id, caption, table } => Some((&**id, &**caption, table)),
        _ => None,
    })
}

/// A table as plain text, without the rows for which a terminal has no room.
fn first_rows(table: &Table) -> String {
    let text = table.text();
    let rows = text.lines().count() - 1;
    if rows <= MOST_ROWS {
        return text;
    }
    let first: String = text.split_inclusive('\n').take(1 + MOST_ROWS).collect();
    format!("{first}and {} more rows, which the page has\n", rows - MOST_ROWS)
}

/// The figure with the series of its last group only: a terminal has no room for more.
fn with_last_group(mut figure: Figure) -> Figure {
    if let Chart::Lines(lines) = &mut figure.chart
        && let Some(group) = lines.series.last().map(|series| series.group.clone())
    {
        lines.series.retain(|series| series.group == group);
    }
    figure
}

/// Makes the page.
fn page_of(experiments: &[Experiment]) -> Result<Page> {
    let mut page = Page {
        title: "Results of onebasin".to_owned(),
        finding: String::new(),
        summary: "Each section is an experiment. The command in it makes its results.".to_owned(),
        headlines: Vec::new(),
        sections: Vec::new(),
        provenance: Vec::new(),
    };
    let in_folder = |experiment: &Experiment, error: Error| Error::Experiment {
        folder: experiment.folder.clone(),
        source: Box::new(error),
    };
    if let [experiment] = experiments {
        let fault = |error| in_folder(experiment, error);
        page.title.clone_from(&experiment.measures.title);
        experiment.measures.about.trim().clone_into(&mut page.summary);
        let found = parts(experiment, "").map_err(fault)?;
        page.finding = found.finding.unwrap_or_default();
        (page.headlines, page.sections) = (found.headlines, found.sections);
        page.provenance = experiment.provenance().map_err(fault)?;
    } else {
        for (index, experiment) in experiments.iter().enumerate() {
            let mut name = experiment.measures.name.clone();
            if experiments[..index].iter().any(|other| other.measures.name == name) {
                name = format!("{name}-{}", index + 1);
            }
            let parts = parts(experiment, &format!("{name}-")).map_err(|error| in_folder(experiment, error))?;
            page.sections.push(joined(experiment, &name, parts));
            let version = format!("onebasin {}; {}", experiment.measures.version, experiment.times.machine);
            page.provenance.push((name, version));
        }
    }
    // They become names of files, and a file of measures may have any text.
    let mut seen = BTreeSet::new();
    for block in page.sections.iter_mut().flat_map(|section| &mut section.blocks) {
        if let Block::Figure(Figure { id, .. }) | Block::Table { id, .. } = block {
            let name = file_name(id);
            let others = (2..).map(|number| format!("{name}-{number}"));
            *id = [name.clone()].into_iter().chain(others).find(|name| !seen.contains(name)).unwrap_or_default();
            seen.insert(id.clone());
        }
    }
    page.assign_colours();
    Ok(page)
}

/// Replaces all but letters, digits, `-` and `_`.
fn file_name(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect()
}

/// The stages of the only cell, barriers first, or a sweep over all cells; numbers of other work after the first section; then
/// alignments and posteriors.
fn parts(experiment: &Experiment, prefix: &str) -> Result<Parts> {
    let (mut parts, names) = (Parts::default(), experiment.names());
    if let [cell] = &experiment.measures.cells[..] {
        pairs::add(cell, prefix, &names, &mut parts)?;
        let others = cell.stages.iter().filter(|(task, _)| stages::stage_of(task) != Barrier::NAME);
        // What alignments found comes last: others are measured with them.
        let (alignments, others): (Vec<_>, Vec<_>) =
            others.partition(|(task, _)| stages::stage_of(task) == Align::NAME);
        for (task, result) in others.into_iter().chain(alignments) {
            parts.push(stages::show(task, result, prefix, &names)?);
        }
    } else {
        sweep::add(&experiment.measures.cells, prefix, &names, &mut parts)?;
    }
    parts.sections.retain(|section| !section.blocks.is_empty());
    let cells = &experiment.measures.cells;
    let notes = notes::section(cells, prefix);
    let failed = cells.iter().filter(|cell| !cell.failures.is_empty()).count();
    if failed > 0 {
        let sentence = match cells.len() {
            1 => "Some trainings failed or are not done.".to_owned(),
            all => format!("Trainings failed or are not done in {failed} of {all} cells."),
        };
        parts.finding = Some(parts.finding.map_or_else(|| sentence.clone(), |finding| format!("{finding} {sentence}")));
    }
    if let Some(section) = pairs::literature(&experiment.measures.literature, prefix) {
        parts.sections.insert(parts.sections.len().min(1), section);
    }
    alignments::add(experiment, prefix, &mut parts)?;
    // What failed comes first, what may be doubted before the posteriors that it is about.
    let place = if failed > 0 { 0 } else { parts.sections.len() };
    parts.sections.splice(place..place, notes);
    parts.sections.extend(experiment.posteriors(prefix));
    Ok(parts)
}

/// All of an experiment as one section among others.
fn joined(experiment: &Experiment, name: &str, parts: Parts) -> Section {
    let Measures { about, title, .. } = &experiment.measures;
    let text = parts.finding.into_iter().chain([about.trim().to_owned()]).map(Block::Text);
    let mut blocks: Vec<Block> = text.chain(experiment.command().map(Block::Code)).collect();
    if !parts.headlines.is_empty() {
        let rows = parts.headlines.into_iter().map(|Headline { label, value, note }| [label, value, note]);
        let table = Table::new([("headline", Left), ("value", Right), ("of", Left)]).with(rows);
        blocks.push(Block::Table { id: format!("{name}-headlines"), caption: "Key results".to_owned(), table });
    }
    blocks.extend(parts.sections.into_iter().flat_map(|section| section.blocks));
    Section { id: name.to_owned(), title: title.clone(), blocks }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_the_first_rows_of_a_long_table() {
        let table = |rows: usize| Table::new([("row", Right)]).with((0..rows).map(|row| [row.to_string()]));
        assert_eq!(first_rows(&table(MOST_ROWS)), table(MOST_ROWS).text());
        let text = first_rows(&table(MOST_ROWS + 7));
        assert_eq!(text.lines().count(), 1 + MOST_ROWS + 1);
        assert!(text.ends_with("\nand 7 more rows, which the page has\n"), "{text}");
    }
}
