//! `onebasin completions`: what a shell needs to know to complete what is typed.

use crate::args::Args;
use crate::printer::ExitStatus;
use crate::printer::Printer;
use clap::CommandFactory;
use clap_complete::Shell;

/// What the command needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Whose language is spoken.
    pub(crate) shell: Shell,
}

/// Prints a script for the shell.
pub(crate) fn run(settings: &Settings, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let mut script = Vec::new();
    clap_complete::generate(settings.shell, &mut Args::command(), "onebasin", &mut script);
    printer.data(&String::from_utf8(script)?)?;
    Ok(ExitStatus::Success)
}
