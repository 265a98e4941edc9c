//! What an experiment is: networks to train, what to measure of them, and which settings to sweep.

use crate::commands::barrier;
use crate::commands::compact;
use crate::commands::configuration::Text;
use crate::commands::plane;
use crate::download::checksum;
use anyhow::Context;
use anyhow::bail;
use onebasin::align::Channel;
use onebasin::align::Solver;
use onebasin::error::Error;
use onebasin::experiment;
use onebasin::experiment::PlantedConfig;
use onebasin::experiment::SwapConfig;
use onebasin::experiment::TrainConfig;
use onebasin::experiment::TranspositionsConfig;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use toml::Table;
use toml::Value;

/// Digits of a hash that are enough to tell cells and posteriors apart.
const DIGITS: usize = 12;
/// More cells than this are a mistake.
const MOST_CELLS: usize = 10_000;

/// An experiment as it is written, without its sweep.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// What the report is called.
    title: String,
    /// What is asked, and what the answer means.
    #[serde(default)]
    about: String,
    /// One posterior is inferred for each; barriers and planes are between the first two, the next two and so on.
    #[serde(default = "two")]
    seeds: Vec<u64>,
    /// How posteriors are inferred: a configuration of `onebasin train` without its seed.
    train: Option<Table>,
    align: Option<AlignMethod>,
    barrier: Option<barrier::Method>,
    plane: Option<plane::Method>,
    compact: Option<compact::Method>,
    /// Networks that had a start in common, or nothing.
    transpositions: Option<Table>,
    /// Alignment problems whose solution is known.
    planted: Option<Table>,
    /// Two posteriors of two weights.
    swap: Option<Table>,
}

fn two() -> Vec<u64> {
    vec![0, 1]
}

/// Alignments that are compared: each criterion with each solver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct AlignMethod {
    pub(super) channels: Vec<Channel>,
    pub(super) solvers: Vec<Solver>,
    pub(super) seed: u64,
}

impl Default for AlignMethod {
    fn default() -> Self {
        Self { channels: vec![Channel::default()], solvers: vec![Solver::default()], seed: 0 }
    }
}

/// An experiment, with all that was asked for checked.
#[derive(Clone, Debug)]
pub(super) struct Experiment {
    /// Of its file, without the ending.
    pub(super) name: String,
    /// What was changed on the command line.
    pub(super) overrides: Vec<String>,
    pub(super) title: String,
    pub(super) about: String,
    /// As it was written, with what was changed on the command line.
    pub(super) table: Table,
    pub(super) cells: Vec<Cell>,
}

/// One combination of the settings that are swept; without a sweep, the whole experiment.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// From what is swept, so that it stays whatever else changes; what has to be done again, each stage knows by itself.
    pub(super) id: String,
    /// What is swept, by its whole name, and its value here.
    pub(super) settings: BTreeMap<String, Value>,
    pub(super) posteriors: Vec<Posterior>,
    pub(super) align: Option<AlignMethod>,
    pub(super) barrier: Option<barrier::Method>,
    pub(super) plane: Option<plane::Method>,
    pub(super) compact: Option<compact::Method>,
    pub(super) transpositions: Option<TranspositionsConfig>,
    pub(super) planted: Option<PlantedConfig>,
    pub(super) swap: Option<SwapConfig>,
}

/// A posterior that is inferred.
#[derive(Clone, Debug)]
pub(super) struct Posterior {
    /// The same wherever the same posterior is asked for.
    pub(super) id: String,
    pub(super) config: TrainConfig,
}

impl Experiment {
    /// Reads TOML, applies overrides, and resolves each cell of the sweep.
    pub(super) fn read(text: &Text, overrides: &[String]) -> anyhow::Result<Self> {
        let Text { name, text } = text;
        let table = experiment::read_table(name, text, overrides)?;
        let mut cells: Vec<Cell> = Vec::new();
        for settings in combinations(name, table.get("sweep"))? {
            let own = settings.iter().map(|(key, value)| format!("{key}={value}"));
            let all: Vec<String> = overrides.iter().cloned().chain(own).collect();
            let mut table = experiment::read_table(name, text, &all)?;
            table.remove("sweep");
            let cell = Cell::new(name, &table, settings)?;
            if let Some(twin) = cells.iter().find(|other| other.id == cell.id) {
                bail!("{name}: the sweep has {:?} twice", twin.settings);
            }
            cells.push(cell);
        }
        let of = |key: &str| table.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name: stem, overrides: overrides.to_vec(), title: of("title"), about: of("about"), table, cells })
    }

    /// All posteriors of all cells, each once.
    pub(super) fn posteriors(&self) -> Vec<&Posterior> {
        let mut all: Vec<&Posterior> = Vec::new();
        for posterior in self.cells.iter().flat_map(|cell| &cell.posteriors) {
            if all.iter().all(|other| other.id != posterior.id) {
                all.push(posterior);
            }
        }
        all
    }

    /// The data sets that are learned from, each once.
    pub(super) fn datasets(&self) -> Vec<String> {
        let trained = self.cells.iter().flat_map(|cell| &cell.posteriors).map(|posterior| &posterior.config.data.name);
        let others = self.cells.iter().flat_map(|cell| {
            let transpositions = cell.transpositions.as_ref().map(|config| &config.data.name);
            let barrier = cell.barrier.as_ref().and_then(|method| method.dataset.as_ref());
            let plane = cell.plane.as_ref().and_then(|method| method.dataset.as_ref());
            [transpositions, barrier, plane].into_iter().flatten()
        });
        let mut all: Vec<String> = trained.chain(others).cloned().collect();
        all.sort();
        all.dedup();
        all
    }
}

impl Cell {
    fn new(name: &str, table: &Table, settings: BTreeMap<String, Value>) -> anyhow::Result<Self> {
        let id = short_hash(&settings)?;
        let written: Written = experiment::from_table(name, table)?;
        let inside = |key: &str| format!("{name}, [{key}]");
        let text = |table: &Table| toml::to_string(table).context("a part of a file that was read can be written");

        let mut posteriors = Vec::new();
        if let Some(train) = &written.train {
            if train.contains_key("seed") {
                bail!("{}: `seed` is given by the `seeds` of the experiment", inside("train"));
            }
            for seed in &written.seeds {
                let mut train = train.clone();
                train.insert("seed".to_owned(), Value::Integer(i64::try_from(*seed).context("a seed is too large")?));
                let config = within(&inside("train"), TrainConfig::from_toml(&inside("train"), &text(&train)?, &[]))?;
                posteriors.push(Posterior { id: short_hash(&config)?, config });
            }
        }
        let pairs = posteriors.len() / 2;
        let needed = [
            ("align", written.align.is_some(), pairs > 0, "two seeds"),
            ("barrier", written.barrier.is_some(), pairs > 0, "two seeds"),
            ("plane", written.plane.is_some(), pairs > 0, "two seeds"),
            ("compact", written.compact.is_some(), !posteriors.is_empty(), "one seed"),
        ];
        for (key, asked, there, seeds) in needed {
            if asked && !there {
                bail!("{} measures posteriors: it needs [train] and at least {seeds}", inside(key));
            }
        }
        once(&inside("seeds"), &written.seeds)?;
        if let Some(AlignMethod { channels, solvers, .. }) = &written.align {
            once(&inside("align.channels"), channels)?;
            once(&inside("align.solvers"), solvers)?;
        }
        if let Some(method) = &written.barrier {
            within(&inside("barrier"), method.check())?;
            once(&inside("barrier.channels"), &method.channels)?;
            once(&inside("barrier.paths"), &method.paths)?;
            once(&inside("barrier.splits"), &method.splits)?;
        }
        if let Some(method) = &written.plane {
            within(&inside("plane"), method.check())?;
            once(&inside("plane.splits"), &method.splits)?;
        }
        if let Some(method) = &written.compact {
            method.check().with_context(|| inside("compact"))?;
        }
        let transpositions = written.transpositions.as_ref().map(|table| {
            let inside = inside("transpositions");
            within(&inside, TranspositionsConfig::from_toml(&inside, &text(table)?, &[]))
        });
        let planted = written
            .planted
            .as_ref()
            .map(|table| within(&inside("planted"), PlantedConfig::from_toml(&inside("planted"), &text(table)?, &[])));
        let swap = written
            .swap
            .as_ref()
            .map(|table| within(&inside("swap"), SwapConfig::from_toml(&inside("swap"), &text(table)?)));
        Ok(Self {
            id,
            settings,
            posteriors,
            align: written.align,
            barrier: written.barrier,
            plane: written.plane,
            compact: written.compact,
            transpositions: transpositions.transpose()?,
            planted: planted.transpose()?,
            swap: swap.transpose()?,
        })
    }

    /// The posteriors that are compared with each other.
    pub(super) fn pairs(&self) -> impl Iterator<Item = [&Posterior; 2]> {
        self.posteriors.chunks_exact(2).map(|pair| [&pair[0], &pair[1]])
    }
}

/// Says where an error is, unless it does so itself.
fn within<T>(place: &str, result: Result<T, Error>) -> anyhow::Result<T> {
    match result {
        Err(error @ Error::Config { .. }) => Err(error.into()),
        result => result.with_context(|| place.to_owned()),
    }
}

/// Refuses what is listed twice: two stages would write into one folder.
fn once<T: PartialEq + Serialize>(place: &str, values: &[T]) -> anyhow::Result<()> {
    let twice = (1..values.len()).find(|index| values[..*index].contains(&values[*index]));
    match twice {
        Some(index) => bail!("{place}: {} is there twice", serde_json::to_string(&values[index])?),
        None => Ok(()),
    }
}

/// All combinations of the values of a sweep, by the whole names of their settings; the last name changes fastest.
fn combinations(name: &str, sweep: Option<&Value>) -> anyhow::Result<Vec<BTreeMap<String, Value>>> {
    let mut lists = BTreeMap::new();
    match sweep {
        None => {}
        Some(Value::Table(sweep)) => gather(name, "", sweep, &mut lists)?,
        Some(_) => bail!("{name}: `sweep` is a table of lists, such as [sweep.train.prior] variance = [0.1, 1.0]"),
    }
    let mut all = vec![BTreeMap::new()];
    for (key, values) in lists {
        let with = |cell: &BTreeMap<String, Value>, value: &Value| {
            let mut cell = cell.clone();
            cell.insert(key.clone(), value.clone());
            cell
        };
        all = all.iter().flat_map(|cell| values.iter().map(move |value| with(cell, value))).collect();
        if all.len() > MOST_CELLS {
            bail!("{name}: the sweep has more than {MOST_CELLS} cells");
        }
    }
    Ok(all)
}

/// The lists of a sweep by their whole names.
fn gather(name: &str, prefix: &str, sweep: &Table, all: &mut BTreeMap<String, Vec<Value>>) -> anyhow::Result<()> {
    for (key, value) in sweep {
        let whole = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Value::Table(inner) => gather(name, &whole, inner, all)?,
            Value::Array(values) if !values.is_empty() => _ = all.insert(whole, values.clone()),
            _ => bail!("{name}: `sweep.{whole}` is not a list of values"),
        }
    }
    Ok(())
}

/// The first digits of the SHA-256 of what something is as JSON.
fn short_hash(value: &impl Serialize) -> anyhow::Result<String> {
    let mut digits = checksum::sha256_of(serde_json::to_string(value)?.as_bytes());
    digits.truncate(DIGITS);
    Ok(digits)
}
