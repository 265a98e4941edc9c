//! Chooses the instruction set at run time and runs a kernel on it.

use crate::lanes::{Kernel, Lanes, Portable};
#[cfg(target_arch = "x86_64")]
use crate::x86::{Avx2, Avx512};
use std::sync::OnceLock;

/// An instruction set that every kernel is compiled for.
///
/// The order is from the slowest to the fastest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// Whatever the target guarantees: plain loops over arrays of four.
    #[default]
    Portable,
    /// 8 lanes with fused multiply-add (x86-64-v3).
    Avx2,
    /// 16 lanes with masks (x86-64-v4).
    Avx512,
}

impl Isa {
    /// All instruction sets this machine can run, the fastest last.
    pub fn available() -> Vec<Self> {
        [Self::Portable, Self::Avx2, Self::Avx512].into_iter().filter(|isa| isa.is_available()).collect()
    }

    /// The fastest instruction set of this machine; found once, so that asking costs nothing.
    pub fn detect() -> Self {
        static FASTEST: OnceLock<Isa> = OnceLock::new();
        *FASTEST.get_or_init(|| *Self::available().last().expect("the portable path is always available"))
    }

    /// Whether this machine has it, and the environment lets it be used (feature `environment`).
    pub fn is_available(self) -> bool {
        self <= limit() && self.is_there()
    }

    #[cfg(target_arch = "x86_64")]
    fn is_there(self) -> bool {
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

    #[cfg(not(target_arch = "x86_64"))]
    fn is_there(self) -> bool {
        self == Self::Portable
    }

    /// Whether it multiplies pairs of bf16 in one instruction.
    pub fn has_bf16(self) -> bool {
        struct Has;
        impl Kernel<bool> for Has {
            #[inline(always)]
            fn run<V: Lanes>(self) -> bool {
                V::has_bf16()
            }
        }
        self.run(Has)
    }

    /// Runs `kernel` on this instruction set.
    ///
    /// # Panics
    /// If the machine lacks it; `detect` and `available` never return such a one.
    #[inline]
    pub fn run<O>(self, kernel: impl Kernel<O>) -> O {
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

/// The environment variable that names the fastest instruction set to use, so that slower ones can be tested on any machine.
#[cfg(feature = "environment")]
pub const VARIABLE: &str = "ONEBASIN_ISA";

/// The names that [`VARIABLE`] may have.
#[cfg(feature = "environment")]
pub const NAMES: [(&str, Isa); 3] = [("portable", Isa::Portable), ("avx2", Isa::Avx2), ("avx512", Isa::Avx512)];

/// The fastest instruction set that may be used; all, if the environment names none.
#[cfg(feature = "environment")]
fn limit() -> Isa {
    static LIMIT: OnceLock<Isa> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let name = std::env::var(VARIABLE).unwrap_or_default();
        NAMES.iter().find(|(known, _)| *known == name).map_or(Isa::Avx512, |(_, isa)| *isa)
    })
}

/// All may be used.
#[cfg(not(feature = "environment"))]
fn limit() -> Isa {
    Isa::Avx512
}
