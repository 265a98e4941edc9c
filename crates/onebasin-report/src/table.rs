//! A table of text cells, rendered as aligned plain text, Markdown, HTML or comma-separated values.

use crate::csv;
use crate::escape;

/// The side of a column that its cells are pushed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// For names and sentences.
    Left,
    /// For numbers.
    Right,
}

/// Rows of cells under a row of titles.
///
/// ```
/// use onebasin_report::{Alignment, Table};
///
/// let mut table = Table::new([("layer", Alignment::Left), ("units", Alignment::Right)]);
/// table.push(["hidden1", "512"]);
/// assert_eq!(table.text(), "layer    units\nhidden1    512\n");
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    alignments: Vec<Alignment>,
    /// The titles, then the rows; each as long as `alignments`.
    lines: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows, from the title and the alignment of each column.
    pub fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Alignment)>) -> Self {
        let (titles, alignments) = columns.into_iter().map(|(title, alignment)| (title.to_owned(), alignment)).unzip();
        Self { alignments, lines: vec![titles] }
    }

    /// Appends a row.
    ///
    /// # Panics
    /// If there is not exactly one cell for each column.
    pub fn push(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        assert_eq!(cells.len(), self.alignments.len(), "a row needs one cell for each column");
        self.lines.push(cells);
    }

    /// Plain text: columns two spaces apart, no blanks at the end of a line.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for line in aligned(&self.lines, &self.alignments) {
            out += line.join("  ").trim_end();
            out += "\n";
        }
        out
    }

    /// Markdown: a pipe table whose source is aligned too.
    pub fn markdown(&self) -> String {
        let escaped: Vec<Vec<String>> =
            self.lines.iter().map(|line| line.iter().map(|cell| escape::markdown(cell)).collect()).collect();
        let mut out = String::new();
        for (index, line) in aligned(&escaped, &self.alignments).iter().enumerate() {
            out += &["| ", &line.join(" | "), " |\n"].concat();
            if index == 0 {
                out += &rule(line, &self.alignments);
            }
        }
        out
    }

    /// Comma-separated values: the titles, then the rows.
    pub fn csv(&self) -> String {
        self.lines.iter().map(|line| csv::line(line.iter().map(String::as_str))).collect()
    }

    /// An HTML element with a caption; cells of columns that are pushed to the right have the class `number`.
    pub fn html(&self, caption: &str) -> String {
        let mut out = format!("<table>\n<caption>{}</caption>\n", escape::xml(caption));
        for (index, line) in self.lines.iter().enumerate() {
            let (before, tag, after) = match index {
                0 => ("<thead>\n", "th scope=\"col\"", "</thead>\n<tbody>\n"),
                _ => ("", "td", ""),
            };
            out += before;
            out += "<tr>";
            for (cell, alignment) in line.iter().zip(&self.alignments) {
                let class = if *alignment == Alignment::Right { " class=\"number\"" } else { "" };
                out += &format!("<{tag}{class}>{}</{}>", escape::xml(cell), &tag[..2]);
            }
            out += "</tr>\n";
            out += after;
        }
        out + "</tbody>\n</table>\n"
    }
}

/// The cells, filled up with blanks to the width of their column.
fn aligned(lines: &[Vec<String>], alignments: &[Alignment]) -> Vec<Vec<String>> {
    let mut widths = vec![0; alignments.len()];
    for line in lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = cell.chars().count().max(*width);
        }
    }
    let fill = |line: &Vec<String>| {
        let columns = line.iter().zip(&widths).zip(alignments);
        columns
            .map(|((cell, &width), alignment)| match alignment {
                Alignment::Left => format!("{cell:<width$}"),
                Alignment::Right => format!("{cell:>width$}"),
            })
            .collect()
    };
    lines.iter().map(fill).collect()
}

/// The line under the titles, which tells Markdown the alignment of each column.
fn rule(titles: &[String], alignments: &[Alignment]) -> String {
    let mut out = "|".to_owned();
    for (title, alignment) in titles.iter().zip(alignments) {
        out += &"-".repeat(title.chars().count() + 1);
        out += match alignment {
            Alignment::Left => "-|",
            Alignment::Right => ":|",
        };
    }
    out + "\n"
}

#[cfg(test)]
mod tests {
    use super::Alignment::Left;
    use super::Alignment::Right;
    use super::*;

    fn table() -> Table {
        let mut table = Table::new([("name", Left), ("values", Right), ("note", Left)]);
        table.push(["a", "1234567", "p(y|x)"]);
        table.push(["σ of b", "8", ""]);
        table
    }

    #[test]
    fn text_is_aligned_without_blanks_at_the_end() {
        let expected = ["name     values  note", "a       1234567  p(y|x)", "σ of b        8", ""];
        assert_eq!(table().text(), expected.join("\n"));
    }

    #[test]
    fn markdown_is_aligned_and_escaped() {
        let expected = [
            r"| name   |  values | note    |",
            r"|--------|--------:|---------|",
            r"| a      | 1234567 | p(y\|x) |",
            r"| σ of b |       8 |         |",
            "",
        ];
        assert_eq!(table().markdown(), expected.join("\n"));
    }

    #[test]
    fn without_rows_the_titles_remain() {
        let table = Table::new([("name", Left), ("values", Right)]);
        assert_eq!(table.text(), "name  values\n");
        assert_eq!(table.markdown(), "| name | values |\n|------|-------:|\n");
    }

    #[test]
    #[should_panic(expected = "a row needs one cell for each column")]
    fn a_short_row_is_refused() {
        table().push(["a", "1"]);
    }
}
