//! Our side of `bench/run`: reads `CASE REPS` lines, answers each with the milliseconds of REPS timed calls.

mod alignment;
mod assign;
mod inference;
mod networks;
mod peak;
mod products;

use onebasin::net::Precision;
use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead, Write};
use std::time::Instant;

/// A call to be timed, and how many additions and multiplications it does, if that is known.
struct Case {
    flop: Option<u64>,
    call: Box<dyn FnMut() -> Result<(), Box<dyn Error>>>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let threads = threads()?;
    let mut cases = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let answer = answer(&line?, threads, &mut cases).unwrap_or_else(|error| format!("error={error}"));
        writeln!(std::io::stdout(), "{}", answer.replace('\n', " "))?;
    }
    Ok(())
}

/// The one argument: `--threads N`, by default one for each core.
fn threads() -> Result<usize, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok(std::thread::available_parallelism()?.get()),
        ["--threads", count] => Ok(count.parse()?),
        _ => Err(format!("expected `--threads N`, got {arguments:?}").into()),
    }
}

/// Builds the case if it is asked for the first time, calls it once, then times it.
fn answer(line: &str, threads: usize, cases: &mut HashMap<String, Case>) -> Result<String, Box<dyn Error>> {
    let (name, reps) = line.trim().rsplit_once(' ').ok_or_else(|| format!("expected `CASE REPS`, got `{line}`"))?;
    if !cases.contains_key(name) {
        cases.insert(name.to_owned(), build(name, threads)?);
    }
    let case = cases.get_mut(name).expect("inserted above");
    (case.call)()?;
    let mut times = Vec::new();
    for _ in 0..reps.parse()? {
        let start = Instant::now();
        (case.call)()?;
        times.push(format!("{:.4}", start.elapsed().as_secs_f64() * 1e3));
    }
    let flop = case.flop.map_or(String::new(), |flop| format!(" flop={flop}"));
    Ok(format!("ms={}{flop}", times.join(",")))
}

/// `peak`, `normals`, `hmc`, align/network/solver, learned/network, product/kind/library, assign/kind/n/which, or network/ and one of
/// gradient, logits, vi, vi-two, predictive, barrier; the latter and what is learned with /bf16 behind, if products are to be of that.
fn build(name: &str, threads: usize) -> Result<Case, Box<dyn Error>> {
    let (name, precision) = match name.strip_suffix("/bf16") {
        Some(name) => (name, Precision::Bf16),
        None => (name, Precision::F32),
    };
    match name.split('/').collect::<Vec<_>>()[..] {
        ["peak"] => peak::case(threads),
        ["normals"] => Ok(networks::normals()),
        ["product", kind, library] => products::case(kind, library, threads),
        ["align", network, solver] => alignment::case(network, solver, threads),
        ["learned", network] => alignment::learned(network, precision, threads),
        [network, "vi"] => inference::vi(network, precision, threads),
        [network, "vi-two"] => inference::vi_two(network, precision),
        [network, "predictive"] => inference::predictive(network, precision, threads),
        [network, "barrier"] => inference::barrier(network, precision, threads),
        ["assign", kind, n, which] => assign::case(kind, n, which),
        ["hmc"] => inference::hmc(threads),
        [network, "gradient"] => networks::gradient(network, precision, threads),
        [network, "logits"] => networks::logits(network, precision, threads),
        _ => Err(format!("there is no case `{name}`").into()),
    }
}
