//! The orders of units in which the second posterior is looked at: its own, and those that alignments give it.

use super::Settings;
use super::Way;
use crate::commands::members::Source;
use crate::commands::name_of;
use crate::commands::pairs;
use crate::printer::Printer;
use anyhow::Context;
use onebasin::align;
use onebasin::align::Progress;
use onebasin::error::Error;
use onebasin::kernels::Team;
use onebasin::params::Params;
use onebasin::posterior::Gaussian;
use onebasin::symmetry::Permutations;
use onebasin::symmetry::Spec;

/// The second posterior with its units in some order.
#[derive(Debug)]
pub(super) struct Order {
    /// What it comes from.
    pub(super) name: String,
    pub(super) gaussian: Gaussian,
    /// W2 from the first posterior.
    pub(super) distance: f64,
    /// How many swaps of units make it.
    pub(super) transpositions: usize,
}

impl Order {
    /// The name of a curve: that of the order, and the way if it is not the usual one.
    pub(super) fn curve(&self, way: Way) -> anyhow::Result<String> {
        Ok(if way == Way::Geodesic { self.name.clone() } else { format!("{}, {}", self.name, name_of(&way)?) })
    }
}

/// The order that there is, then that of a file, then those that are sought.
pub(super) fn all(
    settings: &Settings,
    sources: &[Source],
    [fixed, moved]: [&Gaussian; 2],
    spec: &Spec,
    team: &Team,
    printer: &Printer,
) -> anyhow::Result<Vec<Order>> {
    let order = |name: String, permutations: &Permutations| {
        let apply = |params: &Params| spec.apply(permutations, params);
        let gaussian = Gaussian::new(apply(moved.mean())?, apply(moved.std())?)?;
        let (distance, transpositions) = (fixed.distance(&gaussian)?, permutations.transpositions());
        Ok::<_, Error>(Order { name, gaussian, distance, transpositions })
    };
    let mut orders = vec![order("no alignment".to_owned(), &Permutations::identity(spec))?];
    if let Some(file) = &settings.alignment {
        let permutations = pairs::permutations(file, sources, spec).with_context(|| file.display().to_string())?;
        orders.push(order(file.display().to_string(), &permutations)?);
    }
    let spinner = printer.spinner();
    for channel in &settings.method.channels {
        let name = name_of(channel)?;
        let mut watch = |Progress { solver, assignments, .. }: Progress| {
            spinner.set_message(format!("aligning by {name}: {solver}, {assignments} assignment problems"));
        };
        let search = align::Settings {
            channel: *channel,
            solver: settings.method.solver,
            seed: settings.method.seed,
            ..align::Settings::default()
        };
        let found = align::pair(spec, fixed, moved, search, team, &mut watch);
        let said = || format!("cannot align {} with {}", sources[1].file.display(), sources[0].file.display());
        orders.push(order(name, &found.with_context(said)?.permutations)?);
    }
    spinner.finish_and_clear();
    Ok(orders)
}
