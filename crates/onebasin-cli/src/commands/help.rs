//! `onebasin help`: the help of a command, or the reference of all keys of configurations.

use crate::options::as_flag;
use crate::printer::{ExitStatus, Printer};
use anyhow::bail;
use clap::Command;
use onebasin::experiment::reference::Reference;

/// Width of the reference where there is no terminal.
const WIDTH: usize = 100;

#[derive(Debug, clap::Args)]
pub(crate) struct HelpArgs {
    /// Command, with its own command if it has some; or `keys`, with the beginning of a name if not all are wanted
    #[arg(value_name = "COMMAND")]
    words: Vec<String>,
    /// Print the reference of all keys as Markdown
    #[arg(long)]
    markdown: bool,
}

pub(crate) fn run(args: &HelpArgs, command: Command, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let text = match &args.words[..] {
        [keys, rest @ ..] if keys == "keys" => self::keys(rest, args.markdown)?,
        words => of_command(command, words)?,
    };
    printer.data(&text)?;
    Ok(ExitStatus::Success)
}

fn keys(prefixes: &[String], markdown: bool) -> anyhow::Result<String> {
    let all = Reference::new();
    let chosen = match prefixes {
        [] => all,
        [prefix] => all.about(prefix).map_err(as_flag)?,
        _ => bail!("`onebasin help keys` takes the beginning of one name, such as `infer.optimise`"),
    };
    Ok(if markdown { chosen.markdown() } else { chosen.text(WIDTH) })
}

fn of_command(command: Command, words: &[String]) -> anyhow::Result<String> {
    let (mut inner, mut whole) = (&command, vec!["onebasin".to_owned()]);
    for word in words {
        let Some(found) = inner.find_subcommand(word) else {
            bail!("`{0}` has no command `{word}`; `{0} --help` lists its commands", whole.join(" "));
        };
        inner = found;
        whole.push(word.clone());
    }
    whole.push("--help".to_owned());
    // Clap returns help as an error.
    Ok(command.try_get_matches_from(whole).err().map_or_else(String::new, |help| help.render().to_string()))
}
