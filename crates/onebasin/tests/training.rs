//! A training as a stage: what it warns of, how it ends when it diverges, and that it can be extended.

use onebasin::error::Error;
use onebasin::experiment::stages::train::TrainResult;
use onebasin::experiment::{Context, Existing, Host, POSTERIOR, Stage, Train, TrainConfig};
use onebasin::progress::Progress;
use onebasin::store::Checkpoint;
use onebasin::threads::pool;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

const COMMON: &str = r#"
    data.name = "synthetic"
    arch = { preset = "mlp", hidden = [8] }
    prior.variance = 0.1
    evaluate.samples = 4
"#;
const METHODS: [&str; 4] = ["method = 'map'", "method = 'vi'", "method = 'ivon'", "method = 'ensemble', members = 2"];

/// Keeps what it is told.
#[derive(Default)]
struct Listener(Mutex<Vec<String>>);

impl Host for Listener {
    fn progress(&self, _: Progress<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn message(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
    fn seconds(&self) -> f64 {
        0.0
    }
    fn unix_time(&self) -> f64 {
        0.0
    }
    fn part(&self, _: &str) -> Box<dyn Host + '_> {
        unreachable!("one training has no parts")
    }
}

/// Trains; returns what came out and what was said.
fn train(folder: &Path, method: &str, optimise: &str, extend: bool) -> (Result<TrainResult, Error>, String) {
    let infer = format!("infer = {{ {method}, optimise = {{ batch = 40, {optimise} }} }}");
    let config = TrainConfig::from_toml("test", &format!("{COMMON}{infer}"), &[]).unwrap();
    let host = Listener::default();
    let context = Context { pool: pool(1).unwrap(), data: Path::new(""), host: &host };
    // The clock stands still, so every step is saved.
    let result = Train { config, save_every: 0.0, extend }.run_in(folder, Existing::Continue, &context);
    (result, host.0.into_inner().unwrap().join("\n"))
}

#[test]
fn a_training_that_diverges_ends_with_its_step_and_keeps_a_finite_state() {
    for method in METHODS {
        let folder = tempfile::tempdir().unwrap();
        let mut steps = Vec::new();
        // Again from the state that was kept.
        for _ in 0..2 {
            let (result, _) = train(folder.path(), method, "epochs = 10, learning_rate = 1e30", false);
            let error = result.unwrap_err();
            let Error::Diverged { step, total: 100, .. } = error.cause() else { panic!("{method}: {error}") };
            steps.push(*step);
            let text = error.to_string();
            assert!(
                text.contains(&format!("diverged at step {step} of 100")) && text.contains("learning_rate"),
                "{text}"
            );
        }
        assert_eq!(steps[0], steps[1], "{method}");
        for file in ["result.json", POSTERIOR] {
            assert!(!folder.path().join(file).exists(), "{method}: {file}");
        }
        let file = folder.path().join("checkpoint.safetensors");
        // The first ten steps of an ensemble are one.
        assert!(file.exists() || method.contains("ensemble"), "{method}");
        if file.exists() {
            let state = Checkpoint::read(&file).unwrap().state;
            assert!(state.vectors.values().flatten().all(|value| value.is_finite()), "{method}");
        }
    }
}

#[test]
fn a_memory_of_the_hessian_that_is_too_long_is_a_warning() {
    let optimise = "epochs = 10, learning_rate = 0.01";
    for (settings, said) in [
        ("hold = 1", Some("10000 updates, of which fewer than 5 fit into the 90 updates after `infer.hold`; lower")),
        ("hessian_decay = 0.951", Some("20 updates, of which fewer than 5 fit into the 100 updates; lower")),
        ("hessian_decay = 0.95", None),
        ("hessian_decay = 0.94, hold = 1", None),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (result, messages) = train(folder.path(), &format!("method = 'ivon', {settings}"), optimise, false);
        let warnings = result.unwrap().warnings;
        assert_eq!(warnings.len(), usize::from(said.is_some()), "{settings}: {warnings:?}");
        for warning in warnings {
            assert!(warning.contains(said.unwrap()) && messages.contains(&warning), "{warning}\n{messages}");
        }
    }
}

#[test]
fn more_epochs_at_a_constant_learning_rate_give_the_posterior_of_a_longer_training() {
    let (short, long) = ("epochs = 3, learning_rate = 0.01", "epochs = 5, learning_rate = 0.01");
    for method in METHODS {
        let [whole, parts] = [0, 1].map(|_| tempfile::tempdir().unwrap());
        let expected = train(whole.path(), method, long, false).0.unwrap();
        train(parts.path(), method, short, false).0.unwrap();
        assert!(train(parts.path(), method, long, false).0.is_err(), "not unless it is asked for");
        let (result, messages) = train(parts.path(), method, long, true);
        let result = result.unwrap();
        assert_eq!((result.steps, result.epochs, result.test), (expected.steps, expected.epochs, expected.test));
        assert!(
            messages.contains("extending a training of 3.0 epochs") && !messages.contains("schedule"),
            "{messages}"
        );
        for file in [POSTERIOR, "config.toml"] {
            let read = |folder: &Path| fs::read(folder.join(file)).unwrap();
            assert!(read(whole.path()) == read(parts.path()), "{method}: {file}");
        }
        assert!(train(parts.path(), method, long, true).1.contains(": up to date"));
    }
}

#[test]
fn more_epochs_of_a_falling_learning_rate_are_said_to_be_another_training_and_fewer_are_refused() {
    let of = |epochs: u32| format!("epochs = {epochs}, learning_rate = 0.01, schedule = 'cosine'");
    let folder = tempfile::tempdir().unwrap();
    train(folder.path(), METHODS[0], &of(3), false).0.unwrap();
    let before = fs::read(folder.path().join(POSTERIOR)).unwrap();
    let (result, _) = train(folder.path(), METHODS[0], &of(2), true);
    let said = result.unwrap_err().to_string();
    assert!(said.contains("`infer.optimise.epochs` is 2.0; it must be at least 3.0"), "{said}");
    assert!(train(folder.path(), METHODS[1], &of(4), true).0.is_err(), "another method");
    assert!(fs::read(folder.path().join(POSTERIOR)).unwrap() == before);
    let (result, messages) = train(folder.path(), METHODS[0], &of(4), true);
    assert_eq!(result.unwrap().steps, 40);
    assert!(messages.contains("goes on along the longer schedule"), "{messages}");
}

/// A host whose clocks go back by an hour whenever they are asked, and who stops a training after some steps.
struct Backwards {
    hours: AtomicU32,
    steps: AtomicU32,
}

impl Backwards {
    fn tell(&self) -> f64 {
        // Also to before 1970.
        1e6 - 3600.0 * f64::from(self.hours.fetch_add(1, Ordering::Relaxed))
    }
}

impl Host for Backwards {
    fn progress(&self, _: Progress<'_>) -> ControlFlow<()> {
        if self.steps.fetch_add(1, Ordering::Relaxed) < 5 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
    fn message(&self, _: &str) {}
    fn seconds(&self) -> f64 {
        self.tell()
    }
    fn unix_time(&self) -> f64 {
        self.tell()
    }
    fn part(&self, _: &str) -> Box<dyn Host + '_> {
        unreachable!("one training has no parts")
    }
}

#[test]
fn clocks_that_go_back_change_no_result() {
    for method in METHODS {
        let optimise = "epochs = 10, learning_rate = 0.01";
        let [whole, parts] = [0, 1].map(|_| tempfile::tempdir().unwrap());
        train(whole.path(), method, optimise, false).0.unwrap();
        let infer = format!("infer = {{ {method}, optimise = {{ batch = 40, {optimise} }} }}");
        let config = TrainConfig::from_toml("test", &format!("{COMMON}{infer}"), &[]).unwrap();
        let stops = (0..1000).find(|attempt| {
            let host = Backwards { hours: AtomicU32::new(300 * attempt), steps: AtomicU32::new(0) };
            let context = Context { pool: pool(1).unwrap(), data: Path::new(""), host: &host };
            let stage = Train { config: config.clone(), save_every: 0.0, extend: false };
            match stage.run_in(parts.path(), Existing::Continue, &context) {
                Ok(_) => true,
                Err(Error::Stopped) => false,
                Err(error) => panic!("{method}: {error}"),
            }
        });
        assert!(stops.is_some_and(|stops| stops > 0), "{method}: {stops:?}");
        for file in [POSTERIOR, "result.json", "metrics.jsonl"] {
            let read = |folder: &Path| fs::read(folder.join(file)).unwrap();
            assert!(read(whole.path()) == read(parts.path()), "{method}: {file}");
        }
    }
}
