//! However often and whenever an experiment is interrupted, the same command gives the same measures in the end.

use crate::harness::Place;
use std::process::Stdio;
use std::time::Duration;
use std::{fs, thread};

/// Of few steps and many units.
#[cfg(unix)]
const WIDE: &str = r#"
    title = "Wide"

    [train]
    data = { name = "digits", subsets = ["first:10"] }
    arch = { preset = "mlp", hidden = [2000, 2000, 2000] }
    prior.variance = 0.1
    infer = { method = "map", optimise = { epochs = 1, batch = 10, learning_rate = 1e-2 } }

    [align]
"#;

/// Files whose appearance is a moment to kill at: how a path ends, and how many there are.
const MOMENTS: [(&str, usize); 10] = [
    ("lock", 1),
    ("experiment.toml", 1),
    ("config.toml", 1),
    ("config.toml", 2),
    ("posterior.safetensors", 1),
    ("result.json", 2),
    ("alignment.json", 1),
    ("alignment.json", 2),
    ("curves.csv", 1),
    ("barrier/0-1.stage.json", 1),
];

#[test]
fn ten_kills_change_no_byte() {
    let place = Place::new();
    let settings = "--set train.infer.optimise.epochs=60 --set barrier.samples=40 --set plane.points=9";
    place.onebasin(&format!("run small.toml -o whole {settings}"));
    for (ending, count) in MOMENTS {
        loop {
            let mut child = place
                .command(&format!("run small.toml -o killed {settings}"))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            while child.try_wait().unwrap().is_none() && place.count("killed", ending) < count {
                thread::sleep(Duration::from_millis(1));
            }
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(place.count("killed", ending) >= count, "there are no {count} files {ending}");
            if !place.path("killed/measures.json").exists() {
                break;
            }
            // It was faster than the kill: once more, from the start.
            fs::remove_dir_all(place.path("killed")).unwrap();
        }
    }
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

/// Two wide networks, hardly trained, whose alignment takes long.
#[cfg(unix)]
#[test]
fn an_interrupt_is_noticed_during_an_alignment() {
    use std::process::Command;
    let place = Place::new();
    fs::write(place.path("wide.toml"), WIDE).unwrap();
    let child = place.command("run wide.toml -o out").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while place.count("out", "stage.json") < 2 {
        thread::sleep(Duration::from_millis(1));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let said = String::from_utf8(output.stderr).unwrap();
    // At once, or when its time was over.
    assert!(said.contains("the same command continues"), "{said}");
    assert_eq!((place.count("out", "stage.json"), place.count("out", "alignment.json")), (2, 0));
}
