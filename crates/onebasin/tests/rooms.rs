//! The house has an order, and this test keeps it: rooms, `unsafe`, first sentences and sizes of files.

use std::path::Path;
use std::path::PathBuf;

const LIBRARY: &str = "onebasin/src/";
const LONGEST: usize = 500;

/// A file of the workspace; its path is relative to `crates/`, with `/` between the parts.
struct Source {
    path: String,
    text: String,
}

/// What breaks the order of the house, one sentence each.
fn violations(sources: &[Source]) -> Vec<String> {
    let lib = sources.iter().find(|source| source.path == format!("{LIBRARY}lib.rs"));
    let lib = lib.map_or("", |source| &source.text);
    let rooms: Vec<&str> =
        lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.split_once(';')).map(|(room, _)| room).collect();
    let mut found = Vec::new();
    for source in sources {
        let path = &source.path;
        let mut say = |what: String| found.push(format!("{path} {what}"));
        opening(source).into_iter().for_each(&mut say);
        let lines = source.text.lines().count();
        if lines > LONGEST {
            say(format!("has {lines} lines; {LONGEST} are the limit: it is two files"));
        }
        let Some(inside) = path.strip_prefix(LIBRARY).filter(|inside| *inside != "lib.rs") else {
            continue;
        };
        let room = inside.split_once('/').map_or(inside.trim_end_matches(".rs"), |(room, _)| room);
        match rooms.iter().position(|known| *known == room) {
            Some(own) => misplaced_names(&source.text, &rooms, own).into_iter().for_each(&mut say),
            None => say("belongs to no room: lib.rs has no `pub mod` for it".to_owned()),
        }
        if room != "kernels" && words(&source.text).any(|word| word == "unsafe") {
            say("says `unsafe`, which only `kernels` may".to_owned());
        }
    }
    found
}

/// The first sentence, which says what a file is for, if it is missing or does not end.
fn opening(source: &Source) -> Option<String> {
    let text = &source.text;
    if source.path == format!("{LIBRARY}lib.rs") {
        return (!text.starts_with("#![doc = include_str!("))
            .then(|| "does not open with the README as its documentation".to_owned());
    }
    let paragraph: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//! ")).collect();
    match paragraph.last() {
        None => Some("does not open with a `//!` sentence".to_owned()),
        Some(last) if !last.ends_with('.') => {
            Some("opens with a `//!` paragraph that does not end in a full stop".to_owned())
        }
        Some(_) => None,
    }
}

/// Each way in which a file of room number `own` names a room that is not above it, or hides which.
fn misplaced_names(text: &str, rooms: &[&str], own: usize) -> Vec<String> {
    let mut found = Vec::new();
    for (prefix, must_be_room) in [("crate::", true), ("super::", false)] {
        for (start, _) in text.match_indices(prefix) {
            let rest = &text[start + prefix.len()..];
            let name = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
            match rooms.iter().position(|room| *room == name) {
                Some(other) if other > own => {
                    found.push(format!("names `{name}`, which comes after `{}`", rooms[own]));
                }
                None if must_be_room && rest.starts_with(['{', '*']) => {
                    found.push("hides which rooms it names: write one `use crate::room::Name;` per line".to_owned());
                }
                None if must_be_room && !name.is_empty() => {
                    found.push(format!("names `crate::{name}`, which is no room"));
                }
                _ => {}
            }
        }
    }
    found
}

/// The words of a source text outside `//` comments.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    code.flat_map(|line| line.split(|c| !is_word(c)))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// All Rust files below `folder`, sorted.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let mut files = Vec::new();
    for entry in entries {
        if entry.is_dir() {
            files.extend(rust_files(&entry));
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            files.push(entry);
        }
    }
    files
}

#[test]
fn the_house_is_in_order() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let sources: Vec<Source> = rust_files(crates)
        .iter()
        .map(|file| Source {
            path: file.strip_prefix(crates).unwrap().to_str().unwrap().replace('\\', "/"),
            text: std::fs::read_to_string(file).unwrap(),
        })
        .collect();
    assert!(sources.iter().any(|source| source.path == "onebasin/src/error.rs"), "found no library");
    let found = violations(&sources);
    assert!(found.is_empty(), "{} violations:\n{}", found.len(), found.join("\n"));
}

/// The violations of one planted file in a house with the rooms `error`, `kernels` and `net`.
fn planted(path: &str, text: &str) -> Vec<String> {
    let lib = "#![doc = include_str!(\"../../../README.md\")]\n\n\
               pub mod error;\npub mod kernels;\npub mod net;\n";
    let sources = [(format!("{LIBRARY}lib.rs"), lib), (path.to_owned(), text)];
    violations(&sources.map(|(path, text)| Source { path, text: text.to_owned() }))
}

#[test]
fn what_is_allowed_is_not_reported() {
    let cases = [
        ("onebasin/src/net/dense.rs", "//! Dense.\n\nuse crate::error::Error;\nuse super::Net;\n"),
        ("onebasin/src/kernels/isa.rs", "//! Two\n//! lines.\n//!\n//! More\nunsafe fn f() {}\n"),
        ("onebasin/src/net.rs", "//! Net.\n\n// unsafe\n#![forbid(unsafe_code)]\nuse crate::net::Net;\n"),
        ("onebasin-cli/src/main.rs", "//! Main.\n\nuse crate::args::Args;\n"),
    ];
    for (path, text) in cases {
        assert_eq!(planted(path, text), [""; 0], "{path}");
    }
}

#[test]
fn a_later_room_is_reported() {
    let said = "onebasin/src/kernels/isa.rs names `net`, which comes after `kernels`";
    for line in ["use crate::net::Net;", "fn f(_: crate::net::Net) {}", "use super::super::net;"] {
        assert_eq!(planted("onebasin/src/kernels/isa.rs", &format!("//! Isa.\n{line}\n")), [said]);
    }
    assert_eq!(
        planted("onebasin/src/error.rs", "//! Error.\nuse crate::kernels;\n"),
        ["onebasin/src/error.rs names `kernels`, which comes after `error`"]
    );
}

#[test]
fn a_name_that_hides_its_room_is_reported() {
    let said = "onebasin/src/net.rs hides which rooms it names: \
                write one `use crate::room::Name;` per line";
    for line in ["use crate::{error, kernels};", "use crate::*;"] {
        assert_eq!(planted("onebasin/src/net.rs", &format!("//! Net.\n{line}\n")), [said]);
    }
    assert_eq!(
        planted("onebasin/src/net.rs", "//! Net.\nuse crate::Error;\n"),
        ["onebasin/src/net.rs names `crate::Error`, which is no room"]
    );
}

#[test]
fn a_file_without_a_room_is_reported() {
    for path in ["onebasin/src/utils.rs", "onebasin/src/utils/text.rs"] {
        let said = format!("{path} belongs to no room: lib.rs has no `pub mod` for it");
        assert_eq!(planted(path, "//! Utils.\n"), [said]);
    }
}

#[test]
fn unsafe_outside_kernels_is_reported() {
    assert_eq!(
        planted("onebasin/src/net.rs", "//! Net.\nfn f() { unsafe { g() } }\n"),
        ["onebasin/src/net.rs says `unsafe`, which only `kernels` may"]
    );
}

#[test]
fn a_missing_first_sentence_is_reported() {
    for text in ["", "use std::fmt;\n", "\n//! Late.\n", "// Plain.\n", "//!\n//! Late.\n"] {
        let said = "onebasin-cli/src/args.rs does not open with a `//!` sentence";
        assert_eq!(planted("onebasin-cli/src/args.rs", text), [said], "{text:?}");
    }
    assert_eq!(
        planted("onebasin-cli/src/args.rs", "//! Not a sentence\n"),
        ["onebasin-cli/src/args.rs opens with a `//!` paragraph that does not end in a full stop"]
    );
    let lib = Source { path: format!("{LIBRARY}lib.rs"), text: "//! Lib.\n".to_owned() };
    assert_eq!(violations(&[lib]), ["onebasin/src/lib.rs does not open with the README as its documentation"]);
}

#[test]
fn a_long_file_is_reported() {
    let text = |lines: usize| "//! Long.\n".repeat(lines);
    assert_eq!(planted("onebasin/src/net.rs", &text(LONGEST)), [""; 0]);
    assert_eq!(
        planted("onebasin/src/net.rs", &text(LONGEST + 1)),
        ["onebasin/src/net.rs has 501 lines; 500 are the limit: it is two files"]
    );
}
