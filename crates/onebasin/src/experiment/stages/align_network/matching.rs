//! Which permutations align the checkpoints of a network, wherever their tensors are.

use super::load::{Gaussians, Loaded};
use crate::align::{self, Alignment, Criterion, Many};
use crate::error::{Error, Result};
use crate::experiment::stages::align::{AlignSettings, BeforeAndAfter, Target};
use crate::experiment::{Context, Section};
use crate::foreign::{Member, Network, TensorSource};
use crate::posterior::Gaussian;
use crate::symmetry::{Permutations, Spec};

/// Checkpoints that are to be aligned, the first of which stays.
#[derive(Debug)]
pub struct Matching<'a, S> {
    /// How they are aligned; its lists have one entry each.
    pub settings: &'a AlignSettings,
    /// Their network.
    pub network: &'a Network,
    /// Its symmetry.
    pub spec: &'a Spec,
    /// The checkpoints.
    pub members: &'a [Member<S>],
    /// Their names, as progress and messages call them.
    pub names: &'a [String],
}

/// What was found for all checkpoints but the first.
#[derive(Clone, Debug)]
pub struct Matched {
    /// What was found for each.
    pub members: Vec<MatchedMember>,
    /// The objective before and after, if all were aligned together.
    pub together: Option<BeforeAndAfter>,
    /// Of relabelled samples, the Gaussian that fits them.
    pub gaussian: Option<Gaussian>,
}

impl Matched {
    fn together(many: Many) -> Self {
        let ends = many.history.first().zip(many.history.last());
        let together = ends.map(|(before, after)| BeforeAndAfter { before: *before, after: *after });
        let members =
            many.permutations.into_iter().skip(1).map(|permutations| MatchedMember { permutations, alignment: None });
        Self { members: members.collect(), together, gaussian: None }
    }
}

/// What was found for one checkpoint.
#[derive(Clone, Debug)]
pub struct MatchedMember {
    /// What aligns its units.
    pub permutations: Permutations,
    /// The alignment and its seconds, unless all were aligned together.
    pub alignment: Option<(Alignment, f64)>,
}

impl<S: TensorSource> Matching<'_, S> {
    /// Aligns all checkpoints but the first.
    pub fn solve(&self, context: &Context<'_>) -> Result<Matched> {
        self.check_memory(context)?;
        let method = self.settings.single()?;
        let (spec, pool) = (self.spec, &context.pool);
        let statistics = &self.network.statistics()[..];
        let solve = match self.settings.to {
            Target::Mean => align::to_mean,
            Target::Universe => align::to_universe,
            Target::Relabel => {
                let gaussians = Gaussians { members: self.members, spec, statistics };
                let (align::Relabelling { many, gaussian }, _) = context
                    .measured("relabelling", |monitor| align::relabel(spec, &gaussians, method, pool, monitor))?;
                return Ok(Matched { gaussian: Some(gaussian), ..Matched::together(many) });
            }
            Target::First => {
                let fixed = Loaded::new(&self.members[0], spec, statistics)?;
                let pairs = (1..self.members.len()).map(|index| {
                    let moved = Loaded::new(&self.members[index], spec, statistics)?;
                    let task = format!("aligning {}", self.names[index]);
                    let (alignment, seconds) = context.measured(&task, |monitor| {
                        let features = fixed.features(&moved, method.criterion, spec.layout())?;
                        align::maximise(&align::Objective::new(spec, features, None)?, method, pool, monitor)
                    })?;
                    Ok(MatchedMember {
                        permutations: alignment.permutations.clone(),
                        alignment: Some((alignment, seconds)),
                    })
                });
                return Ok(Matched { members: pairs.collect::<Result<_>>()?, together: None, gaussian: None });
            }
        };
        let task = format!("aligning {} checkpoints", self.members.len());
        let gaussians = Gaussians { members: self.members, spec, statistics };
        let (many, _) = context.measured(&task, |monitor| solve(spec, &gaussians, method, pool, monitor))?;
        Ok(Matched::together(many))
    }

    /// Refuses an alignment that there is no memory for.
    fn check_memory(&self, context: &Context<'_>) -> Result<()> {
        context.check_memory(
            &format!("aligning {} checkpoints", self.members.len()),
            self.bytes()?,
            "use a machine with more memory, or align with the first checkpoint (`to` first)",
        )
    }

    /// Bytes of memory that the alignment takes, about.
    fn bytes(&self) -> Result<u128> {
        let Self { members, spec, .. } = self;
        let (values, count) = (spec.layout().len() as u128, members.len() as u128);
        let single = size_of::<f32>() as u128;
        let (features, moments, more) = match self.settings.to {
            Target::First => {
                // The one that stays, and one of the others at a time.
                let of = |member: &Member<S>| member.bytes(spec.layout());
                let pair = of(&members[0]) + members[1..].iter().map(of).max().unwrap_or(0);
                (pair, members.iter().map(Member::moments).max().unwrap_or(1), 0)
            }
            // A Gaussian, the mean of others, and their sums in f64; each member six times over in the universe.
            Target::Mean | Target::Relabel => (4 * single * values, 2, 6 * single * values),
            Target::Universe => (4 * single * values, 2, (6 + 12 * count) * single * values),
        };
        // Costs are made of features of 8 bits, which each axis of a tensor has in an order of its own.
        let quantised = 4 * moments * values;
        Ok(features + more + quantised + self.settings.single()?.solver.bytes(spec, features)?)
    }
}

/// Refuses settings that need more than checkpoints and their network.
pub fn check_settings(settings: &AlignSettings, checkpoints: usize) -> Result<()> {
    let AlignSettings { criteria, balance, exclude_prior, .. } = settings;
    settings.check()?;
    settings.precision.check_f32("checkpoints of a network")?;
    settings.single()?;
    if checkpoints < 2 {
        return Err(Error::Count { need: "an alignment needs at least 2 checkpoints", got: checkpoints });
    }
    Error::unless(!balance, "balance", true, "false for checkpoints of a network, whose activations are not known")?;
    if let Some(nats) = exclude_prior {
        return Err(Error::setting("exclude_prior", nats, "left out for checkpoints, whose prior is not known"));
    }
    check_criteria(criteria)
}

/// Refuses criteria that need the training examples.
pub(in crate::experiment::stages) fn check_criteria(criteria: &[Criterion]) -> Result<()> {
    match criteria.iter().find(|criterion| criterion.needs_data()) {
        Some(criterion) => {
            Err(Error::setting("criteria", criterion, "one that needs no data for checkpoints of a network"))
        }
        None => Ok(()),
    }
}
