//! Linear assignments: reads the matrix that the rows of one size and kind share, solves it, and writes the optimum.

use crate::Case;
use onebasin::assign::{Assigner, Cost, Goal, Matrix};
use onebasin_kernels::Isa;
use std::error::Error;
use std::path::PathBuf;

/// `which`: cold, or warm for a start from the duals of the cold costs; in double precision f64, or maximise.
pub(crate) fn case(kind: &str, shape: &str, which: &str) -> Result<Case, Box<dyn Error>> {
    let file = |which: &str, end: &str| -> Result<PathBuf, Box<dyn Error>> {
        let folder = PathBuf::from(std::env::var("ONEBASIN_BENCH_ASSIGNMENTS")?);
        Ok(folder.join(format!("{kind}-{shape}-{which}.{end}")))
    };
    let singles = |which: &str| -> Result<Vec<f32>, Box<dyn Error>> {
        let bytes = std::fs::read(file(which, "f32")?)?;
        Ok(bytes.as_chunks().0.iter().map(|value| f32::from_le_bytes(*value)).collect())
    };
    let doubles = || -> Result<Vec<f64>, Box<dyn Error>> {
        let bytes = std::fs::read(file("double", "f64")?)?;
        Ok(bytes.as_chunks().0.iter().map(|value| f64::from_le_bytes(*value)).collect())
    };
    let (rows, columns) = shape.split_once('x').unwrap_or((shape, shape));
    let (rows, columns) = (rows.parse()?, columns.parse()?);
    let optimum = file(which, "optimum")?;
    match which {
        "f64" => solve(Goal::Minimise, doubles()?, rows, columns, None, optimum),
        "maximise" => solve(Goal::Maximise, doubles()?, rows, columns, None, optimum),
        "warm" => {
            let before = singles("cold")?;
            let matrix = Matrix { costs: &before[..], rows, columns };
            let start = Assigner::new(Isa::detect()).solve_matrix(Goal::Minimise, matrix, None)?.column_duals;
            solve(Goal::Minimise, singles(which)?, rows, columns, Some(start), optimum)
        }
        _ => solve(Goal::Minimise, singles(which)?, rows, columns, None, optimum),
    }
}

/// The call that solves these costs, once their solution is proved and its value written.
fn solve<T: Cost + 'static>(
    goal: Goal,
    costs: Vec<T>,
    rows: usize,
    columns: usize,
    start: Option<Vec<f64>>,
    optimum: PathBuf,
) -> Result<Case, Box<dyn Error>> {
    let mut assigner = Assigner::new(Isa::detect());
    let solution = assigner.solve_matrix(goal, Matrix { costs: &costs, rows, columns }, start.as_deref())?;
    let (violation, gap) = (solution.violation(goal, &costs), solution.gap());
    let largest = costs.iter().map(|cost| (*cost).into()).fold(0.0, |largest: f64, cost: f64| largest.max(cost.abs()));
    if violation > 1e-12 * largest || gap > 1e-12 * largest * rows as f64 {
        return Err(format!("the duals are violated by {violation} and leave a gap of {gap}").into());
    }
    std::fs::write(optimum, solution.value.to_string())?;
    let call = Box::new(move || {
        let _ = assigner.solve_matrix(goal, Matrix { costs: &costs, rows, columns }, start.as_deref())?;
        Ok(())
    });
    Ok(Case { flop: None, call })
}
