//! However often and whenever an experiment is interrupted, the same command gives the same measures in the end.

use crate::harness::Place;
use std::process::Stdio;
use std::thread;
use std::time::Duration;
use std::time::Instant;

const KILLS: u32 = 10;

#[test]
fn ten_kills_change_no_byte() {
    let place = Place::new();
    // Long enough to be killed in the middle of everything.
    let settings = "--set train.infer.optimise.epochs=60 --set barrier.samples=40 --set plane.points=9";
    let begun = Instant::now();
    place.onebasin(&format!("run small.toml -o whole {settings}"));
    let whole = begun.elapsed();
    let mut hits = 0;
    for kill in 0..KILLS {
        let mut child = place
            .command(&format!("run small.toml -o killed {settings}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Times spread over the whole, none of them round.
        thread::sleep(whole.mul_f64(f64::from(kill * 37 % 100) / 100.0 * 0.6 + 0.01));
        hits += u32::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(hits >= KILLS / 2, "only {hits} of {KILLS} kills hit a running experiment");
    place.onebasin(&format!("run small.toml -o killed {settings}"));
    assert_eq!(place.text("killed/measures.json"), place.text("whole/measures.json"));
    let page = |folder: &str| {
        let text = place.text(&format!("{folder}/report/index.html"));
        text.split("<table").nth(1).unwrap().split("</table>").next().unwrap().to_owned()
    };
    assert!(page("whole").contains("no alignment"));
    assert_eq!(page("killed"), page("whole"));
}

#[cfg(unix)]
#[test]
fn an_interrupt_stops_and_the_same_command_continues() {
    use std::process::Command;
    let place = Place::new();
    let settings = "--set train.infer.optimise.epochs=100000";
    let mut patience = Duration::from_millis(250);
    let output = loop {
        let child = place
            .command(&format!("run small.toml -o out {settings}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        thread::sleep(patience);
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        // On a slow machine it may not listen yet.
        if output.status.code().is_some() {
            break output;
        }
        patience *= 2;
    };
    assert_eq!(output.status.code(), Some(130));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("out: stopped; the same command continues"), "{said}");
    assert!(output.stdout.is_empty() && !place.path("out/measures.json").exists());
}
