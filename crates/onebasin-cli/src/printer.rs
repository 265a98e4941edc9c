//! The only place that prints: data to standard output, messages to standard error.

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use onebasin::error::Error;
use std::io;
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// It did what was asked.
    Success,
    /// It ran, and what it looked at has a problem.
    Problem,
    /// The arguments or the input are wrong, or the output could not be written.
    Error,
    /// A training left the finite numbers, or its chains stand still: it has no result.
    Diverged,
    /// It was stopped by this signal, and has saved its work.
    Signal(u8),
}

impl From<ExitStatus> for u8 {
    fn from(status: ExitStatus) -> Self {
        match status {
            ExitStatus::Success => 0,
            ExitStatus::Problem => 1,
            ExitStatus::Error => 2,
            ExitStatus::Diverged => 3,
            // What a shell reports for a process that a signal ended.
            ExitStatus::Signal(signal) => 128 + signal,
        }
    }
}

/// Which messages are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Messages {
    /// None.
    Quiet,
    /// What a person wants to know while a command runs.
    Usual,
    /// Also what only matters when something is wrong.
    Verbose,
}

/// Writes on behalf of the commands.
#[derive(Clone, Debug)]
pub(crate) struct Printer {
    /// All bars that are shown at a time.
    bars: MultiProgress,
    messages: Messages,
    /// Name of the part of a command that it prints for: messages begin with it, and data are not printed.
    part: Option<String>,
}

impl Printer {
    /// On the standard output and the standard error of this process.
    pub(crate) fn new(messages: Messages) -> Self {
        Self { bars: MultiProgress::new(), messages, part: None }
    }

    /// Whether a person wants to know everything.
    pub(crate) fn is_verbose(&self) -> bool {
        self.messages == Messages::Verbose
    }

    /// For a part of a command that is a command itself, and may run beside others.
    pub(crate) fn part(&self, name: &str) -> Self {
        Self { part: Some(name.to_owned()), ..self.clone() }
    }

    /// One that says nothing, for tests.
    #[cfg(test)]
    pub(crate) fn silent() -> Self {
        Self::new(Messages::Quiet)
    }

    /// Writes data as it is.
    pub(crate) fn data(&self, text: &str) -> io::Result<()> {
        if self.part.is_some() {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    }

    /// Tells a person what happens, in one line.
    pub(crate) fn say(&self, text: &str) {
        if self.messages != Messages::Quiet {
            self.insist(text);
        }
    }

    /// Tells a person who wants to know everything, in one line.
    pub(crate) fn detail(&self, text: &str) {
        if self.is_verbose() {
            self.insist(text);
        }
    }

    /// Tells a person what is wrong although a command goes on, in one line.
    pub(crate) fn insist(&self, text: &str) {
        let whose = self.whose();
        // If standard error is closed, nobody is left to be told.
        let _ = self.bars.suspend(|| writeln!(io::stderr().lock(), "{whose}{text}"));
    }

    /// A bar that shows how many of `total` bytes there are, beginning at `done`; nothing is shown but on a terminal.
    pub(crate) fn bar(&self, name: &str, done: u64, total: u64) -> ProgressBar {
        if self.messages == Messages::Quiet || !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let style =
            ProgressStyle::with_template("{msg}\n{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left");
        let bar = ProgressBar::new(total).with_style(style.expect("the template is right"));
        bar.set_message(name.to_owned());
        self.bars.add(bar.with_position(done))
    }

    /// A bar that shows how many of `total` steps are done; if that is 0, because nobody knows the end, a sign that something
    /// goes on. Nothing is shown but on a terminal.
    pub(crate) fn steps(&self, total: usize) -> ProgressBar {
        if self.messages == Messages::Quiet || !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template("{bar:24} {percent:>3}% {eta} left | {prefix}{msg}");
        let bar = match total {
            0 => ProgressBar::new_spinner(),
            _ => ProgressBar::new(0).with_style(style.expect("the template is right")).with_prefix(self.whose()),
        };
        let bar = self.bars.add(bar);
        bar.enable_steady_tick(Duration::from_millis(200));
        bar
    }

    /// What messages begin with.
    fn whose(&self) -> String {
        self.part.as_ref().map_or_else(String::new, |part| format!("{part}: "))
    }

    /// Says what went wrong, in the form of clap's own errors; returns the status to exit with.
    ///
    /// A reader that has seen enough and closes the pipe (`| head -1`) is not an error.
    pub(crate) fn error(&self, error: &anyhow::Error) -> ExitStatus {
        let broken_pipe =
            error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        if broken_pipe {
            return ExitStatus::Success;
        }
        // Errors of the library tell their causes themselves.
        let mut text = format!("error: {error}");
        for cause in error.chain().map(ToString::to_string) {
            if !text.ends_with(&cause) {
                text = format!("{text}: {cause}");
            }
        }
        text.push('\n');
        let known = error.downcast_ref::<Error>().map(Error::cause);
        let diverged = matches!(known, Some(Error::Diverged { .. } | Error::Stuck { .. }));
        if known.is_some() && !diverged {
            text += "\nFor more information, try '--help'.\n";
        }
        // If standard error is closed too, nobody is left to be told.
        let _ = self.bars.suspend(|| io::stderr().lock().write_all(text.as_bytes()));
        match known {
            Some(Error::FunctionChanged { .. }) => ExitStatus::Problem,
            _ if diverged => ExitStatus::Diverged,
            _ => ExitStatus::Error,
        }
    }
}
