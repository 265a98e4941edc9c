//! The command line of onebasin: one command runs, mostly a stage of the library, and its status is returned.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod download;
mod host;
mod options;
mod printer;
mod resources;

use args::Args;
use clap::Parser;
use printer::Printer;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = Args::try_parse().unwrap_or_else(|error| args::exit(error));
    let printer = Printer::new();
    args.command.run(&printer).unwrap_or_else(|error| printer.error(&error)).into()
}
