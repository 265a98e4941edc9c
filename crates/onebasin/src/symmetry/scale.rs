//! The scales of ReLU units: what enters a unit may be multiplied and what leaves it divided, and the choice with the
//! smallest energy of all parameters together is canonical.

use super::{Patch, Spec};
use crate::arch::{Activation, Arch, Op};
use crate::error::{Error, Result};
use crate::params::Params;

/// Where the scale of every unit of a ReLU network enters its parameters.
#[derive(Clone, Debug)]
pub struct Scales {
    spec: Spec,
    /// For each patch of the spec.
    roles: Vec<Scaled>,
}

/// Which of a patch's axes, if any, carry units that divide and multiply it.
#[derive(Clone, Copy, Debug, Default)]
struct Scaled {
    divided: Option<usize>,
    multiplied: Option<usize>,
}

impl Scales {
    /// The scales of a network whose only non-linearity is ReLU, for which relu(c x) = c relu(x) if c > 0.
    pub fn of(arch: &Arch) -> Result<Self> {
        for (_, node) in arch.hidden() {
            if node.op != Op::Activate(Activation::Relu) {
                return Err(Error::NoScale { activation: arch.preset().activation().to_string() });
            }
        }
        let spec = Spec::of(arch);
        let normalised = normalised_tensors(arch);
        let layout = arch.layout().tensors();
        let role = |patch: &Patch| {
            // The last axis of a tensor is the units it makes, the one before those it reads.
            let units = layout[patch.tensor].shape().len() - 1;
            let position = |axis: usize| patch.along.iter().position(|along| *along == axis);
            Scaled {
                divided: units.checked_sub(1).and_then(position),
                multiplied: position(units).filter(|_| !normalised[patch.tensor]),
            }
        };
        let roles = spec.patches().iter().map(role).collect();
        Ok(Self { spec, roles })
    }

    /// The factors, (group, unit), that make the sum of all `energy`, scaled by their squares, as small as it can be.
    ///
    /// With `energy` the squares of a point, or m² + s² of a Gaussian, this is the point of the orbit that is most probable under an
    /// isotropic prior. A parameter between units i and j is multiplied by e^(aⱼ - aᵢ), so the sum is convex in a; where
    /// all but one aᵢ are given, its minimum is where what enters i and what leaves it have equal energy (Osborne 1960).
    /// Units without any energy on one side keep the factor 1.
    pub fn balance(&self, energy: &Params) -> Result<Vec<Vec<f32>>> {
        self.spec.layout().check_same(energy.layout())?;
        let links: Vec<Link> = self.scaled_patches().map(|(patch, role)| self.link(patch, role, energy)).collect();
        let sizes: Vec<usize> = self.spec.groups().iter().map(|group| group.size).collect();
        let squares = squares_of_factors(&links, &sizes);
        let factors = |squares: Vec<f64>| squares.iter().map(|square| square.sqrt() as f32).collect();
        Ok(squares.into_iter().map(factors).collect())
    }

    /// Multiplies what enters each unit by its factor, (group, unit), and divides what leaves it: the parameters of a point,
    /// and the means and the standard deviations of a Gaussian alike.
    pub fn apply(&self, factors: &[Vec<f32>], params: &mut Params) -> Result<()> {
        self.spec.layout().check_same(params.layout())?;
        let groups = self.spec.groups();
        Error::unless_length("the array of factors", factors.len(), groups.len(), "one array for each group")?;
        for (factors, group) in factors.iter().zip(groups) {
            let why = format_args!("the units of `{}`", group.name);
            Error::unless_length("an array of factors", factors.len(), group.size, why)?;
            if let Some(value) = factors.iter().find(|factor| !(**factor > 0.0 && factor.is_finite())) {
                return Err(Error::out_of_range("a factor", value, "a positive number"));
            }
        }
        let inverse: Vec<Vec<f32>> =
            factors.iter().map(|group| group.iter().map(|factor| 1.0 / factor).collect()).collect();
        for (patch, role) in self.scaled_patches() {
            let values = params.values_mut();
            let divided = role.divided.map(|axis| (axis, &inverse[patch.axes[axis].0]));
            let multiplied = role.multiplied.map(|axis| (axis, &factors[patch.axes[axis].0]));
            patch.for_each(self.spec.groups(), |place, units| {
                let factor =
                    |side: Option<(usize, &Vec<f32>)>| side.map_or(1.0, |(axis, factors)| factors[units[axis]]);
                values[place] *= factor(divided) * factor(multiplied);
            });
        }
        Ok(())
    }

    /// The patches that some factor changes.
    fn scaled_patches(&self) -> impl Iterator<Item = (&Patch, Scaled)> {
        let all = self.spec.patches().iter().zip(self.roles.iter().copied());
        all.filter(|(_, role)| role.divided.is_some() || role.multiplied.is_some())
    }

    /// The energy of a patch, summed over all that its factors do not depend on.
    fn link(&self, patch: &Patch, role: Scaled, energy: &Params) -> Link {
        let groups = self.spec.groups();
        let side = |axis: Option<usize>| axis.map(|axis| patch.axes[axis].0);
        let len = |axis: Option<usize>| side(axis).map_or(1, |group| groups[group].size);
        let columns = len(role.multiplied);
        let mut link = Link {
            divided: side(role.divided),
            multiplied: side(role.multiplied),
            columns,
            energy: vec![0.0; len(role.divided) * columns],
        };
        assert!(link.divided != link.multiplied, "a layer that reads the units it makes has no such scale");
        patch.for_each(groups, |place, units| {
            let unit = |axis: Option<usize>| axis.map_or(0, |axis| units[axis]);
            link.energy[unit(role.divided) * columns + unit(role.multiplied)] += f64::from(energy.values()[place]);
        });
        link
    }
}

/// Whether the scale of each tensor is lost in the normalisation that follows.
fn normalised_tensors(arch: &Arch) -> Vec<bool> {
    let mut normalised = vec![false; arch.layout().tensors().len()];
    for node in arch.nodes() {
        if let (Op::LayerNorm { .. } | Op::Frn { .. }, Op::Conv { weight, bias, .. }) =
            (node.op, arch.nodes()[node.input].op)
        {
            for tensor in [weight].into_iter().chain(bias) {
                normalised[tensor] = true;
            }
        }
    }
    normalised
}

/// Sweeps over all units, at most.
const MOST_SWEEPS: usize = 100;
/// The logarithms of all factors change by less than this in the last sweep.
const TOLERANCE: f64 = 1e-6;
/// Sweeps over whole groups between two sweeps over units, at most; they cost next to nothing.
const MOST_GROUP_SWEEPS: usize = 1000;

/// Energy between the units of two groups, or between those of one and what has no scale.
struct Link {
    /// The group whose factors divide it.
    divided: Option<usize>,
    /// The group whose factors multiply it.
    multiplied: Option<usize>,
    /// Units of the group that multiplies, or 1.
    columns: usize,
    /// (unit that divides, unit that multiplies)
    energy: Vec<f64>,
}

/// The squares of the best factors, (group, unit), by Osborne's sweeps; `sizes` are those of the groups.
///
/// In a deep network the ratios of whole groups settle slowly, each sweep passing them on from layer to layer. So these are
/// brought to rest before each sweep, as if every group were one unit.
fn squares_of_factors(links: &[Link], sizes: &[usize]) -> Vec<Vec<f64>> {
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
