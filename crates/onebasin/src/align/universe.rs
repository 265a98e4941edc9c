//! Brings many posteriors together all at once: Frank-Wolfe over the permutations of all members into one universe.

use super::assigners::{Assigners, Problem};
use super::mean::Work;
use super::members::{from_the_first, read};
use super::objective::chosen;
use super::products::{Factors, Products};
use super::relaxed::Relaxed;
use super::solve::{GAP, STEPS, by_group, inner};
use super::{Criterion, Many, Members, Objective, Settings, subtask, to_mean};
use crate::error::Result;
use crate::progress::Monitor;
use crate::symmetry::{Patch, Permutation, Permutations, Spec};
use onebasin_kernels::ThreadPool;

/// Weight of the permutations of `to_mean` in the start; the rest is the centre of the Birkhoff polytope. From the centre alone, 8
/// random posteriors of a network with 3 layers of 128 units ended 3 % below `to_mean`, from here above it.
const START: f32 = 0.7;

/// Aligns all pairs of members at once, and returns that or what [`to_mean`] finds, whichever is better.
///
/// The first member is the universe and stays as it is; all others start between the centre of the Birkhoff polytope and the permutations
/// of `to_mean`. The result of Frank-Wolfe is rounded to permutations and refined like the rounds of `to_mean`. All members
/// are in memory, each with five times its size beside it.
pub fn to_universe(
    spec: &Spec,
    members: &(impl Members + ?Sized),
    settings: Settings,
    pool: &ThreadPool,
    monitor: &mut Monitor<'_>,
) -> Result<Many> {
    let mean = to_mean(spec, members, settings, pool, monitor)?;
    let (found, assignments) = monitor.part(mean.assignments, 0, |monitor| {
        monitor.set_task(subtask(monitor.task(), "frank-wolfe"));
        frank_wolfe(spec, members, &mean.permutations, settings.criterion, pool, monitor)
    })?;
    let assignments = mean.assignments + assignments;
    let mut work = Work { spec, members, settings, pool, monitor, assignments };
    let mut here = work.gathered(found)?;
    let before = mean.history[0];
    let mut history = vec![before, here.objective];
    // What is worse than no permutation is not worth more rounds, and would have a history that falls.
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

/// The permutations of all members where Frank-Wolfe ends, and the number of assignment problems solved.
fn frank_wolfe(
    spec: &Spec,
    members: &(impl Members + ?Sized),
    start: &[Permutations],
    criterion: Criterion,
    pool: &ThreadPool,
    monitor: &mut Monitor<'_>,
) -> Result<(Vec<Permutations>, usize)> {
    let sizes: Vec<usize> = spec.groups().iter().map(|group| group.size).collect();
    let identity: Vec<u32> = (0..).take(sizes.iter().copied().max().unwrap_or(0)).collect();
    let anchor = read(spec, members, 0)?;
    let anchor = criterion.side(&anchor)?;
    let mut relaxed = Vec::new();
    for (index, start) in start.iter().enumerate().skip(1) {
        let member = read(spec, members, index)?;
        let features = criterion.side(&member)?.iter().map(|values| Relaxed::new(spec, values)).collect();
        let points = sizes.iter().map(|size| vec![1.0 / *size as f32; size * size]).collect();
        let vertex = start.as_slice().to_vec();
        let mut member = RelaxedMember { features, points, vertex, norm: Quartic::default() };
        member.aim(spec, &identity);
        member.step(spec, &identity, START);
        relaxed.push(member);
    }
    // Checks that no tensor has more than two permuted axes; the values do not matter.
    let views = Objective::new(spec, Vec::new(), None)?;
    let mut gradients = Gradients::new(&views, pool);
    let coordinates = &views.coordinates[..];
    let matrices = relaxed.len() * sizes.len();
    let members = (0..matrices).step_by(sizes.len().max(1));
    let problems: Vec<Problem<'_>> =
        members.flat_map(|first| coordinates.iter().map(move |coordinate| Problem { coordinate, first })).collect();
    let mut assigners = Assigners::new(matrices);
    let mut duals = vec![None; matrices];
    let mut steps = 0;
    let mut expected = f64::NAN;
    while steps < STEPS {
        let here = total(&anchor, &relaxed, |feature| &feature.current, 1.0);
        let matrices = gradients.at(&here, &relaxed);
        let mut found = assigners.solve(pool, &problems, matrices, &mut duals, monitor)?.into_iter();
        steps += 1;
        for member in &mut relaxed {
            member.vertex = by_group(coordinates, found.by_ref());
        }
        pool.chunks(&mut relaxed, 1, |_, relaxed| relaxed[0].aim(spec, &identity));
        let mixed = total(&anchor, &relaxed, |feature| &feature.mixed, 2.0);
        let vertex = total(&anchor, &relaxed, |feature| &feature.vertex, 1.0);
        let objective = along(&anchor, &here, &mixed, &vertex, &relaxed);
        let [value, rise, ..] = objective.0;
        debug_assert!(agree(value, expected, value), "the last step led to {value}, not to {expected}");
        let slope = || -> f64 {
            let vertices = relaxed.iter().flat_map(|member| member.vertex.iter().zip(&member.points));
            let gains = matrices.iter().zip(vertices);
            gains.map(|(matrix, (vertex, point))| chosen(matrix, vertex.as_slice()) - inner(matrix, point)).sum()
        };
        debug_assert!(agree(rise, slope(), value), "the slope is {rise}, not {}", slope());
        let step = objective.highest();
        if step == 0.0 || rise <= GAP * value.abs() {
            break;
        }
        expected = objective.at(step);
        pool.chunks(&mut relaxed, 1, |_, relaxed| relaxed[0].step(spec, &identity, step as f32));
    }
    let members = relaxed.len();
    let points: Vec<Vec<f32>> = relaxed.into_iter().flat_map(|member| member.points).collect();
    let unknown = &mut vec![None; matrices];
    let mut rounded = assigners.solve(pool, &problems, &points, unknown, monitor)?.into_iter();
    let mut all = vec![Permutations::identity(spec)];
    for _ in 0..members {
        all.push(Permutations::new(spec, by_group(coordinates, rounded.by_ref()))?);
    }
    Ok((all, assigners.solved))
}

/// Whether two numbers are the same but for rounding in single precision, which a NaN always is.
fn agree(one: f64, other: f64, scale: f64) -> bool {
    one.is_nan() || other.is_nan() || (one - other).abs() <= 1e-4 * scale.abs().max(one.abs())
}

/// A member that is not the universe, under doubly stochastic matrices.
#[derive(Debug)]
struct RelaxedMember {
    features: Vec<Relaxed>,
    /// The doubly stochastic matrix of each group: (units of the universe, own units).
    points: Vec<Vec<f32>>,
    /// The vertex that the step goes to.
    vertex: Vec<Permutation>,
    /// Its squared norm along the step.
    norm: Quartic,
}

impl RelaxedMember {
    fn aim(&mut self, spec: &Spec, identity: &[u32]) {
        self.norm = Quartic::default();
        for feature in &mut self.features {
            feature.aim(spec, &self.vertex, identity);
            let f64s = |values: &'_ [f32], at: usize| f64::from(values[at]);
            for at in 0..feature.current.len() {
                self.norm.add([f64s(&feature.current, at), f64s(&feature.mixed, at), f64s(&feature.vertex, at)]);
            }
        }
    }

    fn step(&mut self, spec: &Spec, identity: &[u32], step: f32) {
        for feature in &mut self.features {
            feature.step(spec, &self.vertex, identity, step);
        }
        for (point, vertex) in self.points.iter_mut().zip(&self.vertex) {
            for value in point.iter_mut() {
                *value *= 1.0 - step;
            }
            for (row, column) in point.chunks_exact_mut(vertex.len()).zip(vertex.as_slice()) {
                row[*column as usize] += step;
            }
        }
    }
}

/// The sum over all members, (feature, parameter).
type Total = Vec<Vec<f64>>;

fn total(anchor: &[&[f32]], relaxed: &[RelaxedMember], part: fn(&Relaxed) -> &[f32], times: f64) -> Total {
    let mut total: Total =
        anchor.iter().map(|values| values.iter().map(|value| times * f64::from(*value)).collect()).collect();
    for member in relaxed {
        for (total, feature) in total.iter_mut().zip(&member.features) {
            total.iter_mut().zip(part(feature)).for_each(|(total, value)| *total += f64::from(*value));
        }
    }
    total
}

/// The objective along the step to the vertices: (|Σ|² - Σ | |²) / 2.
fn along(anchor: &[&[f32]], here: &Total, between: &Total, there: &Total, relaxed: &[RelaxedMember]) -> Quartic {
    let mut objective = Quartic::default();
    for ((here, between), there) in here.iter().zip(between).zip(there) {
        for ((here, between), there) in here.iter().zip(between).zip(there) {
            objective.add([*here, *between, *there]);
        }
    }
    let still: f64 = anchor.iter().flat_map(|values| values.iter()).map(|value| f64::from(*value).powi(2)).sum();
    objective.0[0] -= still;
    for member in relaxed {
        objective.0.iter_mut().zip(member.norm.0).for_each(|(all, own)| *all -= own);
    }
    objective.0.iter_mut().for_each(|coefficient| *coefficient *= 0.5);
    objective
}

/// A polynomial of degree four, by its coefficients: squares of quadratics, of which the exact line search finds the highest.
#[derive(Clone, Copy, Debug, Default)]
struct Quartic([f64; 5]);

impl Quartic {
    /// Adds the square of (1 - t)² x + t (1 - t) y + t² z.
    fn add(&mut self, [x, y, z]: [f64; 3]) {
        let (slope, bend) = (y - 2.0 * x, x - y + z);
        let added = [x * x, 2.0 * x * slope, slope * slope + 2.0 * x * bend, 2.0 * slope * bend, bend * bend];
        self.0.iter_mut().zip(added).for_each(|(all, own)| *all += own);
    }

    fn at(&self, t: f64) -> f64 {
        self.0.iter().rev().fold(0.0, |value, coefficient| value * t + coefficient)
    }

    fn slope(&self, t: f64) -> f64 {
        let [_, first, second, third, fourth] = self.0;
        first + t * (2.0 * second + t * (3.0 * third + t * 4.0 * fourth))
    }

    /// Where it is highest between 0 and 1.
    fn highest(&self) -> f64 {
        /// Intervals in which maxima are looked for.
        const PARTS: usize = 64;
        let mut best = if self.at(1.0) > self.at(0.0) { 1.0 } else { 0.0 };
        // A maximum is where the slope turns from up to down, which it does at most twice.
        for part in 0..PARTS {
            let [mut low, mut high] = [part, part + 1].map(|part| part as f64 / PARTS as f64);
            if !(self.slope(low) > 0.0 && self.slope(high) <= 0.0) {
                continue;
            }
            for _ in 0..50 {
                let middle = 0.5 * (low + high);
                *(if self.slope(middle) > 0.0 { &mut low } else { &mut high }) = middle;
            }
            if self.at(low) > self.at(best) {
                best = low;
            }
        }
        best
    }
}

/// The gradients of the objective, and the memory for them.
struct Gradients<'a> {
    views: &'a Objective<'a>,
    products: Products<'a>,
    /// Of each group, those of each view.
    columns: Vec<Vec<Vec<usize>>>,
    /// (member, group)
    matrices: Vec<Vec<f32>>,
}

impl<'a> Gradients<'a> {
    fn new(views: &'a Objective<'a>, pool: &'a ThreadPool) -> Self {
        let spec = views.spec();
        let columns = (0..views.groups()).map(|group| {
            let columns = views.views[group].iter().map(|view| {
                let Patch { base, rest, .. } = &spec.patches()[view.patch];
                let (others, stride) = view.other.map_or((1, 0), |(other, stride)| (views.size(other), stride));
                rest.iter().flat_map(|at| (0..others).map(move |other| base + at + other * stride)).collect()
            });
            columns.collect()
        });
        Self { views, products: Products::new(pool), columns: columns.collect(), matrices: Vec::new() }
    }

    /// What each member gains from the sum of all others, (units of the universe, own units).
    fn at(&mut self, total: &Total, relaxed: &[RelaxedMember]) -> &[Vec<f32>] {
        let groups = self.views.groups();
        self.matrices.resize(relaxed.len() * groups, Vec::new());
        for (member, matrices) in relaxed.iter().zip(self.matrices.chunks_exact_mut(groups)) {
            for (group, matrix) in matrices.iter_mut().enumerate() {
                matrix.clear();
                matrix.resize(self.views.size(group).pow(2), 0.0);
            }
            for (total, feature) in total.iter().zip(&member.features) {
                let others: Vec<f32> =
                    total.iter().zip(&feature.current).map(|(total, own)| (total - f64::from(*own)) as f32).collect();
                for (group, matrix) in matrices.iter_mut().enumerate() {
                    for (view, columns) in self.views.views[group].iter().zip(&self.columns[group]) {
                        let sides = &[[&others[..], &feature.partial[view.axis][..]]];
                        let factors = Factors { sides, stride: view.stride, weight: 1.0, columns };
                        self.products.add(self.views.size(group), &factors, matrix);
                    }
                }
            }
        }
        &self.matrices
    }
}
