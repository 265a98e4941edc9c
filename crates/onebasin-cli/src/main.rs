//! The command line of onebasin: one command runs, mostly a stage of the library, and its status is returned.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod download;
mod host;
mod options;
mod printer;
mod resources;
mod version;

use args::Args;
use clap::Parser;
use printer::{ExitStatus, Messages, Printer};
use std::process::ExitCode;

fn main() -> ExitCode {
    let parsed = Args::try_parse();
    let printer = Printer::new(parsed.as_ref().map_or(Messages::Usual, Args::messages));
    if let Err(error) = onebasin::threads::check_instruction_set() {
        return printer.error(&error.into()).into();
    }
    let done = match parsed {
        Ok(args) => args.command.run(&printer),
        Err(error) if args::ask_for_details(&error) => {
            printer.data(&version::details()).map(|()| ExitStatus::Success).map_err(Into::into)
        }
        Err(error) => args::exit(error),
    };
    done.unwrap_or_else(|error| printer.error(&error)).into()
}
