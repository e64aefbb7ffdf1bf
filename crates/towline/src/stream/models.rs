//! Models that learn block after block and forget the rows that they drop (SBM, section 4).
use rayon::prelude::*;

use super::learner::{LearntWeights, Room, StreamLearner, predict_each};
use super::model::StreamModel;
use super::problem;
use super::{StreamClasses, StreamOptions};
use crate::block::{Block, Layout, Row};
use crate::budget::{Budget, BudgetError, Reservation};
use crate::loss::Loss;
use crate::objective::Objective;
use crate::residents::Residents;
use crate::trainer::{choose, renumber};

/// What a model of one output keeps of a row.
pub const MODEL_ROW_BYTES: u64 = 80;
/// Room for the rows of so many models is paid for together with the rows.
pub const FEW_MODELS: u64 = 8;

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
        let outputs = self.classes.outputs(&self.options) as u64;
        let column_bytes = 8 * (self.columns as u64 + 1);
        // The weights of one model at a time grow into a new place while the old ones are there.
        let growing = self.classes.width(&self.options) as u64;
        // Weights and their mean.
        if self.averages && self.weights.resize((2 * outputs + growing) * column_bytes + self.state_bytes()).is_ok() {
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
            // What tells the second of two classes from the first tells, the other way round, the first from the second.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::RowInfo;
    use crate::input::RowBatch;
    use crate::loss::{AnyLoss, Hinge};
    use crate::objective::Multiclass;

    const COLUMNS: usize = 7;

    fn some_rows(classes: u64, count: u64) -> Block {
        let mut rows = Block::new(Layout::SPARSE_F32, COLUMNS);
        for id in 0..count {
            let label = (id % classes) as f64;
            let columns = [id % classes, 3 + id * 5 % 3, 6];
            let values = [1.0, 0.5, (id % 4) as f64];
            let info = RowInfo { label, weight: 1.0, group: 0, id };
            rows.push_arrays(info, columns.into_iter().map(|column| column as u32), values.into_iter());
        }
        rows
    }

    fn classes(count: usize) -> StreamClasses {
        let mut batch = RowBatch::default();
        (0..count).for_each(|class| batch.end_row(class as f64));
        let mut classes = StreamClasses::default();
        classes.resolve(&batch, &mut Vec::new());
        classes
    }

    /// W is the sum of all rows times their dual variables while none has been dropped, also when two classes become three, and three four.
    #[test]
    fn weights_stay_the_sum_of_rows_when_classes_come() {
        for multiclass in Multiclass::ALL {
            let loss = AnyLoss::Hinge(Hinge);
            let options = StreamOptions { multiclass: Some(multiclass), bias: 1.0, ..StreamOptions::new(loss, 0.5) };
            let room = Room { cache: (100, 1000), new: (100, 1000), all: (200, 2000) };
            let empty = Block::new(Layout::SPARSE_F32, 0);
            let mut models = Models::new(Hinge, &options, room, empty, &Budget::unlimited()).unwrap();
            models.grow(COLUMNS).unwrap();
            for count in 2..5 {
                models.know(&classes(count)).unwrap();
                models.take(&mut some_rows(count as u64, 12));
                models.learn();
            }
            assert_eq!(models.residents.rows(), 36);
            for model in &models.models {
                let width = model.width();
                let mut sums = vec![0.0; (COLUMNS + 1) * width];
                for (i, &number) in model.rows.numbers.iter().enumerate() {
                    let row = models.residents.block.row(number as usize);
                    for (m, &dual) in model.rows.problem.duals(i).iter().enumerate() {
                        let mut times = vec![0.0; COLUMNS];
                        row.add_to(&mut times, dual);
                        times.push(dual * options.bias);
                        times.iter().enumerate().for_each(|(column, value)| sums[column * width + m] += value);
                    }
                }
                let weights = model.rows.problem.weights();
                let distance = sums.iter().zip(weights).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(distance < 1e-12, "{multiclass:?}: {distance}");
                assert!(weights.iter().any(|w| w.abs() > 0.1));
            }
        }
    }
}
