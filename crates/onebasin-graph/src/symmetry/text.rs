//! A symmetry as a TOML file that a person can read and edit.
//!
//! An axis is a string: the name of a group, `-` for indices that stay fixed, `blocks * group * repeat` where units come in blocks or have
//! several neighbouring indices, and parts joined by `+`, such as `-8 + conv1 * 49`.

use super::{Group, Segment, Symmetry, TensorAxes};
use crate::error::{Error, Result};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// What a file begins with.
const HEAD: &str = "\
# Which units of a network can be permuted without a change of its function.
# An axis is the name of a group, or `-` for indices that stay fixed. `4 * units` are four blocks of all units one behind the other,
# `units * 49` has 49 neighbouring indices for each unit, and `-8 + units` is 8 fixed indices and then the units.
# A group `within` another has equal blocks, which are permuted as that group is, and units that may move within their block.
# Running means and variances of batch normalisations have `statistics = true`: they are permuted, but do not decide which units match.
";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    groups: Vec<GroupText>,
    tensors: Vec<TensorText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupText {
    name: String,
    units: usize,
    within: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TensorText {
    name: String,
    shape: Vec<usize>,
    axes: Vec<String>,
    #[serde(default)]
    statistics: bool,
}

impl Symmetry {
    /// The text of a file, with the reasons of what stays fixed as comments.
    pub fn to_toml(&self) -> String {
        let mut text = HEAD.to_owned();
        let mut line = |line: String| writeln!(text, "{line}").expect("a string can be written to");
        line("\ngroups = [".to_owned());
        for Group { name, units, within } in &self.groups {
            let within = within.map(|parent| format!(", within = {}", quoted(&self.groups[parent].name)));
            line(format!("  {{ name = {}, units = {units}{} }},", quoted(name), within.unwrap_or_default()));
        }
        line("]\n\ntensors = [".to_owned());
        for TensorAxes { name, shape, axes, statistics } in &self.tensors {
            let (name, axes) = (quoted(name), axes.iter().map(|segments| quoted(&self.axis(segments))));
            let axes = axes.collect::<Vec<String>>().join(", ");
            let statistics = if *statistics { ", statistics = true" } else { "" };
            line(format!("  {{ name = {name}, shape = {shape:?}, axes = [{axes}]{statistics} }},"));
        }
        line("]".to_owned());
        let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for fixed in &self.fixed {
            let place = format!("axis {} of {} ({})", fixed.axis, fixed.tensor, fixed.units);
            reasons.entry(&fixed.reason).or_default().push(place);
        }
        if !reasons.is_empty() {
            line("\n# What stays fixed, and why:".to_owned());
        }
        for (reason, places) in reasons {
            // Names may hold anything; a comment ends with its line.
            let text = format!("{reason}: {}", places.join(", "));
            line(format!("# - {}", text.replace(char::is_control, "\u{fffd}")));
        }
        text
    }

    fn axis(&self, segments: &[Segment]) -> String {
        let segment = |&Segment { group, units, repeat, blocks }: &Segment| {
            let Some(group) = group else {
                let indices = units * repeat * blocks;
                return if segments.len() == 1 { "-".to_owned() } else { format!("-{indices}") };
            };
            let name = &self.groups[group].name;
            let plain = |letter: char| !letter.is_whitespace() && !"+*'".contains(letter);
            let plain = name.chars().all(plain) && !name.starts_with('-') && name.parse::<usize>().is_err();
            let name = if plain { name.clone() } else { format!("'{name}'") };
            let blocks = if blocks > 1 { format!("{blocks} * ") } else { String::new() };
            let repeat = if repeat > 1 { format!(" * {repeat}") } else { String::new() };
            format!("{blocks}{name}{repeat}")
        };
        segments.iter().map(segment).collect::<Vec<_>>().join(" + ")
    }

    /// Reads the text of a file; `place` names it in errors.
    pub fn from_toml(text: &str, place: &str) -> Result<Self> {
        let error = |fault: String| Error::new(place, fault);
        let file: File = toml::from_str(text).map_err(|fault| error(fault.to_string().trim_end().to_owned()))?;
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, group) in file.groups.iter().enumerate() {
            if known.insert(&group.name, index).is_some() {
                return Err(error(format!("two groups are named `{}`", group.name)));
            }
        }
        let mut groups = Vec::new();
        for GroupText { name, units, within } in &file.groups {
            let parent = |parent: &String| {
                known.get(parent.as_str()).copied().ok_or_else(|| error(format!("there is no group `{parent}`")))
            };
            groups.push(Group { name: name.clone(), units: *units, within: within.as_ref().map(parent).transpose()? });
        }
        let (mut tensors, mut names) = (Vec::new(), BTreeSet::new());
        for TensorText { name, shape, axes, statistics } in &file.tensors {
            let fault = |fault: String| error(format!("tensor `{name}`: {fault}"));
            if !names.insert(name) {
                return Err(fault("it is there twice".to_owned()));
            }
            if axes.len() != shape.len() {
                return Err(fault(format!("it has {} axes, and its shape {shape:?} has {}", axes.len(), shape.len())));
            }
            let read = |(axis, &size): (&String, &usize)| read_axis(axis, size, &groups, &known).map_err(fault);
            let axes = axes.iter().zip(shape).map(read).collect::<Result<_>>()?;
            tensors.push(TensorAxes { name: name.clone(), shape: shape.clone(), axes, statistics: *statistics });
        }
        Ok(Self { groups, tensors, fixed: Vec::new() })
    }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// The segments that a string stands for, on an axis of `size` indices.
fn read_axis(
    text: &str,
    size: usize,
    groups: &[Group],
    known: &BTreeMap<&str, usize>,
) -> std::result::Result<Vec<Segment>, String> {
    if text.trim() == "-" {
        return Ok(vec![Segment { group: None, units: size, repeat: 1, blocks: 1 }]);
    }
    let (mut segments, mut all) = (Vec::new(), 0usize);
    for part in split(text, '+') {
        let part = part.trim();
        let segment = if let Some(units) = part.strip_prefix('-').and_then(|units| units.trim().parse().ok()) {
            Segment { group: None, units, repeat: 1, blocks: 1 }
        } else {
            let (mut blocks, mut repeat, mut group) = (1, 1, None);
            for factor in split(part, '*') {
                let factor = factor.trim();
                match (factor.parse::<usize>(), group) {
                    (Ok(number), None) => blocks = number,
                    (Ok(number), Some(_)) => repeat = number,
                    (Err(_), None) => {
                        let name = factor.strip_prefix('\'').and_then(|name| name.strip_suffix('\'')).unwrap_or(factor);
                        let found = known.get(name).ok_or_else(|| format!("`{text}` names no group: `{name}`"))?;
                        group = Some(*found);
                    }
                    (Err(_), Some(_)) => return Err(format!("`{part}` names two groups")),
                }
            }
            let group = group.ok_or_else(|| format!("`{part}` names no group"))?;
            Segment { group: Some(group), units: groups[group].units, repeat, blocks }
        };
        let len = segment.units.checked_mul(segment.repeat).and_then(|len| len.checked_mul(segment.blocks));
        let len = len.filter(|len| *len > 0).ok_or_else(|| format!("`{part}` has no or too many indices"))?;
        all = all.saturating_add(len);
        segments.push(segment);
    }
    if all == size { Ok(segments) } else { Err(format!("`{text}` has {all} indices, and the axis has {size}")) }
}

/// Cuts a text at a letter outside of quotes.
fn split(text: &str, at: char) -> Vec<&str> {
    let mut inside = false;
    text.split(|letter: char| {
        inside ^= letter == '\'';
        letter == at && !inside
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Symmetry {
        let segment = |group, units, repeat, blocks| Segment { group, units, repeat, blocks };
        let group = |name: &str, units, within| Group { name: name.to_owned(), units, within };
        Symmetry {
            groups: vec![
                group("conv 1", 4, None),
                group("heads", 2, None),
                group("q", 6, Some(1)),
                group("7", 3, None),
            ],
            tensors: vec![
                TensorAxes {
                    name: "a.weight".to_owned(),
                    shape: vec![19, 24],
                    axes: vec![
                        vec![segment(None, 8, 1, 1), segment(Some(0), 4, 2, 1), segment(Some(3), 3, 1, 1)],
                        vec![segment(Some(2), 6, 1, 4)],
                    ],
                    statistics: false,
                },
                TensorAxes {
                    name: "b".to_owned(),
                    shape: vec![5],
                    axes: vec![vec![segment(None, 5, 1, 1)]],
                    statistics: true,
                },
            ],
            fixed: Vec::new(),
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = example().to_toml();
        assert!(text.contains(r#"axes = ["-8 + 'conv 1' * 2 + '7'", "4 * q"]"#), "{text}");
        assert!(text.contains(r#"within = "heads""#), "{text}");
        assert_eq!(Symmetry::from_toml(&text, "file").unwrap(), example());
    }

    #[test]
    fn mistakes_name_the_tensor_and_the_axis() {
        let error = |from: &str, to: &str| {
            let text = example().to_toml().replace(from, to);
            Symmetry::from_toml(&text, "net.symmetry.toml").unwrap_err().to_string()
        };
        assert_eq!(error("4 * q", "4 * p"), "net.symmetry.toml: tensor `a.weight`: `4 * p` names no group: `p`");
        assert!(error("4 * q", "3 * q").ends_with("`3 * q` has 18 indices, and the axis has 24"));
        assert!(error("4 * q", "q * q").ends_with("`q * q` names two groups"));
        assert!(error("4 * q", "4").ends_with("`4` names no group"));
        assert!(error("shape = [5]", "shape = [5, 1]").ends_with("it has 1 axes, and its shape [5, 1] has 2"));
        assert!(error(r#"within = "heads""#, r#"within = "tails""#).ends_with("there is no group `tails`"));
        assert!(error(r#"name = "q""#, r#"name = "heads""#).ends_with("two groups are named `heads`"));
        assert!(error("units = 6", "units = -6").contains("units"), "{}", error("units = 6", "units = -6"));
    }
}
