//! Results of onebasin as tables, figures and pages.
//!
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![allow(
    clippy::format_push_string,
    clippy::format_collect,
    reason = "pages are small, and `write!` to a string cannot fail"
)]

mod error;
mod escape;
mod scale;
mod csv;
mod table;
mod figure;
mod svg;
mod text;
mod page;
mod draw;
pub mod stages;
mod report;

pub use error::{Error, Result};
pub use figure::{Annotation, Axis, Chart, Figure, HeatMap, Lines, Point, Series};
pub use page::{Block, Headline, Page, Section};
pub use report::Report;
pub use scale::{Scale, Tick, ticks};
pub use table::{Alignment, Table};
