//! Inference against what is known exactly: posteriors in closed form, plain implementations in f64, and bits after a stop.

mod bound;
mod exact;
mod newton;
mod recover;
mod resume;
mod schedules;
mod starts;
mod steps;
mod trajectories;
