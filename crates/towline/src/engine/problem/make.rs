//! Names become types here, once a run: the loss, and the way from dual variables to weights.
use std::sync::Arc;

use rayon::ThreadPool;

use super::Problem;
use super::joint::Joint;
use super::lean::Lean;
use super::link::Identity;
use super::proximal::Proximal;
use super::single::Single;
use crate::budget::Budget;
use crate::engine::parts::ByParts;
use crate::engine::{Task, Variant};
use crate::loss::classes::{CrammerSinger, Softmax};
use crate::loss::joint::{JointLoss, OfClass, SquaredTargets};
use crate::loss::{Loss, LossVisitor};
use crate::objective::{Multiclass, Targets};
use crate::penalty::{
    CoordinatePenalty, Group, GroupMap, GroupShrinkage, LazyProx, MatrixProx, NuclearShrinkage, Penalty,
    ProxByCoordinate, SoftThresholding, Structure,
};

/// What a problem by rows is made for.
pub struct ProblemRequest<'a> {
    pub task: &'a Task,
    pub columns: usize,
    pub how: ByRowsIn,
    pub variant: &'a Variant,
    pub budget: &'a Budget,
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

/// What a task asks for, trained by rows.
pub fn problem_by_rows(wanted: ProblemRequest) -> Box<dyn Problem> {
    match &wanted.task.own {
        Some(own) => own.parts.problem(wanted),
        None => with_loss(wanted.task, ListedPenalty(wanted)),
    }
}

/// Code that is compiled for each loss of one output, and for each of several.
pub trait OutputVisitor {
    /// Called for one output.
    fn one<L: Loss>(self, loss: L) -> Box<dyn Problem>;

    /// Called for several in one objective.
    fn several<M: JointLoss>(self, loss: M) -> Box<dyn Problem>;
}

/// Calls the visitor with the loss of the task.
pub fn with_loss(task: &Task, visitor: impl OutputVisitor) -> Box<dyn Problem> {
    let objective = &task.objective;
    match (&objective.targets, objective.targets.multiclass()) {
        (Targets::Several { .. }, _) => visitor.several(SquaredTargets),
        (_, Some(Multiclass::CrammerSinger)) => visitor.several(OfClass(CrammerSinger)),
        (_, Some(Multiclass::Softmax)) => visitor.several(OfClass(Softmax)),
        (_, Some(Multiclass::OneVsRest) | None) => objective.loss.visit(OneOutput(visitor)),
    }
}

struct OneOutput<V>(V);

impl<V: OutputVisitor> LossVisitor for OneOutput<V> {
    type Out = Box<dyn Problem>;

    fn visit<L: Loss>(self, loss: L) -> Self::Out {
        self.0.one(loss)
    }
}

/// The penalty that the task names.
pub struct ListedPenalty<'a>(pub ProblemRequest<'a>);

impl OutputVisitor for ListedPenalty<'_> {
    fn one<L: Loss>(self, loss: L) -> Box<dyn Problem> {
        let ProblemRequest { task, columns, ref how, .. } = self.0;
        let objective = task.objective.clone();
        if objective.is_plain_l2() {
            let bias = objective.bias;
            let identity = || Identity::new(columns, bias);
            return match how {
                ByRowsIn::LittleMemory => Box::new(Single::new(loss, Lean::new(columns, bias), objective)),
                ByRowsIn::OnePart => Box::new(Single::new(loss, identity(), objective)),
                ByRowsIn::Parts(parts, threads) => {
                    let solver = ByParts::new(*parts as usize, columns, bias, threads.clone());
                    Box::new(Single::solved_by(solver, loss, identity(), objective))
                }
            };
        }
        let penalty = Box::new(objective.penalty.clone());
        match task.objective.penalty.structure() {
            Structure::Coordinates(terms) => self.0.one(loss, SoftThresholding::new(terms, 1.0), penalty),
            Structure::Groups(group) => self.0.one(loss, GroupShrinkage::new(group.clone(), 1.0), penalty),
            Structure::Matrix(nuclear) => {
                // The one singular value of a vector is its length: all features are one group.
                let group = Group { lambda: nuclear.lambda, groups: GroupMap::whole(columns + 1) };
                self.0.one(loss, GroupShrinkage::new(group, 1.0), penalty)
            }
        }
    }

    fn several<M: JointLoss>(self, loss: M) -> Box<dyn Problem> {
        let ProblemRequest { task, columns, budget, .. } = self.0;
        let objective = task.objective.clone();
        if objective.is_plain_l2() {
            let identity = Identity::with_outputs(columns, objective.width(), objective.bias);
            return Box::new(Joint::new(loss, identity, objective, Some(budget)));
        }
        let penalty = Box::new(objective.penalty);
        match task.objective.penalty.structure() {
            Structure::Coordinates(terms) => self.0.several(loss, SoftThresholding::new(terms, 1.0), penalty),
            Structure::Groups(group) => self.0.several(loss, GroupShrinkage::new(group.clone(), 1.0), penalty),
            Structure::Matrix(nuclear) => self.0.several(loss, NuclearShrinkage::new(*nuclear, 1.0), penalty),
        }
    }
}

/// A penalty of the caller's own type.
pub struct OtherPenalty<'a, P>(pub ProblemRequest<'a>, pub P);

impl<P: CoordinatePenalty> OutputVisitor for OtherPenalty<'_, P> {
    fn one<L: Loss>(self, loss: L) -> Box<dyn Problem> {
        self.0.one(loss, ProxByCoordinate::new(self.1.clone()), Box::new(self.1))
    }

    fn several<M: JointLoss>(self, loss: M) -> Box<dyn Problem> {
        self.0.several(loss, ProxByCoordinate::new(self.1.clone()), Box::new(self.1))
    }
}

impl ProblemRequest<'_> {
    /// One output, by way of the proximal map of a penalty.
    fn one<L: Loss, P: LazyProx + 'static>(self, loss: L, map: P, penalty: Box<dyn Penalty>) -> Box<dyn Problem> {
        let ProblemRequest { task, columns, variant, .. } = self;
        let link = Proximal::with_penalty(penalty, columns, (task, variant), loss.curvature(), map);
        Box::new(Single::new(loss, link, task.objective.clone()))
    }

    /// Several outputs, in the same way.
    fn several<M: JointLoss, P: MatrixProx + 'static>(
        self,
        loss: M,
        map: P,
        penalty: Box<dyn Penalty>,
    ) -> Box<dyn Problem> {
        let ProblemRequest { task, columns, variant, budget, .. } = self;
        let link = Proximal::with_penalty(penalty, columns, (task, variant), loss.curvature(), map);
        Box::new(Joint::new(loss, link, task.objective.clone(), Some(budget)))
    }
}
