//! `onebasin arch`: builds an architecture and prints its tensors, its hidden layers and its totals.

use crate::printer::{ExitStatus, Printer};
use onebasin::arch::{Arch, Preset, Role, Shape};
use onebasin::experiment::json;
use onebasin_report::Alignment::{Left, Right};
use onebasin_report::Table;
use serde::Serialize;

/// Arguments of `onebasin arch`.
#[derive(Debug, clap::Args)]
pub(crate) struct ArchArgs {
    #[command(subcommand)]
    pub(crate) preset: Preset,
    /// Print Markdown tables
    #[arg(long, global = true, conflicts_with = "json")]
    markdown: bool,
    /// Print one JSON object
    #[arg(long, global = true)]
    json: bool,
}

/// Prints the description in the form asked for.
pub(crate) fn run(args: &ArchArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let arch = Arch::new(args.preset.clone())?;
    let description = Description::new(&arch);
    let text = match args {
        ArchArgs { json: true, .. } => json(&description),
        ArchArgs { markdown: true, .. } => description.tables(Table::markdown),
        _ => description.tables(Table::text),
    };
    printer.data(&text)?;
    Ok(ExitStatus::Success)
}

/// All that is printed; as JSON, field by field.
#[derive(Serialize)]
struct Description<'a> {
    arch: &'a Preset,
    parameters: usize,
    flops_per_image: u64,
    tensors: Vec<Tensor<'a>>,
    hidden: Vec<Hidden<'a>>,
}

#[derive(Serialize)]
struct Tensor<'a> {
    name: &'a str,
    shape: &'a [usize],
    values: usize,
    role: &'static str,
}

#[derive(Serialize)]
struct Hidden<'a> {
    name: &'a str,
    shape: Shape,
    units: usize,
}

impl<'a> Description<'a> {
    fn new(arch: &'a Arch) -> Self {
        let tensors = arch.layout().tensors().iter().zip(arch.roles()).map(|(tensor, role)| Tensor {
            name: tensor.name(),
            shape: tensor.shape(),
            values: tensor.range().len(),
            role: role_name(*role),
        });
        let hidden =
            arch.hidden().map(|(_, node)| Hidden { name: &node.name, shape: node.shape, units: node.shape.channels });
        Self {
            arch: arch.preset(),
            parameters: arch.layout().len(),
            flops_per_image: arch.flops(),
            tensors: tensors.collect(),
            hidden: hidden.collect(),
        }
    }

    /// The tensors, the hidden layers (if any) and the totals, with a blank line between them.
    fn tables(&self, render: fn(&Table) -> String) -> String {
        let mut tensors = Table::new([("tensor", Left), ("shape", Left), ("values", Right), ("role", Left)]);
        for Tensor { name, shape, values, role } in &self.tensors {
            let shape: Vec<String> = shape.iter().map(ToString::to_string).collect();
            tensors.push([*name, &shape.join("x"), &values.to_string(), role]);
        }
        let mut hidden = Table::new([("hidden layer", Left), ("shape", Left), ("units", Right)]);
        for Hidden { name, shape, units } in &self.hidden {
            hidden.push([*name, &shape.to_string(), &units.to_string()]);
        }
        let units: usize = self.hidden.iter().map(|layer| layer.units).sum();
        let mut totals = Table::new([("total", Left), ("value", Right)]);
        totals.push(["parameters", &self.parameters.to_string()]);
        totals.push(["hidden layers", &self.hidden.len().to_string()]);
        totals.push(["hidden units", &units.to_string()]);
        totals.push(["MFLOP per image, forward", &format!("{:.3}", self.flops_per_image as f64 / 1e6)]);

        let hidden = (!self.hidden.is_empty()).then_some(hidden);
        let tables = [Some(tensors), hidden, Some(totals)];
        tables.iter().flatten().map(render).collect::<Vec<_>>().join("\n")
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Weight { .. } => "weight",
        Role::Bias => "bias",
        Role::Gamma => "gamma",
        Role::Beta => "beta",
        Role::Tau => "tau",
    }
}
