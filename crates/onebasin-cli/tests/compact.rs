//! Puts Gaussians in the place of samples that the real binary trained, and looks at all it leaves.

mod binary;

use insta::assert_snapshot;
use onebasin::posterior::Posterior;
use onebasin::store::StoredPosterior;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::process::Output;
use tempfile::TempDir;

/// Two short chains on the digits that are part of the library.
const HMC: &str = r#"
    data = { name = "digits", subsets = ["first:60"] }
    arch = { preset = "mlp", hidden = [5] }
    prior.variance = 0.3
    evaluate.samples = 4
    infer = { method = "hmc", chains = 2, burn_in = 10, samples = 12, step = 0.02, most_steps = 8 }
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
    for labels in report["labels"].as_array_mut().unwrap() {
        labels["labels"]["seconds"] = Value::Null;
    }
    report
}

#[test]
fn each_gaussian_is_written_and_measured() {
    let place = Place::new();
    let report = place.compact("hmc -o out --rank 0,3 --draws 6 --prune");
    let names = ["direct", "first", "mean", "relabelled"];
    let endings = ["-rank3.safetensors", ".safetensors"];
    let mut expected: Vec<String> =
        names.iter().flat_map(|name| endings.map(|ending| format!("{name}{ending}"))).collect();
    expected.push("measures.json".to_owned());
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
        assert_eq!((&row["images"], &row["samples"]), (&360.into(), &6.into()));
        let [agreement, variation] = ["agreement", "total_variation"].map(|name| row[name].as_f64().unwrap());
        assert!((0.0..=1.0).contains(&agreement) && variation > 0.0 && variation <= 1.0);
        assert!(row["mean"]["error"].as_f64().unwrap() <= 1.0);
    }
    for labels in report["labels"].as_array().unwrap() {
        assert_eq!((&labels["mixing"]["samples"], labels["widths"].as_array().unwrap().len()), (&12.into(), 4));
        let curves = labels["pruning"].as_array().unwrap();
        assert_eq!(curves.len(), 4);
        // All that is kept of the mean is what the mean predicts.
        let whole = &curves[0]["points"][0];
        let own = rows.iter().find(|row| row["name"] == labels["name"]).filter(|row| row["rank"] == 0).unwrap();
        assert_eq!((&whole["percent"], &whole["quality"]["nll"]), (&100.0.into(), &own["mean"]["nll"]));
    }

    let samples = place.read("hmc/posterior.safetensors");
    let direct = place.read("out/direct.safetensors");
    assert_eq!(direct.provenance, samples.provenance);
    assert!(matches!(direct.posterior, Posterior::Gaussian(_)));
    let (fitted, expected) = (direct.posterior.gaussian(), samples.posterior.gaussian());
    assert!(fitted.distance(&expected).unwrap() < 1e-4);
    let low_rank = place.read("out/relabelled-rank3.safetensors");
    assert!(low_rank.provenance.aligned.unwrap().to.starts_with("relabelled of hmc/"));
    let Posterior::LowRank(low_rank) = low_rank.posterior else { panic!("it is of another kind") };
    assert_eq!(low_rank.factor().len(), 3);
    let diagonal = place.read("out/relabelled.safetensors");
    assert!(low_rank.marginals().distance(&diagonal.posterior.gaussian()).unwrap() < 1e-4);
    let output =
        place.onebasin(&["align", "out/relabelled-rank3.safetensors", "out/first.safetensors", "-o", "aligned"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn threads_and_what_was_there_change_nothing() {
    let place = Place::new();
    let [one, three] = ["1", "3"].map(|threads| {
        let report = place.compact(&format!(
            "hmc -o out --rank 2 --to relabel,none --draws 3 --images 20 --balance --force --threads {threads}"
        ));
        let mut files = place.files("out");
        files.remove("measures.json");
        fs::write(place.path("out/relabelled.safetensors.tmp"), "remains").unwrap();
        (timeless(report), files)
    });
    assert!(one == three);
    assert_eq!(one.1.keys().collect::<Vec<_>>(), ["direct-rank2.safetensors", "relabelled-rank2.safetensors"]);
    fs::write(place.path("out/notes.safetensors"), "mine").unwrap();
    let before = place.files("out");
    let output = place.onebasin(&["compact", "hmc", "-o", "out", "--force"]);
    assert!(output.status.code() == Some(2) && place.files("out") == before);
}

/// The samples saw 60 images; what they predict on all others brings a Gaussian nearer to them.
#[test]
fn a_distilled_gaussian_predicts_what_the_samples_do() {
    let place = Place::new();
    let [one, three] = ["1", "3"].map(|threads| {
        let report = place.compact(&format!("hmc -o out --to first --rank 0 --distil 30 --force --threads {threads}"));
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
    let optimise = "optimise = { epochs = 3, batch = 20, rate = 1e-2 }";
    place.train("vi", &[&format!("infer={{ method = \"vi\", {optimise} }}"), "arch.hidden=[7]"]);
    let ensemble = format!("infer={{ method = \"ensemble\", members = 3, {optimise} }}");
    place.train("ensemble", &[&ensemble]);
    let report = place.compact("ensemble --reference vi -o out --rank 0 --draws 4 --images 30");
    assert!(report["rows"][0]["total_variation"].as_f64().unwrap() > 0.0);
    assert!(report["labels"].as_array().unwrap().iter().all(|labels| labels["mixing"].is_null()));
    let both = place.compact("ensemble hmc -o both --rank 0 --draws 4 --images 30 --samples 10 --to none");
    assert_eq!((&both["samples"], &both["chains"]), (&7.into(), &Value::Null));
}

#[test]
fn tables_have_a_line_for_each_posterior() {
    let place = Place::new();
    let output = place.onebasin(&["compact", "hmc", "-o", "out", "--draws", "3", "--to", "none,relabel", "--prune"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let firsts: Vec<&str> = text.lines().map(|line| line.trim_start().split("  ").next().unwrap()).collect();
    let kept = ["100", "90", "80", "70", "60", "50", "40", "30", "20", "10", "5", "1"];
    let expected = [
        &[
            "posterior",
            "samples",
            "direct",
            "direct",
            "relabelled",
            "relabelled",
            "",
            "weights",
            "direct",
            "relabelled",
            "",
        ][..],
        &["direct: % kept"],
        &kept,
        &["", "relabelled: % kept"],
        &kept,
    ];
    assert_eq!(firsts, expected.concat(), "{text}");
}

#[test]
fn mistakes_are_refused_before_anything_is_written() {
    let place = Place::new();
    place.train("vi", &["infer={ method = \"vi\", optimise = { epochs = 1, batch = 20, rate = 1e-2 } }"]);
    place.refused("vi -o new", &["vi/posterior.safetensors", "no samples"]);
    place.refused("nowhere -o new", &["nowhere"]);
    place.refused("hmc -o hmc", &["lies in the folder"]);
    place.refused("hmc -o new --draws 0", &["--draws is 0"]);
    place.refused("hmc -o new --images 0", &["--images is 0"]);
    place.refused("hmc -o new --samples 0", &["--samples is 0"]);
    place.refused("hmc -o new --distil 0", &["--distil is 0"]);
    place.refused("hmc -o new --distil inf", &["--distil is inf"]);
    place.refused("hmc -o new --to first,first", &["`first` twice"]);
    place.refused("hmc -o new --rank 3,3", &["3 twice"]);
    place.refused("hmc -o new --to nobody", &["nobody"]);
    place.refused("hmc -o new --reference nowhere", &["nowhere"]);
    place.train("other", &["data.name=synthetic", "data.subsets=[]"]);
    place.refused("hmc -o new --reference other", &["other/posterior.safetensors", "other test images"]);
    place.refused("hmc other -o new", &["another network"]);
    place.train("squares", &["likelihood={ gaussian = { variance = 0.1 } }"]);
    place.refused("squares -o new --distil 1", &["least squares"]);
    place.train("tanh", &["arch.activation=tanh"]);
    place.refused("tanh -o new --balance", &["tanh"]);
}

#[test]
fn help() {
    assert_snapshot!(binary::onebasin("compact --help"), @r"
        exit code: 0
        ----- stdout -----
        Put one Gaussian in the place of many samples, and measure what that costs

        Reads samples that `onebasin train` wrote and fits Gaussians to them, as they are and with their
        units brought in line, diagonal and of low rank; with `--distil`, diagonal ones also learn what the
        samples predict. Compares what each predicts on the test images with what the samples predict:
        agreement is the part of the images with the same most probable class, TV the total variation.
        Writes the Gaussians, as posteriors, and measures.json with all that is known of them.

        Usage: onebasin compact [OPTIONS] --output <DIR> <SAMPLES>...

        Arguments:
          <SAMPLES>...
                  Samples of Markov chains or ensembles: files, or folders of runs

        Options:
          -o, --output <DIR>
                  The folder that is written

              --to <NAMES>
                  What samples are aligned with before: nothing, the first, the mean of all others in turn,
                  or the Gaussian that fits them

                  [default: none,first,mean,relabel]
                  [possible values: none, first, mean, relabel]

              --rank <NUMBERS>
                  Directions in which parameters are correlated; 0 for a diagonal Gaussian

                  [default: 0,20]

              --reference <POSTERIOR>
                  The posterior that predictions are compared with [default: the samples]

              --balance
                  Balance the scales of the relu units of each sample before

              --solver <NAME>
                  How permutations are sought; `best` tries all

                  [default: best]
                  [possible values: descent, forward, frank-wolfe, best]

              --samples <N>
                  At most about so many samples, at equal distances in each chain [default: all]

              --images <N>
                  At most so many test images, from the first on [default: all]

              --draws <N>
                  Points that are drawn of each Gaussian

                  [default: 100]

              --seed <N>
                  Of draws and of the order in which samples are aligned

                  [default: 0]

              --prune
                  Keep fewer and fewer parameters, those with the smallest standard deviations or the
                  largest ratio of mean to it

              --distil <EPOCHS>
                  Diagonal Gaussians go on to learn what the samples predict, in so many passes over all
                  images of the training part, without their labels [default: not at all]

              --data <DIR>
                  Folder of the data sets [default: `onebasin` in the platform's folder for data]

                  [env: ONEBASIN_DATA]

              --threads <N>
                  Number of threads, which does not change the result [default: one for each core]

              --force
                  Remove what an earlier `onebasin compact` left in the folder

              --json
                  Print measures.json instead of tables

          -h, --help
                  Print help (see a summary with '-h')

        Example:
          onebasin compact runs/digits-hmc -o runs/digits-compact --distil 200
    ");
}
