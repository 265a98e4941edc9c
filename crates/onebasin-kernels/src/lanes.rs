//! Vectors of f32: one trait, and the type for instruction sets without one of their own; those of the x86 are in `x86`.

/// Channels per block of every activation and packed weight: all lane counts divide it.
pub const BLOCK: usize = 16;

/// A computation written once, for vectors of any number of lanes.
///
/// `run` and all that it calls must be `#[inline(always)]`: only code inlined into an entry has its instruction set.
pub trait Kernel<Output = ()> {
    /// Does the work with vectors of type `V`.
    fn run<V: Lanes>(self) -> Output;
}

/// A vector of `LANES` f32 values, or of as many i32 or groups of four 8-bit integers where a method says so.
///
/// Only this crate has types that implement it, and only [`crate::Isa::run`] chooses among them.
///
/// # Safety
/// `LANES` is 4, 8 or 16. Methods are only called from code compiled for the type's instruction set, and the
/// pointers given to `load*` and `store*` must be valid for the lanes they touch; no alignment is needed.
#[expect(clippy::missing_safety_doc, reason = "the contract is the same for all, and stands above")]
#[expect(clippy::return_self_not_must_use, reason = "arithmetic")]
pub unsafe trait Lanes: Copy {
    /// Number of lanes.
    const LANES: usize;
    /// Runs `kernel` as a function of its own, compiled for this instruction set.
    ///
    /// Large kernels call their parts by it: inlined and not optimised, they need more stack than a thread has.
    unsafe fn call<O>(kernel: impl Kernel<O>) -> O;
    /// The value in every lane.
    unsafe fn splat(value: f32) -> Self;
    /// All lanes from memory.
    unsafe fn load(from: *const f32) -> Self;
    /// The first `count` lanes from memory, zero in the others.
    unsafe fn load_part(from: *const f32, count: usize) -> Self;
    /// All lanes from memory, `stride` values apart; 16 strides must fit 31 bits.
    unsafe fn load_apart(from: *const f32, stride: usize) -> Self;
    /// All lanes from memory, each from as many values behind `from` as its index says; indices must fit 31 bits.
    unsafe fn load_at(from: *const f32, indices: *const u32) -> Self;
    /// All lanes from memory in f64, each times `factor` and then rounded.
    unsafe fn load_doubles(from: *const f64, factor: f64) -> Self;
    /// All lanes to memory.
    unsafe fn store(self, to: *mut f32);
    /// The first `count` lanes to memory.
    unsafe fn store_part(self, to: *mut f32, count: usize);
    /// `self + other`.
    unsafe fn add(self, other: Self) -> Self;
    /// `self - other`.
    unsafe fn sub(self, other: Self) -> Self;
    /// `self * other`.
    unsafe fn mul(self, other: Self) -> Self;
    /// `self * factor + term`, rounded once where the instruction set can.
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self;
    /// The larger of the two; `other` where either is NaN, so `zero.max(x)` keeps a NaN in x.
    unsafe fn max(self, other: Self) -> Self;
    /// The larger of the two, NaN where either is.
    unsafe fn max_or_nan(self, other: Self) -> Self;
    /// `self` where `test > bound`, zero elsewhere and where either is NaN.
    unsafe fn keep_where_greater(self, test: Self, bound: Self) -> Self;
    /// One bit for each lane, set where it is not below `bound` (a NaN is not).
    unsafe fn at_least(self, bound: Self) -> u32;
    /// Sum of the lanes.
    unsafe fn sum(self) -> f32;
    /// One bit for each lane, set where it is not zero (a NaN is not).
    unsafe fn non_zero(self) -> u32;
    /// 1 / √self within 2 units in the last place, for normal numbers above 10⁻³⁷.
    unsafe fn inverse_sqrt(self) -> Self;
    /// 1 / self within 2 units in the last place, for positive normal numbers up to 2¹²⁵; beyond, perhaps zero.
    unsafe fn reciprocal(self) -> Self;
    /// Begins to bring a cache line near, where the instruction set can; the address may be any.
    #[inline(always)]
    unsafe fn prefetch(_: *const f32) {}
    /// Whether the machine has VNNI: [`Lanes::dot_add`] in one instruction.
    fn has_vnni() -> bool {
        false
    }
    /// u8×i8 dot products: `self + Σ a b` over the four bytes of each lane, `self` as i32, `a` as u8 and `b` as i8.
    /// `VNNI` only where [`Lanes::has_vnni`].
    unsafe fn dot_add<const VNNI: bool>(self, a: Self, b: Self) -> Self;
    /// Whether the machine has [`Lanes::dot_pairs`] in one instruction.
    fn has_bf16() -> bool {
        false
    }
    /// bf16 dot products: `self + Σ a b` over the two bf16 of each lane, that in the upper half added first. `NATIVE` only where
    /// [`Lanes::has_bf16`]; then numbers below the normal ones are zero.
    #[inline(always)]
    unsafe fn dot_pairs<const NATIVE: bool>(self, a: Self, b: Self) -> Self {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.dot_halves(a, b) }
    }
    /// The same by products of f32.
    #[inline(always)]
    unsafe fn dot_halves(self, a: Self, b: Self) -> Self {
        // SAFETY: the caller's promise, passed on.
        unsafe { a.lower_half().mul_add(b.lower_half(), a.upper_half().mul_add(b.upper_half(), self)) }
    }
    /// The bf16 in the upper half of each lane.
    unsafe fn upper_half(self) -> Self;
    /// The bf16 in the lower half of each lane.
    unsafe fn lower_half(self) -> Self;
    /// The i8 values of each lane as u8, each 128 more.
    unsafe fn to_unsigned(self) -> Self;
    /// Two pairs of i8 for each lane from memory, the low one first.
    unsafe fn load_pairs(pairs: [*const u16; 2]) -> Self;
    /// Two numbers of each lane as a pair of i8 in its low half, that of `low` first; rounded, ties to even.
    unsafe fn quantise(low: Self, high: Self) -> Self;
    /// The pair of i8 in the low half of each lane to memory.
    unsafe fn store_low_pairs(self, to: *mut u16);
    /// The lanes, being i32, as f32.
    unsafe fn i32_to_f32(self) -> Self;
}

/// Defines methods of [`Lanes`], each by its value.
macro_rules! methods {
    ($($name:ident($($arguments:tt)*) $(-> $Output:ty)? = $value:expr;)*) => {
        $(#[inline(always)]
        unsafe fn $name($($arguments)*) $(-> $Output)? {
            $value
        })*
    };
}
#[cfg(target_arch = "x86_64")]
pub(super) use methods;

/// 4 lanes, in plain Rust.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable([f32; 4]);

// SAFETY: reads and writes exactly the lanes named.
#[allow(unsafe_op_in_unsafe_fn, reason = "each method hands its own contract on")]
unsafe impl Lanes for Portable {
    const LANES: usize = 4;
    #[inline(never)]
    unsafe fn call<O>(kernel: impl Kernel<O>) -> O {
        kernel.run::<Portable>()
    }
    #[inline(always)]
    unsafe fn dot_add<const VNNI: bool>(self, a: Self, b: Self) -> Self {
        let [a, b] = [a, b].map(|lanes| lanes.0.map(f32::to_bits));
        let mut sums = self.0.map(|lane| lane.to_bits() as i32);
        // Byte after byte of all lanes, which the compiler does side by side.
        for byte in 0..4 {
            for lane in 0..4 {
                let (a, b) = (a[lane] >> (8 * byte) & 0xff, (b[lane] << (24 - 8 * byte)) as i32 >> 24);
                sums[lane] = sums[lane].wrapping_add(a as i32 * b);
            }
        }
        Self(sums.map(|sum| f32::from_bits(sum as u32)))
    }
    methods! {
        splat(value: f32) -> Self = Self([value; 4]);
        load(from: *const f32) -> Self = Self(from.cast::<[f32; 4]>().read_unaligned());
        load_part(from: *const f32, count: usize) -> Self = {
            let mut lanes = [0.0; 4];
            std::ptr::copy_nonoverlapping(from, lanes.as_mut_ptr(), count);
            Self(lanes)
        };
        load_apart(from: *const f32, stride: usize) -> Self =
            Self(std::array::from_fn(|lane| *from.add(lane * stride)));
        load_at(from: *const f32, indices: *const u32) -> Self =
            Self(std::array::from_fn(|lane| *from.add(*indices.add(lane) as usize)));
        load_doubles(from: *const f64, factor: f64) -> Self =
            Self(from.cast::<[f64; 4]>().read_unaligned().map(|value| (value * factor) as f32));
        store(self, to: *mut f32) = to.cast::<[f32; 4]>().write_unaligned(self.0);
        store_part(self, to: *mut f32, count: usize) = std::ptr::copy_nonoverlapping(self.0.as_ptr(), to, count);
        add(self, other: Self) -> Self = Self(std::array::from_fn(|lane| self.0[lane] + other.0[lane]));
        sub(self, other: Self) -> Self = Self(std::array::from_fn(|lane| self.0[lane] - other.0[lane]));
        mul(self, other: Self) -> Self = Self(std::array::from_fn(|lane| self.0[lane] * other.0[lane]));
        mul_add(self, factor: Self, term: Self) -> Self = Self(std::array::from_fn(|lane| {
            // Without a fused instruction `f32::mul_add` is a library call a hundred times slower.
            if cfg!(any(target_arch = "aarch64", target_feature = "fma")) {
                self.0[lane].mul_add(factor.0[lane], term.0[lane])
            } else {
                self.0[lane] * factor.0[lane] + term.0[lane]
            }
        }));
        max(self, other: Self) -> Self =
            Self(std::array::from_fn(|lane| if self.0[lane] > other.0[lane] { self.0[lane] } else { other.0[lane] }));
        max_or_nan(self, other: Self) -> Self = Self(std::array::from_fn(|lane| {
            let (value, other) = (self.0[lane], other.0[lane]);
            if value > other || value.is_nan() { value } else { other }
        }));
        keep_where_greater(self, test: Self, bound: Self) -> Self =
            Self(std::array::from_fn(|lane| if test.0[lane] > bound.0[lane] { self.0[lane] } else { 0.0 }));
        at_least(self, bound: Self) -> u32 =
            (0..4).fold(0, |mask, lane| mask | u32::from(self.0[lane] >= bound.0[lane]) << lane);
        sum(self) -> f32 = (self.0[0] + self.0[2]) + (self.0[1] + self.0[3]);
        non_zero(self) -> u32 =
            self.0.iter().enumerate().fold(0, |mask, (lane, value)| mask | u32::from(*value != 0.0) << lane);
        inverse_sqrt(self) -> Self = Self(self.0.map(|value| 1.0 / value.sqrt()));
        reciprocal(self) -> Self = Self(self.0.map(|value| 1.0 / value));
        upper_half(self) -> Self = Self(self.0.map(|lane| f32::from_bits(lane.to_bits() & 0xffff_0000)));
        lower_half(self) -> Self = Self(self.0.map(|lane| f32::from_bits(lane.to_bits() << 16)));
        to_unsigned(self) -> Self = Self(self.0.map(|lane| f32::from_bits(lane.to_bits() ^ 0x8080_8080)));
        load_pairs(pairs: [*const u16; 2]) -> Self = Self(std::array::from_fn(|lane| {
            let [low, high] = pairs.map(|from| u32::from(*from.add(lane)));
            f32::from_bits(low | high << 16)
        }));
        quantise(low: Self, high: Self) -> Self = Self(std::array::from_fn(|lane| {
            let [low, high] = [low, high].map(|lanes| lanes.0[lane].round_ties_even() as i32 as u32);
            f32::from_bits(low & 0xff | high << 8)
        }));
        store_low_pairs(self, to: *mut u16) =
            to.cast::<[u16; 4]>().write_unaligned(self.0.map(|lane| lane.to_bits() as u16));
        i32_to_f32(self) -> Self = Self(self.0.map(|bits| bits.to_bits() as i32 as f32));
    }
}
