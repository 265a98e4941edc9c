//! Options that several commands share, and errors in terms of options.

use crate::printer::Printer;
use onebasin::error::Error;
use onebasin::threads;
use onebasin::threads::ThreadPool;
use std::path::PathBuf;

/// Folder of the data sets.
#[derive(Debug, clap::Args)]
pub(crate) struct DataArgs {
    /// Folder of the data sets [default: `onebasin` in the platform's folder for data]
    #[arg(long, value_name = "DIR", env = "ONEBASIN_DATA", hide_env_values = true)]
    data: Option<PathBuf>,
}

impl DataArgs {
    /// Whoever has no home has the data in the current folder.
    pub(crate) fn folder(&self) -> PathBuf {
        self.data.clone().unwrap_or_else(|| dirs::data_dir().unwrap_or_default().join("onebasin"))
    }
}

/// What a computation has at its disposal.
#[derive(Debug, clap::Args)]
pub(crate) struct MachineArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Number of threads, which changes no result [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

impl MachineArgs {
    pub(crate) fn pool(&self, printer: &Printer) -> anyhow::Result<ThreadPool> {
        let threads = match self.threads {
            Some(threads) => threads,
            None => std::thread::available_parallelism()?.get(),
        };
        let pool = threads::pool(threads).map_err(as_flag)?;
        let kind = threads::instruction_set();
        printer.detail(&format!("{} threads, {kind}, data in {}", pool.threads(), self.data.folder().display()));
        Ok(pool)
    }
}

/// What happens to an earlier result, and how the new one is printed.
#[derive(Debug, clap::Args)]
pub(crate) struct ResultArgs {
    /// Replace the result of an earlier run of the same command in the folder
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the file of the result instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

/// Calls a setting by its flag, and says which flags help.
pub(crate) fn as_flag(error: Error) -> anyhow::Error {
    match error {
        // A key with a dot is one of a configuration.
        Error::Setting { key, value, expected } if !key.contains('.') => {
            anyhow::anyhow!("--{} is {value}; it must be {expected}", key.replace('_', "-"))
        }
        error => with_remedy(error),
    }
}

/// Adds the flags that help.
pub(crate) fn with_remedy(error: Error) -> anyhow::Error {
    match error.cause() {
        Error::Folder { .. } => anyhow::anyhow!("{error}; choose another folder with -o, or replace it with --force"),
        Error::NoFile { .. } => anyhow::anyhow!("{error}, or say with --data in which folder it is"),
        _ => anyhow::Error::from(error),
    }
}
