//! Messages of serde in the words of a user, whom no name of a Rust type may reach.

/// What serde found, and what it expected instead.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mismatch {
    pub(crate) value: String,
    pub(crate) expected: String,
    /// Where that is in the text, or nothing.
    place: String,
}

impl Mismatch {
    /// Understands a message about a value of the wrong type.
    pub(crate) fn of(message: &str) -> Option<Self> {
        let (found, expected) = message.split_once(", expected ")?;
        let value = if let Some(length) = found.strip_prefix("invalid length ") {
            format!("a list of length {length}")
        } else {
            let found = found.strip_prefix("invalid type: ").or_else(|| found.strip_prefix("invalid value: "))?;
            value_of(found)
        };
        let (expected, place) = match expected.find(" at line ") {
            Some(at) => expected.split_at(at),
            None => (expected, ""),
        };
        Some(Self { value, expected: type_of(expected), place: place.to_owned() })
    }
}

/// A message of serde in plain words.
pub(crate) fn plain(message: &str) -> String {
    if let Some(Mismatch { value, expected, place }) = Mismatch::of(message) {
        return format!("it has {value} where {expected} is needed{place}");
    }
    // Files have keys and names, not fields and variants.
    let keys = message.replacen("unknown field `", "unknown key `", 1).replacen("missing field `", "missing key `", 1);
    keys.replacen("unknown variant `", "unknown name `", 1)
}

/// A value that serde describes by its type.
fn value_of(found: &str) -> String {
    match found {
        "map" => "a table".to_owned(),
        "sequence" => "a list".to_owned(),
        "null" | "unit value" => "nothing".to_owned(),
        "unit variant" => "no name".to_owned(),
        text => match text.split_once(['`', '"']) {
            Some(("string ", rest)) => format!("\"{rest}"),
            Some((_, rest)) => rest.trim_end_matches('`').to_owned(),
            None => text.to_owned(),
        },
    }
}

/// What serde expects, as it is called in a file.
fn type_of(expected: &str) -> String {
    let first = expected.split([' ', ',']).next().unwrap_or_default();
    let length = expected.rsplit(' ').next().unwrap_or_default();
    match expected {
        "a boolean" | "bool" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        "a string" | "path string" | "a borrowed string" => "text".to_owned(),
        "string only" => "a name, or a table".to_owned(),
        _ if expected.starts_with("an array of length") || expected.starts_with("a tuple of size") => {
            format!("a list of length {length}")
        }
        _ => match first {
            "struct" | "internally" | "adjacently" => "a table".to_owned(),
            "enum" | "variant" => "a name".to_owned(),
            "usize" | "u8" | "u16" | "u32" | "u64" | "u128" => "a whole number, at least 0".to_owned(),
            "isize" | "i8" | "i16" | "i32" | "i64" | "i128" => "a whole number".to_owned(),
            "f32" | "f64" => "a number".to_owned(),
            _ => expected.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_a_type_is_left() {
        for (message, expected) in [
            ("invalid type: integer `3`, expected struct DataConfig", "it has 3 where a table is needed"),
            (
                "invalid type: string \"x\", expected usize at line 1 column 2",
                "it has \"x\" where a whole number, at least 0 is needed at line 1 column 2",
            ),
            (
                "invalid length 0, expected struct Prior with 2 elements",
                "it has a list of length 0 where a table is needed",
            ),
            (
                "invalid length 1, expected an array of length 2",
                "it has a list of length 1 where a list of length 2 is needed",
            ),
            (
                "invalid type: floating point `1.5`, expected u64",
                "it has 1.5 where a whole number, at least 0 is needed",
            ),
            ("invalid type: map, expected a string", "it has a table where text is needed"),
            ("missing field `data`", "missing key `data`"),
        ] {
            assert_eq!(plain(message), expected);
        }
    }
}
