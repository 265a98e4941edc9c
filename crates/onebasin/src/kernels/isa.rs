//! Chooses the instruction set at run time and runs a kernel on it.

use super::lanes::Lanes;
#[cfg(target_arch = "x86_64")]
use super::lanes::{Avx2, Avx512};
use super::portable::Portable;

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
        [Self::Portable, Self::Avx2, Self::Avx512].into_iter().filter(|isa| isa.is_available()).collect()
    }

    /// The fastest instruction set of this machine.
    pub fn detect() -> Self {
        *Self::available().last().expect("the portable path is always available")
    }

    /// Whether this machine has it.
    #[cfg(target_arch = "x86_64")]
    pub fn is_available(self) -> bool {
        let avx2 =
            || is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("bmi2");
        match self {
            Self::Portable => true,
            Self::Avx2 => avx2(),
            Self::Avx512 => {
                avx2()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
        }
    }

    /// Whether this machine has it.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn is_available(self) -> bool {
        self == Self::Portable
    }

    /// Runs `kernel` on this instruction set.
    ///
    /// # Panics
    /// If the machine lacks it; `detect` and `available` never return such a one.
    #[inline]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        assert!(self.is_available(), "{self:?} does not exist on this machine");
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the features that the function is compiled for are there.
            Self::Avx512 => unsafe { Avx512::call(kernel) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Self::Avx2 => unsafe { Avx2::call(kernel) },
            _ => kernel.run::<Portable>(),
        }
    }
}
