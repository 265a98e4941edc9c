//! Linear assignments: reads the matrix that the rows of one size and kind share, solves it, and writes the optimum.

use crate::Case;
use onebasin::assign::{Assigner, Goal};
use onebasin_kernels::Isa;
use std::error::Error;
use std::path::PathBuf;

/// `which`: cold, or warm for a start from the duals of the cold costs.
pub(crate) fn case(kind: &str, n: &str, which: &str) -> Result<Case, Box<dyn Error>> {
    let folder = PathBuf::from(std::env::var("ONEBASIN_BENCH_ASSIGNMENTS")?);
    let read = |which: &str| -> Result<Vec<f32>, Box<dyn Error>> {
        let bytes = std::fs::read(folder.join(format!("{kind}-{n}-{which}.f32")))?;
        Ok(bytes.as_chunks().0.iter().map(|value| f32::from_le_bytes(*value)).collect())
    };
    let rows: usize = n.parse()?;
    let mut assigner = Assigner::new(Isa::detect());
    let start = match which {
        "warm" => Some(assigner.solve(Goal::Minimise, &read("cold")?, rows, None)?.column_duals),
        _ => None,
    };
    let costs = read(which)?;
    let solution = assigner.solve(Goal::Minimise, &costs, rows, start.as_deref())?;
    let largest = costs.iter().fold(0.0, |largest: f64, cost| largest.max(f64::from(cost.abs())));
    let (violation, gap) = (solution.violation(Goal::Minimise, &costs), solution.gap());
    if violation > 1e-12 * largest || gap > 1e-12 * largest * rows as f64 {
        return Err(format!("the duals are violated by {violation} and leave a gap of {gap}").into());
    }
    std::fs::write(folder.join(format!("{kind}-{n}-{which}.optimum")), solution.value.to_string())?;
    let call = Box::new(move || {
        let _ = assigner.solve(Goal::Minimise, &costs, rows, start.as_deref())?;
        Ok(())
    });
    Ok(Case { flop: None, call })
}
