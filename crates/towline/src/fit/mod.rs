//! The front door: which method runs, paths, cross-validation.
pub mod cv;
