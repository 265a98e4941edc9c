//! `onebasin data`: lists, downloads and verifies data sets.

use crate::download;
use crate::download::State;
use crate::options::DataArgs;
use crate::printer::{ExitStatus, Printer};
use onebasin::data;
use onebasin::data::catalogue::{Entry, Files, Source};
use onebasin::data::{Split, catalogue};
use onebasin_report::Alignment::{Left, Right};
use onebasin_report::Table;
use serde_json::json;
use std::path::Path;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum DataCommand {
    /// List the data sets, and which of them are on this machine
    #[command(after_help = "Example:\n  onebasin data list")]
    List {
        #[command(flatten)]
        data: DataArgs,
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Download a data set; resumes an interrupted download
    #[command(after_help = "Example:\n  onebasin data get mnist")]
    Get {
        /// Name of the data set; `onebasin data list` prints all
        name: String,
        #[command(flatten)]
        data: DataArgs,
        /// Address of the folder that has the files [default: public mirrors]
        #[arg(long, value_name = "URL")]
        mirror: Option<String>,
    },
    /// Compare the checksums of data sets and read all their examples; exits with 1 if something is wrong
    #[command(after_help = "Example:\n  onebasin data verify mnist cifar10")]
    Verify {
        /// Names of the data sets [default: all that are on this machine]
        names: Vec<String>,
        #[command(flatten)]
        data: DataArgs,
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(command: &DataCommand, printer: &Printer) -> anyhow::Result<ExitStatus> {
    match command {
        DataCommand::List { data, json } => list(&data.folder(), *json, printer),
        DataCommand::Get { name, data, mirror } => {
            get(catalogue::find(name)?, &data.folder(), mirror.as_deref(), printer)
        }
        DataCommand::Verify { names, data, json } => verify(names, &data.folder(), *json, printer),
    }
}

fn list(dir: &Path, json: bool, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let mut table = Table::new([
        ("data set", Left),
        ("train", Right),
        ("test", Right),
        ("shape", Left),
        ("classes", Right),
        ("download", Right),
        ("status", Left),
        ("shows", Left),
    ]);
    let mut entries = Vec::new();
    for entry in catalogue::entries() {
        let (download, status) = match &entry.source {
            Source::BuiltIn => (String::new(), "built in"),
            Source::Files(files) => (format!("{:.1} MB", files.bytes() as f64 / 1e6), presence(files, dir)),
        };
        let (name, shape) = (entry.name, entry.shape.to_string());
        entries.push(json!({
            "name": name, "train": entry.train, "test": entry.test, "shape": shape, "classes": entry.classes,
            "status": status, "shows": entry.description,
        }));
        let [train, test, classes] = [entry.train, entry.test, entry.classes].map(|count| count.to_string());
        table.push([name, &train, &test, &shape, &classes, &download, status, entry.description]);
    }
    printer.data(&if json { serde_json::to_string_pretty(&entries)? + "\n" } else { table.text() })?;
    printer.say(&format!("data directory: {}", dir.display()));
    Ok(ExitStatus::Success)
}

/// Whether all files are there, or some; a glance at their names.
fn presence(files: &Files, dir: &Path) -> &'static str {
    let is_there = |file: &&catalogue::File| {
        let path = dir.join(files.folder).join(file.name);
        path.exists() || (file.unpacked.is_some() && path.with_extension("").exists())
    };
    match files.files.iter().filter(is_there).count() {
        0 => "absent",
        count if count == files.files.len() => "present",
        _ => "incomplete",
    }
}

fn get(entry: &Entry, dir: &Path, mirror: Option<&str>, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let name = entry.name;
    let Source::Files(files) = &entry.source else {
        printer.say(&format!("{name} is built in; there is nothing to download"));
        return Ok(ExitStatus::Success);
    };
    let already = if download::get(files, dir, mirror, printer)? { "" } else { "already " };
    let folder = dir.join(files.folder);
    printer.say(&format!("{name} is {already}in {}, and its checksums are right", folder.display()));
    Ok(ExitStatus::Success)
}

fn verify(names: &[String], dir: &Path, json: bool, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let named = names.iter().map(|name| catalogue::find(name)).collect::<Result<Vec<_>, _>>()?;
    let all = named.is_empty();
    let entries = if all { catalogue::entries().iter().collect() } else { named };
    let mut table = Table::new([("data set", Left), ("checked", Left), ("result", Left)]);
    let (mut problems, mut results) = (0, Vec::new());
    for entry in entries {
        let checks = match &entry.source {
            // Without a name, what was never downloaded is not a problem.
            Source::Files(files) if all && presence(files, dir) == "absent" => {
                table.push([entry.name, "", "absent"]);
                results.push(json!({ "name": entry.name, "result": "absent" }));
                continue;
            }
            Source::Files(files) => checksums(files, dir)?,
            Source::BuiltIn => Vec::new(),
        };
        for (what, result) in checks.into_iter().chain(contents(entry, dir)) {
            problems += usize::from(result.is_err());
            let right = result.is_ok();
            let (Ok(text) | Err(text)) = result;
            table.push([entry.name, &what, &text]);
            results.push(json!({ "name": entry.name, "checked": what, "right": right, "result": text }));
        }
    }
    printer.data(&if json { serde_json::to_string_pretty(&results)? + "\n" } else { table.text() })?;
    Ok(if problems == 0 { ExitStatus::Success } else { ExitStatus::Problem })
}

/// One thing that was looked at, and what was found; an error if it is a problem.
type Check = (String, Result<String, String>);

/// Size and SHA-256 of every file.
fn checksums(files: &Files, dir: &Path) -> anyhow::Result<Vec<Check>> {
    let check = |file: &catalogue::File| {
        let result = match download::check(&dir.join(files.folder), file)? {
            State::Right => Ok("right".to_owned()),
            State::Missing => Err("missing".to_owned()),
            State::Wrong(problem) => Err(problem),
        };
        Ok((file.name.to_owned(), result))
    };
    files.files.iter().map(check).collect()
}

/// Whether both parts can be read, and have as many examples as they should.
fn contents(entry: &Entry, dir: &Path) -> impl Iterator<Item = Check> {
    [(Split::Train, "training examples"), (Split::Test, "test examples")].into_iter().map(move |(split, what)| {
        let result = match data::load(entry.name, split, dir) {
            Ok(dataset) if dataset.len() == entry.images(split) => Ok(format!("{} read", dataset.len())),
            Ok(dataset) => Err(format!("{} read, but there should be {}", dataset.len(), entry.images(split))),
            Err(error) => Err(error.to_string()),
        };
        (what.to_owned(), result)
    })
}
