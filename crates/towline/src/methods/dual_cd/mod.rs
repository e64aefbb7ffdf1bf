//! Dual coordinate descent on blocks of rows: gathers blocks, sweeps, keeps informative rows, certifies, stops.
//!
//! Selective block minimization (SBM, Algorithm 1): a step loads new blocks beside the cached rows, sweeps over both,
//! writes the dual variables back and chooses what to cache. Where everything fits into memory there is one step that
//! never ends: the same code, without the disk.
mod blocks;
mod feature_screening;
pub(crate) mod group;
mod learner;
mod plan;
mod progress;
mod run;
mod schedule;

pub(crate) use group::by_coordinates;
