//! A folder in which commands run, and small posteriors in it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// A small training by some method.
pub(crate) const TRAINING: &str = r#"
    data = { name = "digits", subsets = ["first:200"] }
    arch = { preset = "mlp", hidden = [9, 8] }
    prior.variance = 0.1
    evaluate.samples = 2
"#;
pub(crate) const VI: &str =
    r#"infer = { method = "vi", std = 0.05, optimise = { epochs = 2, batch = 50, learning_rate = 1e-2 } }"#;
pub(crate) const HMC: &str =
    r#"infer = { method = "hmc", chains = 2, burn_in = 2, samples = 6, trajectory = 0.02, step = 0.01 }"#;

/// What a command did.
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A folder that commands run in.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// With two posteriors, `a` and `b`, that variational inference found.
    pub(crate) fn with_posteriors() -> Self {
        let place = Self::new();
        place.write("vi.toml", &format!("{TRAINING}{VI}"));
        for (name, seed) in [("a", 1), ("b", 2)] {
            place.succeeds(&format!("train vi.toml --set seed={seed} -o {name}"));
        }
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Runs a command whose arguments are separated by blanks.
    pub(crate) fn run(&self, line: &str) -> Done {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onebasin"));
        let output = command.args(line.split(' ')).current_dir(self.0.path()).env_clear().output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Done { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// The same, of a command that must succeed.
    pub(crate) fn succeeds(&self, line: &str) -> Done {
        let done = self.run(line);
        assert_eq!(done.code, 0, "{line}: {}{}", done.stdout, done.stderr);
        done
    }

    /// The error of a command that must be refused.
    pub(crate) fn refused(&self, line: &str) -> String {
        let done = self.run(line);
        assert_eq!(done.code, 2, "{line}: {}{}", done.stdout, done.stderr);
        done.stderr
    }
}
