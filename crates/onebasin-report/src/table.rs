//! Tables of text cells, as aligned plain text, Markdown, HTML or comma-separated values.

use crate::{csv, escape};

/// Horizontal alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// Left, for names and sentences.
    Left,
    /// Right, for numbers.
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
    /// Makes a table without rows from the title and the alignment of each column.
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

    /// Returns the table with further rows, each of one cell for each column.
    #[must_use]
    pub(crate) fn with<R: IntoIterator<Item: Into<String>>>(mut self, rows: impl IntoIterator<Item = R>) -> Self {
        rows.into_iter().for_each(|row| self.push(row));
        self
    }

    /// Returns plain text: columns two spaces apart, no spaces at the end of a line.
    pub fn text(&self) -> String {
        let lines = aligned(&self.lines, &self.alignments);
        lines.iter().map(|line| line.join("  ").trim_end().to_owned() + "\n").collect()
    }

    /// Returns a Markdown table whose source is aligned too.
    pub fn markdown(&self) -> String {
        let escaped: Vec<Vec<String>> =
            self.lines.iter().map(|line| line.iter().map(|cell| escape::markdown(cell)).collect()).collect();
        let lines = aligned(&escaped, &self.alignments);
        // The delimiter row holds the alignment of each column.
        let rule = lines[0].iter().zip(&self.alignments).map(|(title, alignment)| {
            "-".repeat(title.chars().count() + 1) + if *alignment == Alignment::Left { "-|" } else { ":|" }
        });
        let mut lines = lines.iter().map(|line| format!("| {} |\n", line.join(" | ")));
        let titles = lines.next().unwrap_or_default();
        format!("{titles}|{}\n{}", rule.collect::<String>(), lines.collect::<String>())
    }

    /// Returns comma-separated values: the titles, then the rows.
    pub fn csv(&self) -> String {
        csv::lines(&self.lines)
    }

    /// Returns an HTML table with a caption; cells of right-aligned columns have the class `number`.
    pub fn html(&self, caption: &str) -> String {
        let mut out = format!("<table>\n<caption>{}</caption>\n", escape::xml(caption));
        for (index, line) in self.lines.iter().enumerate() {
            let (before, tag, after) = match index {
                0 => ("<thead>\n", "th scope=\"col\"", "</thead>\n<tbody>\n"),
                _ => ("", "td", ""),
            };
            let cells = line.iter().zip(&self.alignments).map(|(cell, alignment)| {
                let class = if *alignment == Alignment::Right { " class=\"number\"" } else { "" };
                format!("<{tag}{class}>{}</{}>", escape::xml(cell), &tag[..2])
            });
            out += &format!("{before}<tr>{}</tr>\n{after}", cells.collect::<String>());
        }
        out + "</tbody>\n</table>\n"
    }
}

/// Returns the cells, padded with spaces to the width of their column.
fn aligned(lines: &[Vec<String>], alignments: &[Alignment]) -> Vec<Vec<String>> {
    let mut widths = vec![0; alignments.len()];
    for line in lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = cell.chars().count().max(*width);
        }
    }
    let padded = |((cell, &width), alignment): ((&String, &usize), &Alignment)| match alignment {
        Alignment::Left => format!("{cell:<width$}"),
        Alignment::Right => format!("{cell:>width$}"),
    };
    let fill = |line: &Vec<String>| line.iter().zip(&widths).zip(alignments).map(padded).collect();
    lines.iter().map(fill).collect()
}

#[cfg(test)]
mod tests {
    use super::Alignment::{Left, Right};
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
