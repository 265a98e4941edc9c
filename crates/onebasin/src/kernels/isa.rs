//! Chooses the instruction set at run time and runs a kernel on it.

use super::lanes::Lanes;
use super::lanes::Portable;
#[cfg(target_arch = "x86_64")]
use super::lanes::{Avx2, Avx512};

/// An instruction set that every kernel is compiled for.
///
/// The order is from the slowest to the fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// Whatever the target guarantees: plain loops over arrays of four.
    Portable,
    /// 8 lanes with fused multiply-add (x86-64-v3).
    Avx2,
    /// 16 lanes with masks (x86-64-v4).
    Avx512,
}

/// A computation written once, for vectors of any number of lanes.
///
/// `run` and everything it calls must be `#[inline(always)]`: only code inlined into the entry of
/// an instruction set is compiled for it.
pub trait Kernel {
    /// What the computation returns.
    type Output;
    /// Does the work with vectors of type `V`.
    fn run<V: Lanes>(self) -> Self::Output;
}

impl Isa {
    /// All instruction sets this machine can run, the fastest last.
    pub fn available() -> Vec<Self> {
        let mut found = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                found.push(Self::Avx2);
            }
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && found.contains(&Self::Avx2)
            {
                found.push(Self::Avx512);
            }
        }
        found
    }

    /// The fastest instruction set of this machine.
    pub fn detect() -> Self {
        *Self::available().last().expect("the portable path is always available")
    }

    /// Runs `kernel` on this instruction set.
    ///
    /// # Panics
    /// If the machine lacks it; `detect` and `available` never return such a one.
    #[inline]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self {
            Self::Portable => kernel.run::<Portable>(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                assert!(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"));
                // SAFETY: the features the function is compiled for were just checked.
                unsafe { on_avx2(kernel) }
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                assert!(
                    is_x86_feature_detected!("avx512f")
                        && is_x86_feature_detected!("avx512bw")
                        && is_x86_feature_detected!("avx512dq")
                        && is_x86_feature_detected!("avx512vl")
                );
                // SAFETY: as above.
                unsafe { on_avx512(kernel) }
            }
            #[cfg(not(target_arch = "x86_64"))]
            other => panic!("{other:?} does not exist on this processor"),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2")]
fn on_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx2>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2,avx512f,avx512bw,avx512dq,avx512vl")]
fn on_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx512>()
}
