//! Fits with a loss or a penalty that the program brings itself.
use super::Fit;
use super::data::Data;
use super::error::{FitError, refuse};
use super::recipe::Recipe;
use super::regularizer::Regularizer;
use super::settings::Setting;
use crate::engine::{Observer, OwnParts, Replaced, Solver, TrainOptions, Trained};
use crate::loss::Loss;
use crate::methods::auto::train_own;
use crate::penalty::CoordinatePenalty;

impl Fit {
    /// Trains with a loss of your own, by dual coordinate descent. What labels are follows from [`task`](Fit::task) and
    /// from themselves; there is one output, or one for each class. Weights are by column, that of the constant feature
    /// last.
    ///
    /// There is no model to save: its file could not name the loss.
    pub fn run_own_loss<L: Loss>(
        &self,
        loss: L,
        data: impl Into<Data>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Trained>, FitError> {
        self.run_own_parts(&OwnParts::loss(loss), data.into(), observer)
    }

    /// The same with a penalty of your own, and any loss, also those of several outputs: their weights lie side by side
    /// for each column.
    pub fn run_own_penalty<P: CoordinatePenalty>(
        &self,
        penalty: P,
        data: impl Into<Data>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Trained>, FitError> {
        self.run_own_parts(&OwnParts::penalty(penalty), data.into(), observer)
    }

    /// The same with both.
    pub fn run_own<L: Loss, P: CoordinatePenalty>(
        &self,
        loss: L,
        penalty: P,
        data: impl Into<Data>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Trained>, FitError> {
        self.run_own_parts(&OwnParts::both(loss, penalty), data.into(), observer)
    }

    fn run_own_parts(&self, own: &OwnParts, data: Data, observer: &mut dyn Observer) -> Result<Vec<Trained>, FitError> {
        let Replaced { loss, penalty } = own.replaces;
        let part = if loss { "loss" } else { "penalty" };
        let replaced = [(loss, Setting::Loss), (penalty, Setting::Penalty)];
        for (_, setting) in replaced.into_iter().filter(|(replaced, _)| *replaced) {
            if let Some(name) = self.first_set(&[setting]) {
                return refuse(format!(
                    "`{name}` has no meaning where that is your own; leave it out, with its parameters"
                ));
            }
        }
        if let Some(name) = self.first_set(&[Setting::Solver, Setting::Truncate, Setting::Calibrate]) {
            return refuse(format!("`{name}` has no meaning where the {part} is your own; leave it out"));
        }
        let mut fit = self.clone().solver(Solver::Dual);
        if penalty {
            // What is checked, planned and kept: another penalty than l2.
            fit = fit.penalty(Regularizer::None);
        }
        let prepared = fit.prepare(data)?;
        if loss && prepared.objective.width() > 1 {
            return refuse("a loss of your own has one output; leave `multiclass` out");
        }
        if !matches!(prepared.recipe, Recipe::Blocks) {
            return refuse(format!(
                "a {part} of your own needs an exact method for convex problems; leave `method` out"
            ));
        }
        // Holds what the weights to start from take until training has ended.
        let mut run = prepared.begin()?;
        let options = run.options.take().unwrap_or_else(|| TrainOptions::new(prepared.objective.clone()));
        Ok(train_own(prepared.data.store(), own, options, &prepared.budget, observer)?)
    }
}
