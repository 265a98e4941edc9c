//! A folder for one test, the posteriors in it, and what alignments leave there.

use onebasin::arch::Arch;
use onebasin::posterior::{Gaussian, Posterior};
use onebasin::store::StoredPosterior;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Twenty steps of variational inference, as far as these tests need it to learn.
const VI: &str = r#"
    data.name = "synthetic"
    arch = { preset = "mlp", hidden = [12, 9] }
    prior.variance = 0.1
    evaluate.samples = 1
    infer = { method = "vi", optimise = { epochs = 5, batch = 100, learning_rate = 1e-2 } }
"#;

/// A folder that is gone when the test ends.
pub(crate) struct Place(TempDir);

/// How a command ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn onebasin(&self, arguments: &[&str]) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onebasin"));
        let output = command.args(arguments).current_dir(self.0.path()).env_clear().output().unwrap();
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        Ended { code: output.status.code(), stdout, stderr }
    }

    /// Trains into the folder `name`.
    pub(crate) fn train(&self, name: &str, settings: &[&str]) {
        fs::write(self.path("vi.toml"), VI).unwrap();
        let mut arguments = vec!["train", "vi.toml", "--threads", "1", "-o", name];
        arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
        let ended = self.onebasin(&arguments);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }

    /// Two posteriors, `a` and `b`, from different seeds.
    pub(crate) fn with_two() -> Self {
        let place = Self::new();
        place.train("a", &[]);
        place.train("b", &["seed=1"]);
        place
    }

    /// `onebasin align`, which must go well; returns its report.
    pub(crate) fn align(&self, arguments: &[&str]) -> Value {
        let ended = self.onebasin(&[&["align"], arguments, &["--json"]].concat());
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
        serde_json::from_str(&ended.stdout).unwrap()
    }

    /// Makes sure that these arguments are refused with a message that has all of `named` in it, and change nothing.
    pub(crate) fn refused(&self, arguments: &[&str], named: &[&str]) {
        let before = contents(self.0.path());
        let ended = self.onebasin(&[&["align"], arguments].concat());
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.starts_with("error: "), "{arguments:?}: {}", ended.stderr);
        for named in named {
            assert!(ended.stderr.contains(named), "{arguments:?}: {}", ended.stderr);
        }
        assert_eq!(ended.stdout, "");
        assert!(contents(self.0.path()) == before, "{arguments:?} left a trace");
    }

    pub(crate) fn read(&self, name: &str) -> StoredPosterior {
        StoredPosterior::read(&self.path(name)).unwrap()
    }

    /// Writes a posterior with the provenance of `a`.
    pub(crate) fn write(&self, name: &str, posterior: Posterior) {
        let provenance = self.read("a/posterior.safetensors").provenance;
        StoredPosterior { posterior, provenance }.write(&self.path(name)).unwrap();
    }

    pub(crate) fn gaussian(&self, name: &str) -> Gaussian {
        self.read(name).posterior.gaussian().into_owned()
    }

    pub(crate) fn arch(&self) -> Arch {
        self.read("a/posterior.safetensors").provenance.network().unwrap()
    }
}

/// All files below a folder.
pub(crate) fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.append(&mut contents(&path));
        } else {
            all.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    all
}

/// The names of all files of results below a folder, relative to it.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let name = |path: &PathBuf| path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
    contents(folder).keys().map(name).filter(|name| !name.contains("made.json") && name != "lock").collect()
}
