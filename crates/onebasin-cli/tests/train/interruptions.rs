//! However often and whenever a run is interrupted, the same command gives the same bytes in the end.

use crate::events::scalars;
#[cfg(unix)]
use crate::harness::wait_until;
use crate::harness::{ENSEMBLE, HMC, Place, VI, has_content};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Random numbers from 0 to 1, the same in every run of the tests (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ bits >> 31) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// When to kill.
struct Plan {
    /// Seconds between two checkpoints.
    save_every: &'static str,
    /// The longest time before a kill, in parts of the time that an uninterrupted run takes.
    most: f64,
    /// Kills, at most; then the run is left alone.
    limit: usize,
    /// Kills that must hit an unfinished run.
    hits: usize,
    /// Those of them that must leave a state to continue from.
    with_state: usize,
    seed: u64,
}

/// Kills a run after random times until it is finished or was killed often enough, and compares it with one that was left
/// alone.
fn kill_again_and_again(place: &Place, plan: &Plan) {
    let arguments = ["--save-every", plan.save_every];
    let begun = Instant::now();
    place.finish("whole", &arguments);
    let mut longest = begun.elapsed().mul_f64(plan.most);
    let mut dice = Dice(plan.seed);
    for round in 0.. {
        let name = format!("killed{round}");
        let inside = |file: &str| place.path(&name).join(file);
        let (mut hits, mut with_state) = (0, 0);
        for _ in 0..plan.limit {
            let mut running = place.start(&name, &arguments);
            std::thread::sleep(longest.mul_f64(dice.roll()));
            if running.is_over() {
                break;
            }
            running.kill();
            if !has_content(&inside("result.json")) {
                hits += 1;
                with_state += usize::from(has_content(&inside("checkpoint.safetensors")));
            }
        }
        place.finish(&name, &arguments);
        assert_same(place, &name);
        if hits >= plan.hits && with_state >= plan.with_state {
            return;
        }
        // The machine has become faster since it was timed.
        assert!(round < 5, "{hits} kills, {with_state} of them with a state to continue from, are too few");
        longest /= 2;
    }
}

/// Files, their number and the events are those of the run that was left alone.
fn assert_same(place: &Place, name: &str) {
    place.assert_same("whole", name);
    assert_eq!(place.names(name).len(), place.names("whole").len(), "{:?}", place.names(name));
    let (whole, killed) = (scalars(&place.path("whole")), scalars(&place.path(name)));
    assert_eq!(killed, whole);
    let different: BTreeSet<(u64, &str)> = whole.iter().map(|scalar| (scalar.step, scalar.tag.as_str())).collect();
    assert_eq!(different.len(), whole.len(), "no number of a step is there twice");
}

/// Every step is saved.
const ALWAYS: Plan = Plan { save_every: "0", most: 0.3, limit: 60, hits: 4, with_state: 3, seed: 0 };
/// State is saved once a second, so that log, samples and events are always ahead of it.
const SOMETIMES: Plan = Plan { save_every: "1", most: 0.5, limit: 6, hits: 2, with_state: 0, seed: 0 };
/// Every attempt begins again, in a folder with the remains of those before.
const NEVER: Plan = Plan { save_every: "30", most: 0.7, limit: 4, hits: 3, with_state: 0, seed: 0 };

#[test]
fn killed_variational_inference_gives_the_same_files() {
    kill_again_and_again(&Place::new(VI), &Plan { seed: 1, ..ALWAYS });
    let longer = VI.replace("epochs = 25", "epochs = 2500");
    kill_again_and_again(&Place::new(&longer), &Plan { seed: 2, ..NEVER });
}

#[test]
fn killed_ensembles_give_the_same_files() {
    kill_again_and_again(&Place::new(ENSEMBLE), &Plan { seed: 3, ..ALWAYS });
    let longer = ENSEMBLE.replace("epochs = 100", "epochs = 2500");
    kill_again_and_again(&Place::new(&longer), &Plan { seed: 4, ..NEVER });
}

#[test]
fn killed_chains_give_the_same_files_and_the_same_samples() {
    kill_again_and_again(&Place::new(HMC), &Plan { seed: 5, ..ALWAYS });
    let longer = HMC.replace("samples = 15", "samples = 150");
    kill_again_and_again(&Place::new(&longer), &Plan { seed: 6, ..SOMETIMES });
}

#[cfg(unix)]
mod signals {
    use super::*;

    /// Interrupts each of two runs twice on its way, then lets it finish.
    fn stop_and_continue(signal: &str, code: i32) {
        for (rest, longer) in [(VI, ("epochs = 25", "epochs = 2500")), (HMC, ("samples = 15", "samples = 80"))] {
            let place = Place::new(&rest.replace(longer.0, longer.1));
            place.finish("whole", &[]);
            for _ in 0..2 {
                let log = place.path("stopped").join("metrics.jsonl");
                let mut running = place.start("stopped", &[]);
                let before = std::fs::metadata(&log).map_or(0, |data| data.len());
                wait_until("it writes its log", || std::fs::metadata(&log).is_ok_and(|data| data.len() > before));
                running.signal(signal);
                let ended = running.wait();
                assert_eq!(ended.code, Some(code), "{}", ended.stderr);
                assert!(ended.stderr.contains("stopped, state saved; the same command continues"), "{}", ended.stderr);
                assert_eq!(ended.stdout, "");
                assert!(has_content(&place.path("stopped").join("checkpoint.safetensors")));
            }
            let ended = place.finish("stopped", &[]);
            assert!(ended.stderr.contains("continuing "), "{}", ended.stderr);
            place.assert_same("whole", "stopped");
        }
    }

    #[test]
    fn sigint_saves_the_state_and_the_same_command_continues() {
        stop_and_continue("INT", 130);
    }

    #[test]
    fn sigterm_saves_the_state_and_the_same_command_continues() {
        stop_and_continue("TERM", 143);
    }

    #[test]
    fn a_signal_while_the_test_images_are_predicted_costs_only_that() {
        let place = Place::new(VI);
        let endless = ["--set", "evaluate.samples=10000000"];
        let mut running = place.start("run", &endless);
        wait_until("training is over", || has_content(&place.path("run").join("checkpoint.safetensors")));
        running.signal("INT");
        assert_eq!(running.wait().code, Some(130));
        let mut again = place.start("run", &endless);
        std::thread::sleep(Duration::from_millis(100));
        assert!(!again.is_over());
        again.signal("TERM");
        let ended = again.wait();
        assert_eq!(ended.code, Some(143), "{}", ended.stderr);
        assert!(
            ended.stderr.contains("continuing ") && ended.stderr.contains("at step 100 of 100"),
            "{}",
            ended.stderr
        );
    }

    #[test]
    fn a_signal_inside_of_an_endless_step_is_heard_within_a_second() {
        let vi = VI.replace("samples = 2", "samples = 1000000000");
        let hmc = format!("{HMC}    step = 1e-12\n    max_leapfrog_steps = 1000000000000\n");
        for rest in [&vi, &hmc] {
            let place = Place::new(rest);
            let mut running = place.start("run", &[]);
            wait_until("it has begun", || place.path("run").join("config.toml").exists());
            std::thread::sleep(std::time::Duration::from_millis(300));
            let begun = std::time::Instant::now();
            running.signal("INT");
            let ended = running.wait();
            assert_eq!(ended.code, Some(130), "{}", ended.stderr);
            assert!(ended.stderr.contains("the same command continues"), "{}", ended.stderr);
            // Twice the promise, for a machine that is busy.
            assert!(begun.elapsed().as_secs_f64() < 2.0);
        }
    }

    #[test]
    fn a_second_signal_ends_the_process_at_once() {
        // A step that takes minutes.
        let endless = ["infer.step=1e-6", "infer.trajectory=100.0", "infer.max_leapfrog_steps=100000000"];
        let arguments: Vec<&str> = endless.iter().flat_map(|setting| ["--set", setting]).collect();
        let place = Place::new(HMC);
        let mut running = place.start("run", &arguments);
        wait_until("it begins", || has_content(&place.path("run").join("config.toml")));
        running.signal("INT");
        std::thread::sleep(Duration::from_millis(200));
        assert!(!running.is_over(), "the first is noted until the step is done");
        running.signal("INT");
        assert_eq!(running.wait().signal, Some(2));
    }
}
