//! What is minimised, from what was asked for and what the labels are.
use super::data::{Data, Facts};
use super::error::{FitError, positive, refuse};
use super::regularizer::PenaltySettings;
use crate::budget::Budget;
use crate::loss::{AnyLoss, LossError};
use crate::model::Reporting;
use crate::objective::{Classes, Multiclass, Objective, Targets};
use crate::penalty::AnyPenalty;
use crate::task::{MOST_CLASSES, Task};

/// Which constant there is beside the features.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Constant {
    /// A constant feature of this value, 0 for none, whose weight is penalised.
    Feature(f64),
    /// An intercept that is free of the penalty.
    Intercept,
}

/// An objective as it was asked for; what nobody said follows from the data.
#[derive(Clone, Debug, Default)]
pub(super) struct Goal {
    pub loss: Option<AnyLoss>,
    /// Where the loss that was asked for cannot be.
    pub wrong_loss: Option<LossError>,
    pub task: Option<Task>,
    pub multiclass: Option<Multiclass>,
    pub positive: Option<String>,
    pub class_weights: Vec<String>,
    /// In place of all that labels say.
    pub targets: Option<Targets>,
    pub constant: Option<Constant>,
    pub penalty: PenaltySettings,
}

impl Goal {
    /// Which constant there is: an intercept for tables, as their users expect, unless something else is asked for.
    /// Where the method can have no intercept, a constant feature of 1 takes the place of one that nobody asked for.
    pub fn constant(&self, is_table: bool, can_be_free: bool) -> Constant {
        match self.constant {
            Some(constant) => constant,
            None if !is_table => Constant::Feature(0.0),
            None if can_be_free => Constant::Intercept,
            None => Constant::Feature(1.0),
        }
    }

    /// What is minimised on `data` with this C; `can_be_free` says whether the method can have an intercept.
    pub fn objective(&self, c: f64, can_be_free: bool, data: &Data, budget: &Budget) -> Result<Objective, FitError> {
        let facts = data.facts();
        let of_classes = if can_be_free { facts.loss_of_classes() } else { "hinge" };
        let loss = self.loss_for(self.predicts(data)?, of_classes)?;
        let c = positive("c", c)?;
        // An intercept is the weight of a constant feature, free of the penalty.
        let (bias, intercept) = match self.constant(facts.is_table, can_be_free) {
            Constant::Intercept => (1.0, true),
            Constant::Feature(bias) => (bias, false),
        };
        let targets = match &self.targets {
            Some(targets) => targets.clone(),
            None => self.targets_of(loss, data)?,
        };
        let outputs = Objective::new(loss, c, targets.clone()).width();
        let penalty = self.penalty.penalty(outputs, data, budget)?;
        let objective = Objective { bias, penalty, intercept, ..Objective::new(loss, c, targets) };
        if objective.targets.multiclass() == Some(Multiclass::CrammerSinger)
            && objective.penalty != AnyPenalty::default()
        {
            return refuse(
                "`multiclass(crammer-singer)` has the penalty l2 with `lambda(1)` only; use `multiclass(softmax)` or \
                 ovr",
            );
        }
        check_representable(&objective, data)?;
        Ok(objective)
    }

    /// What is predicted: what was asked for, what the other settings are about, else what the labels suggest.
    pub fn predicts(&self, data: &Data) -> Result<Task, FitError> {
        let of_loss = self.loss.map(|loss| match loss.is_classification() {
            true => Task::Classification,
            false => Task::Regression,
        });
        if let (Some(asked), Some(of_loss)) = (self.task, of_loss)
            && asked != of_loss
        {
            return refuse(
                "`task` and `loss` do not go together: one is about classes, the other about numbers; leave one out",
            );
        }
        let of_targets = self.targets.as_ref().map(|targets| match targets.are_numbers() {
            true => Task::Regression,
            false => Task::Classification,
        });
        let of_settings = self.is_for_classes().then_some(Task::Classification);
        let known = self.task.or(of_loss).or(of_targets).or(of_settings);
        let Facts { targets, is_table, .. } = data.facts();
        Ok(known.unwrap_or_else(|| Task::suggested_by(data.labels(), !targets.is_empty(), is_table)))
    }

    /// Which of two classes is reported: the one that was asked for, else the rarer one.
    pub fn reporting(&self, targets: &Targets, data: &Data) -> Reporting {
        let positive_class = match targets {
            Targets::Binary { .. } if self.positive.is_some() => Some(1),
            Targets::Binary { .. } => Some(targets.rarer(data.labels())),
            _ => None,
        };
        Reporting { positive_class, calibration: None }
    }

    fn is_for_classes(&self) -> bool {
        self.multiclass.is_some() || self.positive.is_some() || !self.class_weights.is_empty()
    }

    /// In a line what is predicted and why, where nothing but the labels of a table said it.
    pub fn task_note(&self, data: &Data) -> Result<Option<String>, FitError> {
        let is_open = self.task.is_none() && self.loss.is_none() && self.multiclass.is_none() && self.targets.is_none();
        if !is_open || self.positive.is_some() || !data.facts().is_table {
            return Ok(None);
        }
        let labels = data.labels();
        let values = labels.histogram.as_ref().map_or("very many".to_string(), |h| h.len().to_string());
        Ok(Some(match self.predicts(data)? {
            Task::Regression => {
                format!(
                    "task regression: the label is a number with {values} values; `task(classes)` takes each for a \
                     class"
                )
            }
            Task::Classification if labels.names.is_some() => {
                format!("task classification: the label is text with {values} values")
            }
            Task::Classification => {
                format!("task classification: the label has {values} values; `task(regression)` predicts the number")
            }
        }))
    }

    /// The loss that was asked for, else the default for what is predicted, which is `of_classes` for classes.
    pub fn loss_for(&self, task: Task, of_classes: &str) -> Result<AnyLoss, FitError> {
        if let Some(wrong) = &self.wrong_loss {
            return Err(wrong.clone().into());
        }
        if self.loss.is_none() && task == Task::Regression {
            return Ok(AnyLoss::named("squared")?);
        }
        let own = match self.multiclass {
            Some(Multiclass::CrammerSinger) => Some("hinge"),
            Some(Multiclass::Softmax) => Some("logistic"),
            _ => None,
        };
        if let (Some(own), Some(asked), Some(multiclass)) = (own, self.loss, self.multiclass)
            && own != asked.name()
        {
            return refuse(format!(
                "`multiclass({})` is the {own} loss for many classes, not {}; leave `loss` out, or use \
                 `multiclass(ovr)`",
                multiclass.name(),
                asked.name()
            ));
        }
        match self.loss {
            Some(loss) => Ok(loss),
            None => Ok(AnyLoss::named(own.unwrap_or(of_classes))?),
        }
    }

    /// Refuses settings for classes where numbers are predicted.
    pub fn check_regression(&self, loss: AnyLoss) -> Result<(), FitError> {
        if self.is_for_classes() && !loss.is_classification() {
            return refuse(format!(
                "`positive`, `multiclass` and `class_weight` are for classification, and the {} loss is for regression",
                loss.name()
            ));
        }
        Ok(())
    }

    fn targets_of(&self, loss: AnyLoss, data: &Data) -> Result<Targets, FitError> {
        let (facts, labels) = (data.facts(), data.labels());
        if !facts.targets.is_empty() && !matches!(loss, AnyLoss::Squared(_)) {
            return refuse(format!(
                "the rows of this store have {} targets, which `loss(squared)` predicts together; for the {} loss pack \
                 them \
                 with one `label`",
                facts.targets.len(),
                loss.name()
            ));
        }
        if !loss.is_classification() {
            self.check_regression(loss)?;
            if labels.names.is_some() {
                return refuse(format!(
                    "the labels are text, and the {} loss predicts numbers; use a classification loss",
                    loss.name()
                ));
            }
            let names: Vec<String> = facts.targets.iter().map(|target| target.name.clone()).collect();
            return Ok(if names.is_empty() { Targets::Numbers } else { Targets::Several { names } });
        }
        let joint = self.multiclass.filter(|&multiclass| multiclass != Multiclass::OneVsRest);
        let mut targets = if self.positive.is_some() {
            Targets::binary(labels, self.positive.as_deref())?
        } else {
            let classes = Classes::of(labels)?;
            if classes.len() > MOST_CLASSES && self.task != Some(Task::Classification) {
                let other = if labels.names.is_none() { ", `task(regression)` predicts the number" } else { "" };
                return refuse(format!(
                    "the label has {} values, and each would be a class; `task(classes)` trains on all of them{other}",
                    classes.len()
                ));
            }
            // One score tells two classes apart.
            match joint {
                None if classes.len() == 2 => Targets::binary(labels, None)?,
                _ => Targets::Classes { classes, multiclass: joint.unwrap_or(Multiclass::OneVsRest) },
            }
        };
        targets.weigh(labels, &self.class_weights)?;
        Ok(targets)
    }
}

/// Squares of sums over all rows must stay numbers; this leaves room for both.
const LARGEST_SUM: f64 = 1e150;

/// Refuses what floating point has no numbers for, before hours are spent on it.
fn check_representable(objective: &Objective, data: &Data) -> Result<(), FitError> {
    let Facts { rows, max_sq_norm, .. } = data.facts();
    let label = if objective.targets.are_numbers() { data.largest_target() } else { 1.0 };
    let length = max_sq_norm.sqrt().max(1.0);
    let lambda = objective.penalty.lambda();
    let per_row = objective.c / if lambda > 0.0 { lambda.min(1.0) } else { 1.0 };
    let sum = per_row * rows as f64 * length * label;
    if sum.is_finite() && sum <= LARGEST_SUM {
        return Ok(());
    }
    refuse(format!(
        "the numbers of this training would be too large: C = {:e} for {rows} rows of length up to {length:e} and \
         labels up to \
         {label:e}; use a smaller `c`, or scale labels and values",
        objective.c,
    ))
}
