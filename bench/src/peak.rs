//! The machine's peak: fused multiply-adds on registers alone, on every thread at once.

use crate::Case;
use std::error::Error;

const ITERATIONS: u64 = 10_000_000;
/// Independent sums: more than latency times throughput (4 cycles, 2 units), few enough for 16 registers.
const SUMS: usize = 12;

/// One thread's work; the lanes of its vectors.
struct Loop {
    run: fn(),
    lanes: u64,
}

pub(crate) fn case(threads: usize) -> Result<Case, Box<dyn Error>> {
    let Loop { run, lanes } = fastest()?;
    let flop = 2 * lanes * SUMS as u64 * ITERATIONS * threads as u64;
    let call = Box::new(move || {
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(run);
            }
            run();
        });
        Ok(())
    });
    Ok(Case { flop: Some(flop), call })
}

#[cfg(target_arch = "x86_64")]
fn fastest() -> Result<Loop, Box<dyn Error>> {
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: `avx512` needs AVX-512F, which was just detected.
        Ok(Loop { run: || unsafe { x86::avx512() }, lanes: 16 })
    } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: `avx2` needs AVX2 and FMA, which were just detected.
        Ok(Loop { run: || unsafe { x86::avx2() }, lanes: 8 })
    } else {
        Err("the peak is measured with AVX2 or AVX-512 only".into())
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn fastest() -> Result<Loop, Box<dyn Error>> {
    Err("the peak is measured on x86-64 only".into())
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{ITERATIONS, SUMS};
    use std::arch::x86_64::{_mm256_fmadd_ps, _mm256_set1_ps, _mm512_fmadd_ps, _mm512_set1_ps};
    use std::hint::black_box;

    /// sum = sum * factor + term, which tends to a finite limit: neither overflow nor subnormals, and nothing a
    /// compiler could know in advance.
    macro_rules! fma_loop {
        ($name:ident, $features:literal, $broadcast:ident, $fma:ident) => {
            #[target_feature(enable = $features)]
            pub(super) fn $name() {
                let (factor, term) = ($broadcast(black_box(0.999)), $broadcast(black_box(0.001)));
                let mut sums = [$broadcast(black_box(1.0)); SUMS];
                for _ in 0..ITERATIONS {
                    for sum in &mut sums {
                        *sum = $fma(*sum, factor, term);
                    }
                }
                black_box(sums);
            }
        };
    }

    fma_loop!(avx512, "avx512f", _mm512_set1_ps, _mm512_fmadd_ps);
    fma_loop!(avx2, "avx2,fma", _mm256_set1_ps, _mm256_fmadd_ps);
}
