//! Names become types here, once a run: the loss, and the way from dual variables to weights.
use std::sync::Arc;

use rayon::ThreadPool;

use super::Problem;
use super::joint::Joint;
use super::lean::Lean;
use super::link::Identity;
use super::multi_output::Plain;
use super::proximal::Proximal;
use super::single::Single;
use crate::budget::Budget;
use crate::engine::Task;
use crate::engine::parts::ByParts;
use crate::loss::classes::{CrammerSinger, Softmax};
use crate::loss::joint::{JointLoss, OfClass, SquaredTargets};
use crate::loss::{Loss, LossVisitor};
use crate::objective::{Multiclass, Targets};
use crate::penalty::{AnyPenalty, Group as GroupPenalty, GroupMap, GroupShrinkage, NuclearShrinkage, SoftThreshold};

/// What a task asks for, trained by rows.
pub fn problem_by_rows(task: &Task, columns: usize, how: ByRowsIn, budget: &Budget) -> Box<dyn Problem> {
    let objective = &task.objective;
    match (&objective.targets, objective.targets.multiclass()) {
        (Targets::Several { .. }, _) => joint(SquaredTargets, task, columns, budget),
        (_, Some(Multiclass::CrammerSinger)) => joint(OfClass(CrammerSinger), task, columns, budget),
        (_, Some(Multiclass::Softmax)) => joint(OfClass(Softmax), task, columns, budget),
        (_, Some(Multiclass::OneVsRest) | None) => {
            let with = WithLoss { task, columns, how };
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
    how: ByRowsIn,
}

/// How the rows of one output with ½‖w‖² are visited.
pub enum ByRowsIn {
    /// One after the other.
    OnePart,
    /// The same, with weights without a second vector.
    LittleMemory,
    /// So many parts at the same time.
    Parts(u32, Arc<ThreadPool>),
}

impl LossVisitor for WithLoss<'_> {
    type Out = Box<dyn Problem>;

    fn visit<L: Loss>(self, loss: L) -> Self::Out {
        let WithLoss { task, columns, how } = self;
        let objective = task.objective.clone();
        if objective.is_plain_l2() {
            let bias = objective.bias;
            let identity = || Identity::new(columns, bias);
            return match how {
                ByRowsIn::LittleMemory => Box::new(Single::new(loss, Lean::new(columns, bias), objective)),
                ByRowsIn::OnePart => Box::new(Single::new(loss, identity(), objective)),
                ByRowsIn::Parts(parts, threads) => {
                    let solver = ByParts::new(parts as usize, columns, bias, threads);
                    Box::new(Single::solved_by(solver, loss, identity(), objective))
                }
            };
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
