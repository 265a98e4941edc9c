//! Reads settings so that every error names the key it is about, also inside a table whose tag chooses its type; and numbers
//! of results, which may be null.

use crate::error::{Error, Result};
use crate::wording::{Mismatch, plain};
use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;

/// Keys that have another name now.
pub(crate) const RENAMED: &[(&str, &str)] = &[
    ("channel", "`criterion`"),
    ("channels", "`criteria`"),
    ("images", "`train_examples`, `test_examples` or `examples`"),
    ("leave_out_prior", "`exclude_prior`"),
    ("most_steps", "`max_leapfrog_steps`"),
    ("rate", "`learning_rate`"),
    ("samples_on_the_way", "`eval_samples`"),
    ("test_images", "`test_examples`"),
    ("to", "`relabellings`"),
];

/// Understands a table; `name` is how it is called in errors.
pub fn from_table<T: DeserializeOwned>(name: &str, table: toml::Table) -> Result<T> {
    serde_path_to_error::deserialize(toml::Value::Table(table)).map_err(|error| {
        let reason = joined(&error);
        let hint = hint_of(&reason).unwrap_or_default();
        Error::Config { name: name.to_owned(), reason: in_words(&reason) + &hint }
    })
}

/// The members of an object in their order, so that a name that is there twice is seen.
pub(crate) struct Members<V>(pub(crate) Vec<(String, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Members<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Read<V>(PhantomData<V>);

        impl<'de, V: Deserialize<'de>> Visitor<'de> for Read<V> {
            type Value = Members<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Members<V>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Read(PhantomData))
    }
}

/// A number that is the default of a setting.
pub(crate) fn number<const NUMBER: u16, T: From<u16>>() -> T {
    NUMBER.into()
}

/// Reads a number that may be null: JSON has no NaN, and a run that diverged must be readable, too.
pub(crate) fn null_is_nan<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

/// Implements `Deserialize` for an enum of settings, one of whose keys names the variant.
macro_rules! deserialize_tagged {
    ($Enum:ident by $tag:literal { $($name:literal => $Variant:ident,)+ }) => {
        impl<'de> serde::Deserialize<'de> for $Enum {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                let (tag, rest) = crate::keys::tagged(deserializer, $tag)?;
                match tag.as_str() {
                    $($name => crate::keys::rest(rest).map(Self::$Variant),)+
                    _ => Err(crate::keys::unknown(&tag, $tag, &[$($name),+])),
                }
            }
        }
    };
}
pub(crate) use deserialize_tagged;

/// Reads a table and takes the key `tag` out of it.
pub(crate) fn tagged<'de, D: Deserializer<'de>>(
    deserializer: D,
    tag: &'static str,
) -> std::result::Result<(String, toml::Table), D::Error> {
    struct Table(&'static str);

    impl<'de> Visitor<'de> for Table {
        type Value = (String, toml::Table);

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a table with the key `{}`", self.0)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
            let (mut tag, mut rest) = (None, toml::Table::new());
            while let Some(key) = map.next_key::<String>()? {
                if key == self.0 {
                    tag = Some(map.next_value()?);
                } else if let Some(value) = map.next_value::<Option<toml::Value>>()? {
                    // JSON says null for a key that TOML leaves out.
                    rest.insert(key, value);
                }
            }
            Ok((tag.ok_or_else(|| A::Error::missing_field(self.0))?, rest))
        }
    }

    deserializer.deserialize_map(Table(tag))
}

/// The error of a tag that names no variant.
pub(crate) fn unknown<E: serde::de::Error>(value: &str, tag: &str, known: &'static [&'static str]) -> E {
    E::custom(format!("in `{tag}`: {}", serde::de::value::Error::unknown_variant(value, known)))
}

/// Understands what is left of a table whose tag is known.
pub(crate) fn rest<T: DeserializeOwned, E: serde::de::Error>(table: toml::Table) -> std::result::Result<T, E> {
    serde_path_to_error::deserialize(toml::Value::Table(table)).map_err(|error| E::custom(joined(&error)))
}

/// The reason of an error, with the path of its key, in the words of a user.
fn in_words(reason: &str) -> String {
    let Some((path, rest)) = reason.strip_prefix("in `").and_then(|rest| rest.split_once("`: ")) else {
        return plain(reason);
    };
    match Mismatch::of(rest) {
        Some(Mismatch { value, expected, .. }) => format!("`{path}` is {value}; it must be {expected}"),
        None => format!("in `{path}`: {}", plain(rest)),
    }
}

/// The reason of an error with the path of its key; a reason that begins with a path of its own lies deeper.
fn joined(error: &serde_path_to_error::Error<toml::de::Error>) -> String {
    let (path, reason) = (error.path().to_string(), error.inner().message().trim_end().replace('\n', " "));
    match reason.strip_prefix("in `") {
        _ if path == "." => reason,
        Some(deeper) => format!("in `{path}.{deeper}"),
        None => format!("in `{path}`: {reason}"),
    }
}

/// What to add to an error about an unknown name: its new name if it was renamed, or the known name that it resembles.
pub(crate) fn hint(typed: &str, known: &[&str]) -> String {
    // A name may be a new one in another table.
    let is_known = |new: &str| known.iter().any(|name| new.contains(name));
    if let Some((_, new)) = RENAMED.iter().find(|(old, new)| *old == typed && is_known(new)) {
        return format!("; `{typed}` is now {new}");
    }
    let likeness = |name: &str| strsim::normalized_damerau_levenshtein(typed, name);
    let nearest = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    // Names that have at least half in common may have been confused.
    nearest.filter(|name| likeness(name) >= 0.5).map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// The hint of an error of serde, if it is about an unknown name.
fn hint_of(reason: &str) -> Option<String> {
    // Serde lists what it knows: names are between every other pair of backticks.
    let (_, rest) = reason.split_once("unknown ")?;
    let mut names = rest.split('`').skip(1).step_by(2);
    let typed = names.next()?;
    Some(hint(typed, &names.collect::<Vec<_>>()))
}
