//! When several classes have one objective though nobody asked for it.
use super::Fit;
use super::data::Data;
use super::error::FitError;
use super::objective::Goal;
use super::regularizer::Regularizer;
use crate::engine::Solver;
use crate::objective::Multiclass;
use crate::store::BlockStore;
use crate::task::Task;

/// Weights of all classes at most: the matrix of second derivatives of softmax has their square of entries, and on
/// covtype (385 weights) it takes 1.6 times as long as one-vs-rest to be 0.9 points better.
const MOST_JOINT_WEIGHTS: u64 = 1000;

impl Fit {
    /// The same with one objective for all classes of a small table, unless something was said that speaks of classes one
    /// by one: softmax is the logistic loss that people know for several classes, and on tables whose classes are not
    /// told apart by a hyperplane each it is the better model. Where classes and features are many, its second-order steps
    /// take too long, and one-vs-rest is as good.
    pub(super) fn with_joint_classes(mut self, data: &Data) -> Result<Fit, FitError> {
        let Data::Disk(store) = data else { return Ok(self) };
        let Goal { loss, wrong_loss, multiclass, positive, targets, penalty, class_weights, .. } = &self.goal;
        let is_open = loss.is_none() && wrong_loss.is_none() && multiclass.is_none() && positive.is_none();
        let is_plain = targets.is_none() && class_weights.is_empty() && penalty.regularizer == Regularizer::L2;
        let facts = data.facts();
        let classes = data.labels().histogram.as_ref().map_or(0, |histogram| histogram.len() as u64);
        let weights = classes.saturating_mul(store.shape().columns + 1);
        let is_small = facts.loss_of_classes() == "logistic" && classes > 2 && weights <= MOST_JOINT_WEIGHTS;
        let is_auto = self.truncate.is_none() && self.solver_for_blocks() == Solver::Auto;
        if is_open && is_plain && is_small && is_auto && self.goal.predicts(data)? == Task::Classification {
            self.goal.multiclass = Some(Multiclass::Softmax);
        }
        Ok(self)
    }
}
