//! Methods of second order, for tables with few features: exact in a few iterations, whatever the scale of columns and C.
//!
//! Dual coordinate descent stands still where columns are measured in metres, dollars and counts. With d features, and d² numbers in
//! memory, these methods go over the rows a few times and solve d x d equations in between:
//!
//! | loss | method |
//! | --- | --- |
//! | with a continuous slope | Newton's method with the exact Hessian (`newton`) |
//! | made of straight pieces | the method of multipliers around it (`multipliers`), or an interior point method (`interior_point`) |
//! | squared, with l2, l1, elastic-net or no penalty | normal equations from one scan (`least_squares`) |
//!
//! Where rows are fewer than features, all of them work with matrices of rows by rows instead (`few_rows`). A sample of the rows comes
//! first (`sample`), so that most iterations are cheap.
mod choose;
mod error;
mod factor;
mod few_rows;
mod folds;
mod gram;
mod interior_point;
mod lasso;
mod least_squares;
mod moments;
mod multipliers;
mod near;
mod newton;
mod piecewise;
mod rows;
mod sample;
mod session;
mod smooth;
mod train;

pub(crate) use choose::{Candidate, candidate, solver_of};
pub use error::SecondOrderError;
pub(crate) use error::refusal;
pub(crate) use folds::{FoldScore, cross_validate};
pub(crate) use train::{train_all, train_path};
