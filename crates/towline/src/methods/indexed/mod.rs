//! Indexed block coordinate descent: only rows that matter are ever read (IBCD, Algorithm 1).
//!
//! ```text
//! repeat  ask the index for n rows with a gradient that are not active yet: N, having looked at n_e rows
//!         solve the block of N and n_e - |N| active rows, taken in turn
//! until   the problem of the active rows is solved and the index finds hardly any more
//! ```
//! Around it is the series of convex problems of a truncated loss ([`crate::truncation`]), whose outliers are told by
//! their margins when they are met. Answers of the index may be incomplete, so a scan of all rows decides at the end:
//! it computes the gap of the convex problem and F_s exactly, and rows that were overlooked become active.
mod active;
mod begin;
mod enough;
mod fallback;
mod group;
mod rounds;
mod run;
mod scan;
mod segment;
mod solve;

pub(crate) use enough::least_bytes;
pub use group::train;

use crate::loss::AnyLoss;
use crate::objective::Objective;
use crate::truncation::Beginning;

/// How to train with an index.
#[derive(Clone, Copy, Debug)]
pub struct IndexedOptions {
    /// Rows that a query is to find: n.
    pub wanted: u64,
    /// Blocks are solved by Newton steps in the primal, not by dual coordinate descent.
    pub primal: bool,
    /// How the series of convex problems begins.
    pub beginning: Beginning,
    /// What is done with the answer of a query.
    pub queries: Queries,
}

/// What is done with the answer of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Queries {
    /// Whether a block is N and n_e - |N| rows in turn (Algorithm 1) also while all active rows are in memory. Ours are all
    /// of them then: they cost nothing to have, and hold w in place.
    pub in_turn: bool,
    /// Rows with a margin of more than 1 and this are not looked at again until the rest is solved: T of section 4.3. With
    /// 0 a query never comes back to a page for rows that it has seen already: on kddcup99 half the bytes of T = 1 for
    /// the same test error.
    pub far: f64,
    /// Pages keep at least this part of what was free at first, m_LRU of section 4.2; beyond it active rows go to disk.
    pub page_share: f64,
}

impl Queries {
    /// Ours.
    pub const OURS: Queries = Queries { in_turn: false, far: 0.0, page_share: 0.125 };
}

impl Default for IndexedOptions {
    /// As in the paper.
    fn default() -> Self {
        IndexedOptions { wanted: 1000, primal: false, beginning: Beginning::default(), queries: Queries::OURS }
    }
}

/// An index is of no use for this objective.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexedError {
    /// Every row has a gradient, wherever it lies.
    #[error(
        "an index finds rows that matter, and with the {name} loss all rows do; use `loss(hinge)` or squared-hinge, or \
         leave the index out with `method(trunc-l2-primal)` or sbm"
    )]
    Loss {
        /// The loss.
        name: &'static str,
    },
    /// The slope has jumps.
    #[error("Newton steps need a loss with a continuous slope; use `loss(squared-hinge)`")]
    Jumps,
    /// The penalty is not ½‖w‖².
    #[error("an index is for the penalty l2 with `lambda(1)` and no intercept; use `bias`")]
    Penalty,
}

/// Whether [`train`] can minimise this.
pub fn can_train(objective: &Objective, options: &IndexedOptions) -> Result<(), IndexedError> {
    match objective.loss {
        AnyLoss::Hinge(_) if options.primal => Err(IndexedError::Jumps),
        AnyLoss::Hinge(_) | AnyLoss::SquaredHinge(_) if objective.is_plain_l2() => Ok(()),
        AnyLoss::Hinge(_) | AnyLoss::SquaredHinge(_) => Err(IndexedError::Penalty),
        other => Err(IndexedError::Loss { name: other.name() }),
    }
}
