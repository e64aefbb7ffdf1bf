//! What one model is trained for.
use std::fmt;
use std::sync::Arc;

use crate::block::RowInfo;
use crate::budget::Budget;
use crate::engine::TrainError;
use crate::engine::duals::checkpoint::CheckpointFile;
use crate::engine::duals::{Duals, Start};
use crate::engine::problem::own::OwnParts;
use crate::objective::Objective;

/// One of the models that train together on each loaded block.
#[derive(Debug)]
pub struct Task {
    /// What is minimised.
    pub objective: Objective,
    /// Rows that have no part in it, such as a fold that is held out.
    pub rows: Option<Arc<dyn RowFilter>>,
    /// Dual variables to start from. They are brought within their bounds.
    pub start: Option<Start>,
    /// Weights to start from, by column, where the dual variables alone do not determine them: with any other penalty
    /// than ½‖w‖².
    pub start_weights: Vec<f64>,
    /// Where the dual variables are kept while training, at least once a pass.
    pub checkpoint: Option<CheckpointFile>,
    /// What stands in place of loss or penalty of the objective, which `train_own` puts here.
    pub own: Option<OwnParts>,
}

impl Task {
    /// All rows, from the beginning.
    pub fn new(objective: Objective) -> Self {
        Task { objective, rows: None, start: None, start_weights: Vec::new(), checkpoint: None, own: None }
    }

    /// The same model, from these weights and dual variables on.
    pub(crate) fn going_on(&self, start_weights: Vec<f64>, start: Option<Start>) -> Task {
        let (rows, checkpoint) = (self.rows.clone(), self.checkpoint.clone());
        Task { start_weights, start, rows, checkpoint, ..Task::new(self.objective.clone()) }
    }

    /// The dual variables of so many rows, which are 0: in memory, or on disk beside the checkpoint.
    pub(crate) fn no_duals(&self, rows: u64, on_disk: bool, budget: &Budget) -> Result<Duals, TrainError> {
        let beside = self.checkpoint.as_ref().and_then(|file| file.path.parent()).filter(|folder| folder.is_dir());
        let temporary = std::env::temp_dir();
        let folder = on_disk.then(|| beside.unwrap_or(&temporary));
        let width = self.objective.width();
        if self.objective.has_sparse_duals() {
            return Duals::sparse(rows, width, folder, budget);
        }
        let count = rows * width as u64;
        Ok(folder.map_or_else(|| Ok(Duals::in_memory(count)), |folder| Duals::on_disk(count, folder))?)
    }

    /// Whether a row may have a part in the objective.
    pub fn keeps(&self, info: &RowInfo, position: u64) -> bool {
        self.rows.as_ref().is_none_or(|rows| rows.keeps(info, position))
    }
}

/// Chooses rows.
pub trait RowFilter: fmt::Debug + Send + Sync {
    /// Whether the row at this position of the store is trained on.
    fn keeps(&self, info: &RowInfo, position: u64) -> bool;
}
