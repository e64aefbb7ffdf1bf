//! A fit on its way: from settings and data to a model.
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::Fit;
use super::begin::{self, State};
use super::data::Data;
use super::error::FitError;
use super::fitted::Fitted;
use super::group_norms;
use super::notes;
use super::objective::Constant;
use super::recipe::Recipe;
use super::scores::Scores;
use crate::budget::{Budget, Reservation};
use crate::engine::{Observer, Recorder, RunRecord, Solver, Task, TrainOptions, Trained};
use crate::input::ReadOptions;
use crate::model::calibration::Calibration;
use crate::model::{Header, Model, ModelWriter, Reporting};
use crate::objective::Objective;
use crate::output::{Inputs, Kind, OutputFile};

/// A fit that is ready to begin: what is minimised, by which trainer, and what is worth saying of it.
#[derive(Debug)]
pub struct Prepared {
    pub(super) fit: Fit,
    pub(super) data: Data,
    pub(super) budget: Budget,
    pub(super) objective: Objective,
    pub(super) recipe: Recipe,
    pub(super) calibration: Option<Calibration>,
    /// What is worth saying of the objective, and of an index.
    notes: [Vec<String>; 2],
    /// How the newest run went.
    record: Mutex<Option<Box<RunRecord>>>,
}

/// A run with what its models start from.
#[derive(Debug)]
pub struct Run<'a> {
    prepared: &'a Prepared,
    /// None where the trainer knows no tasks.
    pub(super) options: Option<TrainOptions>,
    _paid: Vec<Reservation>,
}

impl Fit {
    /// Works out what is minimised on `data` and which trainer does it, and refuses what cannot be.
    pub fn prepare(&self, data: impl Into<Data>) -> Result<Prepared, FitError> {
        self.check()?;
        let data = data.into();
        let fit = self.with_own_loss()?.with_top_one(&data).with_joint_classes(&data)?;
        let budget = fit.budget.clone().unwrap_or_else(|| data.default_budget());
        let can_be_free = fit.can_have_intercept();
        let objective = Objective {
            truncate: fit.ceiling()?,
            ..fit.goal.objective(fit.c.unwrap_or(1.0), can_be_free, &data, &budget)?
        };
        let mut notes = [Vec::new(), Vec::new()];
        if !can_be_free && fit.goal.constant(data.facts().is_table, true) == Constant::Intercept {
            notes[0].push(
                "this method has no intercept; a constant feature of 1, whose weight is penalised, takes its place"
                    .into(),
            );
        }
        notes[0].extend(self.goal.task_note(&data)?);
        let recipe = fit.choose(&objective, &data, &mut notes[1])?;
        fit.check_calibration(&objective, &recipe, &data)?;
        Ok(Prepared { fit, data, budget, objective, recipe, calibration: None, notes, record: Mutex::default() })
    }

    /// What is minimised on `data`.
    pub fn objective(&self, data: impl Into<Data>) -> Result<Objective, FitError> {
        let data = data.into();
        let fit = self.with_own_loss()?.with_top_one(&data).with_joint_classes(&data)?;
        let budget = fit.budget.clone().unwrap_or_else(|| data.default_budget());
        let objective = fit.goal.objective(fit.c.unwrap_or(1.0), fit.can_have_intercept(), &data, &budget)?;
        Ok(Objective { truncate: fit.ceiling()?, ..objective })
    }

    /// Fits a model.
    pub fn run(&self, data: impl Into<Data>) -> Result<Fitted, FitError> {
        self.run_with(data, &mut ())
    }

    /// The same with an observer, who sees every step.
    pub fn run_with(&self, data: impl Into<Data>, observer: &mut dyn Observer) -> Result<Fitted, FitError> {
        let mut prepared = self.prepare(data)?;
        prepared.check_model()?;
        prepared.calibrate(observer)?;
        let trained = prepared.begin_aloud(observer)?.train(observer)?;
        prepared.fitted(trained)
    }

    /// Fits a model and writes it to a file, without ever holding it in memory beside the weights. The state of the run
    /// is kept beside it, and the same call goes on from there after an interruption.
    pub fn run_to(
        &self,
        data: impl Into<Data>,
        model: impl AsRef<Path>,
        observer: &mut dyn Observer,
    ) -> Result<Header, FitError> {
        let mut place = OutputFile::open(model.as_ref(), Kind::Model, &Inputs::none())?;
        let data = data.into();
        let fit = match data.disk() {
            Some(_) => self.clone().checkpoint(model.as_ref()),
            None => self.clone(),
        };
        let mut prepared = fit.prepare(&data)?;
        prepared.calibrate(observer)?;
        let mut trained = prepared.begin_aloud(observer)?.train(observer)?;
        prepared.write(&mut trained, &mut place)
    }
}

impl Prepared {
    /// What is minimised.
    pub fn objective(&self) -> &Objective {
        &self.objective
    }

    /// The trainer.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// What a user should read before the run begins; looks at the first block.
    pub fn notes(&self) -> Result<Vec<String>, FitError> {
        let of_scales = notes::of_scales(&self.data, &self.objective, &self.budget)?;
        let [before, after] = &self.notes;
        let notes = before.iter().cloned().chain(of_scales).chain(after.iter().cloned());
        Ok(notes.chain(self.recipe.note()).collect())
    }

    /// Refuses a budget in which the model of a store cannot be made in memory in the end.
    pub fn check_model(&self) -> Result<(), FitError> {
        self.data.check_model(self.models(), &self.objective, &self.budget)
    }

    /// Refuses test rows that the model could not judge in the end: hours later it would be late to say so. Reads the
    /// first of them; standard input is left alone.
    pub fn check_test(&self, name: &str, options: &ReadOptions) -> Result<(), FitError> {
        let Some(store) = self.data.disk().filter(|_| name != "-") else { return Ok(()) };
        Scores::check(&Model::without_weights(&self.objective, store), name, options, &self.budget)
    }

    /// How many models there are: one, or one for each class.
    pub fn models(&self) -> usize {
        self.objective.split().len()
    }

    /// Reads what the models start from, and pays for it.
    pub fn begin(&self) -> Result<Run<'_>, FitError> {
        if let Recipe::Baseline(_) = self.recipe {
            return Ok(Run { prepared: self, options: None, _paid: Vec::new() });
        }
        let objectives = begin::split(&self.objective, self.fit.own_weight_only);
        let tasks = begin::tasks(objectives, &self.data, self.fit.checkpoint.as_deref(), self.fit.begin.as_ref())?;
        let weights: usize = tasks.iter().map(|task| task.start_weights.len()).sum();
        let paid = vec![
            self.budget.reserve_few("weights to start from", 8 * weights as u64)?,
            reserve_classes(&self.objective, tasks.len(), &self.budget)?,
        ];
        Ok(Run { prepared: self, options: Some(self.fit.options(tasks)?), _paid: paid })
    }

    /// The same, with a word on what is worth one.
    fn begin_aloud(&self, observer: &mut dyn Observer) -> Result<Run<'_>, FitError> {
        let run = self.begin()?;
        let notes = self.notes()?.into_iter().chain(run.note());
        notes.for_each(|note| observer.note(&note));
        Ok(run)
    }

    /// Makes a model of what was trained.
    pub fn fitted(&self, trained: Vec<Trained>) -> Result<Fitted, FitError> {
        let (mut model, width) = self.data.model(&trained, &self.objective, &self.budget)?;
        model.header.reporting = self.reporting();
        let solver = self.solver(&trained);
        model.header.run = self.record(&trained);
        let mut state = Vec::new();
        for model in trained.into_iter().filter(|_| self.fit.keep_state) {
            let duals = model.duals.values().map_err(|error| FitError::State(error.to_string()))?;
            state.push(State { duals, weights: model.weights });
        }
        Ok(Fitted { model, width, solver, state })
    }

    /// Writes weights as a model with the names of features, and returns what is known of it besides.
    pub fn write(&self, trained: &mut [Trained], place: &mut OutputFile) -> Result<Header, FitError> {
        trained.iter_mut().for_each(Trained::keep_only_weights);
        crate::machine::give_back_free_memory();
        let Some(store) = self.data.disk() else {
            let (mut model, _): (Model, u64) = self.data.model(trained, &self.objective, &self.budget)?;
            model.header.reporting = self.reporting();
            model.header.run = self.record(trained);
            model.save_to(place)?;
            return Ok(model.header);
        };
        let weights: usize = trained.iter().map(|trained| trained.weights.len()).sum();
        let _weights = self.budget.reserve("weights", 8 * weights as u64)?;
        let record = self.record(trained);
        let mut writer = ModelWriter::new(store, &self.budget)?.reporting(self.reporting()).run(record);
        Ok(writer.write(trained, &self.objective, place)?.0)
    }

    /// What the model says of itself besides.
    fn reporting(&self) -> Reporting {
        let reporting = self.fit.goal.reporting(&self.objective.targets, &self.data);
        Reporting { calibration: self.calibration.clone(), ..reporting }
    }

    /// How the newest run went, and what the process has needed so far.
    fn record(&self, trained: &[Trained]) -> Option<Box<RunRecord>> {
        let found = self.record.lock().unwrap_or_else(PoisonError::into_inner).clone();
        found.map(|mut record| {
            group_norms::note(&mut record, &self.objective, trained, &self.data, &self.budget);
            record.solver = self.solver(trained).map(|solver| solver.name().to_string());
            record.peak_bytes = crate::machine::peak_memory_bytes();
            record
        })
    }

    /// How the problem was solved, if one solver did it.
    pub fn solver(&self, trained: &[Trained]) -> Option<Solver> {
        match self.recipe {
            Recipe::Blocks => trained.first().map(|model| model.solver),
            Recipe::Truncated(..) | Recipe::Indexed(_) | Recipe::Baseline(_) => None,
        }
    }
}

impl Run<'_> {
    /// The models that are trained.
    pub fn tasks(&self) -> &[Task] {
        self.options.as_ref().map_or(&[], |options| &options.tasks)
    }

    /// The solver that was asked for.
    pub fn solver(&self) -> Solver {
        self.prepared.fit.solver_for_blocks()
    }

    /// What the run goes on from, in a line.
    pub fn note(&self) -> Option<String> {
        let started =
            |task: &Task| task.checkpoint.as_ref().filter(|_| task.start.is_some()).map(|file| file.path.clone());
        let path = self.tasks().iter().find_map(started)?;
        Some(format!("going on from {} (`restart` begins anew)", path.display()))
    }

    /// Trains all models.
    pub fn train(self, observer: &mut dyn Observer) -> Result<Vec<Trained>, FitError> {
        let Prepared { fit, data, budget, recipe, objective, .. } = self.prepared;
        let options = self.options.unwrap_or_else(|| TrainOptions::new(objective.clone()));
        let tolerance = Some(options.tolerance).filter(|&tolerance| tolerance > 0.0 && !recipe.is_baseline());
        let spent = || data.disk().map(|store| store.spent_seconds());
        let before = spent();
        let mut recorder = Recorder::new(observer, budget);
        let trained = recipe.train(data, (options, fit.parameters().first_truncate), budget, &mut recorder)?;
        let background_seconds =
            spent().zip(before).map(|(after, before)| [after[0] - before[0], after[1] - before[1]]);
        let (command, data, seed) = (fit.command.clone(), data.describe(), fit.seed);
        let record = RunRecord { command, data, seed, tolerance, background_seconds, ..recorder.record };
        *self.prepared.record.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(record));
        Ok(trained)
    }
}

/// What a class takes besides the letters of its name, and its model besides weights and dual variables.
const CLASS_BYTES: usize = 1024;

/// Models of many classes share the labels, names and weights of them.
pub fn reserve_classes(objective: &Objective, models: usize, budget: &Budget) -> Result<Reservation, FitError> {
    let classes: usize = objective.targets.names().iter().map(|name| name.len() + CLASS_BYTES).sum();
    let bytes = if models > 1 { classes as u64 } else { 0 };
    Ok(budget.reserve_few("classes of all models", bytes)?)
}
