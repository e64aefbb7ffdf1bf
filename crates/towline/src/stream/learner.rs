//! Models that learn block after block and forget the rows that they drop.
use rayon::prelude::*;

use super::online::TopOne;
use super::{StreamClasses, StreamOptions};
use crate::block::{Block, Layout};
use crate::budget::{Budget, BudgetError, Reservation};
use crate::loss::{Loss, LossVisitor};
use crate::objective::{Objective, Targets};
use crate::predict;
use crate::residents::Residents;
use crate::store::Shape;
use crate::trainer::{Identity, OwnRows, Problem, ProblemRows, Single, choose, renumber};

/// Sweeps per block, at most, where no number was given. Rows do not come back, so that a block is solved better than one of a store: on a9a with
/// C = 1, three sweeps leave 62 to 80 % of the test rows right, thirty 84.9 % as the exact model.
const MOST_ROUNDS: u32 = 30;
/// Another sweep pays if this one gained more than this part of the first one of the step.
const ROUND_PAYS: f64 = 0.05;

/// What a stream asks of its models.
pub trait StreamLearner: Send {
    /// Weights for so many columns.
    fn grow(&mut self, columns: usize) -> Result<(), BudgetError>;

    /// The classes that are known by now.
    fn know(&mut self, classes: &StreamClasses) -> Result<(), BudgetError>;

    /// The class that each row would be given, or its score where numbers are predicted.
    fn predict(&self, rows: &Block, out: &mut Vec<f64>);

    /// Learns from new rows and those that stayed; then chooses which stay now.
    fn learn(&mut self, rows: &Block);

    /// The weights of each model by column, the constant feature last. Of two classes the second has the only one.
    fn weights(&self) -> Vec<Vec<f64>>;

    /// Takes over weights, one vector per model, the constant feature last.
    fn begin_with(&mut self, weights: Vec<Vec<f64>>);
}

/// Room for rows: those that stay, and the new ones.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Rows and values that may stay.
    pub cache: (u64, u64),
    /// All that fit.
    pub all: (u64, u64),
}

/// A learner for the rule or the loss that the options name.
pub fn make(options: &StreamOptions, room: Room, budget: &Budget) -> Result<Box<dyn StreamLearner>, BudgetError> {
    struct Make<'a>(&'a StreamOptions, Room, &'a Budget);
    impl LossVisitor for Make<'_> {
        type Out = Result<Box<dyn StreamLearner>, BudgetError>;

        fn visit<L: Loss>(self, loss: L) -> Self::Out {
            let Make(options, room, budget) = self;
            Ok(Box::new(Models {
                loss,
                options: options.clone(),
                room,
                columns: 0,
                classes: StreamClasses::default(),
                residents: Residents::with_capacity(
                    Shape { rows: 0, values: 0, columns: 0, layout: Layout::SPARSE_F32 },
                    room.all.0 as usize,
                    room.all.1 as usize,
                ),
                models: Vec::new(),
                weights: budget.reserve("weights", 0)?,
                threads: rayon::ThreadPoolBuilder::new().num_threads(options.threads).build().ok(),
            }))
        }
    }
    match options.rule {
        Some(rule) => Ok(Box::new(TopOne::new(rule, options, budget)?)),
        None => options.loss.visit(Make(options, room, budget)),
    }
}

struct Models<L: Loss> {
    loss: L,
    options: StreamOptions,
    room: Room,
    columns: usize,
    classes: StreamClasses,
    residents: Residents,
    models: Vec<ProblemRows<Single<L, Identity>>>,
    /// Pays for the weights of all models.
    weights: Reservation,
    /// Among which models are shared out; without any, they take turns.
    threads: Option<rayon::ThreadPool>,
}

impl<L: Loss> Models<L> {
    fn targets(&self, model: usize) -> Targets {
        if !self.options.loss.is_classification() {
            return Targets::Numbers;
        }
        let classes = self.classes.as_targets(&self.options.class_weights);
        let class = match &self.options.positive {
            Some(name) => classes.named(name).unwrap_or(usize::MAX),
            // The one score of two classes speaks for the second.
            None if self.classes.len() <= 2 => 1,
            None => model,
        };
        Targets::OneOf { class: class as u32, classes }
    }

    fn wanted_models(&self) -> usize {
        let single = !self.options.loss.is_classification() || self.options.positive.is_some();
        if single || self.classes.len() <= 2 { 1 } else { self.classes.len() }
    }

    fn pay(&mut self) -> Result<(), BudgetError> {
        // Weights grow into a new place while the old one is there.
        let vectors = self.wanted_models() as u64 + 1;
        self.weights.resize(vectors * 8 * (self.columns as u64 + 1))
    }

    fn new_model(&self, model: usize) -> ProblemRows<Single<L, Identity>> {
        let StreamOptions { loss, c, bias, order, seed, .. } = self.options;
        let objective = Objective { bias, ..Objective::new(loss, c, self.targets(model)) };
        let link = Identity::for_stream(self.columns, bias);
        ProblemRows::new(Box::new(Single::new(self.loss, link, objective)), order, seed)
    }
}

impl<L: Loss> StreamLearner for Models<L> {
    fn grow(&mut self, columns: usize) -> Result<(), BudgetError> {
        if columns > self.columns {
            self.columns = columns;
            self.pay()?;
            self.residents.block.widen(columns);
            self.models.iter_mut().for_each(|model| model.problem.link_mut().grow(columns));
        }
        Ok(())
    }

    fn know(&mut self, classes: &StreamClasses) -> Result<(), BudgetError> {
        if self.classes.len() == classes.len() && !self.models.is_empty() {
            return Ok(());
        }
        self.classes = classes.clone();
        self.pay()?;
        let wanted = self.wanted_models();
        if self.models.len() == 1 && wanted > 1 {
            // What told the second class from the first tells, the other way round, the first from the second.
            let mut first = self.new_model(0);
            first.problem.link_mut().begin_with(self.models[0].problem.weights().iter().map(|w| -w).collect());
            first.problem.set_rows(self.models[0].problem.turned_rows());
            first.numbers = self.models[0].numbers.clone();
            first.order.resize(first.numbers.len());
            self.models.insert(0, first);
        }
        for model in self.models.len()..wanted {
            let mut new = self.new_model(model);
            // Rows that have stayed are of other classes.
            for number in 0..self.residents.rows() {
                let info = self.residents.block.info(number);
                if new.problem.wants(&info) {
                    new.push(&self.residents, number as u32, &info, &[0.0]);
                }
            }
            self.models.push(new);
        }
        for model in 0..self.models.len() {
            let targets = self.targets(model);
            self.models[model].problem.set_targets(targets);
        }
        Ok(())
    }

    fn predict(&self, rows: &Block, out: &mut Vec<f64>) {
        out.clear();
        let mut scores = vec![0.0; self.models.len()];
        for i in 0..rows.rows() {
            for (score, model) in scores.iter_mut().zip(&self.models) {
                *score = model.problem.margin(rows.row(i));
            }
            out.push(match self.options.loss.is_classification() {
                true if scores.is_empty() => 0.0,
                true => predict::class(&scores) as f64,
                false => scores.first().copied().unwrap_or(0.0),
            });
        }
    }

    fn learn(&mut self, rows: &Block) {
        for i in 0..rows.rows() {
            let number = self.residents.rows() as u32;
            let info = rows.info(i);
            self.residents.push(rows, i, info.id);
            for model in self.models.iter_mut().filter(|model| model.problem.wants(&info)) {
                model.push(&self.residents, number, &info, &[0.0]);
            }
        }
        let (residents, options) = (&self.residents, &self.options);
        let solve = |model: &mut ProblemRows<Single<L, Identity>>| {
            model.begin_step();
            let mut first_gain: Option<f64> = None;
            for _ in 0..options.rounds.unwrap_or(MOST_ROUNDS) {
                let gain = model.sweep(residents).gain;
                let pays = gain > ROUND_PAYS * *first_gain.get_or_insert(gain);
                if options.rounds.is_none() && !pays {
                    break;
                }
            }
            model.score(residents, options.selection);
        };
        match (&mut self.models[..], &self.threads) {
            (many @ [_, _, ..], Some(threads)) => threads.install(|| many.par_iter_mut().for_each(solve)),
            (models, _) => models.iter_mut().for_each(solve),
        }
        let mut best = vec![u32::MAX; self.residents.rows()];
        self.models.iter().for_each(|model| model.rank(&mut best));
        let keep = choose(&self.residents, &best, self.room.cache);
        let numbers = renumber(&keep);
        self.residents.retain(&keep);
        self.models.iter_mut().for_each(|model| model.retain(&keep, &numbers));
    }

    fn weights(&self) -> Vec<Vec<f64>> {
        self.models.iter().map(|model| model.problem.weights().to_vec()).collect()
    }

    fn begin_with(&mut self, weights: Vec<Vec<f64>>) {
        for (model, weights) in self.models.iter_mut().zip(weights) {
            model.problem.link_mut().begin_with(weights);
        }
    }
}
