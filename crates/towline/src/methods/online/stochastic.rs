//! Pegasos and gradient descent on a stream: one row at a time, one model per class against all others.
//!
//! Both minimise ½λ‖w‖² plus the mean loss with λ = 1/(nC). n is the number of rows that the user expects, or, without
//! one and beyond it, the number that have come.
use super::learner::{LearntWeights, StreamLearner, predict_each};
use super::{StreamClasses, StreamOptions};
use crate::baselines::{Baseline, Descent, descent};
use crate::block::{Block, Layout, Row};
use crate::budget::{Budget, BudgetError, Reservation};
use crate::loss::{Loss, LossVisitor};
use crate::objective::Objective;

/// A model, what it is to minimise, and whether it has seen rows.
struct Model {
    rule: Box<dyn Descent>,
    objective: Objective,
    fresh: bool,
}

/// Models of all classes.
pub struct Stochastic {
    rule: Baseline,
    options: StreamOptions,
    /// The rows to learn from.
    rows: Block,
    columns: usize,
    classes: StreamClasses,
    models: Vec<Model>,
    /// Rows that have been learnt.
    learnt: u64,
    paid: Reservation,
}

impl Stochastic {
    /// No row has come; `rows` is an empty block with room for all.
    pub fn new(rule: Baseline, options: &StreamOptions, rows: Block, budget: &Budget) -> Result<Self, BudgetError> {
        Ok(Stochastic {
            rule,
            options: options.clone(),
            rows,
            columns: 0,
            classes: StreamClasses::default(),
            models: Vec::new(),
            learnt: 0,
            paid: budget.reserve("weights", 0)?,
        })
    }

    fn pay(&mut self) -> Result<(), BudgetError> {
        // w and its lag, and one that grows.
        let vectors = 2 * self.classes.outputs(&self.options) as u64 + 1;
        self.paid.resize(vectors * 8 * (self.columns as u64 + 1))
    }

    fn objective(&self, model: usize) -> Objective {
        let StreamOptions { loss, c, bias, .. } = self.options;
        Objective { bias, ..Objective::new(loss, c, self.classes.targets(model, &self.options)) }
    }

    fn new_rule(&self) -> Option<Box<dyn Descent>> {
        struct Make<'a>(&'a Stochastic);
        impl LossVisitor for Make<'_> {
            type Out = Option<Box<dyn Descent>>;

            fn visit<L: Loss>(self, loss: L) -> Self::Out {
                let StreamOptions { bias, c, .. } = self.0.options;
                descent(self.0.rule, loss, self.0.columns, bias, c)
            }
        }
        self.options.loss.visit(Make(self))
    }

    /// λ for the row after this many.
    fn lambda(&self, learnt: u64) -> f64 {
        1.0 / (self.options.c * self.options.rows.unwrap_or(0).max(learnt + 1) as f64)
    }
}

impl StreamLearner for Stochastic {
    fn grow(&mut self, columns: usize) -> Result<(), BudgetError> {
        if columns > self.columns {
            self.columns = columns;
            self.pay()?;
            self.models.iter_mut().for_each(|model| model.rule.weights().grow(columns));
        }
        Ok(())
    }

    fn know(&mut self, classes: &StreamClasses) -> Result<(), BudgetError> {
        self.classes = classes.clone();
        self.pay()?;
        let wanted = self.classes.outputs(&self.options);
        if self.models.len() == 1 && wanted > 1 {
            // What told the second class from the first tells, the other way round, the first from the second.
            let mut rule = self.models[0].rule.copy();
            rule.weights().turn();
            self.models.insert(0, Model { rule, objective: self.objective(0), fresh: false });
        }
        for model in self.models.len()..wanted {
            let objective = self.objective(model);
            self.models.extend(self.new_rule().map(|rule| Model { rule, objective, fresh: true }));
        }
        for model in 0..self.models.len() {
            self.models[model].objective = self.objective(model);
        }
        Ok(())
    }

    fn predict(&self, rows: &Block, out: &mut Vec<f64>) {
        let margins = |row: Row, scores: &mut [f64]| {
            scores.iter_mut().zip(&self.models).for_each(|(score, model)| *score = model.rule.margin(row));
        };
        predict_each(rows, self.models.len(), self.options.loss, margins, out);
    }

    fn take(&mut self, rows: &mut Block) {
        self.rows.clear();
        std::mem::swap(&mut self.rows, rows);
    }

    fn learn(&mut self) {
        let rows = std::mem::replace(&mut self.rows, Block::new(Layout::SPARSE_F32, 0));
        let mut models = std::mem::take(&mut self.models);
        for model in &mut models {
            if std::mem::take(&mut model.fresh) {
                // As if the block were all there is: it is what is known.
                model.rule.set_lambda(self.lambda(rows.rows() as u64));
                model.rule.look_at(&rows, &model.objective);
            }
            for i in 0..rows.rows() {
                let (y, c) = model.objective.row(&rows.info(i));
                if c > 0.0 {
                    model.rule.set_lambda(self.lambda(self.learnt + i as u64));
                    model.rule.learn(rows.row(i), y, c);
                }
            }
        }
        self.learnt += rows.rows() as u64;
        (self.models, self.rows) = (models, rows);
    }

    fn end(&mut self) {
        self.rows = Block::new(Layout::SPARSE_F32, 0);
    }

    fn weights(&mut self) -> LearntWeights {
        let written = |model: &Model| {
            let mut w = vec![0.0; self.columns + 1];
            model.rule.write(&mut w);
            w
        };
        LearntWeights::each(self.models.iter().map(written).collect())
    }

    fn begin_with(&mut self, _weights: Vec<Vec<f64>>) {}
}
