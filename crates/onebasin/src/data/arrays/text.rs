//! Reads numbers from text: lines of values between commas, semicolons, tabs or blanks, with a header or without.

use super::array::Array;
use crate::error::{Error, Result};
use std::path::Path;
use std::sync::Arc;

/// Names of the column that has the classes; the last column has them if none is named so.
const LABELS: &[&str] = &["label", "class", "target", "y"];
/// Longest part of a cell that a message repeats.
const SHOWN: usize = 40;

/// The columns of a text.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) inputs: Array,
    /// The column of the classes; none if it was not asked for.
    pub(super) targets: Option<Array>,
}

/// Reads a text whose lines are examples; `with_targets` says whether one of its columns has the targets.
pub(super) fn read(path: &Path, with_targets: bool) -> Result<Table> {
    let bytes = std::fs::read(path).map_err(|error| Error::file(path, error))?;
    let text = str::from_utf8(&bytes).ok().filter(|text| !text.contains('\0'));
    let fault = |reason: String| Error::File { path: path.to_owned(), reason };
    let text = text.ok_or_else(|| fault("it is neither a NumPy file nor text; give .npz, .npy or .csv".to_owned()))?;
    parse(path, text, with_targets).map_err(fault)
}

/// A line that is neither empty nor a comment, and its number from 1 on.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let numbered = (1..).zip(text.lines().map(str::trim_end));
    numbered.filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
}

fn parse(path: &Path, text: &str, with_targets: bool) -> std::result::Result<Table, String> {
    let Some((_, first)) = lines(text).next() else { return Err("it has no lines of numbers".to_owned()) };
    let separator = [';', '\t', ','].into_iter().find(|separator| first.contains(*separator)).unwrap_or(' ');
    let header = header(&cells(first, separator), separator)?;
    let count = cells(first, separator).len();
    let target = if with_targets { Some(target(header.as_deref(), count)?) } else { None };
    let column = |index: usize| match &header {
        Some(names) => format!("{} (`{}`)", index + 1, shown(&names[index])),
        None => (index + 1).to_string(),
    };
    let (mut numbers, mut targets, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for (line, text) in lines(text).skip(usize::from(header.is_some())) {
        let cells = cells(text, separator);
        if cells.len() != count {
            return Err(format!("line {line} has {} values, but the first has {count}; make them equal", cells.len()));
        }
        for (index, cell) in cells.iter().enumerate() {
            let number = cell.parse().map_err(|_| wrong(line, &column(index), cell, separator))?;
            if Some(index) == target { targets.push(number) } else { numbers.push(number) }
        }
        kept.push(line);
    }
    if kept.is_empty() {
        return Err("it has a header and no examples below it".to_owned());
    }
    let kept = Arc::new(kept);
    let others = (0..count).filter(|index| Some(*index) != target).map(column).collect();
    let named = |index: usize| header.as_ref().map_or_else(|| "last column".to_owned(), |names| names[index].clone());
    Ok(Table {
        inputs: Array::text(path, "columns", numbers, &kept, others),
        targets: target.map(|index| Array::text(path, &named(index), targets, &kept, vec![column(index)])),
    })
}

/// The values of a line, without blanks and quotes around them.
fn cells(line: &str, separator: char) -> Vec<&str> {
    fn bare(cell: &str) -> &str {
        cell.trim().trim_matches(['"', '\'']).trim()
    }
    if separator == ' ' {
        return line.split_whitespace().map(bare).collect();
    }
    let mut quoted = false;
    let between = |c: char| {
        quoted ^= c == '"';
        !quoted && c == separator
    };
    line.split(between).map(bare).collect()
}

/// The names of columns, if the first line has them.
fn header(first: &[&str], separator: char) -> std::result::Result<Option<Vec<String>>, String> {
    let is_number = |cell: &&str| cell.parse::<f64>().is_ok();
    let Some(text) = first.iter().position(|cell| !is_number(cell)) else { return Ok(None) };
    let is_label = |cell: &&str| LABELS.contains(&cell.to_lowercase().as_str());
    // Columns may be named by numbers, but then one of the names is a word that says so.
    if first.iter().any(is_number) && !first.iter().any(is_label) {
        return Err(wrong(1, &(text + 1).to_string(), first[text], separator));
    }
    if let Some(nameless) = first.iter().position(|cell| cell.is_empty()) {
        return Err(format!(
            "column {} of its header has no name; if it numbers the lines, leave it out (`to_csv(index=False)` of pandas)",
            nameless + 1
        ));
    }
    Ok(Some(first.iter().map(|cell| (*cell).to_owned()).collect()))
}

/// The column of the targets.
fn target(header: Option<&[String]>, count: usize) -> std::result::Result<usize, String> {
    if count < 2 {
        return Err("it has one column; it needs columns of features and one of classes".to_owned());
    }
    let names = header.unwrap_or_default().iter().enumerate();
    let found: Vec<(usize, &String)> =
        names.filter(|(_, name)| LABELS.contains(&name.to_lowercase().as_str())).collect();
    match found[..] {
        [] => Ok(count - 1),
        [(index, _)] => Ok(index),
        [(_, one), (_, other), ..] => {
            Err(format!("both `{one}` and `{other}` are names of the column of classes; rename one of them"))
        }
    }
}

fn wrong(line: usize, column: &str, cell: &str, separator: char) -> String {
    if cell.is_empty() {
        return format!("line {line}, column {column} is empty; fill it, or remove the line");
    }
    let remedy = if separator == ';' && cell.contains(',') {
        "write decimal points instead of commas"
    } else {
        "write a number; classes are numbered from 0"
    };
    format!("line {line}, column {column} is `{}`, which is not a number; {remedy}", shown(cell))
}

/// The beginning of a text.
fn shown(text: &str) -> String {
    let start: String = text.chars().take(SHOWN).collect();
    if start.len() < text.len() { start + "…" } else { start }
}

#[cfg(test)]
mod tests {
    use super::super::Targets;
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> std::result::Result<(Vec<f32>, Vec<u32>), String> {
        let table = parse(Path::new("my.csv"), text, true)?;
        let values = table.inputs.finite().map_err(|error| error.to_string())?;
        match Targets::of(&table.targets.unwrap()).map_err(|error| error.to_string())? {
            Targets::Classes { labels, .. } => Ok((values, labels)),
            Targets::Numbers { values, .. } => Err(format!("regression of {values:?}")),
        }
    }

    #[test]
    fn every_separator_and_header_gives_the_same_numbers() {
        for text in [
            "1,2.5,0\n3,4,1\n",
            "1;2.5;0\r\n3;4;1\r\n",
            "1\t2.5\t0\n\n3\t4\t1",
            "  1   2.5 0\n3 4 1\n\n",
            "\u{feff}a,b,c\n1,2.5,0\n3,4,1",
            "# made by numpy\n1e0 2.5e0 0.0e0\n3 4 1",
            "a,Label,b\n1,0,2.5\n3,1,4",
            "\"a\";\"b,c;d\";\"class\"\n1;2.5;\"0\"\n3;\"4\";1",
            "0,1,y\n1,2.5,0\n3,4,1",
        ] {
            assert_eq!(read(text).unwrap(), (vec![1.0, 2.5, 3.0, 4.0], vec![0, 1]), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_by_line_and_column() {
        for (text, said) in [
            ("", "no lines"),
            ("# only a comment\n", "no lines"),
            ("a,b\n", "no examples"),
            ("1\n2\n", "one column"),
            ("1,2,0\n3,abc,1", "line 2, column 2 is `abc`, which is not a number"),
            ("1,abc,0\n3,4,1", "line 1, column 2 is `abc`"),
            ("a,b,c\n\n1,2,0\n3,,1", "line 4, column 2 (`b`) is empty; fill it"),
            ("1;2,5;0", "decimal points"),
            ("1,2,0\n3,4", "line 2 has 2 values, but the first has 3"),
            ("a,b,c\n1,nan,0", "line 2, column 2 (`b`) is NaN, which is not a finite number"),
            ("1,-inf,0", "line 1, column 2 is -inf"),
            ("1,1e60,0", "line 1, column 2 is 1"),
            ("1,2,0.5", "regression"),
            ("1,2,-1", "regression"),
            (",a,b\n0,1,0", "column 1 of its header has no name"),
            ("label,a,class\n0,1,0", "both `label` and `class`"),
            ("species,a\nsetosa,1", "line 2, column 1 (`species`) is `setosa`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[0-9a-y,;\t\n\r .\"'#é-]{0,80}", with_targets: bool) {
            if let Ok(table) = parse(Path::new("my.csv"), &text, with_targets) {
                prop_assert_eq!(table.targets.is_some(), with_targets);
                let count: usize = table.inputs.shape.iter().product();
                prop_assert!(table.inputs.finite().map_or(true, |values| values.len() == count));
            }
        }

        #[test]
        fn numbers_come_back(rows in prop::collection::vec((-1e6..1e6f32, -1e6..1e6f32, 0..9u32), 1..9)) {
            let lines: Vec<String> = rows.iter().map(|(a, b, label)| format!("{a},{b},{label}")).collect();
            let (values, labels) = read(&lines.join("\n")).unwrap();
            prop_assert_eq!(values, rows.iter().flat_map(|(a, b, _)| [*a, *b]).collect::<Vec<_>>());
            prop_assert_eq!(labels, rows.iter().map(|row| row.2).collect::<Vec<_>>());
        }
    }
}
