//! The front door: what to fit, on what, and what comes of it.
//!
//! ```text
//! pack(file).to(folder) ─► Store ─┐
//! Rows::dense, Rows::csr ─────────┴► Fit … .run(&data) ─► Fitted: gap, save, predict
//!                                         .path()  .cross_validate()  .stream()
//! ```
//! The command line and the Python package are built on this module: the choice of method and trainer, what a run
//! starts from, the points of a path and the folds of a validation are decided here, for all of them.
mod algorithm;
mod begin;
mod builder;
mod calibrating;
pub mod cv;
mod data;
mod error;
mod fitted;
mod group_norms;
mod joint;
mod losses;
mod lowered;
mod method;
mod notes;
mod objective;
mod own;
mod packing;
mod parameters;
mod path;
mod prepared;
mod recipe;
mod regularizer;
mod rows;
mod running;
mod scores;
mod settings;
mod stream_needs;
mod streaming;
mod train;
mod unfinished;
mod validation;

pub use begin::{State, duals_path};
pub use builder::Fit;
pub use data::{Data, Store};
pub use error::FitError;
pub use fitted::Fitted;
pub use method::{Algorithm, BASELINE_PASSES, Method};
pub use objective::Constant;
pub use packing::{Pack, pack};
pub use parameters::{PUBLISHED_VIOLATION, Parameters};
pub use path::{PathFit, PathPoint, PathRun};
pub use prepared::{Prepared, Run, reserve_classes};
pub use recipe::Recipe;
pub use regularizer::{Groups, Regularizer};
pub use rows::{Rows, Value};
pub use scores::{Prediction, Predictions, Scored, Scores, class_in_store};
pub use streaming::StreamFit;
pub use validation::CrossValidation;
