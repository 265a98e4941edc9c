//! A page as Markdown, with its figures beside it.

use super::Block;
use super::Page;
use super::paragraphs;
use crate::escape::markdown;
use crate::escape::markdown_paragraph;
use crate::table::Alignment::Left;
use crate::table::Alignment::Right;
use crate::table::Table;

impl Page {
    /// The page as GitHub shows it. The figures are `ID.svg` in the folder `figures`, which is empty for that of the page.
    pub fn markdown(&self, figures: &str) -> String {
        let mut parts = vec![format!("# {}", markdown(&self.title))];
        parts.extend(paragraphs(&self.summary).map(markdown_paragraph));
        if !self.headlines.is_empty() {
            let mut table = Table::new([("", Left), ("", Right), ("", Left)]);
            for headline in &self.headlines {
                table.push([&headline.label, &headline.value, &headline.note]);
            }
            parts.push(table.markdown());
        }
        for section in &self.sections {
            parts.push(format!("## {}", markdown(&section.title)));
            for block in &section.blocks {
                self::block(block, figures, &mut parts);
            }
        }
        if !self.provenance.is_empty() {
            parts.push("## Provenance".to_owned());
            let mut table = Table::new([("what", Left), ("value", Left)]);
            for (name, value) in &self.provenance {
                table.push([name, value]);
            }
            parts.push(table.markdown());
        }
        parts.iter().map(|part| part.trim_end()).collect::<Vec<_>>().join("\n\n") + "\n"
    }
}

fn block(block: &Block, figures: &str, parts: &mut Vec<String>) {
    match block {
        Block::Text(text) => parts.extend(paragraphs(text).map(markdown_paragraph)),
        Block::Code(command) => {
            // A fence longer than any inside.
            let longest = command.split(|c| c != '`').map(str::len).max().unwrap_or(0);
            let fence = "`".repeat(longest.max(2) + 1);
            parts.push(format!("{fence}sh\n{}\n{fence}", command.trim_end()));
        }
        Block::Table { caption, table, .. } => {
            parts.push(markdown_paragraph(caption));
            parts.push(table.markdown());
        }
        Block::Figure(figure) => {
            let folder = if figures.is_empty() || figures.ends_with('/') { "" } else { "/" };
            let path = format!("{figures}{folder}{}.svg", figure.id);
            parts.push(format!("![{}]({})", markdown(&figure.title), link(&path)));
            parts.push(markdown_paragraph(&figure.caption));
        }
    }
}

/// A path as the destination of a link: what would end it is written as bytes in hexadecimal digits.
fn link(path: &str) -> String {
    let plain = |c: char| !c.is_control() && !" %<>()\\\"".contains(c);
    path.chars().map(|c| if plain(c) { c.to_string() } else { format!("%{:02X}", u32::from(c)) }).collect()
}
