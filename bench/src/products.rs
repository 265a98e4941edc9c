//! Matrix products by each library that this program links: a large square one, and those of the MLP's layers.

use crate::Case;
use faer::{Accum, MatMut, MatRef, Par};
use gemm::Parallelism;
use onebasin::arch::{Activation, Arch, Mlp, Shape};
use onebasin::net::Net;
use onebasin::params::Params;
use onebasin::rng::Stream;
use onebasin::threads::pool;
use onebasin_kernels::bf16::Factors;
use onebasin_kernels::convolve::Convolve;
use onebasin_kernels::geometry::{Geometry, Plane, TILE, blocks};
use onebasin_kernels::outer::WeightGradient;
use onebasin_kernels::{Aligned, Isa, pack};
use std::error::Error;

const IMAGES: usize = 500;

/// c = a b with a (rows, depth) and b (depth, columns), row-major or, if transposed, column-major.
#[derive(Clone, Copy)]
struct Product {
    rows: usize,
    depth: usize,
    columns: usize,
    a_transposed: bool,
    b_transposed: bool,
}

/// The products of `bench/run`; sizes as in `peers/networks.py`.
fn product(kind: &str) -> Result<Product, Box<dyn Error>> {
    let plain = |rows, depth, columns| Product { rows, depth, columns, a_transposed: false, b_transposed: false };
    match kind {
        "sgemm" => Ok(plain(2048, 2048, 2048)),
        "forward" => Ok(plain(IMAGES, 784, 512)),
        "input-gradient" => Ok(Product { b_transposed: true, ..plain(IMAGES, 512, 512) }),
        "weight-gradient" => Ok(Product { a_transposed: true, ..plain(784, IMAGES, 512) }),
        _ => Err(format!("there is no product `{kind}`").into()),
    }
}

pub(crate) fn case(kind: &str, library: &str, threads: usize) -> Result<Case, Box<dyn Error>> {
    let product = product(kind)?;
    let Product { rows, depth, columns, .. } = product;
    let flop = Some(2 * (rows * depth * columns) as u64);
    if library == "onebasin" {
        let call = if kind == "sgemm" { linear_model(product, threads)? } else { layer(kind, product) };
        return Ok(Case { flop, call });
    }
    let (mut a, mut b, mut c) = (vec![0.0; rows * depth], vec![0.0; depth * columns], vec![0.0; rows * columns]);
    Stream::new(0, "a", 0).fill_normal(&mut a);
    Stream::new(0, "b", 0).fill_normal(&mut b);
    let multiply = match library {
        "gemm" => by_gemm,
        "faer" => by_faer,
        _ => return Err(format!("there is no library `{library}`").into()),
    };
    multiply(product, &a, &b, &mut c, threads);
    product.check(&a, &b, &c)?;
    let call = Box::new(move || {
        multiply(product, &a, &b, &mut c, threads);
        Ok(())
    });
    Ok(Case { flop, call })
}

impl Product {
    /// Elements from one row of `a` to the next and from one column to the next.
    fn a_strides(self) -> (usize, usize) {
        if self.a_transposed { (1, self.rows) } else { (self.depth, 1) }
    }

    fn b_strides(self) -> (usize, usize) {
        if self.b_transposed { (1, self.depth) } else { (self.columns, 1) }
    }

    /// Compares a few entries of `c` with sums in f64, so that no time is shown for a wrong product.
    fn check(self, a: &[f32], b: &[f32], c: &[f32]) -> Result<(), Box<dyn Error>> {
        let ((a_row, a_column), (b_row, b_column)) = (self.a_strides(), self.b_strides());
        let (rows, columns) = (self.rows, self.columns);
        for (row, column) in [(0, 0), (1, columns - 1), (rows / 2 + 1, 7), (rows - 1, columns - 2)] {
            let term = |k| f64::from(a[row * a_row + k * a_column]) * f64::from(b[k * b_row + column * b_column]);
            let (expected, got) = ((0..self.depth).map(term).sum::<f64>(), f64::from(c[row * columns + column]));
            if (got - expected).abs() > 1e-2 {
                return Err(format!("entry ({row}, {column}) of the product is {got}, not {expected}").into());
            }
        }
        Ok(())
    }
}

type Call = Box<dyn FnMut() -> Result<(), Box<dyn Error>>>;

/// The logits of a linear model with weights `b` and images `a`, all packing included.
fn linear_model(product: Product, threads: usize) -> Result<Call, Box<dyn Error>> {
    let Product { rows, depth, columns, .. } = product;
    let input = Shape::vector(depth);
    let arch = Arch::new(Mlp { input, classes: columns, hidden: Vec::new(), activation: Activation::Relu })?;
    let params = arch.initialise(0);
    let (mut a, mut c) = (vec![0.0; rows * depth], vec![0.0; rows * columns]);
    Stream::new(0, "a", 0).fill_normal(&mut a);
    let mut net = Net::new(&arch, &pool(threads)?)?;
    net.logits(&params, &a, &mut c)?;
    product.check(&a, Params::view(&params, "head.weight")?, &c)?;
    Ok(Box::new(move || Ok(net.logits(&params, &a, &mut c)?)))
}

/// The kernels of one layer as `Net` calls them, on one thread: activations are in blocks already, weights are packed.
fn layer(kind: &str, product: Product) -> Call {
    let (inputs, units) = match kind {
        "forward" => (product.depth, product.columns),
        "input-gradient" => (product.columns, product.depth),
        _ => (product.rows, product.columns),
    };
    let plane = Plane::vectors(IMAGES);
    let geometry = Geometry { kernel: 1, stride: 1, inputs, units, from: plane, to: plane };
    let normals = |label: &str, len: usize| {
        let mut values = Aligned::zeros(len);
        Stream::new(0, label, 0).fill_normal(&mut values);
        values
    };
    let mut x = normals("x", blocks(inputs) * plane.block());
    let mut y = normals("y", blocks(units) * plane.block());
    let mut weights = normals("weights", inputs * units);
    let mut tiles = Aligned::zeros(geometry.tiles() * TILE);
    let isa = Isa::detect();
    if kind == "weight-gradient" {
        return Box::new(move || {
            isa.run(WeightGradient {
                geometry: &geometry,
                factors: Factors::Singles,
                columns: IMAGES,
                images: 1,
                x: &x,
                dy: &y,
                input_blocks: 0..blocks(inputs),
                gradient: &mut weights,
                accumulate: false,
            });
            Ok(())
        });
    }
    let forward = kind == "forward";
    let pass = if forward { geometry.forward() } else { geometry.backward().swap_remove(0) };
    Box::new(move || {
        let (from, to, unit_blocks) = if forward { (&x, &mut y, units) } else { (&y, &mut x, inputs) };
        let weight_block = blocks(if forward { inputs } else { units }) * TILE;
        if forward {
            pack::weights_forward(&geometry, 0..blocks(units), &weights, &mut tiles);
        } else {
            for (block, tiles) in tiles.chunks_exact_mut(weight_block).enumerate() {
                pack::weights_backward(&geometry, block, &weights, tiles);
            }
        }
        isa.run(Convolve {
            pass: &pass,
            columns: IMAGES,
            factors: Factors::Singles,
            x: from,
            weights: &tiles,
            weight_block,
            unit_blocks: blocks(unit_blocks),
            out: to,
            bias: None,
            residual: None,
            relu: false,
            accumulate: false,
        });
        Ok(())
    })
}

fn by_gemm(product: Product, a: &[f32], b: &[f32], c: &mut [f32], threads: usize) {
    let Product { rows, depth, columns, .. } = product;
    assert!(a.len() == rows * depth && b.len() == depth * columns && c.len() == rows * columns);
    let parallelism = if threads == 1 { Parallelism::None } else { Parallelism::Rayon(threads) };
    let ((a_row, a_column), (b_row, b_column)) = (product.a_strides(), product.b_strides());
    // SAFETY: the three slices have just the lengths that these strides reach (asserted); `c` is borrowed mutably,
    // so it overlaps neither `a` nor `b`.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            depth,
            c.as_mut_ptr(),
            1,
            columns.cast_signed(),
            false,
            a.as_ptr(),
            a_column.cast_signed(),
            a_row.cast_signed(),
            b.as_ptr(),
            b_column.cast_signed(),
            b_row.cast_signed(),
            0.0,
            1.0,
            false,
            false,
            false,
            parallelism,
        );
    }
}

fn by_faer(product: Product, a: &[f32], b: &[f32], c: &mut [f32], threads: usize) {
    let Product { rows, depth, columns, a_transposed, b_transposed } = product;
    let matrix = |values, rows, columns, transposed| {
        if transposed {
            MatRef::from_column_major_slice(values, rows, columns)
        } else {
            MatRef::from_row_major_slice(values, rows, columns)
        }
    };
    let (a, b) = (matrix(a, rows, depth, a_transposed), matrix(b, depth, columns, b_transposed));
    let c = MatMut::from_row_major_slice_mut(c, rows, columns);
    let parallelism = if threads == 1 { Par::Seq } else { Par::rayon(threads) };
    faer::linalg::matmul::matmul(c, Accum::Replace, a, b, 1.0, parallelism);
}
