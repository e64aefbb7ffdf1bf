//! Primal coordinate descent on columns with a working set of features, for penalties that make zeros.
//!
//! ```text
//! repeat   z = Xw, v = -Xᵀ c L'(z)                           one pass over all values; v and the slopes are the certificate
//!          the working set: weights that are not 0, and as many again that the losses pull at hardest
//!          d = argmin of the quadratic model of F at w over the working set, by coordinate descent        (quadratic.rs)
//!          w ← w + td, t = 1, ½, ¼, ... until F has fallen enough
//! ```
//! This is what celer (Massias et al. 2018) and newGLMNET of LIBLINEAR (Yuan et al. 2012) have in common; for the
//! squared loss the model is F itself, and t = 1. Losses with kinks are rounded off around dual variables that follow
//! (`model_loss`). A λ that is far below the one at which weights leave 0 is reached by way of larger ones
//! (`continuation`). Most weights stay 0, so that late sweeps cost what the support costs. It needs all rows in memory,
//! and the same values once more by column.
mod anchored;
mod block;
mod continuation;
mod copied;
mod descent;
mod design;
mod extrapolation;
mod model_loss;
mod newton_model;
mod quadratic;
mod quadratic_columns;
mod separable_penalty;
mod working_set;

pub(crate) use block::ColumnsOfBlock;
pub(crate) use copied::Room;
pub(crate) use descent::ByColumns;
pub(crate) use model_loss::{ModelLoss, Rounded, Smooth};
pub(crate) use newton_model::ROW_BYTES;
pub(crate) use separable_penalty::{Coordinates, Groups};

/// Dense vectors that a model holds besides those of the proximal point method, at most: a working set of everything
/// with what is kept of each part, and iterates of a part of it.
pub(crate) const VECTORS: u64 = 6;

use crate::loss::Loss;
use crate::objective::Objective;
use crate::penalty::Structure;

pub use crate::engine::ColumnsError;

/// Whether this solver can minimise it with all rows in memory.
pub fn can_train(objective: &Objective) -> Result<(), ColumnsError> {
    if objective.width() > 1 {
        return Err(ColumnsError::Outputs(objective.width()));
    }
    match objective.penalty.structure() {
        Structure::Coordinates(terms) if terms.l1 > 0.0 => Ok(()),
        Structure::Groups(_) => Ok(()),
        Structure::Coordinates(_) | Structure::Matrix(_) => Err(ColumnsError::Penalty),
    }
}

/// Whether it can minimise it while blocks come and go, if `bytes` would be enough for all rows.
pub(crate) fn can_train_blocks(objective: &Objective, bytes: u64) -> Result<(), ColumnsError> {
    match objective.loss.curvature().is_finite() {
        true => Ok(()),
        false => Err(ColumnsError::Loss { loss: objective.loss.name(), bytes }),
    }
}
