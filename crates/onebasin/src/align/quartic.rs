//! Where a polynomial of degree four is highest: the exact step of a search along squares of quadratics.

/// Pieces of the way in which maxima are looked for.
const PARTS: usize = 64;

/// A polynomial of degree four, by its coefficients.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Quartic(pub(super) [f64; 5]);

impl Quartic {
    /// Adds the square of (1 - t)² x + t (1 - t) y + t² z.
    pub(super) fn add(&mut self, [x, y, z]: [f64; 3]) {
        let (slope, bend) = (y - 2.0 * x, x - y + z);
        let added = [x * x, 2.0 * x * slope, slope * slope + 2.0 * x * bend, 2.0 * slope * bend, bend * bend];
        self.0.iter_mut().zip(added).for_each(|(all, own)| *all += own);
    }

    pub(super) fn at(&self, t: f64) -> f64 {
        self.0.iter().rev().fold(0.0, |value, coefficient| value * t + coefficient)
    }

    fn slope(&self, t: f64) -> f64 {
        let [_, first, second, third, fourth] = self.0;
        first + t * (2.0 * second + t * (3.0 * third + t * 4.0 * fourth))
    }

    /// Where it is highest between 0 and 1.
    pub(super) fn highest(&self) -> f64 {
        let mut best = if self.at(1.0) > self.at(0.0) { 1.0 } else { 0.0 };
        // A maximum is where the slope turns from up to down, which it does at most twice.
        for part in 0..PARTS {
            let [mut low, mut high] = [part, part + 1].map(|part| part as f64 / PARTS as f64);
            if !(self.slope(low) > 0.0 && self.slope(high) <= 0.0) {
                continue;
            }
            for _ in 0..50 {
                let middle = 0.5 * (low + high);
                *(if self.slope(middle) > 0.0 { &mut low } else { &mut high }) = middle;
            }
            if self.at(low) > self.at(best) {
                best = low;
            }
        }
        best
    }
}
