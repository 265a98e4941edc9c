//! The only place that prints: data to standard output, talk to standard error.

use std::io;
use std::io::Write;
use std::process::ExitCode;

/// How a command ended; 1 is kept for commands that run well and find a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// It did what was asked.
    Success,
    /// The arguments or the input are wrong, or the output could not be written.
    Error,
    /// It was stopped by this signal, and has saved its work.
    Signal(u8),
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        match status {
            ExitStatus::Success => Self::SUCCESS,
            ExitStatus::Error => Self::from(2),
            // What a shell reports for a process that a signal ended.
            ExitStatus::Signal(signal) => Self::from(128 + signal),
        }
    }
}

/// Writes on behalf of the commands.
#[derive(Debug)]
pub(crate) struct Printer {
    stdout: io::Stdout,
    stderr: io::Stderr,
}

impl Printer {
    /// On the standard output and the standard error of this process.
    pub(crate) fn new() -> Self {
        Self { stdout: io::stdout(), stderr: io::stderr() }
    }

    /// Writes data as it is.
    pub(crate) fn data(&self, text: &str) -> io::Result<()> {
        let mut stdout = self.stdout.lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    }

    /// Says what is going on.
    pub(crate) fn say(&self, text: &str) {
        // If standard error is closed, nobody wants to know.
        let _ = writeln!(self.stderr.lock(), "{text}");
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
        let mut text = format!("error: {error:#}\n");
        if error.is::<onebasin::error::Error>() {
            text += "\nFor more information, try '--help'.\n";
        }
        // If standard error is closed too, nobody is left to be told.
        let _ = self.stderr.lock().write_all(text.as_bytes());
        ExitStatus::Error
    }
}
