//! A place for experiments, and the binary in it.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Two posteriors that know something, and not the same; all kinds of measures of pairs.
pub(crate) const SMALL: &str = r#"
    title = "Small"
    about = "Two posteriors, few draws."

    [train]
    data = { name = "digits", subsets = ["half:a"], scaling = "standard" }
    arch = { preset = "mlp", hidden = [14, 11] }
    prior.variance = 0.1
    evaluate.samples = 1
    infer = { method = "vi", std = 0.05, optimise = { epochs = 8, batch = 50, learning_rate = 1e-2 } }

    [align]
    criteria = ["w2", "kl"]
    solvers = ["coordinate-descent"]

    [barrier]
    solver = "coordinate-descent"
    paths = ["geodesic", "natural"]
    points = 5
    samples = 6
    replicates = 10
    train_examples = 80

    [plane]
    solver = "coordinate-descent"
    points = 3
    train_examples = 80
"#;

/// A folder with the experiment `small.toml`; gone when the test ends.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self(TempDir::new().unwrap());
        fs::write(place.path("small.toml"), SMALL).unwrap();
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onebasin"));
        command.args(line.split_whitespace()).current_dir(self.0.path()).env_clear();
        command
    }

    /// A command that must go well; what it prints.
    pub(crate) fn onebasin(&self, line: &str) -> String {
        let Output { status, stdout, stderr } = self.command(line).output().unwrap();
        assert!(status.success(), "{line}: {}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).unwrap()
    }

    /// A command that must fail for a reason that the user can do something about; what it says.
    pub(crate) fn refused(&self, line: &str) -> String {
        let Output { status, stdout, stderr } = self.command(line).output().unwrap();
        let said = String::from_utf8(stderr).unwrap();
        assert!(status.code() == Some(2) && stdout.is_empty(), "{line}: {status} {said}");
        said
    }

    pub(crate) fn text(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    pub(crate) fn json(&self, file: &str) -> Value {
        serde_json::from_str(&self.text(file)).unwrap()
    }

    /// The only file below a folder whose path ends like this.
    pub(crate) fn file(&self, folder: &str, ending: &str) -> PathBuf {
        let mut found = self.files(folder).into_iter().map(|(path, _)| path).filter(|path| path.ends_with(ending));
        let path = found.next().unwrap_or_else(|| panic!("{folder} has no {ending}"));
        assert_eq!(found.next(), None, "{folder} has several files {ending}");
        self.path(folder).join(path)
    }

    /// Number of files below a folder, which may not be there yet, whose paths end like this.
    pub(crate) fn count(&self, folder: &str, ending: &str) -> usize {
        fn count(folder: &Path, ending: &str) -> usize {
            let files = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
            files.map(|path| usize::from(path.to_string_lossy().ends_with(ending)) + count(&path, ending)).sum()
        }
        count(&self.path(folder), ending)
    }

    /// All files below a folder, by their paths in it, with their contents.
    pub(crate) fn files(&self, folder: &str) -> Vec<(PathBuf, Vec<u8>)> {
        fn gather(root: &Path, folder: &Path, all: &mut Vec<(PathBuf, Vec<u8>)>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    gather(root, &path, all);
                } else {
                    all.push((path.strip_prefix(root).unwrap().to_owned(), fs::read(&path).unwrap()));
                }
            }
        }
        let (root, mut all) = (self.path(folder), Vec::new());
        gather(&root, &root, &mut all);
        all.sort();
        all
    }
}
