//! Methods of second order, for tables with few features: exact in a few iterations, whatever the scale of columns and
//! C.
//!
//! Dual coordinate descent stands still where columns are measured in metres, dollars and counts. With d features, and
//! d² numbers in memory, these methods go over the rows a few times and solve d x d equations in between:
//!
//! | loss | method |
//! | --- | --- |
//! | with a continuous slope | Newton's method with the exact Hessian (`newton`, `hessian`; `sparse` for l1 and elastic net) |
//! | made of straight pieces | the method of multipliers around it (`multipliers`), or an interior point method (`interior_point`) |
//! | softmax | the same with a Hessian of K d x K d (`softmax`) |
//! | of Crammer and Singer | an interior point method with a matrix of that size (`class_margins`) |
//! | squared, with any penalty | normal equations from one scan (`least_squares`; `lasso`, and `rounded` for groups and the nuclear norm) |
//!
//! Where rows are fewer than features, all of them work with matrices of rows by rows instead (`few_rows`). A sample of
//! the rows comes first (`sample`), so that most iterations are cheap.
mod alike;
mod band;
mod block_gram;
mod by_products;
mod by_scans;
mod changes;
mod choose;
mod class_margins;
mod conjugate;
mod equations;
mod error;
mod factor;
mod few_rows;
mod few_rows_joint;
mod folds;
mod from_moments;
mod gram;
mod heavy;
mod hessian;
mod interior_point;
mod lasso;
mod least_squares;
mod line_search;
mod moments;
mod multipliers;
mod needs;
mod newton;
mod norms;
mod one_output;
mod parallel;
mod path;
mod piecewise;
mod quasi_newton;
mod reach;
mod rounded;
mod rows;
mod sample;
mod sampled;
mod scanning;
mod session;
mod several_outputs;
mod smooth;
mod softmax;
mod sparse;
mod together;
mod train;
mod widen;
mod working_set;

pub(crate) use choose::{Candidate, Matrix, candidate, solver_of};
pub(crate) use equations::Way;
pub(crate) use error::refusal;
pub use error::{NewtonError, SecondOrderError, can_use_newton};
pub(crate) use folds::{FoldScore, cross_validate};
pub(crate) use heavy::Heavy;
pub(crate) use hessian::Smooth;
pub(crate) use needs::needs;
pub(crate) use newton::Newton;
pub(crate) use one_output::{Quadratic, Same};
pub(crate) use path::{train_all, train_path};
pub(crate) use scanning::{Rows, Scanning};

#[cfg(test)]
mod tests;
