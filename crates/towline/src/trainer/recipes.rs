//! Names become types here, once a run: the loss, the way from dual variables to weights, and what a model consists of.
use std::sync::Arc;

use super::joint::Joint;
use super::link::Identity;
use super::plan::Plan;
use super::problem::Problem;
use super::proximal::Proximal;
use super::run::Run;
use super::single::Single;
use super::{Observer, Task, TrainError, TrainOptions, Trained};
use crate::budget::Budget;
use crate::loss::classes::{CrammerSinger, Softmax};
use crate::loss::{Loss, LossVisitor};
use crate::objective::{Multiclass, Objective};
use crate::penalty::{AnyPenalty, GroupShrinkage, SoftThreshold};
use crate::store::BlockStore;

/// Trains one model on `store` within `budget`: the first task, which should be the only one.
pub fn train(
    store: Arc<dyn BlockStore>,
    options: &TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Trained, TrainError> {
    Ok(train_all(store, options, budget, observer)?.swap_remove(0))
}

/// Trains all models on `store` within `budget`, as many at a time as there is room for.
pub fn train_all(
    store: Arc<dyn BlockStore>,
    options: &TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Vec<Trained>, TrainError> {
    let mut trained = Vec::with_capacity(options.tasks.len());
    for tasks in options.tasks.chunk_by(|a, b| is_alike(&a.objective, &b.objective)) {
        let group = Group { store: store.clone(), tasks, options, budget, observer: &mut *observer };
        trained.extend(tasks[0].objective.loss.visit(group)?);
    }
    Ok(trained)
}

/// Whether models of both objectives have the same types, and so can train together.
fn is_alike(a: &Objective, b: &Objective) -> bool {
    let is_group = |objective: &Objective| matches!(objective.penalty, AnyPenalty::Group(_));
    let kind = |objective: &Objective| objective.targets.multiclass();
    a.loss == b.loss
        && kind(a) == kind(b)
        && a.is_plain_l2() == b.is_plain_l2()
        && is_group(a) == is_group(b)
        && a.width() == b.width()
}

/// Tasks that are alike.
struct Group<'a> {
    store: Arc<dyn BlockStore>,
    tasks: &'a [Task],
    options: &'a TrainOptions,
    budget: &'a Budget,
    observer: &'a mut dyn Observer,
}

impl LossVisitor for Group<'_> {
    type Out = Result<Vec<Trained>, TrainError>;

    fn visit<L: Loss>(self, loss: L) -> Self::Out {
        let columns = self.store.shape().columns as usize;
        let first = &self.tasks[0].objective;
        match first.targets.multiclass() {
            Some(Multiclass::CrammerSinger) => {
                return self.run(|task| Joint::new(CrammerSinger, columns, task.objective.clone()));
            }
            Some(Multiclass::Softmax) => {
                return self.run(|task| Joint::new(Softmax, columns, task.objective.clone()));
            }
            Some(Multiclass::OneVsRest) | None => {}
        }
        if first.is_plain_l2() {
            return self.run(|task| {
                let objective = &task.objective;
                Single::new(loss, Identity::new(columns, objective.bias), objective.clone())
            });
        }
        match &first.penalty {
            AnyPenalty::Group(_) => self.run(|task| {
                let AnyPenalty::Group(group) = &task.objective.penalty else { unreachable!("tasks are alike") };
                let lazy = GroupShrinkage::new(group.clone(), 1.0);
                Single::new(loss, Proximal::new(columns, task, lazy), task.objective.clone())
            }),
            _ => self.run(|task| {
                let lazy = SoftThreshold { threshold: 0.0, factor: 1.0 };
                Single::new(loss, Proximal::new(columns, task, lazy), task.objective.clone())
            }),
        }
    }
}

impl Group<'_> {
    /// Trains in waves of as many models as fit.
    fn run<P: Problem>(self, make: impl Fn(&Task) -> P) -> Result<Vec<Trained>, TrainError> {
        let (plan, size) = Plan::for_wave(&*self.store, &self.tasks[0].objective, self.tasks.len(), self.budget)?;
        let mut run = Run::new(self.store, self.options, plan, self.budget, self.observer)?;
        let mut trained = Vec::with_capacity(self.tasks.len());
        for wave in self.tasks.chunks(size) {
            trained.extend(run.train(wave, &make)?);
        }
        Ok(trained)
    }
}
