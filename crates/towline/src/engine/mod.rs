//! What all methods share: the objective, the rows in memory, a sweep over them.
pub mod classes;
pub mod group_file;
pub mod objective;
pub mod residents;
pub mod sweep;
pub mod targets;
pub mod task;
mod until;

pub(crate) use until::Until;
