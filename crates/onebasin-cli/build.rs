//! Tells the compiler which commit is built, if that is known, for `onebasin --version --verbose`.

use std::path::Path;
use std::process::Command;

/// What git says, if there is a git and a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned()).filter(|text| !text.is_empty())
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The log of HEAD changes with every commit and checkout.
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]).filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    // A package that was unpacked inside of another repository is not of its commit.
    let own = git(&["ls-files", "build.rs"]).is_some();
    if let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]).filter(|_| own) {
        println!("cargo::rustc-env=ONEBASIN_COMMIT={commit}");
    }
}
