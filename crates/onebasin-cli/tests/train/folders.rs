//! The folder of a run: finished, taken, of another run, not a folder, not writable, and on a full disk.

use crate::harness::{ENSEMBLE, HMC, Place, VI, has_content, wait_until};
use onebasin::store::Checkpoint;
use std::fs;
use std::path::Path;

#[test]
fn a_finished_run_says_so_and_stays_as_it_is() {
    let place = Place::new(VI);
    let first = place.finish("run", &[]);
    let before = place.contents("run");
    let again = place.finish("run", &[]);
    assert!(again.stderr.contains(": up to date"), "{}", again.stderr);
    assert_eq!(again.stdout, first.stdout);
    assert_eq!(place.contents("run"), before);
    // Not even with data that are gone, or other threads.
    place.finish("run", &["--data", "nowhere", "--threads", "2", "--save-every", "1"]);
    assert_eq!(place.contents("run"), before);
}

/// As after a kill between the last file that is written and the first that is removed.
#[test]
fn what_a_killed_run_did_not_remove_is_removed_by_the_next() {
    let place = Place::new(HMC);
    place.finish("run", &[]);
    let before = place.contents("run");
    for name in ["chain0.samples", "chain1.samples"] {
        fs::write(place.path("run").join(name), "remains").unwrap();
    }
    place.finish("run", &[]);
    assert!(place.contents("run") == before);
}

#[test]
fn a_posterior_that_is_lost_is_trained_again() {
    let place = Place::new(VI);
    place.finish("whole", &[]);
    place.finish("run", &[]);
    fs::remove_file(place.path("run").join("posterior.safetensors")).unwrap();
    place.finish("run", &[]);
    place.assert_same("run", "whole");
}

#[test]
fn other_settings_are_refused_by_name_and_change_nothing() {
    let place = Place::new(VI);
    place.finish("run", &[]);
    let before = place.contents("run");
    for (setting, said) in [
        (
            "infer.optimise.learning_rate=0.02",
            "`infer.optimise.learning_rate = 0.01` there, `infer.optimise.learning_rate = 0.02` now",
        ),
        ("seed=1", "`seed = 0` there, `seed = 1` now"),
        ("evaluate.samples=2", "`evaluate.samples = 16` there, `evaluate.samples = 2` now"),
        ("arch.hidden=[8, 8]", "`arch.hidden = [8]` there, `arch.hidden = [8, 8]` now"),
        (r#"data.subsets=["first:9"]"#, r#"`data.subsets = []` there, `data.subsets = ["first:9"]` now"#),
        ("likelihood.gaussian.variance=1.0", "`likelihood = \"softmax\"` there, no `likelihood` now"),
    ] {
        let ended = place.train("run", &["--set", setting]);
        assert_eq!(ended.code, Some(2), "{setting}");
        let file = place.path("run");
        assert!(ended.stderr.contains(&format!("{}: an earlier training", file.display())), "{}", ended.stderr);
        assert!(ended.stderr.contains(said) && ended.stderr.contains("--force"), "{}", ended.stderr);
        assert_eq!(place.contents("run"), before, "{setting}");
    }
}

#[test]
fn an_extended_training_has_the_posterior_of_a_longer_one() {
    let constant = VI.replace("schedule = \"cosine\"", "schedule = \"constant\"");
    for rest in [&constant, ENSEMBLE] {
        let place = Place::new(rest);
        let longer = ["--set", "infer.optimise.epochs=130"];
        place.finish("longer", &longer);
        place.finish("run", &[]);
        let ended = place.finish("run", &[&longer[..], &["--extend"]].concat());
        assert!(
            ended.stderr.contains("extending a training of ") && !ended.stderr.contains("zero"),
            "{}",
            ended.stderr
        );
        let read = |name: &str, file: &str| fs::read(place.path(name).join(file)).unwrap();
        assert!(read("run", "posterior.safetensors") == read("longer", "posterior.safetensors"));
        assert_eq!(read("run", "config.toml"), read("longer", "config.toml"));
        assert_eq!(place.result("run")["test"], place.result("longer")["test"]);
        // It is a finished training of the longer configuration.
        assert!(place.finish("run", &longer).stderr.contains(": up to date"));
        assert!(place.finish("run", &[&longer[..], &["--extend"]].concat()).stderr.contains(": up to date"));
    }
}

#[test]
fn an_extended_schedule_is_said_to_be_another_and_survives_a_kill() {
    let place = Place::new(VI);
    let longer = ["--save-every", "0", "--set", "infer.optimise.epochs=60"];
    let extend = [&longer[..], &["--extend"]].concat();
    for name in ["whole", "killed"] {
        place.finish(name, &[]);
    }
    let ended = place.finish("whole", &extend);
    assert!(ended.stderr.contains("goes on along the longer schedule"), "{}", ended.stderr);
    let running = place.start("killed", &extend);
    let config = place.path("killed").join("config.toml");
    wait_until("it extends", || fs::read_to_string(&config).is_ok_and(|text| text.contains("epochs = 60")));
    running.kill();
    place.finish("killed", &longer);
    place.assert_same("killed", "whole");
}

#[test]
fn what_cannot_be_extended_is_refused_and_changes_nothing() {
    let place = Place::new(VI);
    place.finish("run", &[]);
    let before = place.contents("run");
    for (settings, said) in [
        (&["infer.optimise.epochs=24"][..], "`infer.optimise.epochs` is 24.0; it must be at least 25.0"),
        (&["infer.optimise.epochs=50", "seed=1"], "an earlier training in it had other settings"),
    ] {
        let arguments: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).chain(["--extend"]).collect();
        let ended = place.train("run", &arguments);
        assert_eq!(ended.code, Some(2), "{settings:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(said), "{}", ended.stderr);
        assert_eq!(place.contents("run"), before, "{settings:?}");
    }
    // As an earlier version left it.
    fs::remove_file(place.path("run").join("checkpoint.safetensors")).unwrap();
    let ended = place.train("run", &["--set", "infer.optimise.epochs=50", "--extend"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("so it cannot be extended"), "{}", ended.stderr);
}

#[test]
fn more_chains_samples_and_members_are_those_of_a_longer_training() {
    for (rest, longer, less) in [
        (HMC, &["infer.samples=21"][..], "15 samples"),
        (HMC, &["infer.chains=3"], "2 chains"),
        (HMC, &["infer.samples=18", "infer.chains=4"], "15 samples and 2 chains"),
        (ENSEMBLE, &["infer.members=5"], "3 members"),
    ] {
        let place = Place::new(rest);
        let longer: Vec<&str> = longer.iter().flat_map(|setting| ["--set", setting]).collect();
        place.finish("longer", &longer);
        place.finish("run", &[]);
        let ended = place.finish("run", &[&longer[..], &["--extend"]].concat());
        assert!(ended.stderr.contains(&format!("extending a training of {less}\n")), "{longer:?}: {}", ended.stderr);
        let read = |name: &str, file: &str| fs::read(place.path(name).join(file)).unwrap();
        assert!(read("run", "posterior.safetensors") == read("longer", "posterior.safetensors"), "{longer:?}");
        for key in ["test", "chains"] {
            assert_eq!(place.result("run")[key], place.result("longer")[key], "{longer:?}");
        }
    }
}

#[test]
fn an_extension_that_diverges_leaves_the_shorter_training_as_it_was() {
    let place = Place::new(&VI.replace("schedule = \"cosine\"", "schedule = \"constant\""));
    place.finish("run", &[]);
    let before = place.contents("run");
    // As if the optimiser were at the edge: the state is damaged in a way that no checksum can see.
    let read = |file: &str| fs::read(place.path("run").join(file)).unwrap();
    let (posterior, result, config) = (read("posterior.safetensors"), read("result.json"), read("config.toml"));
    let checkpoint = place.path("run").join("checkpoint.safetensors");
    let mut state = Checkpoint::read(&checkpoint).unwrap();
    state.state.vectors.get_mut("mean").unwrap().fill(1e30);
    state.write(&checkpoint).unwrap();
    let ended = place.train("run", &["--set", "infer.optimise.epochs=60", "--extend"]);
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("the shorter training is kept as it was"), "{}", ended.stderr);
    assert!(
        read("posterior.safetensors") == posterior && read("result.json") == result && read("config.toml") == config
    );
    assert_eq!(place.contents("run").len(), before.len());
    assert!(place.finish("run", &[]).stderr.contains(": up to date"));
}

#[test]
fn a_posterior_that_is_gone_or_empty_is_made_again() {
    for rest in [VI, HMC] {
        let place = Place::new(rest);
        place.finish("run", &[]);
        let posterior = place.path("run").join("posterior.safetensors");
        let before = fs::read(&posterior).unwrap();
        for damage in [|file: &Path| fs::write(file, ""), |file: &Path| fs::remove_file(file)] {
            damage(&posterior).unwrap();
            place.finish("run", &[]);
            assert!(fs::read(&posterior).unwrap() == before);
        }
    }
}

#[test]
#[cfg(unix)]
fn nothing_is_written_through_a_symbolic_link() {
    for file in ["metrics.jsonl", "lock"] {
        let place = Place::new(VI);
        fs::create_dir(place.path("run")).unwrap();
        fs::write(place.path("precious"), "precious").unwrap();
        std::os::unix::fs::symlink(place.path("precious"), place.path("run").join(file)).unwrap();
        let ended = place.train("run", &[]);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(file) && ended.stderr.contains("symbolic link"), "{}", ended.stderr);
        assert_eq!(fs::read_to_string(place.path("precious")).unwrap(), "precious");
    }
}

#[test]
fn force_starts_over_and_leaves_nothing_of_the_earlier_run() {
    let place = Place::new(HMC);
    place.finish("run", &[]);
    for remains in ["chain0.samples", "chain17.samples", "checkpoint.safetensors"] {
        fs::write(place.path("run").join(remains), "remains").unwrap();
    }
    fs::write(place.config(), format!("{}{VI}", crate::harness::COMMON)).unwrap();
    place.finish("run", &["--force"]);
    place.finish("fresh", &[]);
    place.assert_same("run", "fresh");
    assert_eq!(place.names("run").len(), place.names("fresh").len(), "{:?}", place.names("run"));
    assert_eq!(crate::events::scalars(&place.path("run")), crate::events::scalars(&place.path("fresh")));
}

#[test]
fn force_with_a_mistake_removes_nothing() {
    let place = Place::new(VI);
    place.finish("run", &[]);
    let before = place.contents("run");
    for mistake in [
        &["--set", "infer.optimise.learning_rate=-1.0"][..],
        &["--set", r#"data.name="mnist""#, "--data", "nowhere"],
        &["--set", r#"data.subsets=["first:1000000"]"#],
        &["--threads", "0"],
    ] {
        assert_eq!(place.train("run", &[mistake, &["--force"]].concat()).code, Some(2), "{mistake:?}");
        assert_eq!(place.contents("run"), before, "{mistake:?}");
    }
}

#[test]
fn a_second_process_in_the_same_folder_is_refused() {
    let place = Place::new(VI);
    let endless = ["--set", "infer.optimise.epochs=1e9"];
    let mut first = place.start("run", &endless);
    wait_until("it writes its log", || has_content(&place.path("run").join("metrics.jsonl")));
    for arguments in [&endless[..], &["--set", "seed=1"], &["--force"]] {
        let second = place.train("run", arguments);
        assert_eq!(second.code, Some(2), "{arguments:?}: {}", second.stderr);
        let said = format!("{}: another process is training in it", place.path("run").display());
        assert!(second.stderr.contains(&said), "{}", second.stderr);
    }
    assert!(!first.is_over(), "the first goes on");
    first.kill();
}

#[test]
fn a_damaged_state_is_refused_by_name_and_kept() {
    let place = Place::new(VI);
    let running = place.start("run", &["--save-every", "0", "--set", "infer.optimise.epochs=1e9"]);
    let state = place.path("run").join("checkpoint.safetensors");
    wait_until("it saves", || has_content(&state));
    running.kill();
    let whole = fs::read(&state).unwrap();
    for damaged in [&whole[..whole.len() / 2], b"", b"nonsense"] {
        fs::write(&state, damaged).unwrap();
        let ended = place.train("run", &["--set", "infer.optimise.epochs=1e9"]);
        assert_eq!(ended.code, Some(2));
        assert!(ended.stderr.contains(state.to_str().unwrap()), "{}", ended.stderr);
        assert_eq!(fs::read(&state).unwrap(), damaged);
    }
}

#[test]
fn an_output_that_cannot_be_a_folder_is_an_error() {
    let place = Place::new(VI);
    fs::write(place.path("file"), "precious").unwrap();
    for output in ["file", "file/below"] {
        let ended = place.train(output, &[]);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(place.path(output).to_str().unwrap()), "{}", ended.stderr);
    }
    assert_eq!(fs::read(place.path("file")).unwrap(), b"precious");
}

/// Not even the superuser can write to /proc.
#[cfg(target_os = "linux")]
#[test]
fn an_unwritable_output_is_an_error() {
    let ended = Place::new(VI).train("/proc/onebasin", &[]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("/proc/onebasin"), "{}", ended.stderr);
}

/// A limit to the size of files, with its signal ignored, is to a process what a full disk is: writes fail.
#[cfg(unix)]
#[test]
fn a_full_disk_is_an_error_that_names_the_file_and_costs_no_state() {
    use crate::harness::Ended;
    use std::process::Command;

    let place = Place::new(VI);
    place.finish("whole", &[]);
    let limited = |blocks: usize, arguments: &[&str]| {
        let command = place.command("full", arguments);
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"")]);
        shell.arg(command.get_program()).args(command.get_args()).env_clear();
        Ended::from(shell.output().unwrap())
    };
    // In blocks of 512 bytes: for the configuration but not the state; for the log but not all of it.
    for blocks in [2, 4] {
        let ended = limited(blocks, &["--save-every", "0"]);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(place.path("full").to_str().unwrap()), "{}", ended.stderr);
        assert!(!place.names("full").iter().any(|name| name.contains(".tmp")), "{:?}", place.names("full"));
    }
    place.finish("full", &[]);
    place.assert_same("whole", "full");
}
