//! The command line of onebasin: one command runs, mostly a stage of the library, and its status is returned.
//!
//! It is a library so that the Python package brings the same command, and calls the library from the same [`machine`].

#![forbid(unsafe_code)]

mod args;
mod commands;
mod download;
mod host;
pub mod machine;
mod options;
mod printer;
mod version;

use args::Args;
use clap::Parser;
use printer::{ExitStatus, Messages, Printer};
use std::ffi::OsString;

pub use commands::show::text_of;
pub use download::Needed;

/// Runs the command that was typed, the name of the program first, and returns the status to exit with.
pub fn main_of(words: &[OsString]) -> u8 {
    let parsed = Args::try_parse_from(words);
    let printer = Printer::new(parsed.as_ref().map_or(Messages::Usual, Args::messages));
    if let Err(error) = onebasin::threads::check_instruction_set() {
        return printer.error(&error.into()).into();
    }
    let done = match parsed {
        Ok(args) => args.command.run(words, &printer),
        Err(error) if args::ask_for_details(&error, words) => {
            printer.data(&version::details()).map(|()| ExitStatus::Success).map_err(Into::into)
        }
        Err(error) => return args::refuse(error),
    };
    done.unwrap_or_else(|error| printer.error(&error)).into()
}
