//! Losses and penalties that are not the library's.
use std::fmt;
use std::sync::Arc;

use super::make::{ListedPenalty, OtherPenalty, OutputVisitor, ProblemRequest, with_loss};
use crate::engine::problem::Problem;
use crate::loss::Loss;
use crate::penalty::CoordinatePenalty;

/// Makes the problem of a task with parts of the caller's own types.
pub(crate) trait MakesProblem: Send + Sync {
    fn problem(&self, wanted: ProblemRequest) -> Box<dyn Problem>;
}

/// What stands in place of the loss or the penalty that the objective names.
#[derive(Clone)]
pub struct OwnParts(pub(crate) Arc<dyn MakesProblem>);

impl OwnParts {
    /// A loss, with the penalty of the objective.
    pub fn loss<L: Loss>(loss: L) -> OwnParts {
        OwnParts(Arc::new(OwnLoss(loss)))
    }

    /// A penalty, with the loss of the objective.
    pub fn penalty<P: CoordinatePenalty>(penalty: P) -> OwnParts {
        OwnParts(Arc::new(OwnPenalty(penalty)))
    }

    /// Both.
    pub fn both<L: Loss, P: CoordinatePenalty>(loss: L, penalty: P) -> OwnParts {
        OwnParts(Arc::new(OwnBoth(loss, penalty)))
    }
}

impl fmt::Debug for OwnParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnParts")
    }
}

struct OwnLoss<L>(L);

impl<L: Loss> MakesProblem for OwnLoss<L> {
    fn problem(&self, wanted: ProblemRequest) -> Box<dyn Problem> {
        ListedPenalty(wanted).one(self.0)
    }
}

struct OwnPenalty<P>(P);

impl<P: CoordinatePenalty> MakesProblem for OwnPenalty<P> {
    fn problem(&self, wanted: ProblemRequest) -> Box<dyn Problem> {
        with_loss(wanted.task, OtherPenalty(wanted, self.0.clone()))
    }
}

struct OwnBoth<L, P>(L, P);

impl<L: Loss, P: CoordinatePenalty> MakesProblem for OwnBoth<L, P> {
    fn problem(&self, wanted: ProblemRequest) -> Box<dyn Problem> {
        OtherPenalty(wanted, self.1.clone()).one(self.0)
    }
}
