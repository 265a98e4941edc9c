//! `onebasin report`: one page, with figures and tables, from what experiments measured.

mod alignments;
pub(crate) mod draw;
mod page;
mod sections;
mod sweep;

use crate::commands::run::MEASURES;
use crate::commands::run::Measures;
use crate::commands::run::TIMES;
use crate::commands::run::Times;
use crate::printer::ExitStatus;
use crate::printer::Printer;
use anyhow::Context;
use onebasin::error::Error;
use onebasin::store::write_whole;
use onebasin_report::Block;
use onebasin_report::Chart;
use onebasin_report::Figure;
use onebasin_report::Page;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// Pixels of a PNG from left to right.
const PIXELS: u32 = 1600;
/// Characters of a curve on the terminal.
const TERMINAL: [usize; 2] = [72, 16];

/// What the command needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The folders of experiments; at least one.
    pub(crate) experiments: Vec<PathBuf>,
    /// The folder, or the Markdown file, that is written; `None` for `report` in the folder of a single experiment.
    pub(crate) output: Option<PathBuf>,
    /// Whether all measures are printed instead of tables.
    pub(crate) json: bool,
}

/// What an experiment left.
#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) folder: PathBuf,
    pub(crate) measures: Measures,
    pub(crate) times: Times,
}

/// Writes the report of one or several experiments.
pub(crate) fn run(settings: &Settings, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let output = match (&settings.output, &settings.experiments[..]) {
        (Some(output), _) => output.clone(),
        (None, [one]) => one.join("report"),
        (None, _) => anyhow::bail!("a report of several experiments needs a place: give one with -o"),
    };
    write(&settings.experiments, &output, settings.json, printer)
}

/// Reads all measures, writes the report, and prints what is in it.
pub(crate) fn write(
    experiments: &[PathBuf],
    output: &Path,
    json: bool,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    let results = experiments.iter().map(|folder| Results::read(folder)).collect::<anyhow::Result<Vec<_>>>()?;
    let page = page::of(&results)?;
    if output.extension().is_some_and(|extension| extension == "md") {
        let figures = output.with_extension("");
        write_figures(&page, &figures, &["svg", "csv"])?;
        let beside = figures.file_name().unwrap_or_default().to_string_lossy().into_owned();
        put(output, page.markdown(&beside).as_bytes())?;
    } else {
        write_figures(&page, &output.join("figures"), &["svg", "png", "csv"])?;
        put(&output.join("report.md"), page.markdown("figures").as_bytes())?;
        for (id, cells) in page::tables(&page) {
            put(&output.join("figures").join(format!("{id}.csv")), cells.as_bytes())?;
        }
        put(&output.join("index.html"), page.html().as_bytes())?;
    }
    if json {
        let all: Vec<&Measures> = results.iter().map(|results| &results.measures).collect();
        let text = match &all[..] {
            [one] => serde_json::to_string_pretty(one)?,
            several => serde_json::to_string_pretty(several)?,
        };
        printer.data(&(text + "\n"))?;
    } else {
        printer.data(&summary(&page))?;
    }
    let shown = if output.extension().is_some() { output.to_owned() } else { output.join("index.html") };
    printer.say(&format!("report: {}", shown.display()));
    Ok(ExitStatus::Success)
}

impl Results {
    fn read(folder: &Path) -> anyhow::Result<Self> {
        let file = folder.join(MEASURES);
        let text = fs::read_to_string(&file).with_context(|| {
            format!("{} has no {MEASURES}: it is not the folder of a finished `onebasin run`", folder.display())
        })?;
        let measures = serde_json::from_str(&text).with_context(|| file.display().to_string())?;
        // Times can be missing; then there are none to show.
        let times = fs::read_to_string(folder.join(TIMES)).ok();
        let times = times.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        Ok(Self { folder: folder.to_owned(), measures, times })
    }
}

/// The first table and the first curve of the page, for the terminal.
fn summary(page: &Page) -> String {
    let blocks = || page.sections.iter().flat_map(|section| &section.blocks);
    let mut text = String::new();
    let figure = blocks().find_map(|block| if let Block::Figure(figure) = block { Some(figure) } else { None });
    if let Some(figure) = figure {
        let figure = of_one_group(figure.clone());
        text = format!("{}\n{}\n", figure.title, figure.text(TERMINAL[0], TERMINAL[1]));
    }
    let table = blocks().find_map(|block| if let Block::Table { table, .. } = block { Some(table) } else { None });
    text + &table.map_or_else(String::new, onebasin_report::Table::text)
}

/// The curves of the last group only: a terminal has no room for more.
fn of_one_group(mut figure: Figure) -> Figure {
    if let Chart::Lines(lines) = &mut figure.chart
        && let Some(group) = lines.series.last().map(|series| series.group.clone())
    {
        lines.series.retain(|series| series.group == group);
    }
    figure
}

/// Writes each figure in each of these forms; a page in Markdown is kept with its text, so it does without pixels.
fn write_figures(page: &Page, folder: &Path, forms: &[&str]) -> anyhow::Result<()> {
    for figure in page.figures() {
        for form in forms {
            let path = folder.join(format!("{}.{form}", figure.id));
            let bytes = match *form {
                "svg" => figure.svg().into_bytes(),
                "png" => figure.png(PIXELS).with_context(|| path.display().to_string())?,
                _ => figure.csv().into_bytes(),
            };
            put(&path, &bytes)?;
        }
    }
    Ok(())
}

/// Writes a file, whole or not at all, in a folder that may not be there yet.
fn put(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let fault = |error: std::io::Error| Error::File { path: path.to_owned(), reason: error.to_string() };
    Ok(write_whole(path, |file| file.write_all(bytes).map_err(fault))?)
}
