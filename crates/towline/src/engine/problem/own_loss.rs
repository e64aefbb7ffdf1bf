//! A loss that is not one of the library's.
use std::fmt;
use std::sync::Arc;

use super::make::WithLoss;
use crate::engine::problem::Problem;
use crate::loss::{Loss, LossVisitor};

/// Makes the problem of a task with a loss of the caller's own type.
pub(crate) trait MakesProblem: Send + Sync {
    fn problem(&self, with: WithLoss) -> Box<dyn Problem>;
}

impl<L: Loss> MakesProblem for L {
    fn problem(&self, with: WithLoss) -> Box<dyn Problem> {
        with.visit(*self)
    }
}

/// A loss in place of the one that the objective names.
#[derive(Clone)]
pub struct OwnLoss(pub(crate) Arc<dyn MakesProblem>);

impl fmt::Debug for OwnLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnLoss")
    }
}
