//! The order of the code base, in all crates: no cycle between modules, first sentences, sizes of files.
//!
//! The order of crates is the compiler's to keep, and so is `unsafe`, which all crates but the kernels forbid.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Lines of the longest file that is allowed.
const LONGEST: usize = 500;

/// A file of the workspace; its path is relative to `crates/`, with `/` between the parts.
struct Source {
    path: String,
    text: String,
}

/// A module: its crate, then the names of modules down to it.
type Module = Vec<String>;

/// What breaks the order, one sentence each.
fn violations(sources: &[Source]) -> Vec<String> {
    let mut found: Vec<String> = sources.iter().filter_map(opening).chain(sources.iter().filter_map(size)).collect();
    let modules: BTreeSet<Module> = sources.iter().filter_map(|source| module(&source.path)).collect();
    // For each parent, which of its children name which others; with the file that does.
    let mut edges: BTreeMap<Module, BTreeMap<(String, String), String>> = BTreeMap::new();
    for source in sources {
        let Some(own) = module(&source.path) else { continue };
        for other in names(&source.text, &own) {
            let common = own.iter().zip(&other).take_while(|(a, b)| a == b).count();
            if common < own.len() && common < other.len() && modules.contains(&other[..=common]) {
                let edge = (own[common].clone(), other[common].clone());
                edges.entry(own[..common].to_vec()).or_default().entry(edge).or_insert_with(|| source.path.clone());
            }
        }
    }
    for (parent, edges) in edges {
        found.extend(
            cycle(&edges).map(|cycle| format!("{}: modules name each other in a circle: {cycle}", parent.join("::"))),
        );
    }
    found
}

/// The first sentence, which says what a file is for, if it is missing or does not end.
fn opening(Source { path, text }: &Source) -> Option<String> {
    let paragraph: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//! ")).collect();
    match paragraph.last() {
        None => Some(format!("{path} does not open with a `//!` sentence")),
        Some(last) if !last.ends_with(['.', ':']) => {
            Some(format!("{path} opens with a `//!` paragraph that does not end in a full stop"))
        }
        Some(_) => None,
    }
}

fn size(Source { path, text }: &Source) -> Option<String> {
    let lines = text.lines().count();
    (lines > LONGEST).then(|| format!("{path} has {lines} lines; {LONGEST} are the limit: it is two files"))
}

/// The module that a source file is; tests and examples are none.
fn module(path: &str) -> Option<Module> {
    let (own_crate, inside) = path.split_once("/src/")?;
    let parts = inside.trim_end_matches(".rs").split('/').filter(|part| !["lib", "main", "mod"].contains(part));
    Some(std::iter::once(own_crate).chain(parts).map(str::to_owned).collect())
}

/// All paths that a file names by `crate::` or `super::`, outside of comments and tests inside of it.
fn names(text: &str, own: &Module) -> Vec<Module> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let code: String = text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code)).collect();
    let mut all = Vec::new();
    for (start, keyword) in code.match_indices("crate::").chain(code.match_indices("super::")) {
        let continues = code[..start].ends_with(|c: char| is_word(c) || c == ':');
        if continues {
            continue;
        }
        let mut rest = &code[start..];
        let mut base = if keyword == "crate::" { own[..1].to_vec() } else { own.clone() };
        while let Some(inside) = rest.strip_prefix("super::") {
            base.pop();
            rest = inside;
        }
        rest = rest.strip_prefix("crate::").unwrap_or(rest);
        paths(rest, &base, &mut all);
    }
    all
}

/// Appends the paths that a text begins with: `a::b::C`, or `a::{b, c::D}`.
fn paths(text: &str, base: &[String], all: &mut Vec<Module>) {
    let mut path = base.to_vec();
    let mut rest = text.trim_start();
    loop {
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if end > 0 {
            path.push(rest[..end].to_owned());
        }
        rest = &rest[end..];
        match rest.strip_prefix("::") {
            Some(inside) => rest = inside,
            None => break,
        }
    }
    let Some(list) = rest.strip_prefix('{') else { return all.push(path) };
    let (mut depth, mut start) = (0, 0);
    for (at, c) in list.char_indices() {
        if depth == 0 && [',', '}'].contains(&c) {
            paths(&list[start..at], &path, all);
            start = at + 1;
        }
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return,
            '}' => depth -= 1,
            _ => {}
        }
    }
}

/// A circle of children, if there is one, with the files that close it.
fn cycle(edges: &BTreeMap<(String, String), String>) -> Option<String> {
    let children: BTreeSet<&String> = edges.keys().flat_map(|(from, to)| [from, to]).collect();
    // Whoever names nobody, or is named by nobody, that is left is taken away, until nothing or only circles are left.
    let mut left = children;
    loop {
        let inside = |(from, to): &&(String, String)| left.contains(from) && left.contains(to);
        let inside: Vec<&(String, String)> = edges.keys().filter(inside).collect();
        let in_circle = |child: &&String| {
            inside.iter().any(|(from, _)| from == *child) && inside.iter().any(|(_, to)| to == *child)
        };
        let kept: BTreeSet<&String> = left.iter().copied().filter(|child| in_circle(child)).collect();
        if kept.len() == left.len() {
            break;
        }
        left = kept;
    }
    let inside = edges.iter().filter(|((from, to), _)| left.contains(from) && left.contains(to));
    let said: Vec<String> = inside.map(|((from, to), file)| format!("{from} -> {to} ({file})")).collect();
    (!said.is_empty()).then(|| said.join(", "))
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
fn the_code_base_is_in_order() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let sources: Vec<Source> = rust_files(crates)
        .iter()
        .map(|file| Source {
            path: file.strip_prefix(crates).unwrap().to_str().unwrap().replace('\\', "/"),
            text: std::fs::read_to_string(file).unwrap(),
        })
        .collect();
    for own_crate in
        ["onebasin", "onebasin-checkpoint", "onebasin-cli", "onebasin-graph", "onebasin-kernels", "onebasin-report"]
    {
        assert!(sources.iter().any(|source| source.path.starts_with(own_crate)), "found no source of {own_crate}");
    }
    let found = violations(&sources);
    assert!(found.is_empty(), "{} violations:\n{}", found.len(), found.join("\n"));
}

/// The violations of some planted files.
fn planted(files: &[(&str, &str)]) -> Vec<String> {
    let source =
        |(path, text): &(&str, &str)| Source { path: (*path).to_owned(), text: format!("//! A file.\n{text}") };
    violations(&files.iter().map(source).collect::<Vec<_>>())
}

#[test]
fn modules_that_name_only_others_before_them_are_in_order() {
    let files = [
        ("x/src/lib.rs", "pub mod a;\npub mod b;\n"),
        ("x/src/a.rs", "// use crate::b::B;\n"),
        ("x/src/b/mod.rs", "mod inner;\nuse crate::a::A;\n#[cfg(test)]\nmod tests { use crate::c::C; }\n"),
        ("x/src/b/inner.rs", "use super::B;\nuse crate::a::{A, C};\n"),
        ("x/src/c.rs", "use crate::{a::A, b::{B, inner::I}};\n"),
        ("y/src/a.rs", "use crate::b::B;\n"),
        ("y/src/b.rs", ""),
    ];
    assert_eq!(planted(&files), [""; 0]);
}

#[test]
fn a_circle_is_reported_at_every_depth_and_in_every_spelling() {
    for line in
        ["use crate::b::B;", "fn f(_: crate::b::B) {}", "use super::b;", "use crate::{b::B, c};", "use crate::{c, b};"]
    {
        let files = [("x/src/a.rs", line), ("x/src/b.rs", "use crate::a::A;"), ("x/src/c.rs", "")];
        let said = "x: modules name each other in a circle: a -> b (x/src/a.rs), b -> a (x/src/b.rs)";
        assert_eq!(planted(&files), [said], "{line}");
    }
    let deep = [
        ("x/src/m/a.rs", "use super::b::deep::B;\n"),
        ("x/src/m/b/deep.rs", "use super::super::c::C;\n"),
        ("x/src/m/b/mod.rs", ""),
        ("x/src/m/c.rs", "use crate::m::a::A;\n"),
    ];
    assert_eq!(
        planted(&deep),
        [
            "x::m: modules name each other in a circle: a -> b (x/src/m/a.rs), b -> c (x/src/m/b/deep.rs), c -> a (x/src/m/c.rs)"
        ]
    );
}

#[test]
fn a_missing_first_sentence_is_reported() {
    for text in ["", "use std::fmt;\n", "\n//! Late.\n", "// Plain.\n", "//!\n//! Late.\n"] {
        let source = Source { path: "x/src/a.rs".to_owned(), text: text.to_owned() };
        assert_eq!(violations(&[source]), ["x/src/a.rs does not open with a `//!` sentence"], "{text:?}");
    }
    let source = Source { path: "x/src/a.rs".to_owned(), text: "//! Not a sentence\n".to_owned() };
    assert_eq!(violations(&[source]), ["x/src/a.rs opens with a `//!` paragraph that does not end in a full stop"]);
}

#[test]
fn a_long_file_is_reported() {
    let text = |lines: usize| "//! Long.\n".repeat(lines);
    let of = |lines| violations(&[Source { path: "x/src/a.rs".to_owned(), text: text(lines) }]);
    assert_eq!(of(LONGEST), [""; 0]);
    assert_eq!(of(LONGEST + 1), ["x/src/a.rs has 501 lines; 500 are the limit: it is two files"]);
}
