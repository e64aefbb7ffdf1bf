//! Towline trains linear models exactly on data that does not fit in memory, inside a memory budget that it keeps.
//!
//! ```text
//! text, csv, parquet, arrow ─► input ─► pack ─► store: blocks of rows on disk
//!        store ─► read-ahead ─► working set ─► order ─► solver: one row at a time ─► dual variables and w
//!        trainer: the only outer loop; stops on the certificate ─► model ─► predict, evaluate
//! ```
//! What is minimised is `F(w) = R(w) + Σ c_i L(y_i, w·x_i)`, for any of the [losses](loss) and [penalties](penalty). Every model carries its relative duality gap: its objective is at most that
//! part above the optimum, whatever the solver did. Everything that grows with the data asks a [`budget::Budget`] first.
//!
//! ```
//! use std::sync::Arc;
//! use towline::block::{Block, Layout, RowInfo};
//! use towline::budget::Budget;
//! use towline::loss::AnyLoss;
//! use towline::objective::{Objective, Targets};
//! use towline::store::MemoryStore;
//! use towline::trainer::{Status, TrainOptions, train};
//!
//! // Two rows of two features, one of each class.
//! let mut rows = Block::new(Layout::SPARSE_F32, 2);
//! rows.push(RowInfo { label: 1.0, weight: 1.0, group: 0, id: 0 }, [(0, 1.0)]);
//! rows.push(RowInfo { label: -1.0, weight: 1.0, group: 0, id: 1 }, [(1, 1.0)]);
//!
//! let names = ["-1".to_string(), "1".to_string()];
//! let targets = Targets::Binary { positive: 1.0, names, weights: [1.0, 1.0] };
//! let objective = Objective::new(AnyLoss::from_name("hinge", 0.1, 1.0)?, 10.0, targets);
//! let options = TrainOptions { tolerance: 1e-6, ..TrainOptions::new(objective) };
//! let store = Arc::new(MemoryStore::new(vec![rows]));
//! let trained = train(store, &options, &Budget::new(16 << 20), &mut ())?;
//! assert_eq!(trained.status, Status::Converged);
//! assert!(trained.certificate.relative_gap() <= 1e-6);
//! // The margins are 1: w = (1, -1), and no bias.
//! assert!(trained.weights.iter().zip([1.0, -1.0, 0.0]).all(|(w, exact)| (w - exact).abs() < 1e-3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
mod base;
mod data;
mod engine;
mod fit;
mod io;
mod math;
mod methods;
pub mod model;

pub use base::{bits, budget, machine, output, stop, wording};
pub use data::{block, fourier, index, store};
pub use engine::sweep as solver;
pub use engine::{classes, objective, residents, targets, task};
pub use fit::cv;
pub use io::{input, pack};
pub use math::{loss, order, penalty};
pub use methods::comparison as baselines;
pub use methods::dual_cd as trainer;
pub use methods::online as stream;
pub use methods::primal_cd as columns;
pub use methods::{indexed, second_order, truncation};
pub use model::{evaluate, export, predict};

pub(crate) use base::nearby;
