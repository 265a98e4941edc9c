//! The plan of which stages a cell of an experiment consists of: each table adds its tasks.

use super::pairing::Pairs;
use super::stage::{Stage, Task};
use super::train_config::TrainConfig;
use crate::arch::Arch;
use crate::data::catalogue;
use crate::data::catalogue::Entry;
use crate::error::{Error, Result};
use std::any::Any;
use std::fmt::Debug;
use std::path::PathBuf;

/// A table of an experiment: the settings of one kind of stage.
pub trait Section: Any + Debug {
    /// Refuses values that are not allowed; errors name the key inside the table.
    fn check(&self) -> Result<()>;

    /// Adds the tasks that the table asks for in a cell.
    fn plan(&self, plan: &mut Plan<'_>) -> Result<()>;

    /// Names of data sets that it reads besides those of the posteriors.
    fn datasets(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The tasks of a cell, as its tables add them.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Folder of the cell.
    pub(super) folder: PathBuf,
    pub(super) posteriors: Vec<Member>,
    /// Which posteriors are compared.
    pub(super) pairs: &'a Pairs,
    /// All tables of the cell.
    pub(super) sections: Vec<&'a dyn Section>,
    pub(super) tasks: Vec<Task>,
}

/// A posterior of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// What pairs call it: its seed, or the name of its file.
    pub label: String,
    /// The name of its folder, or of its file.
    pub name: String,
    /// Its file.
    pub file: PathBuf,
    /// How it is trained; none for one that is there already.
    pub config: Option<TrainConfig>,
}

/// Two posteriors that are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedPair {
    /// Both labels, such as `0-1`.
    pub name: String,
    /// The posterior that stays, then the one whose units are permuted.
    pub members: [Member; 2],
}

impl PlannedPair {
    /// The files of both.
    pub fn files(&self) -> [PathBuf; 2] {
        [&self.members[0], &self.members[1]].map(|member| member.file.clone())
    }
}

impl<'a> Plan<'a> {
    /// Files of all posteriors of the cell; `table` needs at least one.
    pub fn posteriors(&self, table: &str) -> Result<Vec<PathBuf>> {
        if self.posteriors.is_empty() {
            return Err(Error::MissingPosteriors { table: table.to_owned(), needed: 1 });
        }
        Ok(self.posteriors.iter().map(|posterior| posterior.file.clone()).collect())
    }

    /// All posteriors of the cell.
    pub fn members(&self) -> &[Member] {
        &self.posteriors
    }

    /// The posteriors that are compared, as `pairs` says; `table` needs at least one pair.
    pub fn pairs(&self, table: &str) -> Result<Vec<PlannedPair>> {
        if self.posteriors.len() < 2 {
            return Err(Error::MissingPosteriors { table: table.to_owned(), needed: 2 });
        }
        let labels: Vec<&str> = self.posteriors.iter().map(|posterior| posterior.label.as_str()).collect();
        // A name may have a dash in it, a seed has none.
        let seeds = labels.iter().all(|label| label.bytes().all(|byte| byte.is_ascii_digit()));
        let between = if seeds { "-" } else { "--" };
        let pair = |[from, to]: [usize; 2]| PlannedPair {
            name: format!("{}{between}{}", labels[from], labels[to]),
            members: [from, to].map(|index| self.posteriors[index].clone()),
        };
        Ok(self.pairs.of(&labels)?.into_iter().map(pair).collect())
    }

    /// Refuses a method whose posteriors are not what a table reads: samples, or one point or Gaussian each.
    pub fn check_method(&self, table: &str, samples: bool) -> Result<()> {
        let wrong = |config: &&TrainConfig| config.infer.yields_samples() != samples;
        let Some(config) = self.posteriors.iter().filter_map(|member| member.config.as_ref()).find(wrong) else {
            return Ok(());
        };
        let expected = if samples {
            format!("ensemble or hmc: [{table}] reads samples")
        } else {
            format!("map, vi or ivon: [{table}] reads points or Gaussians")
        };
        Err(Error::setting("train.infer.method", config.infer.name(), &expected))
    }

    /// Refuses a data set whose examples do not fit the networks of the cell; `table` reads it.
    pub fn check_dataset(&self, table: &str, name: Option<&str>) -> Result<()> {
        let Some(name) = name else { return Ok(()) };
        let Entry { shape, classes, .. } = *catalogue::find(name).map_err(|error| error.within(table))?;
        for config in self.posteriors.iter().filter_map(|member| member.config.as_ref()) {
            let arch = Arch::new(config.arch.clone())?;
            if (arch.input(), arch.classes()) != (shape, classes) {
                let key = format!("{table}.dataset");
                let expected = format!(
                    "a data set of {} with {} classes, like that of the training",
                    arch.input(),
                    arch.classes()
                );
                return Err(Error::setting(&key, format_args!("{name}, of {shape} with {classes} classes"), &expected));
            }
        }
        Ok(())
    }

    /// A table of the cell, if it is there.
    pub fn section<S: Section>(&self) -> Option<&'a S> {
        self.sections.iter().find_map(|section| (*section as &dyn Any).downcast_ref())
    }

    /// Adds a stage, unless there is one of this name, and returns its folder, which is named like it.
    pub fn add(&mut self, name: &str, stage: impl Stage + 'static) -> PathBuf {
        let folder = self.folder.join(name);
        if self.tasks.iter().all(|task| task.name != name) {
            self.tasks.push(Task::new(name.to_owned(), folder.clone(), stage));
        }
        folder
    }
}
