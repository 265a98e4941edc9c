//! Brings many posteriors together all at once: Frank-Wolfe over the permutations of all members into one universe.

use super::Channel;
use super::Many;
use super::Members;
use super::Objective;
use super::Progress;
use super::Settings;
use super::assigners::Assigners;
use super::many::from_the_first;
use super::many::sides;
use super::mean::Work;
use super::members::check_count;
use super::members::read;
use super::objective::chosen;
use super::products::Factors;
use super::products::Products;
use super::quartic::Quartic;
use super::soft::Soft;
use super::solve::inner;
use super::solve::permutation;
use super::to_mean;
use crate::error::Result;
use crate::kernels::Team;
use crate::symmetry::Patch;
use crate::symmetry::Permutation;
use crate::symmetry::Permutations;
use crate::symmetry::Spec;

/// Steps, at most.
const STEPS: usize = 40;
/// How much the start has of what is known already; the rest is the barycentre. From the barycentre alone, 8 random
/// posteriors of a network with 3 layers of 128 units ended 3 % below `to_mean`, from here above it.
const START: f32 = 0.7;
/// The search ends when a step could gain at most this part of the objective.
const GAP: f64 = 1e-4;

/// Aligns all pairs of members at once, and returns that or what [`to_mean`] finds, whichever is better.
///
/// The first member is the universe and stays as it is; all others begin between the barycentre, where nothing is known of
/// them, and what `to_mean` found. Where Frank-Wolfe ends is rounded and settled like the rounds of `to_mean`. All members
/// are in memory, each with five times its size beside it.
pub fn to_universe(
    spec: &Spec,
    members: &(impl Members + ?Sized),
    settings: Settings,
    team: &Team,
    watch: &mut dyn FnMut(Progress),
) -> Result<Many> {
    let count = check_count(members)?;
    let mean = to_mean(spec, members, settings, team, watch)?;
    let (found, steps) = frank_wolfe(spec, members, &mean.permutations, settings.channel, team, watch)?;
    let assignments = mean.assignments + steps * (count - 1) * spec.groups().len();
    let mut work = Work { spec, members, settings, team, watch, assignments };
    let mut here = work.gathered(found)?;
    let before = mean.history[0];
    let mut history = vec![before, here.objective];
    // What is worse than nothing is not worth more rounds, and would have a history that falls.
    if here.objective >= before {
        work.settle(&mut here, &mut history)?;
    }
    let assignments = work.assignments;
    if here.objective > mean.objective() {
        Ok(Many { permutations: from_the_first(&here.permutations), history, method: "universe", assignments })
    } else {
        Ok(Many { assignments, ..mean })
    }
}

/// The permutations of all members where Frank-Wolfe ends, and how often all were assigned.
fn frank_wolfe(
    spec: &Spec,
    members: &(impl Members + ?Sized),
    start: &[Permutations],
    channel: Channel,
    team: &Team,
    watch: &mut dyn FnMut(Progress),
) -> Result<(Vec<Permutations>, usize)> {
    let sizes: Vec<usize> = spec.groups().iter().map(|group| group.size).collect();
    let identity: Vec<u32> = (0..).take(sizes.iter().copied().max().unwrap_or(0)).collect();
    let anchor = read(spec, members, 0)?;
    let anchor = sides(channel, &anchor)?;
    let mut travellers = Vec::new();
    for (index, start) in start.iter().enumerate().skip(1) {
        let member = read(spec, members, index)?;
        let features = sides(channel, &member)?.iter().map(|values| Soft::new(spec, values)).collect();
        let points = sizes.iter().map(|size| vec![1.0 / *size as f32; size * size]).collect();
        let corner = start.as_slice().to_vec();
        let mut traveller = Traveller { features, points, corner, way: Quartic::default() };
        traveller.turn(spec, &identity);
        traveller.step(spec, &identity, START);
        travellers.push(traveller);
    }
    // Checks that no tensor has more than two groups; the values do not matter.
    let views = Objective::new(spec, Vec::new(), None)?;
    let mut gradients = Gradients::new(&views, team);
    let problems: Vec<usize> = (0..travellers.len() * sizes.len()).collect();
    let assigners = Assigners::new(problems.len());
    let mut duals = vec![None; problems.len()];
    let mut steps = 0;
    let mut arrived = f64::NAN;
    let size = |problem: usize| sizes[problem % sizes.len()];
    while steps < STEPS {
        let total = Total::of(&anchor, &travellers, |soft| &soft.here, 1.0);
        let matrices = gradients.at(&total, &travellers);
        let found = assigners.solve(team, &problems, |problem| (&matrices[problem], size(problem)), &mut duals)?;
        steps += 1;
        watch(Progress { solver: "universe", assignments: steps * problems.len(), ..Progress::default() });
        let mut found = found.into_iter().map(permutation);
        for traveller in &mut travellers {
            traveller.corner = found.by_ref().take(sizes.len()).collect();
        }
        team.chunks(&mut travellers, 1, |_, travellers| travellers[0].turn(spec, &identity));
        let between = Total::of(&anchor, &travellers, |soft| &soft.between, 2.0);
        let there = Total::of(&anchor, &travellers, |soft| &soft.there, 1.0);
        let way = way(&anchor, &total, &between, &there, &travellers);
        debug_assert!(agree(way.0[0], arrived, way.0[0]), "the last step led to {}, not to {arrived}", way.0[0]);
        let ascent = || -> f64 {
            let corners = travellers.iter().flat_map(|traveller| traveller.corner.iter().zip(&traveller.points));
            let gains = matrices.iter().zip(corners);
            gains.map(|(matrix, (corner, point))| chosen(matrix, corner.as_slice()) - inner(matrix, point)).sum()
        };
        debug_assert!(agree(way.0[1], ascent(), way.0[0]), "the slope is {}, not {}", way.0[1], ascent());
        let step = way.highest();
        if step == 0.0 || way.0[1] <= GAP * way.0[0].abs() {
            break;
        }
        arrived = way.at(step);
        team.chunks(&mut travellers, 1, |_, travellers| travellers[0].step(spec, &identity, step as f32));
    }
    let point = |problem: usize| &travellers[problem / sizes.len()].points[problem % sizes.len()][..];
    let rounded =
        assigners.solve(team, &problems, |problem| (point(problem), size(problem)), &mut vec![None; problems.len()])?;
    let mut rounded = rounded.into_iter().map(permutation);
    let mut all = vec![Permutations::identity(spec)];
    for _ in &travellers {
        all.push(Permutations::new(spec, rounded.by_ref().take(sizes.len()).collect())?);
    }
    Ok((all, steps + 1))
}

/// Whether two numbers are the same but for rounding in single precision, which a NaN always is.
fn agree(one: f64, other: f64, scale: f64) -> bool {
    one.is_nan() || other.is_nan() || (one - other).abs() <= 1e-4 * scale.abs().max(one.abs())
}

/// A member that is not the universe.
#[derive(Debug)]
struct Traveller {
    features: Vec<Soft>,
    /// The doubly stochastic matrix of each group: (units of the universe, own units).
    points: Vec<Vec<f32>>,
    /// Where the step goes to.
    corner: Vec<Permutation>,
    /// Its squared norm on the way there.
    way: Quartic,
}

impl Traveller {
    fn turn(&mut self, spec: &Spec, identity: &[u32]) {
        self.way = Quartic::default();
        for soft in &mut self.features {
            soft.turn(spec, &self.corner, identity);
            let f64s = |values: &'_ [f32], at: usize| f64::from(values[at]);
            for at in 0..soft.here.len() {
                self.way.add([f64s(&soft.here, at), f64s(&soft.between, at), f64s(&soft.there, at)]);
            }
        }
    }

    fn step(&mut self, spec: &Spec, identity: &[u32], step: f32) {
        for soft in &mut self.features {
            soft.step(spec, &self.corner, identity, step);
        }
        for (point, corner) in self.points.iter_mut().zip(&self.corner) {
            for value in point.iter_mut() {
                *value *= 1.0 - step;
            }
            for (row, column) in point.chunks_exact_mut(corner.len()).zip(corner.as_slice()) {
                row[*column as usize] += step;
            }
        }
    }
}

/// The sum over all members, (feature, parameter).
struct Total(Vec<Vec<f64>>);

impl Total {
    fn of(anchor: &[&[f32]], travellers: &[Traveller], part: fn(&Soft) -> &[f32], times: f64) -> Self {
        let mut total: Vec<Vec<f64>> =
            anchor.iter().map(|values| values.iter().map(|value| times * f64::from(*value)).collect()).collect();
        for traveller in travellers {
            for (total, soft) in total.iter_mut().zip(&traveller.features) {
                total.iter_mut().zip(part(soft)).for_each(|(total, value)| *total += f64::from(*value));
            }
        }
        Self(total)
    }
}

/// The objective on the way to the corners: (|Σ|² - Σ | |²) / 2.
fn way(anchor: &[&[f32]], here: &Total, between: &Total, there: &Total, travellers: &[Traveller]) -> Quartic {
    let mut way = Quartic::default();
    for ((here, between), there) in here.0.iter().zip(&between.0).zip(&there.0) {
        for ((here, between), there) in here.iter().zip(between).zip(there) {
            way.add([*here, *between, *there]);
        }
    }
    let still: f64 = anchor.iter().flat_map(|values| values.iter()).map(|value| f64::from(*value).powi(2)).sum();
    way.0[0] -= still;
    for traveller in travellers {
        way.0.iter_mut().zip(traveller.way.0).for_each(|(all, own)| *all -= own);
    }
    way.0.iter_mut().for_each(|coefficient| *coefficient *= 0.5);
    way
}

/// The gradients of the objective, and the memory for them.
struct Gradients<'a> {
    views: &'a Objective<'a>,
    products: Products<'a>,
    /// Of each group, those of each view.
    columns: Vec<Vec<Vec<usize>>>,
    /// (traveller, group)
    matrices: Vec<Vec<f32>>,
}

impl<'a> Gradients<'a> {
    fn new(views: &'a Objective<'a>, team: &'a Team) -> Self {
        let spec = views.spec();
        let columns = (0..views.groups()).map(|group| {
            let columns = views.views(group).iter().map(|view| {
                let Patch { base, rest, .. } = &spec.patches()[view.patch];
                let (others, stride) = view.other.map_or((1, 0), |(other, stride)| (views.size(other), stride));
                rest.iter().flat_map(|at| (0..others).map(move |other| base + at + other * stride)).collect()
            });
            columns.collect()
        });
        Self { views, products: Products::new(team), columns: columns.collect(), matrices: Vec::new() }
    }

    /// What each traveller gains from the sum of all others, (units of the universe, own units).
    fn at(&mut self, total: &Total, travellers: &[Traveller]) -> &[Vec<f32>] {
        let groups = self.views.groups();
        self.matrices.resize(travellers.len() * groups, Vec::new());
        for (traveller, matrices) in travellers.iter().zip(self.matrices.chunks_exact_mut(groups)) {
            for (group, matrix) in matrices.iter_mut().enumerate() {
                matrix.clear();
                matrix.resize(self.views.size(group).pow(2), 0.0);
            }
            for (total, soft) in total.0.iter().zip(&traveller.features) {
                let others: Vec<f32> =
                    total.iter().zip(&soft.here).map(|(total, own)| (total - f64::from(*own)) as f32).collect();
                for (group, matrix) in matrices.iter_mut().enumerate() {
                    for (view, columns) in self.views.views(group).iter().zip(&self.columns[group]) {
                        let sides = &[[&others[..], &soft.seen[view.axis][..]]];
                        let factors = Factors { sides, stride: view.stride, weight: 1.0, columns };
                        self.products.add(self.views.size(group), &factors, matrix);
                    }
                }
            }
        }
        &self.matrices
    }
}
