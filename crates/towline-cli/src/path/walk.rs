//! One point after the other, and going on where an earlier run has stopped.
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use towline::budget::Budget;
use towline::input::ReadOptions;
use towline::model::{Model, ModelWriter};
use towline::objective::Objective;
use towline::output::{Inputs, Kind, OutputFile};
use towline::store::DiskStore;
use towline::trainer::{self, Along, Chain, Checkpoint, Start, Status, StoreFingerprint, Task, TrainOptions, Trained};

use super::table::Point;
use crate::eval::judge;
use crate::resume::{self, Left};
use crate::trace::Watcher;
use crate::{exit, show};

/// A path while it is walked.
pub struct Walk {
    pub store: Arc<DiskStore>,
    pub budget: Budget,
    pub folder: PathBuf,
    pub reading: ReadOptions,
    pub points: Vec<Objective>,
    /// By this run.
    pub bytes_read: u64,
    /// Whether points were trained together, so that what was read for one was read for others, too.
    pub together: bool,
    pub talk: bool,
    pub done: Vec<Point>,
}

impl Walk {
    /// Models of a point: one for each class, or one.
    fn models(&self) -> usize {
        self.points[0].split().len()
    }

    /// The models of all points.
    pub fn tasks(&self) -> Vec<Task> {
        self.points.iter().flat_map(Objective::split).map(Task::new).collect()
    }

    pub fn file(&self, number: usize) -> PathBuf {
        let width = self.points.len().to_string().len();
        self.folder.join(format!("{:0width$}.towm", number + 1))
    }

    /// Where the dual variables of the newest point are.
    fn duals(&self) -> PathBuf {
        resume::duals_path(&self.folder.join("path"))
    }

    /// Takes over what an interrupted run of the same path has left.
    pub fn go_on(&mut self, options: &mut TrainOptions) -> anyhow::Result<bool> {
        let (mut found, mut at) = (Vec::new(), self.points.len());
        let here = StoreFingerprint::of(self.store.manifest());
        let left = Left::open(&self.duals(), &self.points[0].split(), &self.store)?;
        for (model, left) in left.each(self.models()).into_iter().enumerate() {
            let Some(left) = left else { return Ok(false) };
            let of_model = |point: &Objective| point.split()[model] == left.header.objective;
            let point = self.points.iter().position(of_model).filter(|_| left.header.store == here);
            let Some(point) = point else { return Ok(false) };
            at = at.min(point);
            found.push(left);
        }
        let mut models = Vec::new();
        for number in 0..=at {
            match Model::load_within(&self.file(number), &self.budget) {
                Ok((model, _paid)) if is_done(&model) && model.header.objective == self.points[number] => {
                    models.push(Point::new(model.header, model.features.len() as u64))
                }
                _ => return Ok(false),
            }
        }
        self.done = models;
        options.tasks.drain(..(at + 1) * found.len());
        options.tasks.iter_mut().zip(found).try_for_each(|(task, left)| start_from(task, left))?;
        if self.talk {
            let points = self.points.len();
            show::say(&format!("note: going on after point {} of {points} (--restart begins anew)\n", at + 1));
        }
        Ok(true)
    }

    /// Judges every model; only now, since while rows are in memory there is no room for scores.
    pub fn judge(&mut self, test: &str) -> anyhow::Result<()> {
        for number in 0..self.done.len() {
            let (model, _paid) = Model::load_within(&self.file(number), &self.budget)?;
            self.done[number].quality = Some(judge(&model, test, &self.reading, &self.budget)?);
        }
        Ok(())
    }

    /// Trains all points that are left.
    pub fn walk(&mut self, options: &TrainOptions, along: Option<Along>, watcher: &mut Watcher) -> anyhow::Result<()> {
        let (store, budget) = (self.store.clone(), self.budget.clone());
        let (first, models) = (self.done.len(), self.models());
        let checkpoints = resume::files(&self.duals(), None, models, &self.store);
        let mut waves = 0;
        let (known, own_budget) = (self.store.clone(), self.budget.clone());
        let mut writer = ModelWriter::new(&known, &own_budget)?;
        let mut each = |_: usize, together: &[Trained]| {
            for trained in together.chunks(models) {
                let number = self.done.len();
                let mut place = OutputFile::open(&self.file(number), Kind::Model, &Inputs::none())?;
                let (header, weights) = writer.write(trained, &self.points[number], &mut place)?;
                self.done.push(Point::new(header, weights));
            }
            waves += 1;
            if together.iter().any(|trained| trained.status == Status::Interrupted) {
                return Ok(());
            }
            let objectives = self.points[self.done.len() - 1].split();
            let newest = &together[together.len() - models..];
            for ((checkpoint, objective), trained) in checkpoints.iter().zip(&objectives).zip(newest) {
                checkpoint.save(objective, trained.cost, &trained.duals, &trained.weights)?;
            }
            Ok(checkpoints[0].commit()?)
        };
        let chain = match along {
            Some(along) => Chain::from(Some(along)),
            None => Chain::of(models),
        };
        let cost = trainer::path::<anyhow::Error>(store, options, chain, &budget, watcher, &mut each)?;
        self.together = waves < self.points.len() - first;
        self.bytes_read += cost.bytes_read;
        Ok(())
    }

    /// Tells scripts how it ended.
    pub fn exit_code(&self) -> ExitCode {
        let statuses = || self.done.iter().map(|point| point.header.status);
        let interrupted = statuses().find(|&status| status == Status::Interrupted);
        exit::of_training(interrupted.unwrap_or_else(|| Status::of_all(statuses())))
    }
}

/// Whether a model is as good as it was to become, so that it need not be trained again.
fn is_done(model: &Model) -> bool {
    model.header.status != Status::Interrupted
}

/// Lets a model start from what one of an earlier point, and of an earlier run, has left.
fn start_from(task: &mut Task, left: Checkpoint) -> anyhow::Result<()> {
    task.start_weights = left.weights().context("cannot read the weights of the earlier run")?;
    let factor = task.objective.c / left.header.objective.c;
    task.start = Some(Start::Earlier(Box::new(left), factor));
    Ok(())
}
