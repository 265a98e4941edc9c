//! `onebasin init`: writes a configuration whose comments explain every key.

use crate::printer::{ExitStatus, Printer};
use anyhow::{Context as _, bail};
use onebasin::experiment::reference::commented;
use onebasin::experiment::write_text;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// Defines the kinds of configuration, each with its template.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $Kind:ident = $name:literal,)+) => {
        /// What to write a configuration for.
        #[derive(Clone, Copy, Debug, clap::ValueEnum)]
        pub(crate) enum Kind {
            $($(#[doc = $doc])+ #[value(name = $name)] $Kind,)+
        }

        impl Kind {
            #[cfg(test)]
            const ALL: &[Self] = &[$(Self::$Kind),+];

            fn name(self) -> &'static str {
                match self {
                    $(Self::$Kind => $name,)+
                }
            }

            fn template(self) -> &'static str {
                match self {
                    $(Self::$Kind => include_str!(concat!("../templates/", $name, ".toml")),)+
                }
            }
        }
    };
}

kinds! {
    /// Experiment: the barrier between two posteriors
    Barrier = "barrier",
    /// Experiment: the same for several values of a setting
    Sweep = "sweep",
    /// Experiment: the plane through two posteriors
    Plane = "plane",
    /// Experiment: one Gaussian in place of samples of Markov chains
    Compact = "compact",
    /// Training: the MAP estimate
    Map = "map",
    /// Training: mean-field variational inference
    Vi = "vi",
    /// Training: IVON
    Ivon = "ivon",
    /// Training: a deep ensemble
    Ensemble = "ensemble",
    /// Training: Hamiltonian Monte Carlo
    Hmc = "hmc",
}

#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    /// Kind of configuration
    #[arg(value_name = "KIND", value_enum, default_value = "barrier")]
    kind: Kind,
    /// File to write; `-` prints [default: KIND.toml]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &InitArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let InitArgs { kind, output, force } = args;
    let file = output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.toml", kind.name())));
    let text = commented(kind.template());
    if file == Path::new("-") {
        printer.data(&text)?;
        return Ok(ExitStatus::Success);
    }
    if *force {
        write_text(&file, &text)?;
    } else {
        // Made only if it is not there, so that no file of anybody else is lost.
        let mut made = match OpenOptions::new().write(true).create_new(true).open(&file) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                bail!("{}: the file is there already; name another with -o, or replace it with --force", file.display())
            }
            made => made.with_context(|| format!("cannot write {}", file.display()))?,
        };
        made.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let command = if kind.template().contains("[train.") { "run" } else { "train" };
    printer.say(&format!("wrote {0}; `onebasin {command} {0}` runs it", file.display()));
    Ok(ExitStatus::Success)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onebasin::experiment::{Experiment, TrainConfig};

    #[test]
    fn every_template_is_read_and_says_which_keys_there_are() {
        for kind in Kind::ALL {
            let text = commented(kind.template());
            let read = match kind {
                Kind::Barrier | Kind::Sweep | Kind::Plane | Kind::Compact => {
                    Experiment::read(kind.name(), &text, &[]).map(drop)
                }
                Kind::Map | Kind::Vi | Kind::Ivon | Kind::Ensemble | Kind::Hmc => {
                    TrainConfig::from_toml(kind.name(), &text, &[]).map(drop)
                }
            };
            read.unwrap_or_else(|error| panic!("{}: {error}\n{text}", kind.name()));
            let unexplained = text.lines().zip(text.lines().skip(1)).find(|(above, line)| {
                line.contains(" = ") && !line.starts_with('#') && !line.starts_with('"') && !above.starts_with('#')
            });
            assert!(unexplained.is_none(), "{}: {unexplained:?} in\n{text}", kind.name());
            assert!(text.lines().all(|line| line.chars().count() <= 160), "{text}");
        }
    }

    #[test]
    fn defaults_that_stand_in_comments_are_what_the_configuration_has_anyway() {
        for kind in [Kind::Map, Kind::Vi, Kind::Ensemble, Kind::Hmc] {
            let text = commented(kind.template());
            let settings = |line: &str| {
                let line = line.strip_prefix("# ")?;
                let (key, value) = line.split_once(" = ")?;
                let plain = !key.contains(' ') && value != "...";
                (plain && toml::from_str::<toml::Table>(line).is_ok()).then(|| line.to_owned())
            };
            let uncommented: String =
                text.lines().map(|line| settings(line).unwrap_or_else(|| line.to_owned()) + "\n").collect();
            assert_ne!(uncommented, text);
            let read = |text: &str| TrainConfig::from_toml(kind.name(), text, &[]).unwrap();
            assert_eq!(read(&uncommented), read(&text), "{uncommented}");
        }
    }
}
