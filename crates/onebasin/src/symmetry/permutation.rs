//! One permutation: its algebra, its number of transpositions, and random ones.

use crate::error::Error;
use crate::error::Result;
use crate::rng::Stream;
use crate::rng::below;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use serde::Deserialize;
use serde::Serialize;

/// A reordering of n units: `new[i] = old[p[i]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<u32>", try_from = "Vec<u32>")]
pub struct Permutation {
    indices: Vec<u32>,
}

impl Permutation {
    /// The one that changes nothing.
    pub fn identity(n: usize) -> Self {
        assert!(u32::try_from(n).is_ok(), "a permutation of {n} units does not fit 32 bits");
        Self { indices: (0..n as u32).collect() }
    }

    /// The permutation with these indices, each of 0 to n - 1 once.
    pub fn new(indices: Vec<u32>) -> Result<Self> {
        let len = indices.len();
        let mut seen = vec![false; len];
        for (place, &value) in indices.iter().enumerate() {
            let fault = match seen.get_mut(value as usize) {
                None => "is too large",
                Some(true) => "is there twice",
                Some(unseen) => {
                    *unseen = true;
                    continue;
                }
            };
            return Err(Error::NotAPermutation { place, value, fault, len });
        }
        Ok(Self { indices })
    }

    /// A uniformly random one.
    pub fn random(n: usize, stream: &Stream) -> Self {
        let mut permutation = Self::identity(n);
        stream.shuffle(&mut permutation.indices);
        permutation
    }

    /// Uniformly random among those that are a product of `transpositions` transpositions and of no fewer.
    ///
    /// Units come one by one; unit i begins a cycle of its own with probability θ/(θ + i), else it is put behind a random
    /// earlier one. This is the distribution of Ewens, under which permutations with equally many cycles are equally
    /// probable whatever θ is. So θ is chosen for the right number of cycles on average, and what has another number is
    /// thrown away: after about √(2n) attempts, at worst, one is right.
    pub fn with_transpositions(n: usize, transpositions: usize, stream: &Stream) -> Result<Self> {
        if transpositions >= n.max(1) {
            return Err(Error::OutOfRange {
                what: "the number of transpositions",
                value: format!("{transpositions} for {n} units"),
                expected: "less than the number of units",
            });
        }
        let mut permutation = Self::identity(n);
        if transpositions == 0 {
            return Ok(permutation);
        }
        let mut generator = stream.generator();
        let begins = cycle_beginnings(n, n - transpositions, &mut generator);
        for (unit, begins) in begins.into_iter().enumerate() {
            if !begins {
                permutation.indices.swap(unit, below(&mut generator, unit));
            }
        }
        Ok(permutation)
    }

    /// Number of units.
    pub fn len(&self) -> usize {
        self.indices.len()
    }
    /// Whether there are no units.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }
    /// The indices p.
    pub fn as_slice(&self) -> &[u32] {
        &self.indices
    }

    /// The one that undoes this one.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let mut indices = vec![0; self.len()];
        for (place, &from) in (0..).zip(&self.indices) {
            indices[from as usize] = place;
        }
        Self { indices }
    }

    /// The one that acts like `first` and then this one.
    #[must_use]
    pub fn after(&self, first: &Self) -> Self {
        assert_eq!(self.len(), first.len(), "permutations of different lengths do not follow one another");
        Self { indices: self.apply(&first.indices) }
    }

    /// Number of cycles, fixed points among them.
    pub fn cycles(&self) -> usize {
        let mut seen = vec![false; self.len()];
        let mut cycles = 0;
        for start in 0..self.len() {
            cycles += usize::from(!seen[start]);
            let mut place = start;
            while !seen[place] {
                seen[place] = true;
                place = self.indices[place] as usize;
            }
        }
        cycles
    }

    /// The number of transpositions (`NoT`), n minus the number of cycles: how many swaps of two units it takes at least.
    pub fn transpositions(&self) -> usize {
        self.len() - self.cycles()
    }

    /// Number of units that stay in their place.
    pub fn fixed_points(&self) -> usize {
        (0..).zip(&self.indices).filter(|(place, from)| place == *from).count()
    }

    /// Whether nothing is moved.
    pub fn is_identity(&self) -> bool {
        self.fixed_points() == self.len()
    }

    /// The reordered values, `new[i] = old[p[i]]`.
    pub fn apply<T: Copy>(&self, old: &[T]) -> Vec<T> {
        assert_eq!(self.len(), old.len(), "a permutation reorders as many values as it has units");
        self.indices.iter().map(|&from| old[from as usize]).collect()
    }
}

impl From<Permutation> for Vec<u32> {
    fn from(permutation: Permutation) -> Self {
        permutation.indices
    }
}

impl TryFrom<Vec<u32>> for Permutation {
    type Error = Error;
    fn try_from(indices: Vec<u32>) -> Result<Self> {
        Self::new(indices)
    }
}

/// Which of n units begin a cycle, `cycles` of them, 1 <= `cycles` < n: independent but for their number.
fn cycle_beginnings(n: usize, cycles: usize, generator: &mut ChaCha8Rng) -> Vec<bool> {
    if cycles == 1 {
        return (0..n).map(|unit| unit == 0).collect();
    }
    let expected = |theta: f64| (0..n).map(|unit| theta / (theta + unit as f64)).sum::<f64>();
    // The number of cycles rises with θ; with n² it is above n - ½, with 1/n² below 1.1 or so.
    let (mut low, mut high) = ((n as f64).powi(-2), (n as f64).powi(2));
    while high > low * 1.001 {
        let middle = (low * high).sqrt();
        *(if expected(middle) < cycles as f64 { &mut low } else { &mut high }) = middle;
    }
    loop {
        let begins: Vec<bool> = (0..n).map(|unit| uniform(generator) * (high + unit as f64) < high).collect();
        if begins.iter().filter(|begins| **begins).count() == cycles {
            return begins;
        }
    }
}

/// Uniform in 0..1, with 53 bits.
fn uniform(generator: &mut ChaCha8Rng) -> f64 {
    (generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}
