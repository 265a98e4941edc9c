//! Posteriors that other libraries have saved (`make.py`): they are recognised, read as their library reads them, permuted
//! and aligned.

mod expected;
mod posteriors;
mod refused;
