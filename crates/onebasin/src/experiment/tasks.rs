//! All tasks of an experiment: what each needs, which can be done at the same time, and which make a share, the part of an
//! experiment that one process of many does.

use super::read::{Experiment, POSTERIORS};
use super::stage::{Hashes, Task};
use crate::error::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// All tasks of an experiment, in an order in which each comes after those that it needs.
#[derive(Debug)]
pub(super) struct Tasks {
    pub(super) all: Vec<Planned>,
    pub(super) hashes: Hashes,
}

/// A task of an experiment.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) task: Task,
    /// What a person calls it.
    pub(super) title: String,
    /// Whether it is a training.
    pub(super) trains: bool,
    /// The tasks whose results it reads, by their numbers.
    pub(super) needs: Vec<usize>,
    /// Files of its folder that other tasks read.
    read_by_others: BTreeSet<PathBuf>,
}

impl Planned {
    /// Whether all files that others read are there: somebody may have removed what a finished task left.
    fn is_whole(&self) -> bool {
        self.read_by_others.iter().all(|file| file.exists())
    }
}

impl Tasks {
    /// Those of all cells; cells that need the same posterior share its training.
    pub(super) fn of(experiment: &Experiment, folder: &Path) -> Result<Self> {
        let (mut all, mut places): (Vec<Planned>, BTreeMap<PathBuf, usize>) = Default::default();
        for (cell, tasks) in experiment.cells.iter().map(|cell| cell.tasks(folder)).enumerate() {
            for task in tasks.map_err(|error| error.at(&experiment.file))? {
                if places.contains_key(&task.folder) {
                    continue;
                }
                let mut needs = BTreeSet::new();
                for input in task.inputs() {
                    if let Some(other) = input.ancestors().find_map(|place| places.get(place)) {
                        needs.insert(*other);
                        all[*other].read_by_others.insert(input);
                    }
                }
                places.insert(task.folder.clone(), all.len());
                let (title, trains) = (experiment.title_of(cell, &task), task.name.starts_with(POSTERIORS));
                let needs = needs.into_iter().collect();
                all.push(Planned { task, title, trains, needs, read_by_others: BTreeSet::new() });
            }
        }
        Ok(Self { all, hashes: Hashes::default() })
    }

    /// Whether the result of a task is up to date.
    pub(super) fn is_current(&self, index: usize) -> Result<bool> {
        let planned = &self.all[index];
        planned.task.is_current(planned.is_whole(), &self.hashes)
    }

    /// The shares: each training, then the other tasks, those together that build on each other.
    pub(super) fn shares(&self) -> Vec<Vec<usize>> {
        let mut shares: Vec<Vec<usize>> =
            (0..self.all.len()).filter(|index| self.all[*index].trains).map(|index| vec![index]).collect();
        // The first task of what each task belongs to.
        let mut roots: Vec<usize> = (0..self.all.len()).collect();
        for (index, planned) in self.all.iter().enumerate().filter(|(_, planned)| !planned.trains) {
            for need in planned.needs.iter().filter(|need| !self.all[**need].trains) {
                let (one, other) = (roots[*need].min(roots[index]), roots[*need].max(roots[index]));
                roots.iter_mut().filter(|root| **root == other).for_each(|root| *root = one);
            }
        }
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for index in (0..self.all.len()).filter(|index| !self.all[*index].trains) {
            groups.entry(roots[index]).or_default().push(index);
        }
        shares.extend(groups.into_values());
        shares
    }

    /// Some tasks and all that they need, in groups: each task is in a later group than those that it needs.
    pub(super) fn levels(&self, some: impl IntoIterator<Item = usize>) -> Vec<Vec<usize>> {
        let mut wanted = vec![false; self.all.len()];
        some.into_iter().for_each(|index| wanted[index] = true);
        for index in (0..self.all.len()).rev() {
            if wanted[index] {
                self.all[index].needs.iter().for_each(|need| wanted[*need] = true);
            }
        }
        let mut level_of = vec![0; self.all.len()];
        let mut levels: Vec<Vec<usize>> = Vec::new();
        for (index, planned) in self.all.iter().enumerate() {
            let level = planned.needs.iter().map(|need| level_of[*need] + 1).max().unwrap_or(0);
            level_of[index] = level;
            if wanted[index] {
                levels.resize_with(levels.len().max(level + 1), Vec::new);
                levels[level].push(index);
            }
        }
        levels.retain(|level| !level.is_empty());
        levels
    }
}

impl Experiment {
    /// What a task is called where several run at once.
    pub(super) fn title_of(&self, cell: usize, task: &Task) -> String {
        let cell = &self.cells[cell];
        let own = task.name.strip_prefix(POSTERIORS).and_then(|name| name.strip_prefix('/'));
        if let Some(posterior) = cell.posteriors.iter().find(|posterior| own == Some(posterior.id.as_str())) {
            return posterior.title.clone();
        }
        if cell.settings.is_empty() { task.name.clone() } else { format!("{} of {}", task.name, cell.title()) }
    }
}
