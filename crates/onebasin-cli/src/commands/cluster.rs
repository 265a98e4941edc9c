//! `onebasin cluster`: scripts that give the shares of an experiment to Slurm or to HyperQueue.

use super::run::{self, ExperimentArgs};
use super::shares::ranges;
use crate::options::DataArgs;
use crate::printer::{ExitStatus, Printer};
use anyhow::{Context as _, bail};
use onebasin::experiment::{Kind, Share, State, Status, write_text};
use onebasin::threads;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// A number in an array of Slurm is less than this, unless its administrator chose another `MaxArraySize`.
const MAX_ARRAY: usize = 1000;

/// Seconds between the signal that a job will end soon and its end: a checkpoint of the largest network takes less.
const WARNING: u32 = 90;

/// The folder of the scripts, inside that of the experiment.
const FOLDER: &str = "cluster";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum ClusterCommand {
    /// Write scripts for Slurm: the trainings as one array, the measurements as a second one, the report as the last job
    ///
    /// Writes DIR/cluster/submit.sh and DIR/cluster/task.sh, which all jobs run; only shares that are not done are in the arrays.
    /// A job saves its state 90 seconds before its time is over and is queued again. The measurements begin when all
    /// trainings have ended, whether well or not, and do what is missing. The last job merges what is done.
    #[command(
        after_help = "Example:\n  onebasin cluster slurm sweep.toml -o runs/sweep --time 4:00:00 --cpus 4 --mem 8G --array-limit 50 --submit"
    )]
    Slurm(SlurmArgs),
    /// Write a script for HyperQueue: the trainings as one array, then the measurements, then the report
    ///
    /// Writes DIR/cluster/hq.sh, which waits for each array; only shares that are not done are in the arrays.
    #[command(after_help = "Example:\n  onebasin cluster hq sweep.toml -o runs/sweep --cpus 4 --submit")]
    Hq(HqArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct SlurmArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// Longest time of a job, after which it is queued again [default: that of the partition]
    #[arg(long, value_name = "[D-]H:M:S")]
    time: Option<String>,
    /// Memory of a job, such as 4G [default: that of the partition]
    #[arg(long, value_name = "SIZE")]
    mem: Option<String>,
    /// Partition [default: that of the cluster]
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,
    /// How many jobs of an array run at a time [default: as many as fit]
    #[arg(long, value_name = "N")]
    array_limit: Option<usize>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct HqArgs {
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, clap::Args)]
struct CommonArgs {
    #[command(flatten)]
    experiment: ExperimentArgs,
    #[command(flatten)]
    data: DataArgs,
    /// Cores of a job
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    cpus: u32,
    /// Also run the script, which submits the jobs
    #[arg(long)]
    submit: bool,
}

pub(crate) fn run(command: &ClusterCommand, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let common = match command {
        ClusterCommand::Slurm(args) => &args.common,
        ClusterCommand::Hq(args) => &args.common,
    };
    let (experiment, folder) = common.experiment.read()?;
    // Here, and not in many jobs at once.
    run::data(&experiment, &common.data.folder(), printer)?;
    let status = run::in_context(&folder, threads::pool(1)?, &common.data, printer, |context| {
        experiment.prepare(&folder, context)?;
        experiment.status(&folder, context)
    })?;
    let status = match status {
        Ok(status) => status,
        Err(stopped) => return Ok(stopped),
    };
    let jobs = Jobs::of(&status, common, &folder)?;
    fs::create_dir_all(&jobs.folder).with_context(|| format!("cannot make {}", jobs.folder.display()))?;
    let script = match command {
        ClusterCommand::Slurm(args) => {
            write_text(&jobs.folder.join("task.sh"), &jobs.task())?;
            let script = jobs.folder.join("submit.sh");
            write_text(&script, &jobs.slurm(args)?)?;
            script
        }
        ClusterCommand::Hq(_) => {
            let script = jobs.folder.join("hq.sh");
            write_text(&script, &jobs.hyperqueue())?;
            script
        }
    };
    if !common.submit {
        printer.say(&format!(
            "`bash {}` submits {} trainings and {} measurements",
            script.display(),
            jobs.trainings.len(),
            jobs.measurements.len()
        ));
        return Ok(ExitStatus::Success);
    }
    let ended = Command::new("bash").arg(&script).status().context("cannot run bash")?;
    if !ended.success() {
        bail!("{} ended with {ended}; nothing is wrong with doing it again", script.display());
    }
    Ok(ExitStatus::Success)
}

/// What has to be done, and how.
struct Jobs {
    /// Of the scripts.
    folder: PathBuf,
    name: String,
    /// The command of all jobs but for which share it does, quoted for a shell.
    command: String,
    /// Numbers of the shares that are not done.
    trainings: Vec<usize>,
    measurements: Vec<usize>,
    cpus: u32,
}

impl Jobs {
    fn of(status: &Status, common: &CommonArgs, folder: &Path) -> anyhow::Result<Self> {
        let left = |kind: Kind| {
            let is_left = |share: &&Share| !matches!(share.state, State::Done { .. } | State::Failed { .. });
            status.of(kind).filter(is_left).map(|share| share.number).collect()
        };
        let whole = |path: &Path| std::path::absolute(path).with_context(|| format!("cannot find {}", path.display()));
        let folder = whole(folder)?;
        let program = env::current_exe().context("cannot find this program")?;
        // In the Python package the program is Python, and the command is found by its name.
        let is_command = program.file_stem().is_some_and(|name| name.to_string_lossy().starts_with("onebasin"));
        let program = if is_command { program } else { PathBuf::from("onebasin") };
        let mut words = vec![program.display().to_string(), "run".to_owned()];
        words.extend(common.experiment.experiment.as_ref().map(|file| file.display().to_string()));
        words.extend(common.experiment.overrides.iter().flat_map(|setting| ["--set".to_owned(), setting.clone()]));
        words.extend(["-o".to_owned(), folder.display().to_string()]);
        words.extend(["--data".to_owned(), whole(&common.data.folder())?.display().to_string()]);
        words.extend(["--threads".to_owned(), common.cpus.to_string()]);
        let here = env::current_dir().context("cannot find the current folder")?;
        let command = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        Ok(Self {
            name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            folder: folder.join(FOLDER),
            // The file of the experiment stays as it was typed, because the report names it.
            command: format!("cd {}\ncommand=({command})", quoted(&here.display().to_string())),
            trainings: left(Kind::Training),
            measurements: left(Kind::Measurement),
            cpus: common.cpus,
        })
    }

    /// The script of every job of Slurm.
    fn task(&self) -> String {
        format!(
            r#"#!/bin/bash
# One job of an experiment: a share of it, or its report. Written by `onebasin cluster slurm`.
{}
"${{command[@]}}" "$@" &
task=$!
# USR1 comes before the time of the job is over, TERM when it is cancelled or has to make room: both save the state.
trap 'kill -USR1 $task 2>/dev/null' USR1
trap 'kill -TERM $task 2>/dev/null' TERM
# A signal ends `wait` early.
while :; do wait $task; status=$?; kill -0 $task 2>/dev/null || break; done
# Saved because the time is over: the job is queued again and goes on from there.
if [ $status = {} ]; then
    scontrol requeue "$SLURM_JOB_ID"
    # Until Slurm ends it.
    sleep 60
fi
exit $status
"#,
            self.command,
            128 + 10
        )
    }

    /// The script that submits all jobs to Slurm.
    fn slurm(&self, args: &SlurmArgs) -> anyhow::Result<String> {
        let mut options = vec![
            "--parsable".to_owned(),
            "--requeue".to_owned(),
            "--open-mode=append".to_owned(),
            format!("--signal=B:USR1@{WARNING}"),
            format!("--cpus-per-task={}", self.cpus),
        ];
        for (name, value) in [("time", &args.time), ("mem", &args.mem), ("partition", &args.partition)] {
            options.extend(value.as_ref().map(|value| format!("--{name}={}", quoted(value))));
        }
        let mut text = format!(
            "#!/bin/bash
# Submits what is not done of an experiment to Slurm. Written by `onebasin cluster slurm`, and meant to be read and edited.
set -eu
cd {}
options=({})
earlier=()
",
            quoted(&self.folder.display().to_string()),
            options.join(" ")
        );
        let limit = args.array_limit.map_or_else(String::new, |limit| format!("%{limit}"));
        for (name, numbers) in [("train", &self.trainings), ("measure", &self.measurements)] {
            if numbers.is_empty() {
                continue;
            }
            writeln!(text, "jobs=()")?;
            for chunk in numbers.chunk_by(|one, other| one / MAX_ARRAY == other / MAX_ARRAY) {
                let base = chunk[0] / MAX_ARRAY * MAX_ARRAY;
                let (indices, more) = (
                    ranges(chunk.iter().map(|number| number - base)),
                    if base == 0 { String::new() } else { format!("+{base}") },
                );
                let job = quoted(&format!("{}-{name}", self.name));
                writeln!(
                    text,
                    "job=$(sbatch \"${{options[@]}}\" \"${{earlier[@]}}\" --job-name={job} --array={indices}{limit} --output={name}{}%a.log task.sh --cell auto{more})\njobs+=(\"$job\")",
                    if base == 0 { "-".to_owned() } else { format!("-{base}-plus-") },
                )?;
            }
            writeln!(
                text,
                "earlier=(--dependency=\"$(IFS=:; echo \"afterany:${{jobs[*]}}\")\")\necho \"{name}: ${{jobs[*]}}\""
            )?;
        }
        let job = quoted(&format!("{}-report", self.name));
        writeln!(
            text,
            "job=$(sbatch \"${{options[@]}}\" \"${{earlier[@]}}\" --job-name={job} --output=report.log task.sh --merge)\necho \"report: $job\""
        )?;
        Ok(text)
    }

    /// The script that runs all tasks in HyperQueue.
    fn hyperqueue(&self) -> String {
        let mut text = format!(
            "#!/bin/bash
# Does what is not done of an experiment in HyperQueue. Written by `onebasin cluster hq`, and meant to be read and edited.
command -v hq >/dev/null || {{ echo 'there is no command hq here: is HyperQueue installed?' >&2; exit 127; }}
{}
",
            self.command
        );
        // A task that fails must not keep the others from being measured.
        for (name, numbers) in [("train", &self.trainings), ("measure", &self.measurements)] {
            if !numbers.is_empty() {
                let (job, indices) = (quoted(&format!("{}-{name}", self.name)), ranges(numbers.iter().copied()));
                let output = quoted(&self.folder.join(format!("{name}-%{{TASK_ID}}.log")).display().to_string());
                writeln!(
                    text,
                    "hq submit --wait --name={job} --array={indices} --cpus={} --stdout=none --stderr={output} -- \"${{command[@]}}\" --cell auto",
                    self.cpus
                )
                .expect("a string can be written to");
            }
        }
        text + "\"${command[@]}\" --merge\n"
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=,:".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
