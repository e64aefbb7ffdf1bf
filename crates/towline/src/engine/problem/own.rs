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
pub struct OwnParts {
    pub(crate) parts: Arc<dyn MakesProblem>,
    pub(crate) replaces: Replaced,
}

/// What of an objective has no meaning, since the caller brings it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Replaced {
    pub loss: bool,
    pub penalty: bool,
}

impl OwnParts {
    /// A loss, with the penalty of the objective.
    pub fn loss<L: Loss>(loss: L) -> OwnParts {
        OwnParts { parts: Arc::new(OwnLoss(loss)), replaces: Replaced { loss: true, penalty: false } }
    }

    /// A penalty, with the loss of the objective.
    pub fn penalty<P: CoordinatePenalty>(penalty: P) -> OwnParts {
        OwnParts { parts: Arc::new(OwnPenalty(penalty)), replaces: Replaced { loss: false, penalty: true } }
    }

    /// Both.
    pub fn both<L: Loss, P: CoordinatePenalty>(loss: L, penalty: P) -> OwnParts {
        OwnParts { parts: Arc::new(OwnBoth(loss, penalty)), replaces: Replaced { loss: true, penalty: true } }
    }
}

impl fmt::Debug for OwnParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnParts").field("replaces", &self.replaces).finish_non_exhaustive()
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
