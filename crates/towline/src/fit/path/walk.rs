//! One point after the other into a folder, and going on where an earlier run has stopped.
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::chain;
use crate::budget::Budget;
use crate::engine::{Checkpoint, Observer, Start, Task, TrainOptions, Trained, WarmState};
use crate::fit::begin::{Left, duals_path, files, weights_in};
use crate::fit::error::FitError;
use crate::methods::auto;
use crate::model::{Header, Model, ModelWriter, Reporting};
use crate::objective::Objective;
use crate::output::{Inputs, Kind, OutputFile};
use crate::store::DiskStore;
use crate::store::StoreFingerprint;

/// A model of a path that is there.
#[derive(Clone, Debug)]
pub struct PathPoint {
    /// Its file.
    pub file: PathBuf,
    /// What is known of it.
    pub header: Header,
    /// Features with a weight that is not 0.
    pub features: u64,
}

/// A path while it is walked.
pub struct Walk<'a> {
    pub store: Arc<DiskStore>,
    pub budget: Budget,
    pub folder: &'a Path,
    pub objectives: Vec<Objective>,
    pub reporting: Reporting,
    pub done: Vec<PathPoint>,
}

impl Walk<'_> {
    /// Models of a point: one for each class, or one.
    fn models(&self) -> usize {
        self.objectives[0].split().len()
    }

    fn file(&self, number: usize) -> PathBuf {
        let width = self.objectives.len().to_string().len();
        self.folder.join(format!("{:0width$}.towm", number + 1))
    }

    /// Where the dual variables of the newest point are.
    fn duals(&self) -> PathBuf {
        duals_path(&self.folder.join("path"))
    }

    /// Takes over what an interrupted run of the same path has left.
    pub fn go_on(&mut self, options: &mut TrainOptions) -> Result<bool, FitError> {
        let (mut found, mut at) = (Vec::new(), self.objectives.len());
        let here = StoreFingerprint::of(self.store.manifest());
        let left = Left::open(&self.duals(), &self.objectives[0].split(), &self.store)?;
        for (model, left) in left.each(self.models()).into_iter().enumerate() {
            let Some(left) = left else { return Ok(false) };
            let of_model = |point: &Objective| point.split()[model] == left.header.objective;
            let point = self.objectives.iter().position(of_model).filter(|_| left.header.store == here);
            let Some(point) = point else { return Ok(false) };
            at = at.min(point);
            found.push(left);
        }
        let mut done = Vec::new();
        for number in 0..=at {
            let file = self.file(number);
            match Model::load_within(&file, &self.budget) {
                Ok((model, _paid)) if is_done(&model) && model.header.objective == self.objectives[number] => {
                    let features = model.features.len() as u64;
                    done.push(PathPoint { file, header: model.header, features });
                }
                _ => return Ok(false),
            }
        }
        self.done = done;
        options.tasks.drain(..(at + 1) * found.len());
        let path = self.duals();
        options.tasks.iter_mut().zip(found).try_for_each(|(task, left)| start_from(task, left, &path))?;
        Ok(true)
    }

    /// Trains all points that are left. Returns whether some were trained together, and what was read.
    pub fn walk(
        &mut self,
        options: &TrainOptions,
        along: Option<WarmState>,
        observer: &mut dyn Observer,
    ) -> Result<(bool, u64), FitError> {
        let (store, budget) = (self.store.clone(), self.budget.clone());
        let (first, models) = (self.done.len(), self.models());
        let checkpoints = files(&self.duals(), None, models, &self.store);
        let mut waves = 0;
        let known = self.store.clone();
        let mut writer = ModelWriter::new(&known, &budget)?.reporting(self.reporting.clone());
        let mut each = |_: usize, together: &[Trained]| {
            for trained in together.chunks(models) {
                let number = self.done.len();
                let file = self.file(number);
                let mut place = OutputFile::open(&file, Kind::Model, &Inputs::none())?;
                let (header, features) = writer.write(trained, &self.objectives[number], &mut place)?;
                self.done.push(PathPoint { file, header, features });
            }
            waves += 1;
            if together.iter().any(|trained| trained.status.is_stop()) {
                return Ok(());
            }
            let objectives = self.objectives[self.done.len() - 1].split();
            let newest = &together[together.len() - models..];
            for ((checkpoint, objective), trained) in checkpoints.iter().zip(&objectives).zip(newest) {
                checkpoint.save(objective, trained.cost, &trained.duals, &trained.weights)?;
            }
            Ok(checkpoints[0].commit()?)
        };
        let cost = auto::path::<FitError>(store, options, chain(along, models), &budget, observer, &mut each)?;
        Ok((waves < self.objectives.len() - first, cost.bytes_read))
    }
}

/// Whether a model is as good as it was to become, so that it need not be trained again.
fn is_done(model: &Model) -> bool {
    !model.header.status.is_stop()
}

/// Lets a model start from what one of an earlier point, and of an earlier run, has left.
fn start_from(task: &mut Task, left: Checkpoint, path: &Path) -> Result<(), FitError> {
    task.start_weights = weights_in(&left, path)?;
    let factor = task.objective.c / left.header.objective.c;
    task.start = Some(Start::Earlier(Box::new(left), factor));
    Ok(())
}
