//! Alignment finds the permutations it should, never makes things worse, and says how good they are.

mod criteria;
mod families;
mod learned;
mod mistakes;
mod planted;
mod posteriors;
mod solvers;
mod structured;
