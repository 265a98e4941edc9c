//! Names of posteriors and cells: their settings in words, and a hash at the end of folders that could be confused.

use super::context::Owner;
use crate::hash;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use toml::Value;

/// A folder's name has at most this many characters before its hash.
const MAX_LEN: usize = 60;

/// Settings for a person, such as `variance 0.1, width 32`.
pub(super) fn words<'a>(settings: impl IntoIterator<Item = (&'a String, &'a Value)>) -> String {
    let settings: Vec<_> = settings.into_iter().collect();
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let word = |(key, value): &(&'a String, &'a Value)| {
        // Settings of two tables may share their last name.
        let shared = settings.iter().filter(|(other, _)| last(other) == last(key)).count() > 1;
        let name = if shared { (*key).clone() } else { last(key) };
        let value = match value {
            Value::String(text) => text.clone(),
            // The shortest form, such as 1e-5.
            Value::Float(number) => format!("{number:?}"),
            other => other.to_string(),
        };
        format!("{name} {value}")
    };
    settings.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// The name of a folder: words that a file system takes, then a hash of whatever makes its content.
pub(super) fn folder(words: &str, of: &impl Serialize) -> String {
    let mut name = String::new();
    for c in words.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => name.push(c),
            '.' if name.ends_with(|last: char| last.is_ascii_alphanumeric()) => name.push(c),
            _ if name.is_empty() || name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    name.truncate(MAX_LEN);
    format!("{}-{}", name.trim_end_matches(['-', '.']), hash::short(of))
}

/// A name that no other process uses, and this one only once.
pub(super) fn unique(owner: &Owner) -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("{}-{}", hash::short(owner), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The hash at the end of a folder's name.
pub(super) fn hash_of(folder: &str) -> &str {
    folder.rsplit('-').next().unwrap_or(folder)
}

/// Those settings that decide how posteriors are trained.
pub(super) fn of_training(settings: &BTreeMap<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    settings.iter().filter(|(key, _)| key.starts_with("train."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_words_and_names_of_folders() {
        let table: toml::Table = toml::from_str(
            "\"train.prior.variance\" = 0.1\n\"train.arch.hidden\" = [512, 512]\n\"barrier.seed\" = 1\n\"align.seed\" = 2\n\"align.to\" = \"mean\"",
        )
        .unwrap();
        let settings: BTreeMap<String, Value> = table.into_iter().collect();
        assert_eq!(words(&settings), "align.seed 2, to mean, barrier.seed 1, hidden [512, 512], variance 0.1");
        assert_eq!(words(of_training(&settings)), "hidden [512, 512], variance 0.1");
        let name = folder(&words(of_training(&settings)), &1);
        assert!(name.starts_with("hidden-512-512-variance-0.1-"), "{name}");
        assert_eq!(hash_of(&name), hash::short(&1));
        assert!(folder(&"x".repeat(1000), &1).len() < 80);
        assert!(!folder("../..", &1).contains(".."), "{}", folder("../..", &1));
    }
}
