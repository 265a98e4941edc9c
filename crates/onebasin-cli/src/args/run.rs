//! What can be typed behind `onebasin run` and `onebasin report`.

use super::DataArgs;
use crate::commands::report;
use crate::commands::run;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct RunArgs {
    /// The experiment; see experiments/ for examples [default: that of the built-in digits]
    #[arg(value_name = "EXPERIMENT.toml")]
    experiment: Option<PathBuf>,
    /// Change one setting of the experiment; may be given several times
    #[arg(long = "set", value_name = "A.B=C")]
    overrides: Vec<String>,
    /// The folder of the experiment [default: runs/ and the name of the file]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    data: DataArgs,
    /// Number of threads, which does not change the result [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Print measures.json instead of a curve and a table
    #[arg(long)]
    json: bool,
}

impl RunArgs {
    pub(super) fn resolve(self) -> run::Settings {
        let name = self.experiment.as_ref().and_then(|path| path.file_stem()).unwrap_or("digits".as_ref()).to_owned();
        run::Settings {
            output: self.output.unwrap_or_else(|| PathBuf::from("runs").join(name)),
            experiment: self.experiment,
            overrides: self.overrides,
            data: self.data.resolve(),
            threads: self.threads,
            json: self.json,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct ReportArgs {
    /// Folders of finished experiments
    #[arg(value_name = "DIR", required = true, num_args = 1..)]
    experiments: Vec<PathBuf>,
    /// The folder that is written, or a Markdown file, whose figures go into a folder beside it [default: `report` in DIR]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Print all measures instead of a curve and a table
    #[arg(long)]
    json: bool,
}

impl ReportArgs {
    pub(super) fn resolve(self) -> report::Settings {
        let Self { experiments, output, json } = self;
        report::Settings { experiments, output, json }
    }
}
