//! Losses that are cut off at 1 + s, as a series of convex problems (IBCD, section 2).
//!
//! ```text
//! w⁰ from some rows ─► who is an outlier under wᵗ ─► the convex problem without them: wᵗ⁺¹ ─► ... until nobody changes sides
//! ```
//! `F_s(w) = R(w) + Σ c_i min(L(y_i, w·x_i), 1 + s)` is at most the objective of the convex problem (5), in which the
//! rows that were outliers cost 1 + s whatever happens, and equal to it at wᵗ. So no step raises F_s, and where the
//! sets repeat, w is a stationary point. The convex problem is solved by any trainer.
mod outer;
mod start;
mod survey;

pub use outer::{ConvexTrainer, train};
pub(crate) use outer::{SeriesStart, SeriesState, fits, least_bytes, train_from};
pub(crate) use start::{FirstModel, Sample, first_model};

/// How the series begins.
#[derive(Clone, Copy, Debug)]
pub struct Beginning {
    /// w⁰ is the convex model of this many rows, drawn at random.
    pub rows: u64,
    /// Whether rows lie in random order, so that those of a few blocks will do.
    pub shuffled: bool,
}

impl Default for Beginning {
    /// As in the paper.
    fn default() -> Self {
        Beginning { rows: 10_000, shuffled: true }
    }
}
