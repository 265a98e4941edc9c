//! Two posteriors of two weights, as a stage of an experiment: what each criterion of alignment says to a swap.

use crate::commands::folder::Folder;
use crate::commands::folder::Kind;
use crate::commands::report::draw;
use crate::printer::ExitStatus;
use onebasin::experiment::Between;
use onebasin::experiment::Swap;
use onebasin::experiment::SwapConfig;
use onebasin_report::Alignment::Left;
use onebasin_report::Alignment::Right;
use onebasin_report::Figure;
use onebasin_report::Series;
use onebasin_report::Table;
use std::f64::consts::TAU;
use std::path::Path;

/// What the stage leaves in its folder.
const KIND: Kind = Kind { command: "swap", report: "measures.json", is_own: |_| false, folders: &[] };
/// Points of an ellipse.
const POINTS: u32 = 96;

/// Measures, and writes what was found.
pub(crate) fn measure(config: &SwapConfig, output: &Path) -> anyhow::Result<ExitStatus> {
    let folder = Folder::look(&KIND, output, true)?;
    folder.write_all(&[], &(serde_json::to_string_pretty(&config.run()?)? + "\n"))?;
    Ok(ExitStatus::Success)
}

/// A line for each order.
pub(crate) fn table(found: &Swap) -> Table {
    let numbers = ["KL, nats", "its Σ v₁/v₀", "W2"].map(|title| (title, Right));
    let mut table = Table::new(std::iter::once(("second posterior", Left)).chain(numbers));
    for (name, Between { divergence, ratios, distance }) in [("as it is", found.before), ("swapped", found.after)] {
        let numbers = [divergence, ratios, distance].map(|number| format!("{number:.4}"));
        table.push(std::iter::once(name.to_owned()).chain(numbers));
    }
    table
}

/// Both posteriors, and the second one swapped.
pub(crate) fn figures(found: &Swap, id: &str) -> Vec<Figure> {
    let SwapConfig { means: [first, second], stds: [narrow, wide] } = found.config;
    let swap = |[a, b]: [f32; 2]| [b, a];
    let series = vec![
        ellipse("the first", first, narrow),
        ellipse("the second", second, wide),
        Series { reference: true, ..ellipse("the second, swapped", swap(second), swap(wide)) },
    ];
    vec![draw::lines(
        format!("{id}-ellipses"),
        "Two posteriors of two weights",
        "Lines of one standard deviation. Swapping the weights of the second mirrors it at the diagonal.",
        [draw::linear("first weight"), draw::linear("second weight")],
        series,
    )]
}

fn ellipse(name: &str, mean: [f32; 2], std: [f32; 2]) -> Series {
    let at = |angle: f64| {
        let along = |axis: usize, part: f64| f64::from(mean[axis]) + f64::from(std[axis]) * part;
        draw::point(along(0, angle.cos()), along(1, angle.sin()))
    };
    draw::curve(name, "", (0..=POINTS).map(|step| at(TAU * f64::from(step) / f64::from(POINTS))))
}
