//! Runs the real binary.

use std::process::{Command, Output};

/// `onebasin` with these arguments, separated by blanks.
pub(crate) fn command(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onebasin"));
    // The width that help is wrapped at; no other variable is looked at.
    command.args(line.split(' ')).env_clear().env("COLUMNS", "100");
    command
}

/// Exit code, standard output and standard error of `onebasin` with these arguments.
pub(crate) fn onebasin(line: &str) -> String {
    let Output { status, stdout, stderr } = command(line).output().expect("the binary was built");
    let section = |name: &str, bytes: Vec<u8>| match String::from_utf8(bytes).expect("the output is UTF-8") {
        text if text.is_empty() => text,
        // Long help has spaces at the ends of lines, which no editor would keep in a snapshot.
        text => text.lines().fold(format!("----- {name} -----\n"), |all, line| all + line.trim_end() + "\n"),
    };
    let code = status.code().expect("no signal ended it");
    format!("exit code: {code}\n{}{}", section("stdout", stdout), section("stderr", stderr))
}
