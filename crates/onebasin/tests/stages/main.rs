//! Results of every stage: equal settings must give the results of the golden files, which tell whether a change of the code
//! changes results, and the files of a stage must be those that others read.
//!
//! If a test here fails after a change that is meant to change results, raise `REVISION` of the stage, so that no result of
//! the earlier code is taken for up to date, and make the golden files again:
//!
//! ```text
//! ONEBASIN_GOLDEN=write cargo test --release -p onebasin --features rten --test stages
//! ```

mod aligned;
mod compacted;
mod golden;
mod measured;
#[cfg(feature = "rten")]
mod networks;
mod problems;
mod replaced;
mod trained;
