//! `onebasin symmetry`: finds which units of a network can be permuted, and checks it on a checkpoint.

use crate::options::{NetworkArgs, as_flag};
use crate::printer::{ExitStatus, Printer};
use onebasin::foreign::{self, Checked, Network};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct SymmetryArgs {
    /// Network: an ONNX file, an exported program of PyTorch (.pt2), or a symmetry (.toml)
    #[arg(value_name = "NETWORK")]
    network: PathBuf,
    /// Checkpoints whose tensors must be those of the network; with --check their units are permuted
    #[arg(value_name = "CHECKPOINT", required_if_eq("check", "true"))]
    checkpoints: Vec<PathBuf>,
    /// Permute all groups at random, run the network before and after, and compare its outputs
    #[arg(long)]
    check: bool,
    /// Seed of the random permutations and inputs
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    options: NetworkArgs,
}

/// Prints the symmetry, or how much random permutations change the outputs.
pub(crate) fn run(args: &SymmetryArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let SymmetryArgs { network, checkpoints, check, seed, options } = args;
    let network = Network::open(network, &options.reading()).map_err(as_flag)?;
    if checkpoints.is_empty() {
        say_share(&network, printer);
        printer.data(&network.symmetry().to_toml())?;
        return Ok(ExitStatus::Success);
    }
    let (network, members) = network.open_all(checkpoints).map_err(as_flag)?;
    say_share(&network, printer);
    if !check {
        printer.data(&network.symmetry().to_toml())?;
        return Ok(ExitStatus::Success);
    }
    let mut status = ExitStatus::Success;
    for member in &members {
        let checked = foreign::check_random(&network, member, *seed).map_err(as_flag)?;
        let file = member.name();
        printer.data(&match &checked {
            Checked::Run { inputs, change } => format!(
                "{file}: outputs changed by {change:.1e} of the largest on {inputs} random inputs, {}\n",
                if checked.is_unchanged() { "which is rounding" } else { "so it is NOT the same function" }
            ),
            Checked::ByGraph { reason } => {
                format!("{file}: its tensors are those of the network; the network was not run, because {reason}\n")
            }
        })?;
        if !checked.is_unchanged() {
            status = ExitStatus::Problem;
        }
    }
    Ok(status)
}

fn say_share(network: &Network, printer: &Printer) {
    let symmetry = network.symmetry();
    let units: usize = symmetry.groups.iter().map(|group| group.units).sum();
    let share = 100.0 * symmetry.share();
    let share = if share.is_nan() { String::new() } else { format!(", {share:.0} % of the rows of its matrices") };
    let count = |number: usize, thing: &str| format!("{number} {thing}{}", if number == 1 { "" } else { "s" });
    let (units, groups) = (count(units, "unit"), count(symmetry.groups.len(), "group"));
    printer.say(&format!("{}: {units} can be permuted, in {groups}{share}", network.path().display()));
}
