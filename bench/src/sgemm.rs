//! Products of two square f32 matrices, by each library that this program links.

use crate::Case;
use faer::Accum;
use faer::MatMut;
use faer::MatRef;
use faer::Par;
use gemm::Parallelism;
use onebasin::arch::Activation;
use onebasin::arch::Arch;
use onebasin::arch::Mlp;
use onebasin::arch::Shape;
use onebasin::net::Net;
use onebasin::params::Params;
use onebasin::rng::Stream;
use std::error::Error;

const SIZE: usize = 2048;

/// c = a b, all (SIZE, SIZE), row-major.
struct Product<'a> {
    a: &'a [f32],
    b: &'a [f32],
    c: &'a mut [f32],
    threads: usize,
}

type Sgemm = Box<dyn FnMut(Product<'_>)>;

pub(crate) fn case(library: &str, threads: usize) -> Result<Case, Box<dyn Error>> {
    let mut multiply: Sgemm = match library {
        "onebasin" => onebasin_sgemm(threads)?,
        "gemm" => Box::new(gemm_sgemm),
        "faer" => Box::new(faer_sgemm),
        _ => return Err(format!("there is no library `{library}`").into()),
    };
    let (mut a, mut b, mut c) = (vec![0.0; SIZE * SIZE], vec![0.0; SIZE * SIZE], vec![0.0; SIZE * SIZE]);
    Stream::new(0, "sgemm", 0).fill_normal(&mut a);
    Stream::new(0, "sgemm", 1).fill_normal(&mut b);
    multiply(Product { a: &a, b: &b, c: &mut c, threads });
    check(&a, &b, &c)?;
    let call = Box::new(move || {
        multiply(Product { a: &a, b: &b, c: &mut c, threads });
        Ok(())
    });
    Ok(Case { flop: Some(2 * (SIZE as u64).pow(3)), call })
}

/// The logits of a linear model with weights `b` and images `a`: our only matrix product, packing included.
fn onebasin_sgemm(threads: usize) -> Result<Sgemm, Box<dyn Error>> {
    let arch =
        Arch::new(Mlp { input: Shape::vector(SIZE), classes: SIZE, hidden: Vec::new(), activation: Activation::Relu })?;
    let mut params = Params::zeros(arch.layout());
    let mut net = Net::new(&arch, threads)?;
    Ok(Box::new(move |Product { a, b, c, .. }| {
        // Once, as the other libraries read `b` where it is.
        let weight = params.view_mut("head.weight").expect("a linear model has a head");
        if weight[0].to_bits() != b[0].to_bits() {
            weight.copy_from_slice(b);
        }
        net.logits(&params, a, c).expect("square matrices");
    }))
}

fn gemm_sgemm(Product { a, b, c, threads }: Product<'_>) {
    assert!(a.len() == SIZE * SIZE && b.len() == SIZE * SIZE && c.len() == SIZE * SIZE, "square matrices");
    let parallelism = if threads == 1 { Parallelism::None } else { Parallelism::Rayon(threads) };
    let row = SIZE.cast_signed();
    // SAFETY: the three slices hold SIZE * SIZE values (asserted), which is what these strides reach; `c` is
    // borrowed mutably, so it overlaps neither `a` nor `b`.
    unsafe {
        gemm::gemm(
            SIZE,
            SIZE,
            SIZE,
            c.as_mut_ptr(),
            1,
            row,
            false,
            a.as_ptr(),
            1,
            row,
            b.as_ptr(),
            1,
            row,
            0.0,
            1.0,
            false,
            false,
            false,
            parallelism,
        );
    }
}

fn faer_sgemm(Product { a, b, c, threads }: Product<'_>) {
    let matrix = |values| MatRef::from_row_major_slice(values, SIZE, SIZE);
    let product = MatMut::from_row_major_slice_mut(c, SIZE, SIZE);
    let parallelism = if threads == 1 { Par::Seq } else { Par::rayon(threads) };
    faer::linalg::matmul::matmul(product, Accum::Replace, matrix(a), matrix(b), 1.0, parallelism);
}

/// Compares a few entries of `c` with sums in f64, so that no time is shown for a wrong product.
fn check(a: &[f32], b: &[f32], c: &[f32]) -> Result<(), Box<dyn Error>> {
    for (row, column) in [(0, 0), (1, SIZE - 1), (SIZE / 2 + 1, 7), (SIZE - 1, SIZE - 2)] {
        let terms = (0..SIZE).map(|k| f64::from(a[row * SIZE + k]) * f64::from(b[k * SIZE + column]));
        let (expected, got) = (terms.sum::<f64>(), f64::from(c[row * SIZE + column]));
        if (got - expected).abs() > 1e-2 {
            return Err(format!("entry ({row}, {column}) of the product is {got}, not {expected}").into());
        }
    }
    Ok(())
}
