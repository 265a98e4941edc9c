//! `onebasin train`: trains one posterior, or continues to.

use super::read;
use crate::host::{Signals, Terminal};
use crate::options::{MachineArgs, ResultArgs, as_flag};
use crate::printer::{ExitStatus, Printer};
use onebasin::error::Error;
use onebasin::experiment::{Context, Existing, Stage, Train, TrainConfig, json};
use onebasin_report::stages::train;
use std::path::PathBuf;
use std::time::Instant;

#[derive(Debug, clap::Args)]
pub(crate) struct TrainArgs {
    /// Configuration; see experiments/train/ for examples
    #[arg(value_name = "CONFIG.toml")]
    config: PathBuf,
    /// Override one setting of the configuration; may be given several times
    #[arg(long = "set", value_name = "A.B=C")]
    overrides: Vec<String>,
    /// Folder of the training [default: runs/ and the name of the configuration]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    machine: MachineArgs,
    /// Seconds between two checkpoints
    #[arg(long, value_name = "SECONDS", default_value_t = Train::SAVE_EVERY)]
    save_every: f64,
    /// Continue a finished training to the larger number of epochs, members, chains or samples of the configuration
    #[arg(long, conflicts_with = "force")]
    extend: bool,
    #[command(flatten)]
    result: ResultArgs,
}

pub(crate) fn run(args: &TrainArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let TrainArgs { config, overrides, output, machine, save_every, extend, result } = args;
    let name = config.file_stem().unwrap_or_default();
    let output = output.clone().unwrap_or_else(|| PathBuf::from("runs").join(name));
    let config = TrainConfig::from_toml(&config.display().to_string(), &read(config)?, overrides)?;
    let stage = Train { config, save_every: *save_every, extend: *extend };
    let existing = if result.force { Existing::Replace } else { Existing::Continue };
    let (signals, data, started) = (Signals::listen()?, machine.data.folder(), Instant::now());
    let found = {
        let host = Terminal::new(printer, &signals);
        stage.run_in(&output, existing, &Context { pool: machine.pool(printer)?, data: &data, host: &host })
    };
    let folder = output.display();
    match found {
        Err(Error::Stopped) => {
            printer.say(&format!("{folder}: stopped, state saved; the same command continues"));
            Ok(ExitStatus::Signal(signals.received()))
        }
        Err(error) => Err(as_flag(error)),
        Ok(found) => {
            printer.say(&format!("{folder}: finished after {}", indicatif::HumanDuration(started.elapsed())));
            printer.data(&if result.json { json(&found) } else { train::table(&found).text() })?;
            Ok(ExitStatus::Success)
        }
    }
}
