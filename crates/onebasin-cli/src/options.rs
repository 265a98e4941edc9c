//! Options that several commands share, and errors in terms of options.

use crate::machine;
use crate::printer::Printer;
use onebasin::error::Error;
use onebasin::foreign::Reading;
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
    pub(crate) fn folder(&self) -> PathBuf {
        self.data.clone().unwrap_or_else(machine::data_folder)
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

/// How a network of another library and its checkpoints are read.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct NetworkArgs {
    /// Size of an axis that the network gives a name in place of a size, such as `sequence=16` [default: 1 for the first axis
    /// of an input]
    #[arg(long, value_name = "NAME=N", value_parser = dim)]
    dim: Vec<(String, usize)>,
    /// How the checkpoints store a posterior, such as `bayesian-torch`, `numpyro:exp` if it stores logarithms, or `points`
    /// [default: recognised by names]
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// Beginnings of names of tensors that are no part of the network and stay as they are, such as `optimizer`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    keep: Vec<String>,
}

impl NetworkArgs {
    pub(crate) fn reading(&self) -> Reading {
        let Self { dim, format, keep } = self.clone();
        Reading { dims: dim.into_iter().collect(), format, keep }
    }
}

fn dim(text: &str) -> Result<(String, usize), String> {
    let (name, size) = text.rsplit_once('=').ok_or("it should be NAME=N, such as sequence=16")?;
    let size =
        size.parse().ok().filter(|size| *size > 0).ok_or_else(|| format!("`{size}` is not a positive integer"))?;
    Ok((name.to_owned(), size))
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
