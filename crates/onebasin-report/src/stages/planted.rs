//! Planted alignment problems: how many units each solver recovers.

use super::StageReport;
use crate::draw;
use crate::figure::Figure;
use crate::page::Headline;
use crate::table::Alignment::{Left, Right};
use crate::table::Table;
use onebasin::align::Solver;
use onebasin::experiment::stages::planted::{PlantedResult, Recovery};

impl StageReport for PlantedResult {
    const TITLE: &'static str = "Planted permutations";

    fn finding(&self) -> Option<String> {
        let [descent, best] = furthest_apart(self)?;
        Some(format!(
            "At a correlation of {:.2}, the solver {} recovers {:.1} % of the units of planted permutations, {} {:.1} %.",
            descent.correlation,
            descent.solver,
            100.0 * descent.recovered,
            best.solver,
            100.0 * best.recovered,
        ))
    }

    fn headlines(&self) -> Vec<Headline> {
        let headline = |row: &Recovery| Headline {
            label: format!("Units recovered by {}", row.solver),
            value: format!("{:.1} %", 100.0 * row.recovered),
            note: format!("at a correlation of {:.2}", row.correlation),
        };
        furthest_apart(self).into_iter().flatten().map(headline).collect()
    }

    fn figures(&self, id: &str) -> Vec<Figure> {
        let points = self
            .rows
            .iter()
            .map(|row| (row.solver.to_string(), "", draw::point(f64::from(row.correlation), 100.0 * row.recovered)));
        vec![draw::lines(
            format!("{id}-recovered"),
            "Units that each solver recovers",
            &format!(
                "A network is aligned with a permuted copy of itself, part of which is replaced by noise. Means over {} for \
                 each correlation.",
                draw::count(self.settings.instances, "instance")
            ),
            [draw::linear("correlation of the copy"), draw::linear("units recovered, %")],
            draw::grouped(points),
        )]
    }

    fn tables(&self) -> Vec<(String, Table)> {
        let numbers = ["units recovered", "objective / planted", "assignments"].map(|title| (title, Right));
        let row = |Recovery { correlation, solver, recovered, objective, assignments }: &Recovery| {
            let numbers = [recovered, objective].map(|number| format!("{number:.3}"));
            let solved = numbers.into_iter().chain([format!("{assignments:.0}")]);
            [format!("{correlation:.2}"), solver.to_string()].into_iter().chain(solved)
        };
        let columns = [("correlation", Right), ("solver", Left)].into_iter().chain(numbers);
        let table = Table::new(columns).with(self.rows.iter().map(row));
        vec![(format!("Means over {}", draw::count(self.settings.instances, "instance")), table)]
    }
}

/// What coordinate descent and the best of all solvers recover, where they differ most.
fn furthest_apart(result: &PlantedResult) -> Option<[&Recovery; 2]> {
    let of = |solver: Solver| result.rows.iter().filter(move |row| row.solver == solver);
    let pairs = of(Solver::CoordinateDescent).zip(of(Solver::Best)).map(|(descent, best)| [descent, best]);
    let gap = |[descent, best]: &[&Recovery; 2]| best.recovered - descent.recovered;
    pairs.max_by(|a, b| gap(a).total_cmp(&gap(b)))
}
