//! The rules that papers compare with, on a stream: one row at a time, one weight vector per class.
//!
//! Many classes by the top-1 rule. Models are averages, as over a store.
use super::learner::{LearntWeights, StreamLearner};
use super::{StreamClasses, StreamOptions};
use crate::baselines::{Baseline, TopOne as Rules};
use crate::block::{Block, Layout};
use crate::budget::{Budget, BudgetError, Reservation};
use crate::loss::AnyLoss;
use crate::predict;

/// Models of all classes.
pub struct TopOne {
    rule: Baseline,
    /// The rows to learn from.
    rows: Block,
    options: StreamOptions,
    columns: usize,
    classes: StreamClasses,
    /// What a row of each class weighs.
    weights: Vec<f64>,
    rules: Rules,
    paid: Reservation,
}

impl TopOne {
    /// No row has come.
    pub fn new(rule: Baseline, options: &StreamOptions, rows: Block, budget: &Budget) -> Result<Self, BudgetError> {
        Ok(TopOne {
            rule,
            rows,
            options: options.clone(),
            columns: 0,
            classes: StreamClasses::default(),
            weights: Vec::new(),
            rules: Rules::new(rule, 0, 0, options.bias),
            paid: budget.reserve("weights", 0)?,
        })
    }

    /// The vector of a class: with a positive class, there are just two sides.
    fn side(&self, class: usize) -> usize {
        match &self.options.positive {
            Some(name) => usize::from(self.classes.find(name) == Some(class)),
            None => class,
        }
    }

    fn pay(&mut self, vectors: usize) -> Result<(), BudgetError> {
        // Mean, variance and lag, or u and lag; and one that grows.
        let each = if self.rule == Baseline::Cw { 3 } else { 2 };
        self.paid.resize((each * vectors as u64 + 1) * 8 * (self.columns as u64 + 1))
    }
}

impl StreamLearner for TopOne {
    fn grow(&mut self, columns: usize) -> Result<(), BudgetError> {
        if columns > self.columns {
            self.columns = columns;
            self.pay(self.rules.classes())?;
            self.rules.grow(columns);
        }
        Ok(())
    }

    fn know(&mut self, classes: &StreamClasses) -> Result<(), BudgetError> {
        self.classes = classes.clone();
        self.weights = classes.as_targets(&self.options.class_weights).weights.clone();
        let wanted = if self.options.positive.is_some() { 2 } else { classes.len() };
        self.pay(wanted)?;
        self.rules.extend_to(wanted);
        Ok(())
    }

    fn predict(&self, rows: &Block, out: &mut Vec<f64>) {
        out.clear();
        for i in 0..rows.rows() {
            let margins = self.rules.margins(rows.row(i));
            let side = if margins.len() > 1 { predict::class(&margins) } else { 0 };
            // A side that stands for many classes is right for any of them.
            let truth = rows.info(i).label as usize;
            out.push(if self.side(truth) == side { truth as f64 } else { -1.0 });
        }
    }

    fn take(&mut self, rows: &mut Block) {
        self.rows.clear();
        std::mem::swap(&mut self.rows, rows);
    }

    fn learn(&mut self) {
        // They are there again before anybody asks for them.
        let rows = std::mem::replace(&mut self.rows, Block::new(Layout::SPARSE_F32, 0));
        for i in 0..rows.rows() {
            let info = rows.info(i);
            let class = info.label as usize;
            let c = self.options.c * info.weight * self.weights[class];
            if c > 0.0 {
                let side = self.side(class);
                self.rules.learn_class(rows.row(i), side, c);
            }
        }
        self.rows = rows;
    }

    fn end(&mut self) {
        self.rows = Block::new(Layout::SPARSE_F32, 0);
    }

    fn weights(&mut self) -> LearntWeights {
        match self.rules.classes() {
            // Of two sides the second has the score.
            2 => {
                let (first, mut second) = (self.rules.written(0), self.rules.written(1));
                second.iter_mut().zip(first).for_each(|(w, other)| *w -= other);
                LearntWeights::each(vec![second])
            }
            many => LearntWeights::each((0..many).map(|m| self.rules.written(m)).collect()),
        }
    }

    fn begin_with(&mut self, _weights: Vec<Vec<f64>>) {}
}

/// Whether a rule can learn from a stream with this loss, from the beginning or from a model, and why not.
pub fn check(rule: Baseline, loss: AnyLoss, goes_on: bool) -> Result<(), String> {
    if matches!(rule, Baseline::Admm | Baseline::BcAdmm | Baseline::MirrorDescent | Baseline::BmPegasos) {
        return Err(
            "goes over its rows many times; use pegasos, sgd, perceptron, mira or cw, or pack the rows first".into()
        );
    }
    if goes_on {
        return Err("goes on from averages, which a model does not hold; leave `warm_start` out".into());
    }
    match rule {
        Baseline::Sgd => Ok(()),
        _ if matches!(loss, AnyLoss::Hinge(_)) => Ok(()),
        _ => Err(format!(
            "is for classes and the hinge loss, not for the {} loss; use sgd, or leave `method` out",
            loss.name()
        )),
    }
}
