//! The scales of ReLU units: what enters a unit may be multiplied and what leaves it divided, and one choice is canonical.

use super::Patch;
use super::Spec;
use super::balance;
use super::balance::Link;
use crate::arch::Activation;
use crate::arch::Arch;
use crate::arch::Op;
use crate::error::Error;
use crate::error::Result;
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
                let activation = format!("{:?}", arch.preset().activation()).to_lowercase();
                return Err(Error::NoScale { activation });
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
    /// With `energy` the squares of a point, or m² + s² of a Gaussian, this is the point of the orbit that an isotropic
    /// prior likes best. A parameter between units i and j is multiplied by e^(aⱼ - aᵢ), so the sum is convex in a; where
    /// all but one aᵢ are given, its minimum is where what enters i and what leaves it have equal energy (Osborne 1960).
    /// Units without any energy on one side keep the factor 1.
    pub fn balance(&self, energy: &Params) -> Result<Vec<Vec<f32>>> {
        self.spec.layout().check_same(energy.layout())?;
        let links: Vec<Link> = self.scaled_patches().map(|(patch, role)| self.link(patch, role, energy)).collect();
        let sizes: Vec<usize> = self.spec.groups().iter().map(|group| group.size).collect();
        let squares = balance::squares_of_factors(&links, &sizes);
        let factors = |squares: Vec<f64>| squares.iter().map(|square| square.sqrt() as f32).collect();
        Ok(squares.into_iter().map(factors).collect())
    }

    /// Multiplies what enters each unit by its factor, (group, unit), and divides what leaves it: the parameters of a point,
    /// and the means and the standard deviations of a Gaussian alike.
    pub fn apply(&self, factors: &[Vec<f32>], params: &mut Params) -> Result<()> {
        self.spec.layout().check_same(params.layout())?;
        self.check(factors)?;
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

    fn check(&self, factors: &[Vec<f32>]) -> Result<()> {
        let groups = self.spec.groups();
        if factors.len() != groups.len() {
            let why = "one array for each group".to_owned();
            return Err(Error::Length {
                what: "the array of factors",
                got: factors.len(),
                expected: groups.len(),
                why,
            });
        }
        for (factors, group) in factors.iter().zip(groups) {
            if factors.len() != group.size {
                let why = format!("the units of `{}`", group.name);
                let (got, expected) = (factors.len(), group.size);
                return Err(Error::Length { what: "an array of factors", got, expected, why });
            }
            if let Some(value) = factors.iter().find(|factor| !(**factor > 0.0 && factor.is_finite())) {
                return Err(Error::NotPositive { what: "a factor", value: value.to_string() });
            }
        }
        Ok(())
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
            normalised[weight] = true;
            if let Some(bias) = bias {
                normalised[bias] = true;
            }
        }
    }
    normalised
}
