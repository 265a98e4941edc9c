//! Properties of figures, tables and pages that hold for any data.

#[path = "../sample/mod.rs"]
mod sample;

mod csv;
mod hostile;
mod page;
mod png;
mod shapes;
mod styles;
mod ticks;
