//! Many processes share an experiment, some do the same, some are killed: the measures are those of one process.

use crate::harness::Place;
use serde_json::Value;
use std::process::{Child, Output, Stdio};
use std::thread;
use std::time::Duration;

/// Two posteriors in each of two cells: four trainings, then the measurements of two pairs.
const SWEEP: &str = "run small.toml --set sweep.train.prior.variance=[0.1,1.0] --set train.infer.optimise.epochs=40";

fn start(place: &Place, line: &str) -> Child {
    place.command(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The states of all shares, by their numbers.
fn states(place: &Place, line: &str) -> Vec<String> {
    let status: Value = serde_json::from_str(&place.onebasin(&format!("{line} --status --json"))).unwrap();
    let shares = status["shares"].as_array().unwrap();
    assert!(shares.iter().enumerate().all(|(number, share)| share["number"] == number));
    shares.iter().map(|share| share["state"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn shares_done_twice_at_once_and_killed_give_the_bytes_of_one_process() {
    let place = Place::new();
    place.onebasin(&format!("{SWEEP} -o whole"));
    let line = format!("{SWEEP} -o shared");
    let shares = states(&place, &line).len();
    assert_eq!(states(&place, &line), vec!["missing"; shares]);
    for round in 0..4 {
        // Each twice, and the measurements at the same time as the trainings that they need.
        let all = (0..2 * shares).map(|index| start(&place, &format!("{line} --cell {}", index % shares)));
        for (index, mut child) in all.collect::<Vec<_>>().into_iter().enumerate() {
            if (index + round) % 3 != 0 {
                thread::sleep(Duration::from_millis(40 * (1 + index as u64 % 4)));
                child.kill().unwrap();
            }
            child.wait().unwrap();
        }
    }
    let mut parts: Vec<Child> = [1, 2, 3].map(|part| start(&place, &format!("{line} --cells {part}/3"))).into();
    assert!(parts.iter_mut().all(|part| part.wait().unwrap().success()));
    assert_eq!(states(&place, &line), vec!["done"; shares]);
    place.onebasin(&format!("{line} --merge"));
    assert_eq!(place.text("shared/measures.json"), place.text("whole/measures.json"));
    let left = place.files("shared").into_iter().filter(|(path, _)| path.to_string_lossy().contains(".work-"));
    assert_eq!(left.count(), 0);
    // One process finds that nothing is left to do.
    place.onebasin(&line);
    assert_eq!(place.text("shared/measures.json"), place.text("whole/measures.json"));
}

#[test]
fn a_process_does_what_nobody_is_at_work_on_before_it_waits() {
    let place = Place::new();
    let line = format!("{SWEEP} -o shared");
    place.onebasin(&format!("{line} --cell 0"));
    let files = place.files("shared");
    let task = files.iter().find_map(|(path, _)| path.to_str()?.strip_suffix(".stage.json")).unwrap();
    let task = place.path("shared").join(task).to_str().unwrap().to_owned();
    std::fs::remove_file(format!("{task}.stage.json")).unwrap();
    std::fs::remove_dir_all(&task).unwrap();
    // Somebody else begins the first share, and is alive for a minute.
    let theirs = format!("{task}.work-1");
    std::fs::create_dir(&theirs).unwrap();
    let owner = r#"{"machine": "other", "boot": null, "process": 1, "job": null, "locked": false}"#;
    std::fs::write(format!("{theirs}/owner.json"), owner).unwrap();
    let mut part = start(&place, &format!("{line} --threads 1 --cells 1/1"));
    let others_are_done = || states(&place, &line)[..4] == ["running", "done", "done", "done"];
    let in_time = (0..300).any(|_| {
        thread::sleep(Duration::from_millis(100));
        others_are_done()
    });
    assert!(in_time, "{:?}", states(&place, &line));
    std::fs::remove_dir_all(theirs).unwrap();
    assert!(part.wait().unwrap().success());
    assert!(states(&place, &line).iter().all(|state| state == "done"));
}

#[test]
fn a_share_that_diverges_is_an_outcome_and_what_is_not_done_is_named() {
    let place = Place::new();
    let line = "run small.toml --set sweep.train.infer.optimise.learning_rate=[1e-2,1e30]";
    assert_eq!(place.command(&format!("{line} -o whole")).output().unwrap().status.code(), Some(3));
    let line = format!("{line} -o shared");
    let codes: Vec<Option<i32>> = (0..states(&place, &line).len())
        .map(|number| place.command(&format!("{line} --cell {number}")).output().unwrap().status.code())
        .collect();
    assert_eq!(codes[..4], [Some(0), Some(0), Some(3), Some(3)]);
    let merged = place.command(&format!("{line} --merge")).output().unwrap();
    assert_eq!(merged.status.code(), Some(3));
    assert_eq!(place.text("shared/measures.json"), place.text("whole/measures.json"));
    assert!(
        place
            .onebasin(&format!("{line} --status"))
            .contains("failed: 2, learning_rate 1e30, seed 0: the training diverged")
    );

    std::fs::remove_file(place.file("shared", "barrier/0-1.stage.json")).unwrap();
    let merged = place.command(&format!("{line} --merge")).output().unwrap();
    assert_eq!(merged.status.code(), Some(3));
    let said = String::from_utf8(merged.stderr).unwrap();
    assert!(said.contains("failed: barrier/0-1 of learning_rate 0.01: it is not done yet"), "{said}");
    assert_eq!(place.command(&line).output().unwrap().status.code(), Some(3));
    assert_eq!(place.text("shared/measures.json"), place.text("whole/measures.json"));
}

#[test]
fn the_variables_of_schedulers_count_only_where_they_are_asked_for() {
    let place = Place::new();
    let quick = "run small.toml -o out --set train.infer.optimise.epochs=1";
    let said = place.refused(&format!("{quick} --cell auto"));
    assert!(said.contains("neither SLURM_ARRAY_TASK_ID nor HQ_TASK_ID is set"), "{said}");
    let said = place.refused(&format!("{quick} --cell 99"));
    assert!(said.contains("`--cell` is 99") && said.contains("the number of shares"), "{said}");
    assert!(place.refused(&format!("{quick} --cells 3/2")).contains("`3/2` is not a part of a whole"));
    assert!(place.refused(&format!("{quick} --cells 1/2 --merge")).contains("cannot be used with"));
    let auto = |variables: &[(&str, &str)]| {
        let mut command = place.command(&format!("{quick} --cell auto"));
        assert!(command.envs(variables.iter().copied()).output().unwrap().status.success());
        states(&place, quick)
    };
    assert_eq!(auto(&[("SLURM_ARRAY_TASK_ID", "1")])[..2], ["missing", "done"]);
    assert_eq!(auto(&[("SLURM_ARRAY_TASK_ID", "1"), ("HQ_TASK_ID", "0")])[..2], ["done", "done"]);
    let whole = place.command(quick).env("SLURM_ARRAY_TASK_ID", "0").output().unwrap();
    assert!(whole.status.success() && place.path("out/measures.json").exists());
}

#[cfg(unix)]
#[test]
fn usr1_saves_the_state_and_has_an_exit_code_of_its_own() {
    use std::process::Command;
    let place = Place::new();
    let line = "run small.toml -o out --cell 0 --set train.infer.optimise.epochs=100000";
    let child = place.command(line).stderr(Stdio::piped()).spawn().unwrap();
    while place.count("out", "metrics.jsonl") == 0 {
        thread::sleep(Duration::from_millis(5));
    }
    assert!(Command::new("kill").args(["-USR1", &child.id().to_string()]).status().unwrap().success());
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    assert_eq!(status.code(), Some(138), "{}", String::from_utf8_lossy(&stderr));
    assert_eq!(
        (place.count("out", "checkpoint.safetensors"), states(&place, line.split(" --cell").next().unwrap()).len() > 2),
        (1, true)
    );
}

#[test]
fn scripts_for_schedulers_ask_for_what_is_not_done() {
    let place = Place::new();
    let quick = "small.toml -o out --set train.infer.optimise.epochs=1";
    place.onebasin(&format!("run {quick} --cell 1"));
    place.onebasin(&format!("cluster slurm {quick} --time 1:00:00 --mem 2G --cpus 2 --partition big --array-limit 5"));
    let script = place.text("out/cluster/submit.sh");
    assert!(script.contains("--cpus-per-task=2 --time=1:00:00 --mem=2G --partition=big"), "{script}");
    assert!(script.contains("\njobs+=(\"$job\")\n"), "an array that is refused ends the script: {script}");
    assert!(script.contains("--array=0%5") && script.contains("task.sh --merge"), "{script}");
    assert!(place.text("out/cluster/task.sh").contains("--set train.infer.optimise.epochs=1"));
    place.onebasin(&format!("run {quick}"));
    place.onebasin(&format!("cluster hq {quick}"));
    let script = place.text("out/cluster/hq.sh");
    assert!(!script.contains("--array") && script.ends_with("--merge\n"), "{script}");
}
