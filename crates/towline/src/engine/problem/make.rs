//! Names become types here, once a run: the loss, and the way from dual variables to weights.
use super::Problem;
use super::joint::Joint;
use super::lean::Lean;
use super::link::Identity;
use super::multi_output::Plain;
use super::proximal::Proximal;
use super::single::Single;
use crate::budget::Budget;
use crate::engine::Task;
use crate::loss::classes::{CrammerSinger, Softmax};
use crate::loss::joint::{JointLoss, OfClass, SquaredTargets};
use crate::loss::{Loss, LossVisitor};
use crate::objective::{Multiclass, Targets};
use crate::penalty::{AnyPenalty, Group as GroupPenalty, GroupMap, GroupShrinkage, NuclearShrinkage, SoftThreshold};

/// What a task asks for, trained by rows. Weights without a second vector have to do where `is_lean`.
pub fn problem_by_rows(task: &Task, columns: usize, is_lean: bool, budget: &Budget) -> Box<dyn Problem> {
    let objective = &task.objective;
    match (&objective.targets, objective.targets.multiclass()) {
        (Targets::Several { .. }, _) => joint(SquaredTargets, task, columns, budget),
        (_, Some(Multiclass::CrammerSinger)) => joint(OfClass(CrammerSinger), task, columns, budget),
        (_, Some(Multiclass::Softmax)) => joint(OfClass(Softmax), task, columns, budget),
        (_, Some(Multiclass::OneVsRest) | None) => {
            let with = WithLoss { task, columns, is_lean };
            match &task.own_loss {
                Some(own) => own.0.problem(with),
                None => objective.loss.visit(with),
            }
        }
    }
}

/// All outputs in one objective, with the penalty that the task asks for.
fn joint<M: JointLoss>(loss: M, task: &Task, columns: usize, budget: &Budget) -> Box<dyn Problem> {
    let objective = task.objective.clone();
    if objective.is_plain_l2() {
        let plain = Plain::new(columns, objective.width(), objective.bias);
        return Box::new(Joint::new(loss, plain, objective, Some(budget)));
    }
    let curvature = loss.curvature();
    match &task.objective.penalty {
        AnyPenalty::Group(group) => {
            let lazy = GroupShrinkage::new(group.clone(), 1.0);
            Box::new(Joint::new(loss, Proximal::new(columns, task, curvature, lazy), objective, Some(budget)))
        }
        AnyPenalty::Nuclear(nuclear) => {
            let lazy = NuclearShrinkage::new(*nuclear, 1.0);
            Box::new(Joint::new(loss, Proximal::new(columns, task, curvature, lazy), objective, Some(budget)))
        }
        _ => {
            let lazy = SoftThreshold::IDENTITY;
            Box::new(Joint::new(loss, Proximal::new(columns, task, curvature, lazy), objective, Some(budget)))
        }
    }
}

/// A problem of one output.
pub struct WithLoss<'a> {
    task: &'a Task,
    columns: usize,
    /// Whether weights without a second vector have to do.
    is_lean: bool,
}

impl LossVisitor for WithLoss<'_> {
    type Out = Box<dyn Problem>;

    fn visit<L: Loss>(self, loss: L) -> Self::Out {
        let WithLoss { task, columns, is_lean } = self;
        let objective = task.objective.clone();
        if objective.is_plain_l2() && is_lean {
            return Box::new(Single::new(loss, Lean::new(columns, objective.bias), objective));
        }
        if objective.is_plain_l2() {
            return Box::new(Single::new(loss, Identity::new(columns, objective.bias), objective));
        }
        let curvature = loss.curvature();
        match &task.objective.penalty {
            AnyPenalty::Group(group) => {
                let lazy = GroupShrinkage::new(group.clone(), 1.0);
                Box::new(Single::new(loss, Proximal::new(columns, task, curvature, lazy), objective))
            }
            AnyPenalty::Nuclear(nuclear) => {
                // The one singular value of a vector is its length: all features are one group.
                let group = GroupPenalty { lambda: nuclear.lambda, groups: GroupMap::whole(columns + 1) };
                let lazy = GroupShrinkage::new(group, 1.0);
                Box::new(Single::new(loss, Proximal::new(columns, task, curvature, lazy), objective))
            }
            _ => {
                let lazy = SoftThreshold::IDENTITY;
                Box::new(Single::new(loss, Proximal::new(columns, task, curvature, lazy), objective))
            }
        }
    }
}
