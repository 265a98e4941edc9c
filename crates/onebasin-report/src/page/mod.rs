//! A page about an experiment: numbers first, then sections of text, tables and figures, and where all of it comes from.

mod html;
mod markdown;

use crate::figure::Figure;
use crate::table::Table;

/// All that is said about an experiment. Its texts are plain; an empty line begins a new paragraph.
#[derive(Clone, Debug)]
pub struct Page {
    /// What it is about.
    pub title: String,
    /// What came out, in a few sentences.
    pub summary: String,
    /// The numbers that are read if no others are.
    pub headlines: Vec<Headline>,
    /// The details.
    pub sections: Vec<Section>,
    /// What must be known to have the same numbers again: names and values.
    pub provenance: Vec<(String, String)>,
}

/// A number that is read from afar.
#[derive(Clone, Debug)]
pub struct Headline {
    /// What it is.
    pub label: String,
    /// The number, with its unit.
    pub value: String,
    /// What it is compared with, or how it was measured.
    pub note: String,
}

/// A part of a page.
#[derive(Clone, Debug)]
pub struct Section {
    /// What links to it end in.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// What it says, from top to bottom.
    pub blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// Paragraphs.
    Text(String),
    /// A command.
    Code(String),
    /// A table.
    Table {
        /// The stem of the name of its file.
        id: String,
        /// What its numbers are.
        caption: String,
        /// The cells.
        table: Table,
    },
    /// A figure.
    Figure(Figure),
}

impl Page {
    /// All figures, from top to bottom.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.blocks().filter_map(|block| match block {
            Block::Figure(figure) => Some(figure),
            _ => None,
        })
    }

    fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.sections.iter().flat_map(|section| &section.blocks)
    }
}

/// The parts of a text between empty lines.
fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty())
}
