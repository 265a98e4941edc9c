//! Finds the scales of units at which the energy of all parameters together is smallest.

/// Sweeps over all units, at most.
const MOST_SWEEPS: usize = 100;
/// The logarithms of all factors change by less than this in the last sweep.
const TOLERANCE: f64 = 1e-6;
/// Sweeps over whole groups between two sweeps over units, at most; they cost next to nothing.
const MOST_GROUP_SWEEPS: usize = 1000;

/// Energy between the units of two groups, or between those of one and what has no scale.
pub(super) struct Link {
    /// The group whose factors divide it.
    pub(super) divided: Option<usize>,
    /// The group whose factors multiply it.
    pub(super) multiplied: Option<usize>,
    /// Units of the group that multiplies, or 1.
    pub(super) columns: usize,
    /// (unit that divides, unit that multiplies)
    pub(super) energy: Vec<f64>,
}

/// The squares of the best factors, (group, unit), by Osborne's sweeps; `sizes` are those of the groups.
///
/// In a deep network the ratios of whole groups settle slowly, each sweep passing them on from layer to layer. So these are
/// brought to rest before each sweep, as if every group were one unit.
pub(super) fn squares_of_factors(links: &[Link], sizes: &[usize]) -> Vec<Vec<f64>> {
    let mut squares: Vec<Vec<f64>> = sizes.iter().map(|size| vec![1.0; *size]).collect();
    let balances = |group: usize| {
        let (incoming, outgoing) = energies(links, group, &squares);
        incoming.into_iter().zip(outgoing).map(|(incoming, outgoing)| balanced(incoming, outgoing).is_some()).collect()
    };
    let scaled: Vec<Vec<bool>> = (0..sizes.len()).map(balances).collect();
    for _ in 0..MOST_SWEEPS {
        let mut largest = 0.0f64;
        let whole = squares_of_groups(links, &scaled, &squares);
        for ((squares, scaled), whole) in squares.iter_mut().zip(&scaled).zip(whole) {
            largest = largest.max(0.5 * whole.ln().abs());
            for (square, _) in squares.iter_mut().zip(scaled).filter(|(_, scaled)| **scaled) {
                *square *= whole;
            }
        }
        for group in 0..sizes.len() {
            let (incoming, outgoing) = energies(links, group, &squares);
            for ((square, incoming), outgoing) in squares[group].iter_mut().zip(incoming).zip(outgoing) {
                if let Some(best) = balanced(incoming, outgoing) {
                    largest = largest.max(0.5 * (best / *square).ln().abs());
                    *square = best;
                }
            }
        }
        if largest < TOLERANCE {
            break;
        }
    }
    squares
}

/// The square of the factor at which what enters has the energy of what leaves; none if one of them has none.
fn balanced(incoming: f64, outgoing: f64) -> Option<f64> {
    let square = (outgoing / incoming).sqrt();
    (square > 0.0 && square.is_finite()).then_some(square)
}

/// What enters and what leaves each unit of a group, were its own factors 1.
fn energies(links: &[Link], group: usize, squares: &[Vec<f64>]) -> (Vec<f64>, Vec<f64>) {
    let mut incoming = vec![0.0; squares[group].len()];
    let mut outgoing = incoming.clone();
    for link in links {
        let rows = link.energy.chunks(link.columns).enumerate();
        if link.multiplied == Some(group) {
            for (row, energy) in rows {
                let factor = link.divided.map_or(1.0, |divided| 1.0 / squares[divided][row]);
                for (incoming, energy) in incoming.iter_mut().zip(energy) {
                    *incoming += energy * factor;
                }
            }
        } else if link.divided == Some(group) {
            for (row, energy) in rows {
                outgoing[row] += match link.multiplied {
                    Some(multiplied) => {
                        energy.iter().zip(&squares[multiplied]).map(|(energy, square)| energy * square).sum()
                    }
                    None => energy.iter().sum::<f64>(),
                };
            }
        }
    }
    (incoming, outgoing)
}

/// The square of the one factor for all `scaled` units of each group that is best on top of the factors they have.
fn squares_of_groups(links: &[Link], scaled: &[Vec<bool>], squares: &[Vec<f64>]) -> Vec<f64> {
    let mut incoming: Vec<Vec<(Option<usize>, f64)>> = vec![Vec::new(); squares.len()];
    let mut outgoing = incoming.clone();
    for link in links {
        // Units without a scale of their own are like what has none; hence up to four sums.
        let mut sums = [[0.0; 2]; 2];
        let side = |group: Option<usize>, unit: usize| {
            group.map_or((false, 1.0), |group| (scaled[group][unit], squares[group][unit]))
        };
        for (row, energy) in link.energy.chunks(link.columns).enumerate() {
            let (divided, divisor) = side(link.divided, row);
            for (column, energy) in energy.iter().enumerate() {
                let (multiplied, factor) = side(link.multiplied, column);
                sums[usize::from(divided)][usize::from(multiplied)] += energy * factor / divisor;
            }
        }
        for (divided, sums) in sums.iter().enumerate() {
            for (multiplied, sum) in sums.iter().enumerate() {
                let divided = link.divided.filter(|_| divided == 1);
                let multiplied = link.multiplied.filter(|_| multiplied == 1);
                if let Some(group) = multiplied {
                    incoming[group].push((divided, *sum));
                }
                if let Some(group) = divided {
                    outgoing[group].push((multiplied, *sum));
                }
            }
        }
    }
    let mut whole = vec![1.0; squares.len()];
    for _ in 0..MOST_GROUP_SWEEPS {
        let mut largest = 0.0f64;
        for group in 0..whole.len() {
            let square = |other: Option<usize>| other.map_or(1.0, |other: usize| whole[other]);
            let enters = incoming[group].iter().map(|(other, energy)| energy / square(*other)).sum();
            let leaves = outgoing[group].iter().map(|(other, energy)| energy * square(*other)).sum();
            if let Some(best) = balanced(enters, leaves) {
                largest = largest.max((best / whole[group]).ln().abs());
                whole[group] = best;
            }
        }
        if largest < TOLERANCE {
            break;
        }
    }
    whole
}
