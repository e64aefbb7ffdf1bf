//! The rules that papers compare with, on a stream: one row at a time, one weight vector per class.
//!
//! The top-1 rule for many classes (SBM, section 5): the true class is promoted, the best of the wrong ones demoted, by
//! what the rule for two classes says of the difference of their margins. Models are averages, as over a store.
use super::learner::{LearntWeights, StreamLearner};
use super::{StreamClasses, StreamOptions};
use crate::baselines::{Averaged, Baseline, Confident};
use crate::block::{Block, Layout, Row};
use crate::budget::{Budget, BudgetError, Reservation};
use crate::loss::AnyLoss;
use crate::predict;

/// The weights of one class.
enum Vector {
    Averaged(Averaged),
    Confident(Confident),
}

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
    vectors: Vec<Vector>,
    paid: Reservation,
    margins: Vec<f64>,
}

impl Vector {
    fn new(rule: Baseline, columns: usize, bias: f64) -> Self {
        match rule {
            Baseline::Cw => Vector::Confident(Confident::new(columns, bias)),
            _ => Vector::Averaged(Averaged::new(columns, bias, 0)),
        }
    }

    fn margin(&self, row: Row) -> f64 {
        match self {
            Vector::Averaged(w) => w.dot(row),
            Vector::Confident(w) => w.margin(row),
        }
    }

    fn grow(&mut self, columns: usize) {
        match self {
            Vector::Averaged(w) => w.grow(columns),
            Vector::Confident(w) => w.grow(columns),
        }
    }

    fn end_step(&mut self) {
        match self {
            Vector::Averaged(w) => w.end_step(),
            Vector::Confident(w) => w.end_step(),
        }
    }

    fn write(&self, into: &mut [f64]) {
        match self {
            Vector::Averaged(w) => w.write(into),
            Vector::Confident(w) => w.write(into),
        }
    }
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
            vectors: Vec::new(),
            paid: budget.reserve("weights", 0)?,
            margins: Vec::new(),
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

    fn learn_row(&mut self, row: Row, truth: usize, c: f64) {
        let margins = &mut self.margins;
        margins.clear();
        margins.extend(self.vectors.iter().map(|vector| vector.margin(row)));
        let others = (0..margins.len()).filter(|&m| m != truth);
        let Some(rival) = others.max_by(|&a, &b| margins[a].total_cmp(&margins[b])) else { return };
        let lead = margins[truth] - margins[rival];
        let step = match self.rule {
            Baseline::Perceptron => {
                if lead <= 0.0 {
                    c
                } else {
                    0.0
                }
            }
            Baseline::Mira => {
                let sq_norm = row.sq_norm() + self.options.bias * self.options.bias;
                // Both vectors move, so that the lead grows twice as fast.
                if lead < 1.0 && sq_norm > 0.0 { ((1.0 - lead) / (2.0 * sq_norm)).min(c) } else { 0.0 }
            }
            _ => {
                let spread = [truth, rival].map(|m| match &self.vectors[m] {
                    Vector::Confident(w) => w.spread(row),
                    Vector::Averaged(_) => 0.0,
                });
                Confident::step(lead, spread[0] + spread[1])
            }
        };
        if step > 0.0 {
            for (m, sign) in [(truth, 1.0), (rival, -1.0)] {
                match &mut self.vectors[m] {
                    Vector::Averaged(w) => w.add(row, sign * step),
                    Vector::Confident(w) => w.shift(row, sign * step),
                }
            }
        }
        self.vectors.iter_mut().for_each(Vector::end_step);
    }

    fn written(&self, m: usize) -> Vec<f64> {
        let mut w = vec![0.0; self.columns + 1];
        self.vectors[m].write(&mut w);
        w
    }
}

impl StreamLearner for TopOne {
    fn grow(&mut self, columns: usize) -> Result<(), BudgetError> {
        if columns > self.columns {
            self.columns = columns;
            self.pay(self.vectors.len())?;
            self.vectors.iter_mut().for_each(|vector| vector.grow(columns));
        }
        Ok(())
    }

    fn know(&mut self, classes: &StreamClasses) -> Result<(), BudgetError> {
        self.classes = classes.clone();
        self.weights = classes.as_targets(&self.options.class_weights).weights.clone();
        let wanted = if self.options.positive.is_some() { 2 } else { classes.len() };
        self.pay(wanted)?;
        while self.vectors.len() < wanted {
            self.vectors.push(Vector::new(self.rule, self.columns, self.options.bias));
        }
        Ok(())
    }

    fn predict(&self, rows: &Block, out: &mut Vec<f64>) {
        out.clear();
        for i in 0..rows.rows() {
            let margins: Vec<f64> = self.vectors.iter().map(|vector| vector.margin(rows.row(i))).collect();
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
                self.learn_row(rows.row(i), self.side(class), c);
            }
        }
        self.rows = rows;
    }

    fn end(&mut self) {
        self.rows = Block::new(Layout::SPARSE_F32, 0);
    }

    fn weights(&mut self) -> LearntWeights {
        match self.vectors.len() {
            // Of two sides the second has the score.
            2 => {
                let (first, mut second) = (self.written(0), self.written(1));
                second.iter_mut().zip(first).for_each(|(w, other)| *w -= other);
                LearntWeights::each(vec![second])
            }
            many => LearntWeights::each((0..many).map(|m| self.written(m)).collect()),
        }
    }

    fn begin_with(&mut self, _weights: Vec<Vec<f64>>) {}
}

/// Whether a rule can learn from a stream with this loss, from the beginning or from a model, and why not.
pub fn check(rule: Baseline, loss: AnyLoss, goes_on: bool) -> Result<(), String> {
    if matches!(rule, Baseline::Admm | Baseline::BcAdmm | Baseline::MirrorDescent) {
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
