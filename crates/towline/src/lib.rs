//! Towline trains linear models exactly on data that does not fit in memory, inside a memory budget that it keeps.
//!
//! ```text
//! text, csv, parquet, arrow ─► input ─► pack ─► store: blocks of rows on disk
//!        store ─► read-ahead ─► working set ─► order ─► solver: one row at a time ─► dual variables and w
//!        trainer: the only outer loop; stops on the certificate ─► model ─► predict, evaluate
//! ```
//! What is minimised is `F(w) = R(w) + Σ c_i L(y_i, w·x_i)`, for any of the [losses](loss) and [penalties](penalty).
//! Every model carries its relative duality gap: its objective is at most that part above the optimum, whatever the
//! solver did. Everything that grows with the data asks a [`budget::Budget`] first.
//!
//! ```
//! # let folder = std::env::temp_dir().join(format!("towline-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # std::env::set_current_dir(&folder)?;
//! # std::fs::write("train.svm", "+1 1:2 3:1\n-1 2:1.5\n+1 1:1\n-1 2:2 3:1\n")?;
//! # std::fs::write("test.svm", "+1 1:1 3:0.5\n-1 2:1\n")?;
//! let store = towline::pack("train.svm").memory(512 << 20).to("train.tow")?;
//! let model = towline::Fit::logistic().c(1.0).tolerance(1e-4).memory(512 << 20).run(&store)?;
//! println!("gap {:e}", model.gap());
//! model.save("m.towm")?;
//! for label in model.predict("test.svm")? {
//!     println!("{}", label?);
//! }
//! # assert!(model.is_converged() && model.gap() <= 1e-4);
//! # let labels = model.predict("test.svm")?.map(|label| Ok(label?.to_string())).collect::<Result<Vec<_>, towline::FitError>>()?;
//! # assert_eq!(labels, ["1", "-1"]);
//! # assert_eq!(towline::model::Model::load("m.towm")?.gap(), model.gap());
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! [`Fit`] has a setting for everything else: losses, [regularizers](Regularizer), multiclass strategies, truncated
//! losses, solvers and limits. Rows may also lie in memory ([`Rows`]). [`fit`] is the way in; the other modules are its
//! parts.
#[cfg(doctest)]
#[doc = include_str!("../../../CONTRIBUTING.md")]
mod contributing {}

mod base;
mod data;
mod engine;
pub mod fit;
mod io;
mod math;
mod methods;
pub mod model;
pub mod report;

pub use base::{budget, stop};
pub use data::{block, fourier, schema, store};
pub use engine::objective;
pub use fit::cv;
pub use fit::{Data, Fit, FitError, Fitted, Method, Pack, Regularizer, Rows, Store, pack};
pub use io::{input, pack};
pub use math::{loss, order, penalty};
pub use methods::online as stream;
pub use model::{evaluate, export, predict};

// What the command line, the Python package and tests need besides. It may change with any version.
#[doc(hidden)]
pub use base::{machine, output, wording};
#[doc(hidden)]
pub use data::index;
#[doc(hidden)]
pub use engine::group_file;
#[doc(hidden)]
pub use engine::label_kind as task;
#[doc(hidden)]
pub use io::table_out;
#[doc(hidden)]
pub use methods::comparison as baselines;
#[doc(hidden)]
pub use methods::primal_cd as columns;
#[doc(hidden)]
pub use methods::{indexed, second_order, truncation};

pub(crate) use base::{bits, prefetch, write_back};
pub(crate) use engine::sweep as solver;
pub(crate) use engine::{classes, residents, targets};

/// Training by hand, for those who need more than [`Fit`]: options, tasks, observers, and what comes of a run.
pub mod trainer {
    pub use crate::engine::{
        Centre, Certificate, Checkpoint, CheckpointError, CheckpointFile, Checkpoints, Cost, Duals, Left, Observer,
        OwnParts, Partition, PathState, Plan, Recorder, RowFilter, RunRecord, Selection, Solver, Start, Status, Step,
        Task, TrainError, TrainOptions, Trained, Variant, WarmState, WeightsNow, without_training,
    };
    pub use crate::methods::auto::{
        Choice, EachPoint, LambdaMax, lambda_max, path, train, train_all, train_by_newton, train_own,
    };
    pub use crate::store::StoreFingerprint;
}
