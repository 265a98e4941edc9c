//! Alignment by data: the correlations of the activations of two posteriors.

use super::objective::Objective;
use super::products::{Factors, Products};
use super::{Alignment, Settings, maximise, subtask};
use crate::arch::Arch;
use crate::data::Examples;
use crate::error::Result;
use crate::net::Net;
use crate::params::Params;
use crate::posterior::Draws;
use crate::progress::Monitor;
use crate::symmetry::{Action, Spec};
use onebasin_kernels::ThreadPool;

/// Images whose activations are in memory together, at most.
const IMAGES: usize = 256;
/// Values of one hidden layer that are in memory together, at most, unless one image has more.
const VALUES: usize = 1 << 24;

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
        correlations(arch, &spec, [fixed, moved], (examples, draws), settings.seed, pool, monitor)
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
    seed: u64,
    pool: &ThreadPool,
    monitor: &mut Monitor<'_>,
) -> Result<Vec<Vec<f32>>> {
    examples.check_fits(arch)?;
    let mut net = Net::new(arch, pool)?;
    let layers: Vec<(usize, usize)> =
        arch.hidden().map(|(_, node)| (node.shape.height * node.shape.width, node.shape.channels)).collect();
    let largest = layers.iter().map(|(positions, channels)| positions * channels).max().unwrap_or(1);
    let together = (VALUES / largest).clamp(1, IMAGES);
    let mut moments: Vec<Vec<Moments>> = spec
        .hidden()
        .iter()
        .map(|segments| segments.iter().map(|segment| Moments::new(segment.units)).collect())
        .collect();
    let mut products = Products::new(pool);
    let mut point = Params::zeros(arch.layout());
    let mut labels = vec![0; together];
    for first in (0..examples.len()).step_by(together) {
        let count = together.min(examples.len() - first);
        let mut images = vec![0.0; count * examples.shape().len()];
        examples.range(first, &mut images, &mut labels[..count]);
        let mut responses: [Vec<Vec<f32>>; 2] = Default::default();
        for (number, (side, responses)) in sides.iter().zip(&mut responses).enumerate() {
            *responses = layers.iter().map(|(positions, channels)| vec![0.0; count * positions * channels]).collect();
            let points = side.draws(draws);
            for index in 0..points {
                monitor.at(first, examples.len())?;
                // Not the same noise on both sides: units that are all noise would be the same.
                side.draw(seed.wrapping_add(number as u64), index, points, &mut point)?;
                net.activations(&point, &images, |hidden| {
                    let begin = hidden.first * hidden.shape.len();
                    let sums = &mut responses[hidden.index][begin..begin + hidden.after.len()];
                    sums.iter_mut().zip(hidden.after).for_each(|(sum, value)| *sum += value / points as f32);
                })?;
            }
        }
        let [fixed, moved] = &responses;
        for (index, (moments, (_, channels))) in moments.iter_mut().zip(&layers).enumerate() {
            let mut from = 0;
            for moments in moments {
                moments.add(&mut products, [&fixed[index], &moved[index]], *channels, from);
                from += moments.units;
            }
        }
    }
    let mut matrices: Vec<Vec<f32>> = spec.groups().iter().map(|group| vec![0.0; group.size.pow(2)]).collect();
    for (segments, moments) in spec.hidden().iter().zip(&moments) {
        for (segment, moments) in segments.iter().zip(moments) {
            if let Action::Permuted(group) = segment.action {
                moments.add_correlations(&mut matrices[group]);
            }
        }
    }
    Ok(matrices)
}

/// Sums over images and positions for the units of one segment of one hidden layer.
struct Moments {
    units: usize,
    count: f64,
    /// Subtracted from the values: of the first image, so that later sums are small.
    pivots: [Vec<f32>; 2],
    sums: [Vec<f64>; 2],
    squares: [Vec<f64>; 2],
    /// (units that stay, units that move)
    products: Vec<f64>,
}

impl Moments {
    fn new(units: usize) -> Self {
        let zeros = || [vec![0.0; units], vec![0.0; units]];
        let products = vec![0.0; units * units];
        Self { units, count: 0.0, pivots: Default::default(), sums: zeros(), squares: zeros(), products }
    }

    /// Adds the values (columns, channels) of both sides, of the channels from `from` on.
    fn add(&mut self, products: &mut Products<'_>, values: [&[f32]; 2], channels: usize, from: usize) {
        let units = self.units;
        let mut centred = [Vec::new(), Vec::new()];
        for (side, values) in values.into_iter().enumerate() {
            let columns = values.chunks_exact(channels).map(|column| &column[from..from + units]);
            if self.pivots[side].is_empty() {
                self.pivots[side] = columns.clone().next().map(<[f32]>::to_vec).unwrap_or_default();
            }
            for column in columns {
                for (unit, (value, pivot)) in column.iter().zip(&self.pivots[side]).enumerate() {
                    let value = value - pivot;
                    centred[side].push(value);
                    self.sums[side][unit] += f64::from(value);
                    self.squares[side][unit] += f64::from(value).powi(2);
                }
            }
        }
        self.count += (centred[0].len() / units) as f64;
        let columns = &(0..centred[0].len()).step_by(units).collect::<Vec<usize>>();
        let mut matrix = vec![0.0; units * units];
        let [fixed, moved] = &centred;
        products.add(units, &Factors { sides: &[[fixed, moved]], stride: 1, weight: 1.0, columns }, &mut matrix);
        self.products.iter_mut().zip(matrix).for_each(|(sum, product)| *sum += f64::from(product));
    }

    /// Adds the correlations; a unit that is constant has none.
    fn add_correlations(&self, matrix: &mut [f32]) {
        let scale = |side: usize| -> Vec<(f64, f64)> {
            let sums = self.sums[side].iter().zip(&self.squares[side]);
            sums.map(|(sum, square)| {
                let variance = square - sum * sum / self.count;
                // Below this it is rounding.
                let some = variance > 1e-10 * square;
                (*sum, if some { variance.sqrt().recip() } else { 0.0 })
            })
            .collect()
        };
        let (fixed, moved) = (scale(0), scale(1));
        for (row, (fixed, products)) in fixed.iter().zip(self.products.chunks_exact(self.units)).enumerate() {
            for (column, (moved, product)) in moved.iter().zip(products).enumerate() {
                let covariance = product - fixed.0 * moved.0 / self.count;
                matrix[row * self.units + column] += (covariance * fixed.1 * moved.1) as f32;
            }
        }
    }
}
