//! Models that learn block after block and forget the rows that they drop (SBM, section 4).
use rayon::prelude::*;

use super::learner::{Room, StreamLearner, predict_each};
use super::model::StreamModel;
use super::{StreamClasses, StreamOptions};
use crate::block::{Block, Layout, Row};
use crate::budget::{Budget, BudgetError, Reservation};
use crate::loss::Loss;
use crate::objective::Objective;
use crate::residents::Residents;
use crate::trainer::{OwnRows, choose, renumber};

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
    models: Vec<StreamModel<L>>,
    /// Their weights, when all is over.
    ended: Vec<Vec<f64>>,
    /// Whether there is room for the means of their weights.
    averages: bool,
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
            averages: true,
            weights: budget.reserve("weights", 0)?,
            threads: rayon::ThreadPoolBuilder::new().num_threads(options.threads).build().ok(),
        })
    }

    fn pay(&mut self) -> Result<(), BudgetError> {
        let models = self.classes.models(&self.options) as u64;
        let vector_bytes = 8 * (self.columns as u64 + 1);
        // Weights and their mean; one vector at a time grows into a new place while the old one is there.
        if self.averages && self.weights.resize((2 * models + 1) * vector_bytes).is_ok() {
            return Ok(());
        }
        // Without room for means, the last weights have to do.
        self.averages = false;
        self.models.iter_mut().for_each(StreamModel::forget_mean);
        self.weights.resize((models + 1) * vector_bytes)
    }

    fn new_model(&self, model: usize) -> StreamModel<L> {
        let StreamOptions { loss, c, bias, .. } = self.options;
        let objective = Objective { bias, ..Objective::new(loss, c, self.classes.targets(model, &self.options)) };
        StreamModel::new(self.loss, objective, self.columns, &self.options, self.averages)
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
        let wanted = self.classes.models(&self.options);
        if self.models.len() == 1 && wanted > 1 {
            let mut first = self.new_model(0);
            first.turn(&self.models[0]);
            self.models.insert(0, first);
        }
        for model in self.models.len()..wanted {
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
            scores.iter_mut().zip(&self.models).for_each(|(score, model)| *score = model.rows.problem.margin(row));
        };
        predict_each(rows, self.models.len(), self.options.loss, margins, out);
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
            for number in 0..new {
                let info = self.residents.block.info(number as usize);
                if model.rows.problem.wants(&info) {
                    model.rows.push(&self.residents, number, &info, &[0.0]);
                }
            }
        }
        self.keep.clear();
    }

    fn learn(&mut self) {
        let (residents, options) = (&self.residents, &self.options);
        let solve = |model: &mut StreamModel<L>| model.learn(residents, options);
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

    fn weights(&mut self) -> Vec<Vec<f64>> {
        match self.ended.is_empty() {
            true => self.models.iter().map(StreamModel::weights).collect(),
            false => std::mem::take(&mut self.ended),
        }
    }

    fn begin_with(&mut self, weights: Vec<Vec<f64>>) {
        for (model, weights) in self.models.iter_mut().zip(weights) {
            model.begin_with(weights);
        }
    }
}
