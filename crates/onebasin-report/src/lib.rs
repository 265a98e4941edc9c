//! Turns results into text, figures and pages that people and other programs read; measures and prints nothing.

#![forbid(unsafe_code)]
#![allow(
    clippy::format_push_string,
    clippy::format_collect,
    reason = "pages are small, and `write!` cannot fail here but asks"
)]

mod escape;
mod ticks;
mod scale;
mod csv;
mod table;
mod figure;
mod svg;
mod png;
mod text;
mod page;

pub use figure::Axis;
pub use figure::Chart;
pub use figure::Figure;
pub use figure::Heat;
pub use figure::Lines;
pub use figure::Place;
pub use figure::Point;
pub use figure::Series;
pub use page::Block;
pub use page::Headline;
pub use page::Page;
pub use page::Section;
pub use png::PngError;
pub use scale::Scale;
pub use table::Alignment;
pub use table::Table;
pub use ticks::Tick;
pub use ticks::ticks;
