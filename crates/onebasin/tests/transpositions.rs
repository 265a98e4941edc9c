//! The number of transpositions through training and along lines: what symmetry alone decides, and what is planted.

use onebasin::align;
use onebasin::align::Criterion;
use onebasin::arch::{Arch, Preset};
use onebasin::data::{Examples, Scaling, Split, Standardisation};
use onebasin::error::{Error, Result};
use onebasin::experiment::stages::transpositions::{TranspositionsResult, TranspositionsSettings};
use onebasin::experiment::{Context, Host, Section, Silent, Stage, config};
use onebasin::infer::{Inference, Map, MapConfig, Optimise, Optimiser, Prior, Problem, Scaling as PriorScaling};
use onebasin::net::{Likelihood, Precision};
use onebasin::params::Params;
use onebasin::posterior::Gaussian;
use onebasin::progress::{Monitor, Progress};
use onebasin::symmetry::{Permutations, Spec};
use onebasin::threads::pool;
use onebasin_kernels::ThreadPool;
use proptest::prelude::*;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

const CONFIG: &str = r#"
    runs = 2
    train_examples = 60
    start = { transpositions = [0, 3, 11] }
    line = { points = 5 }
    dynamics = { epochs = [0, 1, 2] }
    data = { name = "synthetic", scaling = "standard" }
    arch = { preset = "mlp", hidden = [12] }
    prior.variance = 1.0
    infer.optimise = { epochs = 2, batch = 20, optimiser = "sgd", learning_rate = 0.01 }
"#;

fn read(text: &str, overrides: &[&str]) -> Result<TranspositionsSettings> {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    let settings: TranspositionsSettings = config::from_table("test", config::read_table("test", text, &overrides)?)?;
    settings.check()?;
    Ok(settings)
}

fn run_for(overrides: &[&str], threads: usize, host: &dyn Host) -> Result<TranspositionsResult> {
    let context = Context { pool: pool(threads).unwrap(), data: Path::new(""), host };
    read(CONFIG, overrides).unwrap().run(&context, None)
}

fn run(overrides: &[&str], threads: usize) -> TranspositionsResult {
    run_for(overrides, threads, &Silent).unwrap()
}

fn arch(hidden: &str) -> Arch {
    let json = format!(r#"{{"preset": "mlp", "input": "6x6x1", "classes": 4, "hidden": {hidden}}}"#);
    Arch::new(serde_json::from_str::<Preset>(&json).unwrap()).unwrap()
}

#[test]
fn in_the_same_order_training_keeps_what_was_planted() {
    let found = run(&["start.same_order=true"], 2);
    assert_eq!(found.starts.len(), 6);
    for start in &found.starts {
        let [before, after] = [start.pair.distance_before, start.pair.distance_after];
        assert_eq!((start.recovered, start.off, start.pair.transpositions), (1.0, 0, start.planted));
        if start.planted == 0 {
            assert_eq!((before.to_bits(), after.to_bits()), (0.0f64.to_bits(), 0.0f64.to_bits()));
            assert_eq!((start.pair.test.loss.before, start.pair.train.error.after), (0.0, 0.0));
        } else {
            assert!(after < 1e-5 * before, "{after} of {before}");
            assert!(start.pair.train.loss.before.abs() > 1e-4 && start.pair.train.loss.after.abs() < 1e-6);
        }
    }
    let correlations = found.correlations.unwrap();
    assert!((correlations.transpositions.unwrap() - 1.0).abs() < 1e-12);
}

#[test]
fn in_another_order_the_distance_left_is_that_of_the_noise() {
    for start in run(&[], 1).starts {
        assert!(start.pair.distance_after > 0.0, "batches differ");
        assert_eq!(start.off, 0);
        assert!((start.planted == 0) == (start.pair.distance_before == start.pair.distance_after));
    }
}

#[test]
fn the_ends_of_a_line_are_themselves_and_the_last_moment_is_the_end_of_training() {
    let found = run(&[], 2);
    for (points, moments) in found.line.chunks_exact(5).zip(found.dynamics.chunks_exact(3)) {
        let [first, last] = [points[0], points[4]];
        assert_eq!((first.tau, first.from_first, last.tau, last.from_second), (0.0, 0, 1.0, 0));
        // What aligns one with the other is undone by what aligns the other with the one.
        assert_eq!(first.from_second, last.from_first);
        assert_eq!(moments[2].pair.transpositions, last.from_first);
        assert_eq!(moments.iter().map(|moment| moment.epoch).collect::<Vec<_>>(), [0.0, 1.0, 2.0]);
        for moment in moments {
            assert!(moment.pair.distance_after < moment.pair.distance_before);
        }
    }
    let harmonic: f64 = (1..=12).map(|cycle| 1.0 / f64::from(cycle)).sum();
    assert!(found.units == 12 && (found.unrelated - (12.0 - harmonic)).abs() < 1e-12);
}

#[test]
fn threads_change_nothing_and_what_is_written_is_read_back() {
    let found = run(&[], 1);
    assert_eq!(found, run(&[], 3));
    let text = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<TranspositionsResult>(&text).unwrap(), found);
}

/// Adding a value to a list changes none of what was there before.
#[test]
fn a_start_depends_on_its_own_number_alone() {
    let alone = run(&["start.transpositions=[3]", "runs=1"], 1).starts[0];
    assert_eq!(alone, run(&[], 1).starts[1]);
}

/// A host that asks to stop when it has heard of progress so many times.
struct Impatient(AtomicUsize);

impl Host for Impatient {
    fn progress(&self, _: Progress<'_>) -> ControlFlow<()> {
        let left = self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        if left.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
    fn message(&self, _: &str) {}
    fn seconds(&self) -> f64 {
        0.0
    }
    fn unix_time(&self) -> f64 {
        0.0
    }
    fn part(&self, _: &str) -> Box<dyn Host + '_> {
        unreachable!("one stage has no parts")
    }
}

#[test]
fn it_stops_when_told() {
    for after in [0, 4, 59] {
        assert_eq!(run_for(&[], 1, &Impatient(AtomicUsize::new(after))), Err(Error::Stopped));
    }
}

#[test]
fn mistakes_are_named() {
    for (setting, said) in [
        ("runs=0", "`runs` is 0"),
        ("train_examples=0", "`train_examples` is 0"),
        ("start.transpositions=[12]", "12 where 11 are possible"),
        ("line.points=4", "odd"),
        ("dynamics.epochs=[3]", "`dynamics.epochs` is a list with 3; it must be a list of numbers from 0 to"),
        ("dynamics.epochs=[nan]", "dynamics.epochs"),
        ("infer.optimise.learning_rate=0", "infer.optimise.learning_rate"),
        ("infer.method=vi", "unknown key `method`"),
        ("start.order=1", "unknown key `order`"),
        ("nothing=1", "unknown key `nothing`"),
        ("arch.width=3", "unknown key `width`"),
        ("arch.hidden=[]", "permuted"),
        ("data.name=nowhere", "nowhere"),
    ] {
        let error = read(CONFIG, &[setting]).unwrap_err().to_string();
        assert!(error.contains(said), "{setting}: {error}");
    }
    let none = CONFIG.lines().filter(|line| !["start", "line", "dynamics"].iter().any(|name| line.contains(name)));
    let error = read(&none.collect::<Vec<_>>().join("\n"), &[]).unwrap_err();
    assert!(error.to_string().contains("start, line, dynamics"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A network of permuted units has the permuted gradient, so it stays the permuted network.
    #[test]
    fn training_commutes_with_permutations(seed: u64, adam: bool, deep: bool, transpositions in 0..12usize) {
        let arch = arch(if deep { "[8, 6]" } else { "[13]" });
        let spec = Spec::of(&arch);
        let dataset = onebasin::data::load("synthetic", Split::Train, Path::new("")).unwrap();
        let standardisation = Standardisation::of(Scaling::Standard, &dataset);
        let problem = Problem {
            likelihood: Likelihood::Softmax,
            prior: Prior { variance: 1.0, scaling: PriorScaling::One },
            temperature: 1.0,
            precision: Precision::F32,
            training: Arc::new(Examples::new(dataset, standardisation).unwrap()),
            arch,
        };
        let optimiser = if adam { Optimiser::Adam } else { Optimiser::Sgd };
        let optimise = Optimise { optimiser, ..Optimise::new(1.0, 16, 1e-3) };
        let permutations = Permutations::with_transpositions(&spec, transpositions, seed).unwrap();
        let start = problem.arch.initialise(seed);
        let trained = |start: Params| {
            let mut map = Map::at(&MapConfig { optimise }, &problem, start, seed, &pool(1).unwrap()).unwrap();
            (0..10).for_each(|_| map.step());
            map.point().clone()
        };
        let mut difference = trained(spec.apply(&permutations, &start).unwrap());
        let expected = spec.apply(&permutations, &trained(start.clone())).unwrap();
        difference.add_scaled(-1.0, &expected).unwrap();
        // Adam divides by the size of a gradient, and makes much of rounding where there is next to none.
        let rounding = if adam { 1e-3 } else { 1e-5 };
        prop_assert!(difference.norm() < rounding * start.norm(), "{}", difference.norm());
    }

    /// The further a point is along the line, the more its alignment with the first end is that of the last: the objective of
    /// either end is on its side of the other's. Which is why the number of transpositions rises on the whole.
    #[test]
    fn along_a_line_the_alignment_turns_from_one_end_to_the_other(seed: u64) {
        let arch = arch("[10]");
        let spec = Spec::of(&arch);
        let point = |seed: u64| Gaussian::new(arch.initialise(seed), Params::zeros(arch.layout())).unwrap();
        let [first, last] = [point(seed), point(seed ^ 1)];
        let pool = ThreadPool::new(1).unwrap();
        let mut before: Option<[f64; 2]> = None;
        for step in 0..=8u8 {
            let tau = f32::from(step) / 8.0;
            let mut mean = first.mean().clone();
            mean.scale(1.0 - tau);
            mean.add_scaled(tau, last.mean()).unwrap();
            let here = Gaussian::new(mean, first.std().clone()).unwrap();
            let settings = align::Settings { criterion: Criterion::Mean, ..align::Settings::default() };
            let found = align::pair(&spec, &first, &here, settings, &pool, &mut Monitor::silent()).unwrap().permutations;
            let objective = |end: &Gaussian| first.mean().dot(&spec.apply(&found, end.mean()).unwrap()).unwrap();
            let now = [objective(&first), objective(&last)];
            if let Some(before) = before {
                prop_assert!(now[0] <= before[0] + 1e-4 && now[1] >= before[1] - 1e-4, "{before:?} {now:?}");
            }
            before = Some(now);
        }
    }

    #[test]
    fn planted_permutations_have_the_number_asked_for_whatever_the_groups(seed: u64, part in 0.0..=1.0f64) {
        let spec = Spec::of(&arch("[7, 1, 12]"));
        let most = 6 + 11;
        let transpositions = (part * f64::from(most)).round() as usize;
        let permutations = Permutations::with_transpositions(&spec, transpositions, seed).unwrap();
        prop_assert_eq!(permutations.transpositions(), transpositions);
        prop_assert_eq!(permutations.agreement(&permutations), 1.0);
        prop_assert_eq!(permutations.agreement(&Permutations::identity(&spec)) == 1.0, transpositions == 0);
        prop_assert!(Permutations::with_transpositions(&spec, most as usize + 1, seed).is_err());
    }
}
