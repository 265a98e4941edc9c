//! The configuration of a training run: TOML, with every unknown key an error.

use crate::arch::Arch;
use crate::arch::Cnn;
use crate::arch::Mlp;
use crate::arch::Preset;
use crate::arch::ResNet;
use crate::data;
use crate::data::Dataset;
use crate::data::Examples;
use crate::data::Scaling;
use crate::data::Split;
use crate::data::Standardisation;
use crate::data::Subset;
use crate::error::Error;
use crate::error::Result;
use crate::infer::EnsembleConfig;
use crate::infer::HmcConfig;
use crate::infer::MapConfig;
use crate::infer::Method;
use crate::infer::Prior;
use crate::infer::Problem;
use crate::infer::ViConfig;
use crate::infer::check_temperature;
use crate::net::Likelihood;
use serde::Deserialize;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

/// A training run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    /// The seed that all random numbers come from.
    #[serde(default)]
    pub seed: u64,
    /// Divides the log posterior; below one it is a cold posterior.
    #[serde(default = "default_temperature")]
    pub temperature: f64,
    /// A posterior whose draws Markov chains begin at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<PathBuf>,
    /// What to learn from.
    pub data: DataConfig,
    /// The network; `input` and `classes` are those of the data unless given.
    pub arch: Preset,
    /// What its outputs mean.
    #[serde(default)]
    pub likelihood: Likelihood,
    /// What is known of its parameters before.
    pub prior: Prior,
    /// The method and its settings.
    pub infer: Method,
    /// When and how the posterior is judged.
    #[serde(default)]
    pub evaluate: EvaluateConfig,
    /// What is written down on the way.
    #[serde(default)]
    pub log: LogConfig,
}

/// Names that have at least this part in common may have been confused.
const LIKE: f64 = 0.5;

fn default_temperature() -> f64 {
    1.0
}

/// What to learn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataConfig {
    /// Name of the data set.
    pub name: String,
    /// Subsets of the training images, each of what the one before left.
    #[serde(default)]
    pub subsets: Vec<Subset>,
    /// How pixels are scaled.
    #[serde(default = "default_scaling")]
    pub scaling: Scaling,
}

fn default_scaling() -> Scaling {
    Scaling::Unit
}

/// When and how the posterior is judged, on the test images.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvaluateConfig {
    /// Points of the posterior averaged in the end.
    #[serde(default = "default_samples")]
    pub samples: usize,
    /// Epochs between evaluations on the way; none by default, and none of Markov chains, whose samples are on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<f64>,
    /// Points of the posterior averaged on the way.
    #[serde(default = "default_samples_on_the_way")]
    pub samples_on_the_way: usize,
}

fn default_samples() -> usize {
    128
}
fn default_samples_on_the_way() -> usize {
    8
}

impl Default for EvaluateConfig {
    fn default() -> Self {
        Self { samples: default_samples(), every: None, samples_on_the_way: default_samples_on_the_way() }
    }
}

/// What is written down on the way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogConfig {
    /// Steps between two lines of the log; each method has a default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<u64>,
}

impl TrainConfig {
    /// Reads TOML, then applies overrides such as `infer.optimise.rate=1e-3`, then fills in what the data set implies.
    ///
    /// `name` is how the text is called in errors.
    pub fn from_toml(name: &str, text: &str, overrides: &[String]) -> Result<Self> {
        let config: Self = read(name, text, overrides)?;
        config.check()?;
        Ok(config)
    }

    /// The whole configuration, defaults written out.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a configuration is plain data")
    }

    fn check(&self) -> Result<()> {
        Arch::new(self.arch.clone())?;
        check_temperature(self.temperature)?;
        self.likelihood.check()?;
        self.prior.check()?;
        self.infer.check()?;
        if self.start.is_some() && !matches!(self.infer, Method::Hmc(_)) {
            return Err(Error::NoStart);
        }
        if self.log.every == Some(0) {
            return Err(Error::Zero { what: "log.every".to_owned() });
        }
        for (what, samples) in [
            ("evaluate.samples", self.evaluate.samples),
            ("evaluate.samples_on_the_way", self.evaluate.samples_on_the_way),
        ] {
            if samples == 0 {
                return Err(Error::Zero { what: what.to_owned() });
            }
        }
        match self.evaluate.every {
            Some(every) if !(every > 0.0 && every.is_finite()) => {
                Err(Error::NotPositive { what: "evaluate.every", value: every.to_string() })
            }
            _ => Ok(()),
        }
    }

    /// Loads the training images.
    pub fn training(&self, folder: &Path) -> Result<Examples> {
        self.data.training(folder)
    }

    /// Loads the test images, treated like the training images; of the same classes, if those are a subset.
    pub fn test(&self, folder: &Path, standardisation: &Standardisation) -> Result<Examples> {
        self.data.whole(Split::Test, folder, standardisation)
    }

    /// Loads the images that training images may be taken from, treated like those that were; of the same classes, if those are
    /// a subset.
    pub fn training_whole(&self, folder: &Path, standardisation: &Standardisation) -> Result<Examples> {
        self.data.whole(Split::Train, folder, standardisation)
    }

    /// The problem that the configuration poses.
    pub fn problem(&self, training: Examples) -> Result<Problem> {
        let problem = Problem {
            arch: Arch::new(self.arch.clone())?,
            likelihood: self.likelihood,
            prior: self.prior,
            temperature: self.temperature,
            training: Arc::new(training),
        };
        problem.check()?;
        Ok(problem)
    }

    /// The data set and its subsets in words.
    pub fn data_name(&self) -> String {
        let subsets = self.data.subsets.iter().map(ToString::to_string);
        std::iter::once(self.data.name.clone()).chain(subsets).collect::<Vec<_>>().join(" ")
    }
}

impl DataConfig {
    /// Loads the training images.
    pub(super) fn training(&self, folder: &Path) -> Result<Examples> {
        let whole = data::load(&self.name, Split::Train, folder)?;
        let part = self.subsets.iter().try_fold(whole, |rest, subset| subset.apply(&rest))?;
        let standardisation = Standardisation::of(self.scaling, &part);
        Examples::new(part, standardisation)
    }

    /// Loads all images of a part, treated like the training images; of the same classes, if those are a subset.
    pub(super) fn whole(&self, split: Split, folder: &Path, standardisation: &Standardisation) -> Result<Examples> {
        let whole: Dataset = data::load(&self.name, split, folder)?;
        let classes = self.subsets.iter().filter(|subset| matches!(subset, Subset::Classes(_)));
        let part = classes.cloned().try_fold(whole, |rest, subset| subset.apply(&rest))?;
        Examples::new(part, standardisation.clone())
    }
}

/// Reads a configuration with `data` and `arch`: TOML, then overrides, then what the data set implies.
pub(super) fn read<T: DeserializeOwned>(name: &str, text: &str, overrides: &[String]) -> Result<T> {
    let mut table = read_table(name, text, overrides)?;
    // Before the network, which cannot be complete without it.
    let data: DataPart = table.clone().try_into().map_err(|error| unreadable(name, &error))?;
    let entry = data::catalogue::find(&data.data.name)?;
    if let Some(toml::Value::Table(arch)) = table.get_mut("arch") {
        arch.entry("input").or_insert_with(|| toml::Value::String(entry.shape.to_string()));
        arch.entry("classes").or_insert(toml::Value::Integer(entry.classes as i64));
    }
    table.clone().try_into().map_err(|error| unreadable(name, &fault(&table).unwrap_or(error)))
}

/// Reads TOML, then applies overrides such as `a.b=c`; `name` is how the text is called in errors.
pub fn read_table(name: &str, text: &str, overrides: &[String]) -> Result<toml::Table> {
    let mut table: toml::Table = toml::from_str(text).map_err(|error: toml::de::Error| Error::Config {
        name: name.to_owned(),
        // With the line and a mark below it.
        reason: error.to_string().trim_end().to_owned(),
    })?;
    for text in overrides {
        apply(&mut table, text)?;
    }
    Ok(table)
}

/// Understands a table; `name` is how it is called in errors.
pub fn from_table<T: DeserializeOwned>(name: &str, table: &toml::Table) -> Result<T> {
    table.clone().try_into().map_err(|error| unreadable(name, &error))
}

/// What is wrong, and in which setting.
fn unreadable(name: &str, error: &toml::de::Error) -> Error {
    let reason = error.to_string().trim_end().replace('\n', " ");
    let hint = nearest(&reason).map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
    Error::Config { name: name.to_owned(), reason: reason + &hint }
}

/// The name that was probably meant, if an error is about one that is unknown and lists those that are not.
fn nearest(reason: &str) -> Option<&str> {
    let (_, rest) = reason.split_once("unknown ")?;
    // Names are between every other pair of backticks.
    let mut names = rest.split('`').skip(1).step_by(2);
    let typed = names.next()?;
    let likeness = |name: &str| strsim::normalized_damerau_levenshtein(typed, name);
    names.filter(|name| likeness(name) >= LIKE).max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
}

/// Sets `a.b=c` in a table; `c` is TOML if it can be, a string if not.
fn apply(table: &mut toml::Table, text: &str) -> Result<()> {
    let unreadable = || Error::Unreadable {
        text: text.to_owned(),
        expected: "a setting to override, such as infer.optimise.rate=1e-3",
    };
    let (path, value) = text.split_once('=').ok_or_else(unreadable)?;
    let keys: Vec<&str> = path.split('.').map(str::trim).collect();
    let (last, parents) = keys.split_last().ok_or_else(unreadable)?;
    if keys.iter().any(|key| key.is_empty()) {
        return Err(unreadable());
    }
    let parsed = toml::from_str::<toml::Table>(&format!("value = {value}")).ok();
    // With a line break in it, it could be several settings.
    let parsed = parsed.filter(|table| table.len() == 1).and_then(|mut table| table.remove("value"));
    let value = parsed.unwrap_or_else(|| toml::Value::String(value.trim().to_owned()));
    let mut inner = table;
    for key in parents {
        let entry = inner.entry((*key).to_owned()).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        inner = entry.as_table_mut().ok_or_else(unreadable)?;
    }
    inner.insert((*last).to_owned(), value);
    Ok(())
}

/// The part of a configuration that others depend on.
#[derive(Deserialize)]
struct DataPart {
    data: DataConfig,
}

/// What is wrong inside `arch` or `infer`, if something is: serde reads a table whose tag chooses its type without
/// remembering where it was, so it is read again as that type.
fn fault(whole: &toml::Table) -> Option<toml::de::Error> {
    fn read<T: DeserializeOwned>(name: &str, table: toml::Table) -> Option<toml::de::Error> {
        let named = toml::Table::from_iter([(name.to_owned(), toml::Value::Table(table))]);
        named.try_into::<BTreeMap<String, T>>().err()
    }
    let tagged = |name: &str, tag: &str| {
        let mut table = whole.get(name)?.as_table()?.clone();
        let tag = table.remove(tag)?.as_str()?.to_owned();
        match tag.as_str() {
            "mlp" => read::<Mlp>(name, table),
            "cnn" => read::<Cnn>(name, table),
            "resnet" => read::<ResNet>(name, table),
            "map" => read::<MapConfig>(name, table),
            "vi" => read::<ViConfig>(name, table),
            "ensemble" => read::<EnsembleConfig>(name, table),
            "hmc" => read::<HmcConfig>(name, table),
            _ => None,
        }
    };
    tagged("arch", "preset").or_else(|| tagged("infer", "method"))
}
