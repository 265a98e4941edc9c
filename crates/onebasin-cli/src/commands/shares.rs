//! Shares of an experiment: how they are named on the command line, and how far they are.

use anyhow::Context as _;
use indicatif::HumanDuration;
use onebasin::error::Error;
use onebasin::experiment::{Kind, Share, State, Status};
use onebasin_report::Alignment::{Left, Right};
use onebasin_report::Table;
use std::fmt::Write as _;
use std::str::FromStr;
use std::time::Duration;

/// Variables that hold the number of a task in an array of jobs. One of HyperQueue may run inside of a job of Slurm.
const INDICES: [&str; 2] = ["HQ_TASK_ID", "SLURM_ARRAY_TASK_ID"];

/// One share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// By its number.
    Number(usize),
    /// That of the task in an array of jobs, and so many more.
    Auto(usize),
}

impl FromStr for Cell {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || format!("`{text}` is neither a number from 0, nor `auto`, nor such as `auto+1000`");
        match text.strip_prefix("auto") {
            None => text.parse().map(Self::Number).map_err(|_| fault()),
            Some("") => Ok(Self::Auto(0)),
            Some(more) => more.strip_prefix('+').and_then(|more| more.parse().ok()).map(Self::Auto).ok_or_else(fault),
        }
    }
}

impl Cell {
    /// Its number.
    pub(super) fn number(self) -> anyhow::Result<usize> {
        let more = match self {
            Self::Number(number) => return Ok(number),
            Self::Auto(more) => more,
        };
        let found = INDICES.iter().find_map(|name| Some((name, std::env::var(name).ok()?)));
        let (name, text) = found.with_context(|| {
            format!("--cell auto works in an array of jobs only: neither {} nor {} is set", INDICES[1], INDICES[0])
        })?;
        let index: usize = text.parse().with_context(|| format!("{name} is `{text}`, which is not a number"))?;
        Ok(index + more)
    }
}

/// Every n-th share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cells {
    /// From 1.
    part: usize,
    parts: usize,
}

impl FromStr for Cells {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(part, parts)| Some((part.parse().ok()?, parts.parse().ok()?)));
        match numbers {
            Some((part, parts)) if (1..=parts).contains(&part) => Ok(Self { part, parts }),
            _ => Err(format!("`{text}` is not a part of a whole, such as 1/3 or 3/3")),
        }
    }
}

impl Cells {
    /// Their numbers.
    pub(super) fn of(self, count: usize) -> Vec<usize> {
        (self.part - 1..count).step_by(self.parts).collect()
    }
}

/// A share by its number, if there is one.
pub(super) fn one(number: usize, count: usize) -> Result<Vec<usize>, Error> {
    let expected = format!("less than {count}, the number of shares of the experiment");
    if number < count { Ok(vec![number]) } else { Err(Error::setting("--cell", number, &expected)) }
}

/// How far all shares are, for a person.
pub(super) fn text(status: &Status) -> String {
    const STATES: [&str; 5] = ["done", "running", "failed", "interrupted", "missing"];
    let count = |kind: Kind, name: &str| status.of(kind).filter(|share| name_of(&share.state) == name).count();
    let columns = std::iter::once(("", Left)).chain(STATES.map(|name| (name, Right)));
    let mut table = Table::new(columns);
    for (name, kind) in [("trainings", Kind::Training), ("measurements", Kind::Measurement)] {
        let counts = STATES.map(|state| count(kind, state).to_string());
        table.push(std::iter::once(name.to_owned()).chain(counts));
    }
    let mut text = table.text();
    for name in &STATES[1..] {
        let own: Vec<&Share> = status.shares.iter().filter(|share| name_of(&share.state) == *name).collect();
        if *name == "missing" && !own.is_empty() {
            writeln!(text, "missing: {}", ranges(own.iter().map(|share| share.number)))
                .expect("a string can be written to");
            continue;
        }
        for Share { number, title, state, .. } in own {
            let more = match state {
                State::Failed { reason } => format!(": {reason}"),
                State::Running { by: Some(owner) } => format!(": {owner}"),
                _ => String::new(),
            };
            writeln!(text, "{name}: {number}, {title}{more}").expect("a string can be written to");
        }
    }
    let running = status.shares.iter().filter(|share| matches!(share.state, State::Running { .. })).count();
    let human = |seconds: f64| HumanDuration(Duration::from_secs_f64(seconds));
    let rest = match status.rest {
        Some(0.0) => "nothing is left to do; --merge writes the report".to_owned(),
        Some(rest) if running > 1 => {
            let (all, each) = (human(rest), human(rest / running as f64));
            format!("the rest takes {all} of work, or {each} on the {running} processes that work now")
        }
        Some(rest) => format!("the rest takes {} of work", human(rest)),
        None => "how long the rest takes is known when a training and a measurement are done".to_owned(),
    };
    text + &rest + "\n"
}

fn name_of(state: &State) -> &'static str {
    match state {
        State::Done { .. } => "done",
        State::Running { .. } => "running",
        State::Failed { .. } => "failed",
        State::Interrupted => "interrupted",
        State::Missing => "missing",
    }
}

/// Increasing numbers as schedulers read them, such as `0-3,7`.
pub(super) fn ranges(numbers: impl IntoIterator<Item = usize>) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let text =
        |(first, last): (usize, usize)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.into_iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_named_by_number_by_variable_or_by_part() {
        assert_eq!("7".parse(), Ok(Cell::Number(7)));
        assert_eq!("auto".parse(), Ok(Cell::Auto(0)));
        assert_eq!("auto+1000".parse(), Ok(Cell::Auto(1000)));
        for wrong in ["", "-1", "1.5", "auto+", "auto-1", "automatic"] {
            assert!(wrong.parse::<Cell>().is_err(), "{wrong}");
        }
        let parts: Vec<Vec<usize>> = ["1/3", "2/3", "3/3"].map(|text| text.parse::<Cells>().unwrap().of(7)).into();
        assert_eq!(parts, [vec![0, 3, 6], vec![1, 4], vec![2, 5]]);
        for wrong in ["", "1", "0/3", "4/3", "1/0", "a/b", "1/2/3"] {
            assert!(wrong.parse::<Cells>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_become_ranges() {
        assert_eq!(ranges([0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(ranges([]), "");
    }
}
