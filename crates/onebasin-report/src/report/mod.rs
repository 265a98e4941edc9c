//! The report of one or several experiments: read from their folders, written as pages with figures and tables.

mod alignments;
mod experiment;
mod pairs;
mod sweep;

use crate::error::{Error, Result};
use crate::figure::{Chart, Figure};
use crate::page::{Block, Headline, Page, Section};
use crate::stages;
use crate::stages::barrier::DECOMPOSITION;
use crate::table::Alignment::{Left, Right};
use crate::table::Table;
use experiment::{Experiment, Parts};
use onebasin::experiment::{Barrier, Measures, Stage};
use onebasin::store::write_whole;
use std::fs;
use std::path::{Path, PathBuf};

/// Width of a PNG in pixels.
const PIXELS: u32 = 1600;
/// Columns and rows of a figure in the summary.
const TERMINAL: [usize; 2] = [72, 16];

/// Report of one or several experiments.
#[derive(Debug)]
pub struct Report {
    experiments: Vec<Experiment>,
    page: Page,
}

impl Report {
    /// Reads the measures of finished experiments from their folders.
    pub fn read(folders: &[PathBuf]) -> Result<Self> {
        let experiments = folders.iter().map(|folder| Experiment::read(folder)).collect::<Result<Vec<_>>>()?;
        let page = page_of(&experiments)?;
        Ok(Self { experiments, page })
    }

    /// Returns the measures of each experiment.
    pub fn measures(&self) -> impl Iterator<Item = &Measures> {
        self.experiments.iter().map(|experiment| &experiment.measures)
    }

    /// Writes the report, and returns the path of its page.
    ///
    /// A path that ends in `.md` becomes a Markdown file with a folder of figures beside it; any other path becomes a folder
    /// with `index.html`, `report.md` and all figures and tables.
    pub fn write(&self, output: &Path) -> Result<PathBuf> {
        if output.extension().is_some_and(|extension| extension == "md") {
            let figures = output.with_extension("");
            self.write_figures(&figures, &["svg", "csv"])?;
            let beside = figures.file_name().unwrap_or_default().to_string_lossy().into_owned();
            write(output, self.page.markdown(&beside).as_bytes())?;
            return Ok(output.to_owned());
        }
        let figures = output.join("figures");
        self.write_figures(&figures, &["svg", "png", "csv"])?;
        for (id, _, table) in tables(&self.page) {
            write(&figures.join(format!("{id}.csv")), table.csv().as_bytes())?;
        }
        write(&output.join("report.md"), self.page.markdown("figures").as_bytes())?;
        let index = output.join("index.html");
        write(&index, self.page.html().as_bytes())?;
        Ok(index)
    }

    /// Returns the first figure, the first table and the first decomposition of a barrier as plain text.
    pub fn summary(&self) -> String {
        let figure = self.page.figures().next().map(|figure| {
            let figure = with_last_group(figure.clone());
            format!("{}\n{}\n", figure.title, figure.text(TERMINAL[0], TERMINAL[1]))
        });
        let [first, decomposition] = ["", DECOMPOSITION].map(|caption| {
            let mut tables = tables(&self.page);
            tables.find(|(_, captioned, _)| captioned.starts_with(caption)).map(|(_, _, table)| table.text())
        });
        let decomposition = decomposition.map(|table| format!("\n{table}"));
        figure.unwrap_or_default() + &first.unwrap_or_default() + &decomposition.unwrap_or_default()
    }

    /// Writes each figure in each format.
    fn write_figures(&self, folder: &Path, formats: &[&str]) -> Result<()> {
        for figure in self.page.figures() {
            for format in formats {
                let bytes = match *format {
                    "svg" => figure.svg().into_bytes(),
                    "png" => figure.png(PIXELS)?,
                    _ => figure.csv().into_bytes(),
                };
                write(&folder.join(format!("{}.{format}", figure.id)), &bytes)?;
            }
        }
        Ok(())
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

/// The figure with the series of its last group only: a terminal has no room for more.
fn with_last_group(mut figure: Figure) -> Figure {
    if let Chart::Lines(lines) = &mut figure.chart
        && let Some(group) = lines.series.last().map(|series| series.group.clone())
    {
        lines.series.retain(|series| series.group == group);
    }
    figure
}

/// Writes a file, whole or not at all, in a folder that need not exist yet.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let fault = |error| onebasin::error::Error::file(path, error);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(fault)?;
    }
    write_whole(path, |file| file.write_all(bytes).map_err(fault)).map_err(Error::from)
}

/// Makes the page.
fn page_of(experiments: &[Experiment]) -> Result<Page> {
    let mut page = Page {
        title: "Results of onebasin".to_owned(),
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
        Parts { headlines: page.headlines, sections: page.sections } = parts(experiment, "").map_err(fault)?;
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
    for block in page.sections.iter_mut().flat_map(|section| &mut section.blocks) {
        match block {
            Block::Figure(figure) => figure.id = file_name(&figure.id),
            Block::Table { id, .. } => *id = file_name(id),
            Block::Text(_) | Block::Code(_) => {}
        }
    }
    Ok(page)
}

/// Replaces all but letters, digits, `-` and `_`.
fn file_name(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect()
}

/// The stages of the only cell, barriers first, or a sweep over all cells; numbers of other work after the first section; then
/// alignments and posteriors.
fn parts(experiment: &Experiment, prefix: &str) -> Result<Parts> {
    let mut parts = Parts::default();
    if let [cell] = &experiment.measures.cells[..] {
        pairs::add(cell, prefix, &mut parts)?;
        for (task, result) in cell.stages.iter().filter(|(task, _)| stages::stage_of(task) != Barrier::NAME) {
            let (headlines, section) = stages::section(task, result, prefix)?;
            parts.headlines.extend(headlines);
            parts.sections.push(section);
        }
    } else {
        sweep::add(&experiment.measures.cells, prefix, &mut parts)?;
    }
    parts.sections.retain(|section| !section.blocks.is_empty());
    if let Some(section) = pairs::literature(&experiment.measures.literature, prefix) {
        parts.sections.insert(parts.sections.len().min(1), section);
    }
    alignments::add(experiment, prefix, &mut parts)?;
    parts.sections.extend(experiment.posteriors(prefix));
    Ok(parts)
}

/// All of an experiment as one section among others.
fn joined(experiment: &Experiment, name: &str, parts: Parts) -> Section {
    let Measures { about, title, .. } = &experiment.measures;
    let mut blocks = vec![Block::Text(about.trim().to_owned()), Block::Code(experiment.command())];
    if !parts.headlines.is_empty() {
        let rows = parts.headlines.into_iter().map(|Headline { label, value, note }| [label, value, note]);
        let table = Table::new([("headline", Left), ("value", Right), ("of", Left)]).with(rows);
        blocks.push(Block::Table { id: format!("{name}-headlines"), caption: "Key results".to_owned(), table });
    }
    blocks.extend(parts.sections.into_iter().flat_map(|section| section.blocks));
    Section { id: name.to_owned(), title: title.clone(), blocks }
}
