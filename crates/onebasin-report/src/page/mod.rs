//! The data of a report: what was found, key results, then sections of text, tables and figures, then provenance; also as Markdown.

mod colours;
mod html;

use crate::escape::{markdown, markdown_paragraph};
use crate::figure::{Chart, Figure, distinct};
use crate::table::Alignment::{Left, Right};
use crate::table::Table;

/// Report about an experiment. Its texts are plain text; an empty line begins a new paragraph.
#[derive(Clone, Debug)]
pub struct Page {
    /// Title of the page.
    pub title: String,
    /// What was found, in one sentence with the numbers; may be empty.
    pub finding: String,
    /// Question of the experiment, and what the answer means, in a few sentences.
    pub summary: String,
    /// Key results, shown first.
    pub headlines: Vec<Headline>,
    /// Sections from top to bottom.
    pub sections: Vec<Section>,
    /// Names and values that reproduce the experiment.
    pub provenance: Vec<(String, String)>,
}

/// One key result.
#[derive(Clone, Debug)]
pub struct Headline {
    /// Name of the quantity.
    pub label: String,
    /// Value with its unit.
    pub value: String,
    /// Value that it is compared with, or how it was measured; may be empty.
    pub note: String,
}

/// Section of a page.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Identifier in links.
    pub id: String,
    /// Heading of the section.
    pub title: String,
    /// Content from top to bottom.
    pub blocks: Vec<Block>,
}

/// Part of a section.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "a page has few blocks, and most of them are figures and tables")]
pub enum Block {
    /// Paragraphs of plain text.
    Text(String),
    /// Command for a shell.
    Code(String),
    /// Table with a caption.
    Table {
        /// Identifier in links, and file name without extension.
        id: String,
        /// Caption of the table.
        caption: String,
        /// Titles and cells.
        table: Table,
    },
    /// Figure with its title and caption.
    Figure(Figure),
}

impl Block {
    /// Returns whether it is a heat map.
    fn is_map(&self) -> bool {
        matches!(self, Self::Figure(Figure { chart: Chart::HeatMap(_), .. }))
    }
}

impl Section {
    /// Returns the blocks, maps that follow each other together: they stand side by side, so that they can be compared.
    fn side_by_side(&self) -> impl Iterator<Item = &[Block]> {
        self.blocks.chunk_by(|one, next| one.is_map() && next.is_map())
    }
}

impl Page {
    /// Returns all figures from top to bottom.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        blocks.filter_map(|block| if let Block::Figure(figure) = block { Some(figure) } else { None })
    }

    /// Returns the page in GitHub-flavoured Markdown. It links to `ID.svg` in the folder `figures` for each figure; an empty
    /// `figures` stands for the folder of the page itself.
    pub fn markdown(&self, figures: &str) -> String {
        let mut parts = vec![format!("# {}", markdown(&self.title))];
        parts.extend(paragraphs(&self.finding).map(|finding| format!("**{}**", markdown_paragraph(finding))));
        parts.extend(paragraphs(&self.summary).map(markdown_paragraph));
        if !self.headlines.is_empty() {
            let rows = self.headlines.iter().map(|Headline { label, value, note }| [label, value, note]);
            parts.push(Table::new([("", Left), ("", Right), ("", Left)]).with(rows).markdown());
        }
        for section in &self.sections {
            parts.push(format!("## {}", markdown(&section.title)));
            for part in section.side_by_side() {
                match part {
                    [first, _, ..] if first.is_map() => maps(part, figures, &mut parts),
                    blocks => blocks.iter().for_each(|block| self::block(block, figures, &mut parts)),
                }
            }
        }
        if !self.provenance.is_empty() {
            let rows = self.provenance.iter().map(|(name, value)| [name, value]);
            let table = Table::new([("what", Left), ("value", Left)]).with(rows);
            parts.extend(["## Provenance".to_owned(), table.markdown()]);
        }
        parts.iter().map(|part| part.trim_end()).collect::<Vec<_>>().join("\n\n") + "\n"
    }
}

/// Returns the parts of a text between empty lines.
fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty())
}

fn block(block: &Block, figures: &str, parts: &mut Vec<String>) {
    match block {
        Block::Text(text) => parts.extend(paragraphs(text).map(markdown_paragraph)),
        Block::Code(command) => {
            // The fence must be longer than any run of backticks in the command.
            let longest = command.split(|c| c != '`').map(str::len).max().unwrap_or(0);
            let fence = "`".repeat(longest.max(2) + 1);
            parts.push(format!("{fence}sh\n{}\n{fence}", command.trim_end()));
        }
        Block::Table { caption, table, .. } => {
            parts.extend([markdown_paragraph(caption), table.markdown()]);
        }
        Block::Figure(figure) => parts.extend([image(figure, figures), markdown_paragraph(&figure.caption)]),
    }
}

/// Appends maps in one paragraph, and their captions, each once, in another.
fn maps(blocks: &[Block], figures: &str, parts: &mut Vec<String>) {
    let all = || blocks.iter().filter_map(|block| if let Block::Figure(figure) = block { Some(figure) } else { None });
    parts.push(all().map(|figure| image(figure, figures)).collect::<Vec<_>>().join("\n"));
    parts.push(markdown_paragraph(&distinct(all().map(|figure| figure.caption.as_str())).join(" ")));
}

fn image(figure: &Figure, figures: &str) -> String {
    let folder = if figures.is_empty() || figures.ends_with('/') { "" } else { "/" };
    let path = format!("{figures}{folder}{}.svg", figure.id);
    format!("![{}]({})", markdown(&figure.title), link(&path))
}

/// Returns a path as the destination of a link, with percent-encoding of what would end the destination.
fn link(path: &str) -> String {
    let plain = |c: char| !c.is_control() && !" %<>()\\\"".contains(c);
    path.chars().map(|c| if plain(c) { c.to_string() } else { format!("%{:02X}", u32::from(c)) }).collect()
}
