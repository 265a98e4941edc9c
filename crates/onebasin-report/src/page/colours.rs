//! Colours that mean the same in all figures of a page.

use super::{Block, Page};
use crate::figure::{Chart, Lines};
use crate::svg::PALETTE;

impl Page {
    /// Gives the series of equal names one colour in all figures.
    ///
    /// Names get colours in the order of first occurrence. While there are colours left, no two names share one; then a name
    /// gets that of the fewest others, none of which is in a figure with it.
    pub fn assign_colours(&mut self) {
        let mut known: Vec<Name> = Vec::new();
        for (figure, lines) in self.lines().enumerate() {
            for series in lines.series.iter().filter(|series| !series.reference) {
                match known.iter_mut().find(|name| name.text == series.name) {
                    Some(name) => name.figures.push(figure),
                    None => known.push(Name { text: series.name.clone(), figures: vec![figure], colour: 0 }),
                }
            }
        }
        for index in 0..known.len() {
            let (before, rest) = known.split_at_mut(index);
            let meets = |other: &&Name| other.figures.iter().any(|figure| rest[0].figures.contains(figure));
            let count = |colour: usize| before.iter().filter(|other| other.colour % PALETTE == colour).count();
            let is_free = |colour: &usize| before.iter().filter(meets).all(|other| other.colour != *colour);
            let free = (0..PALETTE).filter(is_free).min_by_key(|colour| count(*colour));
            // Beyond the palette, a number stands for other dashes in an earlier colour.
            let beyond = (PALETTE..=PALETTE + index).find(is_free);
            rest[0].colour = free.or(beyond).expect("fewer names came before than there are numbers");
        }
        for lines in self.lines() {
            for series in &mut lines.series {
                series.colour = known.iter().find(|name| name.text == series.name).map(|name| name.colour);
            }
        }
    }

    /// Returns all line charts from top to bottom.
    fn lines(&mut self) -> impl Iterator<Item = &mut Lines> {
        let blocks = self.sections.iter_mut().flat_map(|section| &mut section.blocks);
        blocks.filter_map(|block| match block {
            Block::Figure(figure) => match &mut figure.chart {
                Chart::Lines(lines) => Some(lines),
                Chart::HeatMap(_) => None,
            },
            _ => None,
        })
    }
}

/// Name of a series.
struct Name {
    text: String,
    /// Figures that it is in.
    figures: Vec<usize>,
    colour: usize,
}
