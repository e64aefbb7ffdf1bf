//! What a stream asks of a problem besides what a store does: columns that come later, and weights from outside.
use crate::block::Row;
use crate::engine::{Identity, Joint, JointLink, Linked, Problem, Single};
use crate::loss::Loss;
use crate::loss::classes::{CrammerSinger, Softmax};
use crate::loss::joint::{JointLoss, OfClass};
use crate::objective::{Multiclass, Objective, Targets};

/// A problem whose rows come once.
pub trait StreamProblem: Problem {
    /// More columns have come; the constant feature stays the last one.
    fn grow(&mut self, columns: usize);

    /// Takes over weights.
    fn begin_with(&mut self, weights: Vec<f64>);

    /// Labels mean something else from now on; there are as many outputs as before.
    fn set_targets(&mut self, targets: Targets);

    /// The margins of a row, one for each output.
    fn margins(&self, row: Row, out: &mut [f64]);
}

impl<L: Loss> StreamProblem for Single<L, Identity> {
    fn grow(&mut self, columns: usize) {
        self.link_mut().grow(columns);
    }

    fn begin_with(&mut self, weights: Vec<f64>) {
        self.link_mut().begin_with(weights);
    }

    fn set_targets(&mut self, targets: Targets) {
        Single::set_targets(self, targets);
    }

    fn margins(&self, row: Row, out: &mut [f64]) {
        out[0] = self.margin(row);
    }
}

impl<M: JointLoss> StreamProblem for Joint<M, Identity> {
    fn grow(&mut self, columns: usize) {
        self.link_mut().grow(columns);
    }

    fn begin_with(&mut self, weights: Vec<f64>) {
        self.link_mut().begin_with(weights);
    }

    fn set_targets(&mut self, targets: Targets) {
        Joint::set_targets(self, targets);
    }

    fn margins(&self, row: Row, out: &mut [f64]) {
        self.link().margins(row, &mut [], out);
    }
}

/// The problem that an objective asks for; `loss` is that of one output.
pub fn make<L: Loss>(loss: L, objective: Objective, columns: usize) -> Box<dyn StreamProblem> {
    let link = || Identity::for_stream(columns, objective.width(), objective.bias);
    match objective.targets.multiclass() {
        Some(Multiclass::CrammerSinger) => Box::new(Joint::new(OfClass(CrammerSinger), link(), objective, None)),
        Some(Multiclass::Softmax) => Box::new(Joint::new(OfClass(Softmax), link(), objective, None)),
        Some(Multiclass::OneVsRest) | None => {
            Box::new(Single::new(loss, Identity::for_stream(columns, 1, objective.bias), objective))
        }
    }
}
