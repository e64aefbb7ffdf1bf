//! Probabilities for any classifier: curves that are fitted to scores of held-out rows.
use std::sync::Arc;
use std::time::Instant;

use super::Fit;
use super::data::Data;
use super::error::{FitError, refuse};
use super::prepared::Prepared;
use super::recipe::Recipe;
use crate::cv::{self, Folds, HeldOutScores};
use crate::engine::{Observer, Task};
use crate::model::calibration::{Calibration, CalibrationMethod};
use crate::objective::Objective;

impl Fit {
    /// Calibrates the model: trains others without each of this many folds first, and fits curves to the scores of the
    /// rows that those have not seen. The model then has probabilities, whatever its loss.
    pub fn calibrate(mut self, folds: u32, method: CalibrationMethod) -> Fit {
        self.calibrate = Some((folds, method));
        self
    }
}

impl Prepared {
    /// Trains the models of all folds and fits the curves, if that was asked for. A limit of time is for this and for
    /// the training that comes then.
    pub fn calibrate(&mut self, observer: &mut dyn Observer) -> Result<(), FitError> {
        let Some((count, method)) = self.fit.calibrate else { return Ok(()) };
        let begin = Instant::now();
        let mut options = self.fit.options(vec![Task::new(self.objective.clone())])?;
        // One model of all rows is still to come.
        options.max_time = options.max_time.map(|limit| limit.mul_f64(f64::from(count) / f64::from(count + 1)));
        let store = self.data.store();
        let folds = match self.data.is_grouped() {
            true => Folds::new(count, self.fit.seed, true),
            false => Folds::stratified(count, self.fit.seed, &*store, &self.budget)?,
        };
        let outputs = self.models() * self.objective.width();
        let mut scores = HeldOutScores::new(store.shape().rows, outputs, &self.budget)?;
        let folds = Arc::new(folds);
        cv::held_out_scores(store, &self.objective, folds, &options, &mut scores, &self.budget, observer)?;
        let curves = (0..outputs).map(|output| method.fit(&scores.of_output(output))).collect();
        self.calibration = Some(Calibration { method, folds: count, curves });
        self.fit.max_time = self.fit.max_time.map(|limit| limit.saturating_sub(begin.elapsed()).max(LEAST_TIME));
        Ok(())
    }
}

impl Fit {
    /// Refuses a calibration that cannot be.
    pub(super) fn check_calibration(
        &self,
        objective: &Objective,
        recipe: &Recipe,
        data: &Data,
    ) -> Result<(), FitError> {
        let Some((folds, _)) = self.calibrate else { return Ok(()) };
        if objective.targets.are_numbers() {
            return refuse("`calibrate` makes probabilities of classes, and this model predicts numbers; leave it out");
        }
        if !matches!(recipe, Recipe::Blocks) {
            return refuse("`calibrate` is for exact methods and convex problems; leave `method` and `truncate` out");
        }
        let rows = data.store().shape().rows;
        if folds < 2 || rows < u64::from(folds) {
            return refuse(format!(
                "{rows} rows cannot be divided into {folds} folds; use another number with `calibrate`"
            ));
        }
        Ok(())
    }
}

/// What is left at least for the model itself: a limit of nothing would be none.
const LEAST_TIME: std::time::Duration = std::time::Duration::from_millis(1);
