//! A folder for one test, the runs in it, and what they leave there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The files that do not depend on when and how often a run was interrupted.
pub(crate) const LASTING: [&str; 4] = ["config.toml", "metrics.jsonl", "posterior.safetensors", "result.json"];

/// Longer than anything here takes, on any machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// What all configurations begin with.
pub(crate) const COMMON: &str = r#"
    [data]
    name = "synthetic"
    [arch]
    preset = "mlp"
    hidden = [8]
    [prior]
    variance = 0.1
    [evaluate]
    samples = 16
"#;

/// Mean-field variational inference, 100 steps.
pub(crate) const VI: &str = r#"
    every = 5
    [log]
    every = 3
    [infer]
    method = "vi"
    samples = 2
    optimise = { epochs = 25, batch = 100, learning_rate = 1e-2, schedule = "cosine", warmup = 1 }
"#;

/// Three members, 40 steps of ten.
pub(crate) const ENSEMBLE: &str = r#"
    every = 40
    [infer]
    method = "ensemble"
    members = 3
    optimise = { epochs = 100, batch = 101, learning_rate = 1e-2 }
"#;

/// Two chains, 40 trajectories each.
pub(crate) const HMC: &str = r#"
    [infer]
    method = "hmc"
    chains = 2
    burn_in = 10
    samples = 15
    thin = 2
"#;

/// A folder that is gone when the test ends, with a configuration in it.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    /// With the configuration `COMMON` + `rest`.
    pub(crate) fn new(rest: &str) -> Self {
        Self::with_config(&format!("{COMMON}{rest}"))
    }

    /// With this configuration.
    pub(crate) fn with_config(text: &str) -> Self {
        let place = Self { folder: TempDir::new().unwrap() };
        fs::write(place.config(), text).unwrap();
        place
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.path("config of the test.toml")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `onebasin train` with output to the folder `name`, not yet started.
    pub(crate) fn command(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onebasin"));
        command.arg("train").arg(self.config()).arg("-o").arg(self.path(name)).args(arguments);
        if !arguments.iter().any(|argument| argument.starts_with("--threads")) {
            command.args(["--threads", "1"]);
        }
        command.current_dir(self.folder.path()).env_clear().stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs it to its end.
    pub(crate) fn train(&self, name: &str, arguments: &[&str]) -> Ended {
        Ended::from(self.command(name, arguments).output().unwrap())
    }

    /// Runs it to its end, which must be a good one.
    pub(crate) fn finish(&self, name: &str, arguments: &[&str]) -> Ended {
        let ended = self.train(name, arguments);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended
    }

    /// Starts it.
    pub(crate) fn start(&self, name: &str, arguments: &[&str]) -> Running {
        Running { child: Some(self.command(name, arguments).spawn().unwrap()) }
    }

    /// The names of all files of a run.
    pub(crate) fn names(&self, name: &str) -> Vec<String> {
        let entries = self.path(name).read_dir().unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The contents of all files of a run.
    pub(crate) fn contents(&self, name: &str) -> BTreeMap<String, Vec<u8>> {
        let names = self.names(name).into_iter();
        names.map(|file| (file.clone(), fs::read(self.path(name).join(file)).unwrap())).collect()
    }

    /// Makes sure that two runs left the same, byte for byte.
    pub(crate) fn assert_same(&self, one: &str, other: &str) {
        let read = |name: &str, file: &str| fs::read(self.path(name).join(file)).unwrap();
        for file in LASTING {
            let (one, other) = (read(one, file), read(other, file));
            let differs = one.iter().zip(&other).position(|(one, other)| one != other);
            assert!(one == other, "{file}: {} and {} bytes, {differs:?}", one.len(), other.len());
        }
    }

    /// The numbers of `result.json`.
    pub(crate) fn result(&self, name: &str) -> serde_json::Value {
        serde_json::from_slice(&fs::read(self.path(name).join("result.json")).unwrap()).unwrap()
    }

    /// The lines of `metrics.jsonl`.
    pub(crate) fn metrics(&self, name: &str) -> Vec<serde_json::Value> {
        let text = fs::read_to_string(self.path(name).join("metrics.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A process that came to an end.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code(),
            #[cfg(unix)]
            signal: std::os::unix::process::ExitStatusExt::signal(&output.status),
            #[cfg(not(unix))]
            signal: None,
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

/// A process under way; one that a test forgets is killed.
pub(crate) struct Running {
    child: Option<Child>,
}

impl Running {
    fn child(&mut self) -> &mut Child {
        self.child.as_mut().expect("it was not waited for")
    }

    pub(crate) fn is_over(&mut self) -> bool {
        self.child().try_wait().unwrap().is_some()
    }

    /// SIGKILL: it has no chance to do anything about it.
    pub(crate) fn kill(mut self) {
        self.child().kill().unwrap();
        self.wait();
    }

    /// Sends a signal by its name, such as `INT`.
    #[cfg(unix)]
    pub(crate) fn signal(&mut self, name: &str) {
        let line = format!("kill -{name} {}", self.child().id());
        assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success(), "{line}");
    }

    pub(crate) fn wait(mut self) -> Ended {
        wait_until("the process ends", || self.is_over());
        Ended::from(self.child.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits, but not for ever.
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether there is a file with something in it.
pub(crate) fn has_content(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.len() > 0)
}
