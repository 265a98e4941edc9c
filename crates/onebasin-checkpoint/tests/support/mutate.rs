//! Damages files at random, the same way each time.

/// Numbers from a seed (xorshift).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }

    /// Changes a few bits, a number, or the place of a piece.
    pub(crate) fn mutate(&mut self, bytes: &mut Vec<u8>) {
        const WIDE: [u64; 6] = [0, 1, 0x7fff_ffff, 0xffff_ffff, u64::MAX, 1 << 62];
        let at = self.below(bytes.len());
        match self.below(8) {
            0..3 => bytes[at] ^= 1 << self.below(8),
            3 => bytes[at] = self.below(256) as u8,
            4 => {
                let len = self.below(8).min(bytes.len() - at);
                let number = WIDE[self.below(WIDE.len())].to_le_bytes();
                bytes[at..at + len].copy_from_slice(&number[..len]);
            }
            5 => {
                // A piece in another place.
                let len = self.below(24).min(bytes.len() - at);
                let to = self.below(bytes.len() - len);
                bytes.copy_within(at..at + len, to);
            }
            6 if self.below(4) == 0 => bytes.truncate(at.max(1)),
            6 => drop(bytes.remove(at)),
            _ => bytes.insert(at, self.below(256) as u8),
        }
    }
}
