//! Alignment by data: the correlations of the activations of two posteriors.

use super::objective::Objective;
use super::products::{Factors, Products};
use super::{Alignment, Settings, maximise, subtask};
use crate::arch::Arch;
use crate::data::Examples;
use crate::error::Result;
use crate::model::{Hidden, Model};
use crate::net::{Net, Precision};
use crate::params::Params;
use crate::posterior::Draws;
use crate::progress::Monitor;
use crate::symmetry::{Action, Segment, Spec};
use onebasin_kernels::ThreadPool;
use std::ops::Range;

/// Examples that one thread looks at together, at most: their sums are added apart.
const MOST_EXAMPLES: usize = 256;
/// Examples that one thread looks at together, at least: every part prepares the parameters of every draw again.
const FEWEST_EXAMPLES: usize = 16;
/// Activations of one part, in floats, unless it has the fewest examples: about what stays in the caches of one core.
const PART_FLOATS: usize = 1 << 20;

/// Aligns `moved` with `fixed` by the correlations of their hidden units behind the non-linearity, over images and
/// positions; the activations of each are means over up to `draws` of its points.
///
/// Reports examples first, then assignment problems solved.
pub fn by_activation(
    arch: &Arch,
    [fixed, moved]: [&dyn Draws; 2],
    (examples, draws): (&Examples, usize),
    settings: Settings,
    pool: &ThreadPool,
    monitor: &mut Monitor<'_>,
) -> Result<Alignment> {
    let spec = Spec::of(arch);
    let correlations = monitor.part(0, examples.len(), |monitor| {
        monitor.set_task(subtask(monitor.task(), "activations"));
        correlations(arch, &spec, [fixed, moved], (examples, draws), settings, pool, monitor)
    })?;
    let objective = Objective::new(&spec, Vec::new(), Some(correlations))?;
    maximise(&objective, settings, pool, monitor)
}

/// One matrix for each group: the correlations of its units, summed over all hidden layers that have them.
fn correlations(
    arch: &Arch,
    spec: &Spec,
    sides: [&dyn Draws; 2],
    (examples, draws): (&Examples, usize),
    Settings { seed, precision, .. }: Settings,
    pool: &ThreadPool,
    monitor: &mut Monitor<'_>,
) -> Result<Vec<Vec<f32>>> {
    examples.check_fits(arch)?;
    let mut points = [Vec::new(), Vec::new()];
    for (number, (side, points)) in sides.iter().zip(&mut points).enumerate() {
        let count = side.draws(draws);
        for index in 0..count {
            let mut point = Params::zeros(arch.layout());
            // Not the same noise on both sides: units that are all noise would be the same.
            side.draw(seed.wrapping_add(number as u64), index, count, &mut point)?;
            points.push(point);
        }
    }
    let floats: usize = arch.hidden().map(|(_, node)| node.shape.len()).sum();
    let together = (PART_FLOATS / floats.max(1)).clamp(FEWEST_EXAMPLES, MOST_EXAMPLES);
    let firsts: Vec<usize> = (0..examples.len()).step_by(together).collect();
    let alone = ThreadPool::alone();
    let parts = (0..pool.threads().min(firsts.len())).map(|_| Part::new(arch, spec, precision, &alone));
    let mut parts = parts.collect::<Result<Vec<_>>>()?;
    let mut total: Vec<Moments> = spec.hidden().iter().map(|segments| Moments::new(segments)).collect();
    for firsts in firsts.chunks(parts.len()) {
        monitor.at(firsts[0], examples.len())?;
        let parts = &mut parts[..firsts.len()];
        pool.chunks(parts, 1, |index, part| {
            let first = firsts[index];
            part[0].look(&points, examples, first..(first + together).min(examples.len()));
        });
        // In the order of the examples, whoever looked at them.
        for part in &*parts {
            total.iter_mut().zip(&part.moments).for_each(|(total, part)| total.merge(part));
        }
    }
    let mut matrices: Vec<Vec<f32>> = spec.groups().iter().map(|group| vec![0.0; group.size.pow(2)]).collect();
    for (segments, moments) in spec.hidden().iter().zip(&total) {
        moments.add_correlations(segments, &mut matrices);
    }
    Ok(matrices)
}

/// What one thread needs to look at some examples.
struct Part<'a> {
    net: Net,
    products: Products<'a>,
    /// Activations behind the non-linearity, summed over draws: (side, hidden layer, example, position, channel).
    sums: [Vec<Vec<f32>>; 2],
    /// Of each hidden layer.
    moments: Vec<Moments>,
}

impl<'a> Part<'a> {
    fn new(arch: &Arch, spec: &Spec, precision: Precision, alone: &'a ThreadPool) -> Result<Self> {
        Ok(Self {
            net: Net::new(arch, alone)?.with_precision(precision),
            products: Products::new(alone),
            sums: Default::default(),
            moments: spec.hidden().iter().map(|segments| Moments::new(segments)).collect(),
        })
    }

    /// Takes the moments of the sums over all points of each side, on a range of the examples.
    fn look(&mut self, points: &[Vec<Params>; 2], examples: &Examples, range: Range<usize>) {
        let Self { net, products, sums, moments } = self;
        let mut images = vec![0.0; range.len() * examples.shape().len()];
        examples.range(range.start, &mut images, &mut vec![0; range.len()]);
        let inputs = net.load(images).expect("examples fit the network");
        for (points, sums) in points.iter().zip(&mut *sums) {
            sums.resize_with(moments.len(), Vec::new);
            sums.iter_mut().for_each(Vec::clear);
            for (index, point) in points.iter().enumerate() {
                let mut visit = |hidden: Hidden<'_>| {
                    let sums = &mut sums[hidden.index];
                    if index == 0 {
                        sums.extend_from_slice(hidden.after);
                    } else {
                        let sums = &mut sums[hidden.first * hidden.shape.len()..];
                        sums.iter_mut().zip(hidden.after).for_each(|(sum, value)| *sum += value);
                    }
                };
                Model::activations(net, point, &inputs, &mut visit).expect("points are those of the network");
            }
        }
        let [fixed, moved] = sums;
        for (moments, values) in moments.iter_mut().zip(fixed.iter_mut().zip(moved)) {
            moments.of([values.0, values.1], products);
        }
    }
}

/// Moments over examples and positions of the units of one hidden layer.
struct Moments {
    channels: usize,
    count: f64,
    means: [Vec<f64>; 2],
    /// Sums of squared deviations from the means.
    squares: [Vec<f64>; 2],
    /// For each segment of the channels: where it begins, and the sums of products of deviations, (units that stay, units
    /// that move).
    products: Vec<(usize, Vec<f64>)>,
}

impl Moments {
    fn new(segments: &[Segment]) -> Self {
        let mut channels = 0;
        let products = segments.iter().map(|segment| {
            channels += segment.units;
            (channels - segment.units, vec![0.0; segment.units.pow(2)])
        });
        let products = products.collect();
        let zeros = || [vec![0.0; channels], vec![0.0; channels]];
        Self { channels, count: 0.0, means: zeros(), squares: zeros(), products }
    }

    /// Becomes the moments of the values (columns, channels) of both sides, which it centres.
    fn of(&mut self, mut values: [&mut [f32]; 2], products: &mut Products<'_>) {
        let channels = self.channels;
        let columns = values[0].len() / channels;
        self.count = columns as f64;
        for (side, values) in values.iter_mut().enumerate() {
            let (means, squares) = (&mut self.means[side], &mut self.squares[side]);
            means.fill(0.0);
            for column in values.chunks_exact(channels) {
                means.iter_mut().zip(column).for_each(|(mean, value)| *mean += f64::from(*value));
            }
            for mean in means.iter_mut() {
                *mean = f64::from((*mean / columns as f64) as f32);
            }
            let centre: Vec<f32> = means.iter().map(|mean| *mean as f32).collect();
            squares.fill(0.0);
            for column in values.chunks_exact_mut(channels) {
                for ((value, centre), square) in column.iter_mut().zip(&centre).zip(&mut *squares) {
                    *value -= centre;
                    *square += f64::from(*value).powi(2);
                }
            }
        }
        let [fixed, moved] = &values;
        for (from, sums) in &mut self.products {
            let units = sums.len().isqrt();
            let places: Vec<usize> = (0..columns).map(|column| column * channels + *from).collect();
            let mut matrix = vec![0.0; sums.len()];
            let factors = Factors { sides: &[[fixed, moved]], stride: 1, weight: 1.0, columns: &places };
            products.add(units, &factors, &mut matrix);
            sums.iter_mut().zip(matrix).for_each(|(sum, product)| *sum = f64::from(product));
        }
    }

    /// Adds the moments of more columns (Chan, Golub and `LeVeque`, 1983).
    fn merge(&mut self, other: &Self) {
        let count = self.count + other.count;
        let weight = self.count * other.count / count;
        let shifts: [Vec<f64>; 2] = std::array::from_fn(|side| {
            self.means[side].iter().zip(&other.means[side]).map(|(ours, theirs)| theirs - ours).collect()
        });
        for (side, shifts) in shifts.iter().enumerate() {
            let squares = self.squares[side].iter_mut().zip(&other.squares[side]);
            for ((mean, (square, more)), shift) in self.means[side].iter_mut().zip(squares).zip(shifts) {
                *mean += shift * other.count / count;
                *square += more + shift * shift * weight;
            }
        }
        for ((from, sums), (_, more)) in self.products.iter_mut().zip(&other.products) {
            let units = sums.len().isqrt();
            let [fixed, moved] = [&shifts[0][*from..], &shifts[1][*from..]];
            let rows = sums.chunks_exact_mut(units).zip(more.chunks_exact(units)).zip(fixed);
            for ((sums, more), fixed) in rows {
                for ((sum, more), moved) in sums.iter_mut().zip(more).zip(moved) {
                    *sum += more + fixed * moved * weight;
                }
            }
        }
        self.count = count;
    }

    /// Adds the correlations to the matrices of the groups; a unit that is constant has none.
    fn add_correlations(&self, segments: &[Segment], matrices: &mut [Vec<f32>]) {
        let [fixed, moved] = [0, 1].map(|side: usize| -> Vec<f64> {
            let moments = self.means[side].iter().zip(&self.squares[side]);
            moments
                .map(|(mean, square)| {
                    // Below this it is rounding.
                    let some = *square > 1e-10 * (square + self.count * mean * mean);
                    if some { square.sqrt().recip() } else { 0.0 }
                })
                .collect()
        });
        for (segment, (from, products)) in segments.iter().zip(&self.products) {
            let Action::Permuted(group) = segment.action else { continue };
            let rows = matrices[group].chunks_exact_mut(segment.units).zip(products.chunks_exact(segment.units));
            for ((row, products), fixed) in rows.zip(&fixed[*from..]) {
                for ((sum, product), moved) in row.iter_mut().zip(products).zip(&moved[*from..]) {
                    *sum += (product * fixed * moved) as f32;
                }
            }
        }
    }
}
