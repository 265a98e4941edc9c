//! Compares the help of all commands with what it was when last reviewed.

mod binary;

use binary::onebasin;
use insta::assert_snapshot;

/// The help of a command, then that of each of its commands.
fn helps(command: &str) -> String {
    let line = if command.is_empty() { "--help".to_owned() } else { format!("{command} --help") };
    let own = onebasin(&line);
    let own = own.strip_prefix("exit code: 0\n----- stdout -----\n").unwrap_or_else(|| panic!("{line}: {own}"));
    assert!(own.contains("\nExample:\n  onebasin "), "{line} shows no example: {own}");
    let mut all = format!("===== onebasin {line} =====\n{own}\n");
    let listed = own.split("\nCommands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or_default();
    for name in listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
        let name = name.split_whitespace().next().expect("a command has a name");
        if name != "help" {
            all += &helps(format!("{command} {name}").trim_start());
        }
    }
    all
}

#[test]
fn help_of_all_commands() {
    assert_snapshot!(helps(""));
}
