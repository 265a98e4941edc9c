//! Every vectorised kernel agrees with plain loops, on every instruction set, over odd sizes, strides and tails.

mod assignment;
mod int8;
mod gathers;
mod gaussian;
mod lanes;
mod leapfrog;
mod likelihood;
mod normalise;
mod optimise;
mod passes;
mod pixels;
mod plain;
mod products;
mod sparse;
