//! Reads an experiment: networks to train, what to measure of them, and which settings to sweep.

use super::data_config::DataConfig;
use super::inputs::{POSTERIOR, Source, once};
use super::literature::Literature;
use super::pairing::Pairs;
use super::plan::{Member, Plan, Section as _};
use super::stage::{Stage as _, Task};
use super::stages::Sections;
use super::stages::barrier::{Barrier, BarrierSettings};
use super::stages::train::Train;
use super::train_config::TrainConfig;
use super::{config, inputs, names};
use crate::error::{Error, Result};
use crate::keys::hint;
use crate::store::Provenance;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Folder of all posteriors of an experiment.
pub(super) const POSTERIORS: &str = "posteriors";

/// More cells than this are a mistake.
const MAX_CELLS: usize = 10_000;

/// Names of the keys of a [`Head`].
const HEAD: [&str; 7] = ["title", "about", "literature", "seeds", "posteriors", "pairs", "train"];

/// Folder of the only cell of an experiment without a sweep.
const SINGLE: &str = "single";

/// The top of an experiment: its title, its posteriors and, in tables, what is measured of them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(super) struct Head {
    /// Title of the report.
    title: String,
    /// What is asked, and what the answer means.
    #[serde(default)]
    about: String,
    /// Numbers of other work.
    #[serde(default)]
    literature: Vec<Literature>,
    /// Seeds of the posteriors that are trained [default: 0 and 1].
    seeds: Option<Vec<u64>>,
    /// Posteriors that are there already, instead of `train` and `seeds`: files, or folders of trainings.
    #[serde(default)]
    posteriors: Vec<PathBuf>,
    /// Which posteriors are compared: "consecutive" (the first two, the next two and so on), "all", or a list of pairs.
    #[serde(default)]
    #[schemars(with = "String", extend("x-kind" = "name, or a list of pairs", "x-else" = "`\"consecutive\"`"))]
    pairs: Pairs,
    /// How posteriors are trained: a configuration of `onebasin train` without its seed.
    train: Option<TrainConfig>,
}

/// An experiment whose settings are checked.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// File it was read from.
    pub file: String,
    /// Name of the file, without its ending.
    pub name: String,
    /// The command that runs it, if that is not `onebasin run` with the file and the overrides.
    pub command: Option<String>,
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
    /// Name of its folder: the settings that are swept and their hash, so it stays when the sweep grows.
    pub id: String,
    /// Settings that are swept, by their whole names, and their values here.
    pub settings: BTreeMap<String, Value>,
    /// Posteriors that are trained.
    pub posteriors: Vec<Posterior>,
    /// Posteriors that were there before.
    given: Vec<Source>,
    /// Which posteriors are compared.
    pairs: Pairs,
    /// The tables of the stages.
    pub sections: Sections,
}

/// A posterior that an experiment trains.
#[derive(Clone, Debug)]
pub struct Posterior {
    /// Name of its folder, which ends with a hash of its configuration: equal posteriors of several cells are trained once.
    pub id: String,
    /// What a person calls it: its seed, and those settings of its training that are swept.
    pub title: String,
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
        Self::from_table(file, config::read_table(file, text, overrides)?, overrides)
    }

    /// The experiment of a table, to which the overrides have been applied.
    pub fn from_table(file: &str, table: Table, overrides: &[String]) -> Result<Self> {
        config::check_is_experiment(file, &table)?;
        let mut whole = table.clone();
        let fault = |reason: String| Error::Config { name: file.to_owned(), reason };
        let sweep = combinations(whole.remove("sweep").as_ref()).map_err(fault)?;
        if !sweep.iter().flat_map(BTreeMap::keys).any(|key| key.split('.').any(|part| part == "data")) {
            config::complete_data(file, &mut whole)?;
        }
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
            command: None,
            overrides: overrides.to_vec(),
            title,
            about,
            literature,
            table,
            cells,
        })
    }

    /// The barriers between all pairs of posteriors that are there already; `command` runs it.
    pub fn of_posteriors(posteriors: &[PathBuf], settings: &BarrierSettings, command: String) -> Result<Self> {
        settings.check()?;
        let names = posteriors.iter().map(|path| Value::String(path.to_string_lossy().into_owned()));
        let barrier = Table::try_from(settings).expect("settings are plain data");
        let table = Table::from_iter([
            ("title".to_owned(), Value::String(format!("Barriers between {} posteriors", posteriors.len()))),
            ("posteriors".to_owned(), Value::Array(names.collect())),
            ("pairs".to_owned(), Value::String("all".to_owned())),
            (Barrier::NAME.to_owned(), Value::Table(barrier)),
        ]);
        Ok(Self { command: Some(command), ..Self::from_table(Barrier::NAME, table, &[])? })
    }

    /// Names of all data sets that are read, each once.
    pub fn datasets(&self) -> Result<Vec<String>> {
        let mut all: Vec<String> = self.data()?.into_iter().filter_map(|data| data.name).collect();
        let sections = self.cells.iter().flat_map(|cell| cell.sections.all());
        all.extend(sections.flat_map(|(_, section)| section.datasets()));
        all.sort();
        all.dedup();
        Ok(all)
    }

    /// Files of people's own that posteriors are trained on, and the SHA-256 of each.
    pub fn data_files(&self) -> Result<BTreeMap<String, String>> {
        let all = self.data()?.into_iter();
        Ok(all.filter_map(|data| Some((data.path?.display().to_string(), data.sha256?))).collect())
    }

    /// The data of all posteriors.
    fn data(&self) -> Result<Vec<DataConfig>> {
        let mut all = Vec::new();
        for cell in &self.cells {
            all.extend(cell.posteriors.iter().map(|posterior| posterior.config.data.clone()));
            for source in &cell.given {
                all.push(inputs::config(&Provenance::read(&source.file)?)?.data);
            }
        }
        Ok(all)
    }
}

impl Cell {
    /// What a person calls it: the settings that are swept; nothing without a sweep.
    pub fn title(&self) -> String {
        names::words(&self.settings)
    }

    /// The trainings of the cell, then the tasks that its tables ask for.
    pub(super) fn tasks(&self, folder: &Path) -> Result<Vec<Task>> {
        let sections: Vec<_> = self.sections.all().into_iter().map(|(_, section)| section).collect();
        let own = folder.join("cells").join(&self.id);
        let given = |Source { name, file }: &Source| {
            let (label, name, file) = (name.clone(), name.clone(), file.clone());
            Member { label, name, file, config: None }
        };
        let mut plan = Plan {
            folder: own,
            posteriors: self.given.iter().map(given).collect(),
            pairs: &self.pairs,
            sections: sections.clone(),
            tasks: Vec::new(),
        };
        for Posterior { id, config, .. } in &self.posteriors {
            let name = format!("{POSTERIORS}/{id}");
            let folder = folder.join(&name);
            let file = folder.join(POSTERIOR);
            let (label, name_of_folder) = (config.seed.to_string(), id.clone());
            plan.posteriors.push(Member { label, name: name_of_folder, file, config: Some(config.clone()) });
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
        let seeds = head.seeds.clone().unwrap_or_else(|| vec![0, 1]);
        once("seeds", &seeds).map_err(at)?;
        head.literature.iter().try_for_each(Literature::check).map_err(at)?;
        if !head.posteriors.is_empty() {
            let both = [("train", head.train.is_some()), ("seeds", head.seeds.is_some())];
            if let Some((key, _)) = both.into_iter().find(|(_, given)| *given) {
                return Err(at(Error::setting(key, "given", "left out where `posteriors` are given")));
            }
        }
        let given = inputs::find(&head.posteriors, None).map_err(at)?;
        let mut posteriors = Vec::new();
        if let Some(train) = &head.train {
            train.check().map_err(|error| at(error.within("train")))?;
            let swept = names::words(names::of_training(&settings));
            for seed in seeds {
                let config = TrainConfig { seed, ..train.clone() };
                let title = if swept.is_empty() { format!("seed {seed}") } else { format!("{swept}, seed {seed}") };
                posteriors.push(Posterior { id: names::folder(&title, &config), title, config });
            }
        }
        for (name, section) in sections.all() {
            section.check().map_err(|error| at(error.within(name)))?;
        }
        let id =
            if settings.is_empty() { SINGLE.to_owned() } else { names::folder(&names::words(&settings), &settings) };
        let cell = Self { id, settings, posteriors, given, pairs: head.pairs.clone(), sections };
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
            Value::Array(_) if all.contains_key(&whole) => return Err(format!("`sweep.{whole}` is given twice")),
            Value::Array(values) if !values.is_empty() => _ = all.insert(whole, values.clone()),
            _ => return Err(format!("`sweep.{whole}` is not a list of values")),
        }
    }
    Ok(())
}
