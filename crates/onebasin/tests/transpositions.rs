//! The number of transpositions through training and along lines: what symmetry alone decides, and what is planted.

use onebasin::align;
use onebasin::align::Channel;
use onebasin::arch::Arch;
use onebasin::arch::Preset;
use onebasin::data::Examples;
use onebasin::data::Scaling;
use onebasin::data::Split;
use onebasin::data::Standardisation;
use onebasin::experiment::Transpositions;
use onebasin::experiment::TranspositionsConfig;
use onebasin::infer::Inference;
use onebasin::infer::Map;
use onebasin::infer::MapConfig;
use onebasin::infer::Optimise;
use onebasin::infer::Optimiser;
use onebasin::infer::Prior;
use onebasin::infer::Problem;
use onebasin::infer::Scaling as PriorScaling;
use onebasin::infer::Schedule;
use onebasin::kernels::Team;
use onebasin::net::Likelihood;
use onebasin::params::Params;
use onebasin::posterior::Gaussian;
use onebasin::symmetry::Permutations;
use onebasin::symmetry::Spec;
use proptest::prelude::*;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

const CONFIG: &str = r#"
    runs = 2
    images = 60
    start = { transpositions = [0, 3, 11] }
    line = { points = 5 }
    dynamics = { epochs = [0, 1, 2] }
    data = { name = "synthetic", scaling = "standard" }
    arch = { preset = "mlp", hidden = [12] }
    prior.variance = 1.0
    infer.optimise = { epochs = 2, batch = 20, optimiser = "sgd", rate = 0.01 }
"#;

fn config(overrides: &[&str]) -> Result<TranspositionsConfig, String> {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    TranspositionsConfig::from_toml("test", CONFIG, &overrides).map_err(|error| error.to_string())
}

fn run(overrides: &[&str], threads: usize) -> Transpositions {
    let mut go_on = |_| ControlFlow::Continue(());
    config(overrides).unwrap().run(Path::new(""), threads, &mut go_on).unwrap().unwrap()
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
    assert_eq!(serde_json::from_str::<Transpositions>(&text).unwrap(), found);
}

/// Adding a value to a list changes none of what was there before.
#[test]
fn a_start_depends_on_its_own_number_alone() {
    let alone = run(&["start.transpositions=[3]", "runs=1"], 1).starts[0];
    assert_eq!(alone, run(&[], 1).starts[1]);
}

#[test]
fn it_stops_when_told() {
    for after in [0, 5, 60] {
        let mut left = after;
        let mut stop = |_| {
            left -= i32::from(left > 0);
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        assert_eq!(config(&[]).unwrap().run(Path::new(""), 1, &mut stop), Ok(None));
    }
}

#[test]
fn mistakes_are_named() {
    for (setting, said) in [
        ("runs=0", "runs is 0"),
        ("images=0", "images is 0"),
        ("start.transpositions=[12]", "12 where 11 are possible"),
        ("line.points=4", "odd"),
        ("dynamics.epochs=[3]", "a number of dynamics.epochs is 3; it must be from 0 to infer.optimise.epochs"),
        ("dynamics.epochs=[nan]", "dynamics.epochs"),
        ("infer.optimise.rate=0", "infer.optimise.rate"),
        ("infer.method=vi", "unknown field `method`"),
        ("start.order=1", "unknown field `order`"),
        ("nothing=1", "unknown field `nothing`"),
        ("arch.width=3", "unknown field `width`"),
        ("arch.hidden=[]", "permuted"),
        ("data.name=nowhere", "nowhere"),
    ] {
        let error = config(&[setting]).unwrap_err();
        assert!(error.contains(said), "{setting}: {error}");
    }
    let none = CONFIG.lines().filter(|line| !["start", "line", "dynamics"].iter().any(|name| line.contains(name)));
    let error = TranspositionsConfig::from_toml("test", &none.collect::<Vec<_>>().join("\n"), &[]).unwrap_err();
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
            training: Arc::new(Examples::new(dataset, standardisation).unwrap()),
            arch,
        };
        let optimiser = if adam { Optimiser::Adam } else { Optimiser::Sgd };
        let optimise =
            Optimise { epochs: 1.0, batch: 16, optimiser, rate: 1e-3, momentum: 0.9, schedule: Schedule::Constant, warmup: 0.0 };
        let permutations = Permutations::with_transpositions(&spec, transpositions, seed).unwrap();
        let start = problem.arch.initialise(seed);
        let trained = |start: Params| {
            let mut map = Map::at(&MapConfig { optimise }, &problem, start, seed, 1).unwrap();
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
        let team = Team::new(1).unwrap();
        let mut before: Option<[f64; 2]> = None;
        for step in 0..=8u8 {
            let tau = f32::from(step) / 8.0;
            let mut mean = first.mean().clone();
            mean.scale(1.0 - tau);
            mean.add_scaled(tau, last.mean()).unwrap();
            let here = Gaussian::new(mean, first.std().clone()).unwrap();
            let settings = align::Settings { channel: Channel::Mean, ..align::Settings::default() };
            let found = align::pair(&spec, &first, &here, settings, &team, &mut |_| ()).unwrap().permutations;
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
