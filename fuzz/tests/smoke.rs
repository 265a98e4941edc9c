//! Gives every target its first inputs and some hundred damaged copies of them: what a short run of the fuzzer would do.

#[path = "../../crates/onebasin-checkpoint/tests/support/mutate.rs"]
mod mutate;

use mutate::Random;
use onebasin_fuzz::TARGETS;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Damaged copies for each target, unless the environment variable `ONEBASIN_COPIES` has another number.
const COPIES: usize = 500;
/// A single input takes less, on a slow machine that has other work.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn no_target_fails() {
    let copies = std::env::var("ONEBASIN_COPIES").map_or(COPIES, |copies| copies.parse().unwrap());
    let mut random = Random::new();
    for target in TARGETS {
        let seeds = target.seeds();
        assert!(!seeds.is_empty(), "{} has no seeds", target.name);
        let run = |name: &str, bytes: &[u8]| {
            let begun = Instant::now();
            let survived = catch_unwind(AssertUnwindSafe(|| (target.run)(bytes))).is_ok();
            assert!(survived, "{} fails on {name}: {bytes:?}", target.name);
            assert!(begun.elapsed() < PATIENCE, "{} takes {:?} for {name}: {bytes:?}", target.name, begun.elapsed());
        };
        for seed in &seeds {
            run(&seed.name, &seed.bytes);
        }
        for copy in 0..copies {
            let seed = &seeds[copy % seeds.len()];
            let mut bytes = seed.bytes.clone();
            for _ in 0..=random.below(3) {
                if !bytes.is_empty() {
                    random.mutate(&mut bytes);
                }
            }
            run(&format!("a damaged {}", seed.name), &bytes);
        }
    }
}
