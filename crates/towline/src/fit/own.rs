//! Fits with a loss or a penalty that the program brings itself.
use super::Fit;
use super::data::Data;
use super::error::{FitError, refuse};
use super::recipe::Recipe;
use super::settings::Setting;
use crate::engine::{Observer, OwnParts, Solver, TrainOptions, Trained};
use crate::loss::Loss;
use crate::methods::auto::train_own;
use crate::penalty::{AnyPenalty, CoordinatePenalty, NoPenalty};

/// Settings that ask for what a loss of one's own cannot have.
const OF_LOSS: [Setting; 1] = [Setting::Loss];
const OF_PENALTY: [Setting; 1] = [Setting::Penalty];
const OF_BOTH: [Setting; 2] = [Setting::Loss, Setting::Penalty];

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
        self.run_own_parts(&OwnParts::loss(loss), ("loss", &OF_LOSS), data.into(), observer)
    }

    /// The same with a penalty of your own, and any loss, also those of several outputs: their weights lie side by side
    /// for each column.
    pub fn run_own_penalty<P: CoordinatePenalty>(
        &self,
        penalty: P,
        data: impl Into<Data>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Trained>, FitError> {
        self.run_own_parts(&OwnParts::penalty(penalty), ("penalty", &OF_PENALTY), data.into(), observer)
    }

    /// The same with both.
    pub fn run_own<L: Loss, P: CoordinatePenalty>(
        &self,
        loss: L,
        penalty: P,
        data: impl Into<Data>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Trained>, FitError> {
        self.run_own_parts(&OwnParts::both(loss, penalty), ("loss", &OF_BOTH), data.into(), observer)
    }

    fn run_own_parts(
        &self,
        own: &OwnParts,
        (part, replaced): (&str, &[Setting]),
        data: Data,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Trained>, FitError> {
        let others = [Setting::Solver, Setting::Truncate, Setting::Calibrate];
        if let Some(name) = self.first_set(replaced).or_else(|| self.first_set(&others)) {
            return refuse(format!("`{name}` has no meaning where the {part} is your own; leave it out"));
        }
        let mut prepared = self.clone().solver(Solver::Dual).prepare(data)?;
        if replaced.contains(&Setting::Loss) && prepared.objective.width() > 1 {
            return refuse("a loss of your own has one output; leave `multiclass` out");
        }
        if !matches!(prepared.recipe, Recipe::Blocks) {
            return refuse(format!(
                "a {part} of your own needs an exact method for convex problems; leave `method` out"
            ));
        }
        if replaced.contains(&Setting::Penalty) {
            // What the plan and the checkpoint see: none of the library's.
            prepared.objective.penalty = AnyPenalty::None(NoPenalty);
        }
        let options = prepared.begin()?.options.unwrap_or_else(|| TrainOptions::new(prepared.objective.clone()));
        Ok(train_own(prepared.data.store(), own, options, &prepared.budget, observer)?)
    }
}
