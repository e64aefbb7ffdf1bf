//! The top-1 rule for many classes (SBM, section 5): the true class is promoted, the best of the wrong ones demoted, by
//! what the rule for two classes says of the difference of their margins. Over a store and over a stream.
use super::averaged::Averaged;
use super::confidence_weighted::Confident;
use super::{Baseline, Online};
use crate::block::Row;

/// The weights of one class.
enum Vector {
    Averaged(Averaged),
    Confident(Confident),
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

/// One weight vector for each class: the perceptron, MIRA or CW.
pub struct TopOne {
    rule: Baseline,
    columns: usize,
    bias: f64,
    vectors: Vec<Vector>,
    margins: Vec<f64>,
}

impl TopOne {
    /// So many classes, all weights 0.
    pub fn new(rule: Baseline, classes: usize, columns: usize, bias: f64) -> Self {
        let mut rules = TopOne { rule, columns, bias, vectors: Vec::new(), margins: Vec::new() };
        rules.extend_to(classes);
        rules
    }

    /// More classes have come.
    pub fn extend_to(&mut self, classes: usize) {
        let TopOne { rule, columns, bias, vectors, .. } = self;
        vectors.resize_with(classes.max(vectors.len()), || Vector::new(*rule, *columns, *bias));
    }

    /// More columns have come.
    pub fn grow(&mut self, columns: usize) {
        self.columns = columns;
        self.vectors.iter_mut().for_each(|vector| vector.grow(columns));
    }

    /// Classes.
    pub fn classes(&self) -> usize {
        self.vectors.len()
    }

    /// The margin of each class.
    pub fn margins(&self, row: Row) -> Vec<f64> {
        self.vectors.iter().map(|vector| vector.margin(row)).collect()
    }

    /// The weights of a class, the constant feature last.
    pub fn written(&self, class: usize) -> Vec<f64> {
        let mut w = vec![0.0; self.columns + 1];
        self.vectors[class].write(&mut w);
        w
    }

    /// Learns from a row of weight `c`.
    pub fn learn_class(&mut self, row: Row, truth: usize, c: f64) {
        let margins = &mut self.margins;
        margins.clear();
        margins.extend(self.vectors.iter().map(|vector| vector.margin(row)));
        let others = (0..margins.len()).filter(|&m| m != truth);
        let Some(rival) = others.max_by(|&a, &b| margins[a].total_cmp(&margins[b])) else { return };
        let lead = margins[truth] - margins[rival];
        let step = match self.rule {
            Baseline::Perceptron if lead <= 0.0 => c,
            Baseline::Perceptron => 0.0,
            Baseline::Mira => {
                let sq_norm = row.sq_norm() + self.bias * self.bias;
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
}

impl Online for TopOne {
    /// `class` is the number of the class.
    fn learn(&mut self, row: Row, class: f64, c: f64) {
        self.learn_class(row, class as usize, c);
    }

    /// Weights of all classes side by side for each column.
    fn write(&self, w: &mut [f64]) {
        let classes = self.vectors.len();
        for class in 0..classes {
            for (j, weight) in self.written(class).into_iter().enumerate() {
                w[j * classes + class] = weight;
            }
        }
    }
}
