//! Replaces samples that the real binary trained by Gaussians, and looks at all it leaves.

use onebasin::posterior::Posterior;
use onebasin::store::StoredPosterior;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use tempfile::TempDir;

/// Two short chains on the digits that are part of the library.
const HMC: &str = r#"
    data = { name = "digits", subsets = ["first:60"] }
    arch = { preset = "mlp", hidden = [5] }
    prior.variance = 0.3
    evaluate.samples = 4
    infer = { method = "hmc", chains = 2, burn_in = 10, samples = 12, step = 0.02, max_leapfrog_steps = 8 }
"#;

/// A folder that is gone when the test ends, with a run `hmc` in it.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(TempDir::new().unwrap());
        place.train("hmc", &[]);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn onebasin(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onebasin"));
        command.args(arguments).current_dir(self.0.path()).env_clear().output().unwrap()
    }

    fn train(&self, name: &str, settings: &[&str]) {
        fs::write(self.path("hmc.toml"), HMC).unwrap();
        let mut arguments = vec!["train", "hmc.toml", "--threads", "1", "-o", name];
        arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
        let output = self.onebasin(&arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// `onebasin compact`, which must go well; returns its report.
    fn compact(&self, arguments: &str) -> Value {
        let arguments: Vec<&str> = ["compact"].into_iter().chain(arguments.split(' ')).chain(["--json"]).collect();
        let output = self.onebasin(&arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn refused(&self, arguments: &str, named: &[&str]) {
        let output = self.onebasin(&["compact"].into_iter().chain(arguments.split(' ')).collect::<Vec<_>>());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
        assert!(said.starts_with("error: ") && named.iter().all(|named| said.contains(named)), "{arguments}: {said}");
        assert!(output.stdout.is_empty() && !self.path("new").exists());
    }

    fn read(&self, name: &str) -> StoredPosterior {
        StoredPosterior::read(&self.path(name)).unwrap()
    }

    /// The files of a folder.
    fn files(&self, folder: &str) -> BTreeMap<String, Vec<u8>> {
        let files = self.path(folder).read_dir().unwrap().map(|entry| entry.unwrap().path());
        files.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap())).collect()
    }
}

/// What decides the result, without what depends on the clock.
fn timeless(mut report: Value) -> Value {
    for relabelled in report["relabellings"].as_array_mut().unwrap() {
        relabelled["seconds"] = Value::Null;
    }
    report
}

#[test]
fn each_gaussian_is_written_and_measured() {
    let place = Place::new();
    let report = place.compact("hmc -o out --ranks 0,3 --draws 6 --prune");
    let names = ["none", "first", "mean", "relabel"];
    let endings = ["-rank3.safetensors", ".safetensors"];
    let mut expected: Vec<String> =
        names.iter().flat_map(|name| endings.map(|ending| format!("{name}{ending}"))).collect();
    expected.extend(["made.json", "measures.json"].map(str::to_owned));
    expected.sort();
    assert_eq!(place.files("out").keys().cloned().collect::<Vec<_>>(), expected);
    let written: Value = serde_json::from_slice(&place.files("out")["measures.json"]).unwrap();
    assert_eq!(written, report);

    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 1 + 4 * 2);
    assert_eq!(
        (&rows[0]["name"], &rows[0]["agreement"], &rows[0]["total_variation"]),
        (&"samples".into(), &1.0.into(), &0.0.into())
    );
    for row in &rows[1..] {
        assert_eq!((&row["examples"], &row["samples"]), (&360.into(), &6.into()));
        let [agreement, variation] = ["agreement", "total_variation"].map(|name| row[name].as_f64().unwrap());
        assert!((0.0..=1.0).contains(&agreement) && variation > 0.0 && variation <= 1.0);
        assert!(row["mean"]["error"].as_f64().unwrap() <= 1.0);
    }
    for relabelled in report["relabellings"].as_array().unwrap() {
        assert_eq!(
            (&relabelled["mixing"]["samples"], relabelled["std_histograms"].as_array().unwrap().len()),
            (&12.into(), 4)
        );
        let curves = relabelled["pruning"].as_array().unwrap();
        assert_eq!(curves.len(), 4);
        // All that is kept of the mean is what the mean predicts.
        let whole = &curves[0]["points"][0];
        let own =
            rows.iter().find(|row| row["name"] == relabelled["relabelling"]).filter(|row| row["rank"] == 0).unwrap();
        assert_eq!((&whole["percent"], &whole["quality"]["nll"]), (&100.0.into(), &own["mean"]["nll"]));
    }

    let samples = place.read("hmc/posterior.safetensors");
    let direct = place.read("out/none.safetensors");
    assert_eq!(direct.provenance, samples.provenance);
    assert!(matches!(direct.posterior, Posterior::Gaussian(_)));
    let (fitted, expected) = (direct.posterior.gaussian(), samples.posterior.gaussian());
    assert!(fitted.distance(&expected).unwrap() < 1e-4);
    let low_rank = place.read("out/relabel-rank3.safetensors");
    assert!(low_rank.provenance.aligned.unwrap().to.starts_with("relabel of hmc/"));
    let Posterior::LowRank(low_rank) = low_rank.posterior else { panic!("it is of another kind") };
    assert_eq!(low_rank.factor().len(), 3);
    let diagonal = place.read("out/relabel.safetensors");
    assert!(low_rank.marginals().distance(&diagonal.posterior.gaussian()).unwrap() < 1e-4);
    let output = place.onebasin(&["align", "out/relabel-rank3.safetensors", "out/first.safetensors", "-o", "aligned"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn threads_and_what_was_there_change_nothing() {
    let place = Place::new();
    let [one, three] = ["1", "3"].map(|threads| {
        let report = place.compact(&format!(
            "hmc -o out --ranks 2 --relabellings relabel,none --draws 3 --test-examples 20 --balance --force --threads {threads}"
        ));
        let mut files = place.files("out");
        // Both name seconds, one of them by a checksum.
        files.retain(|name, _| name != "measures.json" && name != "made.json");
        fs::write(place.path("out/relabel.safetensors.tmp"), "remains").unwrap();
        (timeless(report), files)
    });
    assert!(one == three);
    assert_eq!(one.1.keys().collect::<Vec<_>>(), ["none-rank2.safetensors", "relabel-rank2.safetensors"]);
    fs::write(place.path("out/notes.safetensors"), "mine").unwrap();
    let before = place.files("out");
    let output = place.onebasin(&["compact", "hmc", "-o", "out", "--force"]);
    assert!(output.status.code() == Some(2) && place.files("out") == before);
}

/// The samples saw 60 examples; their predictions on all others brings a Gaussian nearer to them.
#[test]
fn a_distilled_gaussian_predicts_what_the_samples_do() {
    let place = Place::new();
    let [one, three] = ["1", "3"].map(|threads| {
        let report = place
            .compact(&format!("hmc -o out --relabellings first --ranks 0 --distil 30 --force --threads {threads}"));
        (timeless(report), place.files("out").remove("first-distilled.safetensors").unwrap())
    });
    assert!(one == three, "the number of threads changed something");
    let rows = one.0["rows"].as_array().unwrap();
    let [fitted, distilled] = ["first", "first, distilled"]
        .map(|name| rows.iter().find(|row| row["name"] == name).unwrap()["total_variation"].as_f64().unwrap());
    assert!(distilled < 0.5 * fitted, "{distilled} is not far below {fitted}");
    let stored = place.read("out/first-distilled.safetensors");
    assert!(stored.provenance.aligned.is_some() && matches!(stored.posterior, Posterior::Gaussian(_)));
}

#[test]
fn another_posterior_may_be_the_reference() {
    let place = Place::new();
    let optimise = "optimise = { epochs = 3, batch = 20, learning_rate = 1e-2 }";
    place.train("vi", &[&format!("infer={{ method = \"vi\", {optimise} }}"), "arch.hidden=[7]"]);
    let ensemble = format!("infer={{ method = \"ensemble\", members = 3, {optimise} }}");
    place.train("ensemble", &[&ensemble]);
    let report = place.compact("ensemble --reference vi -o out --ranks 0 --draws 4 --test-examples 30");
    assert!(report["rows"][0]["total_variation"].as_f64().unwrap() > 0.0);
    assert!(report["relabellings"].as_array().unwrap().iter().all(|relabelled| relabelled["mixing"].is_null()));
    let both =
        place.compact("ensemble hmc -o both --ranks 0 --draws 4 --test-examples 30 --samples 10 --relabellings none");
    assert_eq!((&both["samples"], &both["chains"]), (&7.into(), &Value::Null));
}

#[test]
fn tables_have_a_line_for_each_posterior() {
    let place = Place::new();
    let output =
        place.onebasin(&["compact", "hmc", "-o", "out", "--draws", "3", "--relabellings", "none,relabel", "--prune"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let firsts: Vec<&str> = text.lines().map(|line| line.trim_start().split("  ").next().unwrap()).collect();
    let kept = ["100", "90", "80", "70", "60", "50", "40", "30", "20", "10", "5", "1"];
    let expected = [
        &["posterior", "samples", "none", "none", "relabel", "relabel", "", "parameters", "none", "relabel", ""][..],
        &["none: % kept"],
        &kept,
        &["", "relabel: % kept"],
        &kept,
    ];
    assert_eq!(firsts, expected.concat(), "{text}");
}

#[test]
fn mistakes_are_refused_before_anything_is_written() {
    let place = Place::new();
    place.train("vi", &["infer={ method = \"vi\", optimise = { epochs = 1, batch = 20, learning_rate = 1e-2 } }"]);
    place.refused("vi -o new", &["vi/posterior.safetensors", "no samples"]);
    place.refused("nowhere -o new", &["nowhere"]);
    place.refused("hmc -o hmc", &["not empty"]);
    place.refused("hmc -o new --draws 0", &["--draws is 0; it must be at least 1"]);
    place.refused("hmc -o new --test-examples 0", &["--test-examples is 0"]);
    place.refused("hmc -o new --samples 0", &["--samples is 0"]);
    place.refused("hmc -o new --distil 0", &["--distil is 0"]);
    place.refused("hmc -o new --distil inf", &["--distil is inf"]);
    place.refused("hmc -o new --relabellings first,first", &["--relabellings", "\"first\" twice"]);
    place.refused("hmc -o new --ranks 3,3", &["--ranks", "3 twice"]);
    place.refused("hmc -o new --relabellings nobody", &["nobody"]);
    place.refused("hmc -o new --reference nowhere", &["nowhere"]);
    place.train("other", &["data.name=synthetic", "data.subsets=[]"]);
    place.refused("hmc -o new --reference other", &["other/posterior.safetensors", "other test examples"]);
    place.refused("hmc other -o new", &["another network"]);
    place.train("squares", &["likelihood={ gaussian = { variance = 0.1 } }", "infer.step=1e-3"]);
    place.refused("squares -o new --distil 1", &["--distil", "softmax"]);
    place.train("tanh", &["arch.activation=tanh"]);
    place.refused("tanh -o new --balance", &["tanh"]);
}
