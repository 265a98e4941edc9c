//! What figures, tables and pages must be, whatever is in them.

#[path = "../sample/mod.rs"]
mod sample;

mod csv;
mod hostile;
mod page;
mod pictures;
mod shapes;
mod ticks;
