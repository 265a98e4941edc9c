//! In which precision the factors of products are.

use crate::error::{Error, Result};
use onebasin_kernels::bf16::Factors;

named_enum! {
    /// The precision of activations and weights where they are multiplied; parameters, sums and everything else are f32.
    #[derive(Default)]
    pub enum Precision {
        /// 24 bits.
        #[default]
        F32 = "f32",
        /// 8 bits: activations and weights are rounded to bfloat16 for each product, which is about twice as fast where the
        /// processor has instructions for it, and slower elsewhere.
        Bf16 = "bf16",
    }
}

impl Precision {
    /// Whether it is the one that need not be named.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses any other than f32 for something.
    pub fn check_f32(self, what: &str) -> Result<()> {
        Error::unless(self == Self::F32, "precision", self, &format!("f32 for {what}"))
    }

    pub(super) fn factors(self) -> Factors {
        match self {
            Self::F32 => Factors::Singles,
            Self::Bf16 => Factors::Pairs,
        }
    }
}
