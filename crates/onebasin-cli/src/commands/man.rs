//! `onebasin man`: manual pages of all commands.

use crate::printer::{ExitStatus, Printer};
use anyhow::Context as _;
use clap::Command;
use clap_mangen::Man;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Folder to write, one page for each command [default: print the page of `onebasin`]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &ManArgs, command: Command, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let Some(folder) = &args.output else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page)?;
        printer.data(&String::from_utf8(page)?)?;
        return Ok(ExitStatus::Success);
    };
    let written = std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command, folder));
    written.with_context(|| format!("cannot write manual pages into {}", folder.display()))?;
    printer.say(&format!("manual pages: {}", folder.join("onebasin.1").display()));
    Ok(ExitStatus::Success)
}
