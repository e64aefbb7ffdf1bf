//! Probabilities of classes, where a model has them.
use crate::loss::AnyLoss;
use crate::model::Header;
use crate::model::calibration::Calibration;
use crate::objective::{Objective, Targets};
use crate::predict::{divide_by_sum, probabilities, probability};

/// How scores become probabilities.
#[derive(Clone, Copy, Debug)]
pub struct Chances<'a> {
    targets: &'a Targets,
    /// The curves of a calibrated model, in place of what its loss says.
    calibration: Option<&'a Calibration>,
}

impl<'a> Chances<'a> {
    /// Those of a loss that has probabilities: the logistic one.
    pub fn of_loss(objective: &'a Objective) -> Option<Chances<'a>> {
        let has_any = matches!(objective.loss, AnyLoss::Logistic(_)) && !objective.targets.are_numbers();
        has_any.then_some(Chances { targets: &objective.targets, calibration: None })
    }

    /// Those of a model.
    pub fn of(header: &'a Header) -> Option<Chances<'a>> {
        match &header.reporting.calibration {
            Some(calibration) => Some(Chances { targets: &header.objective.targets, calibration: Some(calibration) }),
            None => Chances::of_loss(&header.objective),
        }
    }

    /// Replaces `out` by the probabilities of all classes of a row.
    pub fn write(&self, scores: &[f64], out: &mut Vec<f64>) {
        let Some(calibration) = self.calibration else { return probabilities(self.targets, scores, out) };
        out.clear();
        if let [score] = scores {
            let second = calibration.curves[0].chance(*score);
            return out.extend([1.0 - second, second]);
        }
        out.extend(scores.iter().zip(&calibration.curves).map(|(&score, curve)| curve.chance(score)));
        divide_by_sum(out);
    }

    /// The probability of the second of two classes.
    pub fn of_second(&self, score: f64) -> f64 {
        match self.calibration {
            Some(calibration) => calibration.curves[0].chance(score),
            None => probability(score),
        }
    }
}
