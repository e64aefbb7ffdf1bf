//! Models that learn block after block and forget the rows that they drop (SBM, section 4).
#[cfg(test)]
mod tests;

use rayon::prelude::*;

use super::learner::{LearntWeights, Room, StreamLearner, predict_each};
use super::model::StreamModel;
use super::problem;
use super::{StreamClasses, StreamOptions};
use crate::block::{Block, Layout, Row};
use crate::budget::{Budget, BudgetError, Reservation};
use crate::engine::{choose, renumber};
use crate::loss::Loss;
use crate::objective::Objective;
use crate::residents::Residents;

/// What a model of one output keeps of a row.
pub const MODEL_ROW_BYTES: u64 = 80;
/// Room for the rows of this many models is paid for together with the rows.
pub const FEW_MODELS: u64 = 8;

/// Means are kept while a part of the budget is free beside them: one of this many.
const ROOM_FOR_FEATURES: u64 = 16;

/// One model, or one for each class.
pub struct Models<L: Loss> {
    loss: L,
    options: StreamOptions,
    room: Room,
    columns: usize,
    classes: StreamClasses,
    residents: Residents,
    /// Which of them stay when new rows come.
    keep: Vec<bool>,
    models: Vec<StreamModel>,
    /// Their weights, when all is over.
    ended: Vec<Vec<f64>>,
    /// Whether there is room for the means of their weights.
    averages: bool,
    budget: Budget,
    /// Pays for the weights of all models.
    weights: Reservation,
    /// Among which models are shared out; without any, they take turns.
    threads: Option<rayon::ThreadPool>,
}

impl<L: Loss> Models<L> {
    /// No row has come; `rows` is an empty block with room for all.
    pub fn new(
        loss: L,
        options: &StreamOptions,
        room: Room,
        rows: Block,
        budget: &Budget,
    ) -> Result<Self, BudgetError> {
        Ok(Models {
            loss,
            options: options.clone(),
            room,
            columns: 0,
            classes: StreamClasses::default(),
            residents: Residents::inside(rows),
            keep: Vec::new(),
            models: Vec::new(),
            ended: Vec::new(),
            averages: options.averages,
            budget: budget.clone(),
            weights: budget.reserve("weights", 0)?,
            threads: rayon::ThreadPoolBuilder::new().num_threads(options.threads).build().ok(),
        })
    }

    fn pay(&mut self) -> Result<(), BudgetError> {
        let outputs = self.classes.outputs(&self.options) as u64;
        let column_bytes = 8 * (self.columns as u64 + 1);
        // The weights of one model at a time grow into a new place while the old ones are there.
        let growing = self.classes.width(&self.options) as u64;
        // Weights and their mean, which must not take what new features need.
        let with_means = (2 * outputs + growing) * column_bytes + self.state_bytes();
        let leaves_room = |budget: &Budget| budget.free_bytes() >= budget.data_bytes() / ROOM_FOR_FEATURES;
        if self.averages && self.weights.resize(with_means).is_ok() && leaves_room(&self.budget) {
            return Ok(());
        }
        // Without room for means, the last weights have to do.
        self.averages = false;
        self.models.iter_mut().for_each(StreamModel::forget_mean);
        self.weights.resize((outputs + growing) * column_bytes + self.state_bytes())
    }

    /// What models keep of all rows, beyond what was paid for with the rows.
    fn state_bytes(&self) -> u64 {
        let (outputs, width) = (self.classes.outputs(&self.options) as u64, self.classes.width(&self.options) as u64);
        let row_bytes = outputs / width * MODEL_ROW_BYTES + outputs * 8;
        row_bytes.saturating_sub(FEW_MODELS * MODEL_ROW_BYTES) * self.room.all.0
    }

    fn new_model(&self, model: usize) -> StreamModel {
        let StreamOptions { loss, c, bias, .. } = self.options;
        let objective = Objective { bias, ..Objective::new(loss, c, self.classes.targets(model, &self.options)) };
        StreamModel::new(problem::make(self.loss, objective, self.columns), &self.options, self.averages)
    }

    /// Classes have come, and all are in one objective.
    fn widen(&mut self, width: usize) -> Result<(), BudgetError> {
        let mut new = self.new_model(0);
        if let [old] = &self.models[..] {
            // Old and new weights and means are there at once.
            let bytes = self.weights.bytes();
            self.weights.resize(bytes + 2 * 8 * (old.width() * (self.columns + 1)) as u64)?;
            // One score w for two classes is half of it for the second and as much against the first.
            let share = |class: usize| match (old.width(), class) {
                (1, 0) => Some((0, -0.5)),
                (1, 1) => Some((0, 0.5)),
                (known, class) => (class < known).then_some((class, 1.0)),
            };
            new.take_over(old, &(0..width).map(share).collect(), &self.residents);
            self.models.clear();
            self.weights.resize(bytes)?;
        }
        self.models = vec![new];
        Ok(())
    }
}

impl<L: Loss> StreamLearner for Models<L> {
    fn grow(&mut self, columns: usize) -> Result<(), BudgetError> {
        if columns > self.columns {
            self.columns = columns;
            self.pay()?;
            self.residents.block.widen(columns);
            self.models.iter_mut().for_each(|model| model.grow(columns));
        }
        Ok(())
    }

    fn know(&mut self, classes: &StreamClasses) -> Result<(), BudgetError> {
        if self.classes.len() == classes.len() && !self.models.is_empty() {
            return Ok(());
        }
        self.classes = classes.clone();
        self.pay()?;
        let (outputs, width) = (self.classes.outputs(&self.options), self.classes.width(&self.options));
        if width > 1 {
            return self.widen(width);
        }
        if self.models.len() == 1 && outputs > 1 {
            // What tells the second of two classes from the first tells, the other way round, the first from the
            // second.
            let mut first = self.new_model(0);
            first.take_over(&self.models[0], &vec![Some((0, -1.0))], &self.residents);
            self.models.insert(0, first);
        }
        for model in self.models.len()..outputs {
            let mut new = self.new_model(model);
            // Rows that have stayed are of other classes.
            for number in 0..self.residents.rows() {
                let info = self.residents.block.info(number);
                if new.rows.problem.wants(&info) {
                    new.rows.push(&self.residents, number as u32, &info, &[0.0]);
                }
            }
            self.models.push(new);
        }
        for model in 0..self.models.len() {
            let targets = self.classes.targets(model, &self.options);
            self.models[model].rows.problem.set_targets(targets);
        }
        Ok(())
    }

    fn predict(&self, rows: &Block, out: &mut Vec<f64>) {
        let margins = |row: Row, scores: &mut [f64]| {
            let mut scores = scores;
            for model in &self.models {
                let (own, others) = scores.split_at_mut(model.width());
                model.rows.problem.margins(row, own);
                scores = others;
            }
        };
        let outputs = self.models.iter().map(StreamModel::width).sum();
        predict_each(rows, outputs, self.options.loss, margins, out);
    }

    fn take(&mut self, rows: &mut Block) {
        rows.widen(self.columns);
        let new = rows.rows() as u32;
        self.keep.resize(self.residents.rows(), false);
        self.residents.change(rows, &self.keep);
        // Those that stay lie behind the new ones.
        let numbers: Vec<u32> = renumber(&self.keep).into_iter().map(|number| new + number).collect();
        for model in &mut self.models {
            model.rows.retain(&self.keep, &numbers);
            model.newest = model.rows.problem.rows();
            model.taught += u64::from(new);
            let zeros = vec![0.0; model.width()];
            for number in 0..new {
                let info = self.residents.block.info(number as usize);
                if model.rows.problem.wants(&info) {
                    model.rows.push(&self.residents, number, &info, &zeros);
                }
            }
        }
        self.keep.clear();
    }

    fn learn(&mut self) {
        let (residents, options) = (&self.residents, &self.options);
        let solve = |model: &mut StreamModel| model.learn(residents, options);
        match (&mut self.models[..], &self.threads) {
            (many @ [_, _, ..], Some(threads)) => threads.install(|| many.par_iter_mut().for_each(solve)),
            (models, _) => models.iter_mut().for_each(solve),
        }
        let mut best = vec![u32::MAX; self.residents.rows()];
        self.models.iter().for_each(|model| model.rows.rank(&mut best));
        self.keep = choose(&self.residents, &best, self.room.cache);
    }

    fn end(&mut self) {
        self.residents = Residents::inside(Block::new(Layout::SPARSE_F32, 0));
        self.ended = self.models.drain(..).map(StreamModel::end).collect();
        // Whoever asks for them pays for them; less is never refused.
        let _ = self.weights.resize(0);
    }

    fn weights(&mut self) -> LearntWeights {
        let width = self.classes.width(&self.options);
        let vectors = match self.ended.is_empty() {
            true => self.models.iter().map(StreamModel::weights).collect(),
            false => std::mem::take(&mut self.ended),
        };
        LearntWeights { vectors, width }
    }

    fn begin_with(&mut self, weights: Vec<Vec<f64>>) {
        for (model, weights) in self.models.iter_mut().zip(weights.chunks(self.classes.width(&self.options))) {
            let columns = weights.first().map_or(0, Vec::len);
            model.begin_with((0..columns).flat_map(|column| weights.iter().map(move |of| of[column])).collect());
        }
    }
}
