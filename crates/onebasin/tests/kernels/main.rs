//! Every vectorised kernel agrees with plain loops, on every instruction set, over odd sizes, strides and tails.

mod normalise;
mod passes;
mod plain;
mod products;
