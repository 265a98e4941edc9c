//! Learned matching of two posteriors: its candidates, its time, and the file from which it goes on.

use super::{Align, AlignSettings};
use crate::align::{Alignment, Between, Candidate, Criterion, Learning, Session, learn};
use crate::error::{Error, Result};
use crate::experiment::{Context, Stage as _};
use crate::hash::{sha256_of_file, short};
use crate::infer::State;
use crate::progress::Monitor;
use crate::store::{Checkpoint, RunState};
use std::fs;
use std::path::Path;

/// Criteria whose permutations learning may start at.
pub(super) const CANDIDATES: [Criterion; 2] = [Criterion::W2, Criterion::Activation];
/// The number of a state that tells what it is of.
const FINGERPRINT: &str = "fingerprint";

impl AlignSettings {
    /// What learned matching is told.
    pub(super) fn learning(&self) -> Learning {
        let Self { steps, restarts, batch, learning_rate, tau, repair, precision, seed, .. } = *self;
        Learning { steps, restarts, batch, learning_rate, tau, repair, precision, seed }
    }
}

/// Two posteriors to learn the permutations between.
pub(super) struct Job<'a> {
    pub(super) settings: &'a AlignSettings,
    pub(super) between: Between<'a>,
    /// The files of both.
    pub(super) files: [&'a Path; 2],
    pub(super) candidates: &'a [Candidate],
    /// When the work on them began.
    pub(super) start: f64,
}

/// Learns permutations; goes on from the state in `file`, if it is of the same settings and posteriors.
pub(super) fn pair(
    job: &Job<'_>,
    file: Option<&Path>,
    context: &Context<'_>,
    monitor: &mut Monitor<'_>,
) -> Result<Alignment> {
    let fingerprint = fingerprint(job, Align::REVISION)?;
    let resume = file.filter(|file| file.exists()).map(Checkpoint::read).transpose()?;
    let resume = resume.map(|checkpoint| checkpoint.state);
    let resume = resume.filter(|state| state.numbers.get(FINGERPRINT) == Some(&fingerprint));
    let save = &mut |mut state: State| match file {
        Some(file) => {
            let folder = file.parent().unwrap_or(file);
            fs::create_dir_all(folder).map_err(|error| Error::file(folder, error))?;
            state.numbers.insert(FINGERPRINT.to_owned(), fingerprint);
            Checkpoint { state, run: RunState::default() }.write(file)
        }
        None => Ok(()),
    };
    let expired = &|| job.settings.seconds.is_some_and(|most| context.host.seconds() - job.start >= most);
    let mut session = Session { resume, save, expired };
    learn(job.between, job.candidates, job.settings.learning(), &mut session, &context.pool, monitor)
}

/// A number that differs for other settings and other posteriors.
fn fingerprint(job: &Job<'_>, revision: u32) -> Result<f64> {
    let [fixed, moved] = job.files.map(sha256_of_file);
    // More time changes nothing but how far learning comes.
    let settings = AlignSettings { seconds: None, ..job.settings.clone() };
    let digits = short(&(env!("CARGO_PKG_VERSION"), revision, settings, fixed?, moved?));
    let number = u64::from_str_radix(&digits, 16)
        .map_err(|error| Error::Unreadable { text: format!("{digits}: {error}"), expected: "hexadecimal digits" })?;
    Ok(number as f64)
}
