//! Numbers as files store them: halves and integers of variable length.

/// An IEEE number of 2 bytes.
pub(super) fn f16_to_f64(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from((bits >> 10) & 0x1f), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    }
}

/// The integer of variable length at the beginning of some bytes, and the bytes behind it.
pub(super) fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f) << (7 * at);
        if *byte < 0x80 {
            return Some((number, &bytes[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{f16_to_f64, varint};

    #[test]
    fn halves_have_their_values() {
        let values =
            [(0x3c00, 1.0), (0xc000, -2.0), (0x7bff, 65504.0), (0x0001, 2f64.powi(-24)), (0x7c00, f64::INFINITY)];
        for (bits, value) in values {
            assert_eq!(f16_to_f64(bits), value);
        }
        assert!(f16_to_f64(0x7c01).is_nan());
    }

    #[test]
    fn integers_of_variable_length_end_where_they_say() {
        assert_eq!(varint(&[0xac, 0x02, 7]), Some((300, &[7u8][..])));
        assert_eq!(varint(&[0xff; 10]), None);
        assert_eq!(varint(&[0x80]), None);
        let minus_one: Vec<u8> = [[0xff; 9].as_slice(), &[1]].concat();
        assert_eq!(varint(&minus_one).map(|(number, _)| number as i64), Some(-1));
    }
}
