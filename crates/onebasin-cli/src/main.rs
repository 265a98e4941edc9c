//! The command `onebasin`, which is the library of this crate with the words that were typed.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(onebasin_cli::main_of(&std::env::args_os().collect::<Vec<_>>()))
}
