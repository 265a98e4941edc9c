//! The command line of onebasin: arguments become settings, one command runs, its status is returned.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod download;
mod printer;
mod tensorboard;

use args::Args;
use clap::Parser;
use printer::Printer;
use std::process::ExitCode;

fn main() -> ExitCode {
    let settings = Args::parse().resolve();
    let printer = Printer::new();
    commands::run(&settings, &printer).unwrap_or_else(|error| printer.error(&error)).into()
}
