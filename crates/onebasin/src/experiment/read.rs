//! Reads an experiment: networks to train, what to measure of them, and which settings to sweep.

use super::inputs::{POSTERIOR, once};
use super::literature::Literature;
use super::stage::{Plan, Task, Trained};
use super::stages::Sections;
use super::stages::train::Train;
use super::train_config::TrainConfig;
use super::{config, hash};
use crate::error::{Error, Result};
use crate::keys::hint;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use toml::{Table, Value};

/// Folder of all posteriors of an experiment.
pub(super) const POSTERIORS: &str = "posteriors";

/// More cells than this are a mistake.
const MAX_CELLS: usize = 10_000;

/// Names of the keys of a [`Head`].
const HEAD: [&str; 5] = ["title", "about", "literature", "seeds", "train"];

/// What an experiment says besides the tables of its stages and its sweep.
#[derive(Clone, Debug, Deserialize)]
struct Head {
    /// Title of the report.
    title: String,
    /// What is asked, and what the answer means.
    #[serde(default)]
    about: String,
    /// Numbers of other work.
    #[serde(default)]
    literature: Vec<Literature>,
    /// Seeds of the posteriors that are trained; the first two are compared, the next two and so on.
    #[serde(default = "default_seeds")]
    seeds: Vec<u64>,
    /// How posteriors are trained: a configuration of `onebasin train` without its seed.
    train: Option<TrainConfig>,
}

fn default_seeds() -> Vec<u64> {
    vec![0, 1]
}

/// An experiment whose settings are checked.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// File it was read from.
    pub file: String,
    /// Name of the file, without its ending.
    pub name: String,
    /// Settings that were overridden, as `a.b=c`.
    pub overrides: Vec<String>,
    /// Title of the report.
    pub title: String,
    /// What is asked, and what the answer means.
    pub about: String,
    /// Numbers of other work that the report shows beside those of the experiment.
    pub literature: Vec<Literature>,
    /// The whole file with the overrides.
    pub table: Table,
    /// One for each combination of the settings that are swept.
    pub cells: Vec<Cell>,
}

/// One combination of the settings that are swept; without a sweep, the whole experiment.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Hash of the settings that are swept, so it stays when the sweep grows.
    pub id: String,
    /// Settings that are swept, by their whole names, and their values here.
    pub settings: BTreeMap<String, Value>,
    /// Posteriors that are trained.
    pub posteriors: Vec<Posterior>,
    /// The tables of the stages.
    pub sections: Sections,
}

/// A posterior of an experiment.
#[derive(Clone, Debug)]
pub struct Posterior {
    /// Hash of its configuration: equal posteriors of several cells are trained once.
    pub id: String,
    /// How it is trained.
    pub config: TrainConfig,
}

impl Experiment {
    /// The experiment that needs no file: two posteriors of the built-in digits.
    pub const DIGITS: &'static str = include_str!("digits.toml");

    /// Reads TOML, applies overrides such as `barrier.samples=32`, and resolves each cell of the sweep.
    ///
    /// `file` is how errors call the text.
    pub fn read(file: &str, text: &str, overrides: &[String]) -> Result<Self> {
        let table = config::read_table(file, text, overrides)?;
        let mut whole = table.clone();
        let fault = |reason: String| Error::Config { name: file.to_owned(), reason };
        let sweep = combinations(whole.remove("sweep").as_ref()).map_err(fault)?;
        let (mut cells, mut title, mut about, mut literature): (Vec<Cell>, _, _, _) = Default::default();
        for settings in sweep {
            let mut table = whole.clone();
            for (key, value) in &settings {
                config::set(&mut table, key, value.clone())?;
            }
            let (cell, head) = Cell::read(file, table, settings)?;
            (title, about, literature) = (head.title, head.about, head.literature);
            if let Some(twin) = cells.iter().find(|other| other.id == cell.id) {
                let values: Vec<String> = twin.settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
                return Err(fault(format!("the sweep has {} twice", values.join(", "))));
            }
            cells.push(cell);
        }
        Ok(Self {
            file: file.to_owned(),
            name: Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            overrides: overrides.to_vec(),
            title,
            about,
            literature,
            table,
            cells,
        })
    }

    /// Names of all data sets that are read, each once.
    pub fn datasets(&self) -> Vec<String> {
        let mut all = Vec::new();
        for cell in &self.cells {
            all.extend(cell.posteriors.iter().map(|posterior| posterior.config.data.name.clone()));
            all.extend(cell.sections.all().into_iter().flat_map(|(_, section)| section.datasets()));
        }
        all.sort();
        all.dedup();
        all
    }
}

impl Cell {
    /// The trainings of the cell, then the tasks that its tables ask for.
    pub(super) fn tasks(&self, folder: &Path) -> Result<Vec<Task>> {
        let sections: Vec<_> = self.sections.all().into_iter().map(|(_, section)| section).collect();
        let own = folder.join("cells").join(&self.id);
        let mut plan = Plan { folder: own, posteriors: Vec::new(), sections: sections.clone(), tasks: Vec::new() };
        for Posterior { id, config } in &self.posteriors {
            let name = format!("{POSTERIORS}/{id}");
            let folder = folder.join(&name);
            let (seed, file) = (config.seed, folder.join(POSTERIOR));
            plan.posteriors.push(Trained { seed, id: id.clone(), file });
            plan.tasks.push(Task::new(name, folder, Train::new(config.clone())));
        }
        for section in sections {
            section.plan(&mut plan)?;
        }
        Ok(plan.tasks)
    }

    fn read(file: &str, mut table: Table, settings: BTreeMap<String, Value>) -> Result<(Self, Head)> {
        let at = |error: Error| error.at(file);
        let known: Vec<&str> = HEAD.iter().chain(Sections::NAMES).copied().collect();
        if let Some(unknown) = table.keys().find(|key| !known.contains(&key.as_str())) {
            let reason = format!("unknown table or key `{unknown}`{}", hint(unknown, &known));
            return Err(Error::Config { name: file.to_owned(), reason });
        }
        let stages: Table = Sections::NAMES.iter().filter_map(|name| table.remove_entry(*name)).collect();
        if table.get("train").is_some_and(|train| train.get("seed").is_some()) {
            return Err(at(Error::setting(
                "train.seed",
                "given",
                "left out: `seeds` lists the seeds of all trainings",
            )));
        }
        let head: Head = config::from_table(file, table)?;
        let sections: Sections = config::from_table(file, stages)?;
        once("seeds", &head.seeds).map_err(at)?;
        head.literature.iter().try_for_each(Literature::check).map_err(at)?;
        let mut posteriors = Vec::new();
        if let Some(train) = &head.train {
            train.check().map_err(|error| at(error.within("train")))?;
            for seed in &head.seeds {
                let config = TrainConfig { seed: *seed, ..train.clone() };
                posteriors.push(Posterior { id: hash::short(&config), config });
            }
        }
        for (name, section) in sections.all() {
            section.check().map_err(|error| at(error.within(name)))?;
        }
        let id = hash::short(&settings);
        let cell = Self { id, settings, posteriors, sections };
        // Tables may ask for posteriors that are not trained.
        cell.tasks(Path::new("")).map_err(at)?;
        Ok((cell, head))
    }
}

/// All combinations of the values of a sweep, by the whole names of their settings; the last name changes fastest.
fn combinations(sweep: Option<&Value>) -> std::result::Result<Vec<BTreeMap<String, Value>>, String> {
    let mut lists = BTreeMap::new();
    match sweep {
        None => {}
        Some(Value::Table(sweep)) => gather("", sweep, &mut lists)?,
        Some(_) => {
            return Err("`sweep` is a table of lists, such as [sweep.train.prior] variance = [0.1, 1.0]".to_owned());
        }
    }
    let mut all = vec![BTreeMap::new()];
    for (key, values) in lists {
        let with = |cell: &BTreeMap<String, Value>, value: &Value| {
            let mut cell = cell.clone();
            cell.insert(key.clone(), value.clone());
            cell
        };
        all = all.iter().flat_map(|cell| values.iter().map(move |value| with(cell, value))).collect();
        if all.len() > MAX_CELLS {
            return Err(format!("the sweep has more than {MAX_CELLS} cells"));
        }
    }
    Ok(all)
}

/// The lists of a sweep by their whole names.
fn gather(prefix: &str, sweep: &Table, all: &mut BTreeMap<String, Vec<Value>>) -> std::result::Result<(), String> {
    for (key, value) in sweep {
        let whole = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Value::Table(inner) => gather(&whole, inner, all)?,
            Value::Array(values) if !values.is_empty() => _ = all.insert(whole, values.clone()),
            _ => return Err(format!("`sweep.{whole}` is not a list of values")),
        }
    }
    Ok(())
}
