//! The methods that papers compare with: a few passes, no certificate on the way.
//!
//! ```text
//! blocks in random order ─► rows of a block in random order ─► Online::learn ─► w, or the average of many w
//! ```
//! They run over the same store and the same read-ahead as [`crate::trainer`], inside the same budget. Each is a file
//! with one rule; `passes` has the only loop over rows. ADMM solves the problem of a block at a time, in a loop of its
//! own (`consensus`). None of them knows how good it is, so the end of a run is one scan that tells the objective at
//! the final w and a lower bound of the optimum (`bound`): the model then carries a true certificate, if a wide one.
mod averaged;
mod block_pegasos;
mod bound;
mod confidence_weighted;
mod consensus;
mod mira;
mod mirror_descent;
mod passes;
mod pegasos;
mod perceptron;
mod sgd;
mod shared_vectors;
mod top_one;

pub(crate) use averaged::Averaged;
use std::path::PathBuf;
pub(crate) use top_one::TopOne;

use std::sync::Arc;
use std::time::Duration;

use crate::block::{Block, Row};
use crate::budget::Budget;
pub use crate::engine::Baseline;
use crate::engine::{Ceiling, Observer, TrainError, Trained};
use crate::loss::{AnyLoss, Loss, LossVisitor};
use crate::objective::Objective;
use crate::penalty::AnyPenalty;
use crate::stop::Stop;
use crate::store::BlockStore;

impl Baseline {
    /// Dense vectors that it holds: its own, and the weights as the outside sees them.
    const fn vectors(self) -> u64 {
        match self {
            Baseline::Pegasos | Baseline::Perceptron | Baseline::Mira | Baseline::Sgd => 3,
            // Its θ, and the two of the certificate.
            Baseline::MirrorDescent => 3,
            Baseline::Cw => 4,
            // w and the sum of a block, and the two of the certificate.
            Baseline::BmPegasos => 4,
            Baseline::Admm | Baseline::BcAdmm => consensus::VECTORS,
        }
    }
}

/// How to run a baseline.
#[derive(Clone, Debug)]
pub struct BaselineOptions {
    method: Baseline,
    objective: Objective,
    /// Passes over the data.
    pub passes: u64,
    /// Stop after this time.
    pub max_time: Option<Duration>,
    /// Seed of all random choices.
    pub seed: u64,
    /// Where ADMM keeps the vectors of blocks, in a file without a name.
    pub folder: PathBuf,
    /// Set from outside to stop after the current block.
    pub stop: Stop,
}

/// A method cannot do what is asked of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// The method has another loss, or none.
    #[error("{} is for {can}, not for the {loss} loss; use `method(sgd)`, or leave `method` out", method.name())]
    Loss {
        /// The method.
        method: Baseline,
        /// What it can do.
        can: &'static str,
        /// What was asked.
        loss: &'static str,
    },
    /// Mirror descent has the l1 penalty built in.
    #[error(
        "mirror-descent knows the penalty l1 and no intercept only; use `penalty(l1)` and `bias`, or leave `method` out"
    )]
    NotL1,
    /// The methods have the penalty ½‖w‖² built in.
    #[error("{} knows the penalty l2 with `lambda(1)` and no intercept only; use `bias`, or leave `method` \
        out", method.name())]
    Penalty {
        /// The method.
        method: Baseline,
    },
    /// There is nothing to do.
    #[error("`max_passes` must be 1 or more for {}", method.name())]
    NoPass {
        /// The method.
        method: Baseline,
    },
}

impl BaselineOptions {
    /// `passes` passes of `method` with seed 0, if it can learn from `objective`.
    ///
    /// The perceptron, MIRA and CW have rules of their own, which lean on the hinge loss or on none; the objective is
    /// what their models are judged by.
    pub fn new(method: Baseline, objective: Objective, passes: u64) -> Result<Self, BaselineError> {
        let loss = objective.loss;
        let can = match method {
            Baseline::Sgd | Baseline::Admm | Baseline::BcAdmm | Baseline::MirrorDescent => None,
            _ if matches!(loss, AnyLoss::Hinge(_)) => None,
            Baseline::Pegasos | Baseline::BmPegasos => Some("the hinge loss"),
            Baseline::Perceptron | Baseline::Mira | Baseline::Cw => Some("two classes, by a rule of its own"),
        };
        if let Some(can) = can {
            return Err(BaselineError::Loss { method, can, loss: loss.name() });
        }
        match method {
            Baseline::Admm | Baseline::BcAdmm => {}
            Baseline::MirrorDescent if objective.intercept || !matches!(objective.penalty, AnyPenalty::L1(_)) => {
                return Err(BaselineError::NotL1);
            }
            Baseline::MirrorDescent => {}
            _ if objective.is_plain_l2() => {}
            _ => return Err(BaselineError::Penalty { method }),
        }
        if passes == 0 {
            return Err(BaselineError::NoPass { method });
        }
        let folder = std::env::temp_dir();
        Ok(BaselineOptions { method, objective, passes, max_time: None, seed: 0, folder, stop: Stop::default() })
    }

    /// What is minimised, or what the model is judged by.
    pub fn objective(&self) -> &Objective {
        &self.objective
    }

    /// The method.
    pub fn method(&self) -> Baseline {
        self.method
    }
}

/// Learns one row at a time.
pub(crate) trait Online {
    /// Sees the first rows before it learns from any, to choose a step size.
    fn look_at(&mut self, first: &Block, objective: &Objective) {
        let _ = (first, objective);
    }

    /// Learns from a row with target `y` and weight `c` above 0.
    fn learn(&mut self, row: Row, y: f64, c: f64);

    /// All rows of a block have been seen.
    fn end_block(&mut self) {}

    /// The weights as they would be used now, the bias last.
    fn write(&self, w: &mut [f64]);
}

/// A rule that minimises ½λ‖w‖² plus the mean loss, for rows without an end: λ follows their number.
pub(crate) trait Descent: Online + Send {
    /// λ from the next row on.
    fn set_lambda(&mut self, lambda: f64);

    /// w and its average, to grow or to turn them.
    fn weights(&mut self) -> &mut Averaged;

    /// The margin of a row.
    fn margin(&self, row: Row) -> f64;

    /// Another one in the same state.
    fn copy(&self) -> Box<dyn Descent>;
}

/// The rule of this name for a stream, if it is one of these.
pub(crate) fn descent<L: Loss>(
    method: Baseline,
    loss: L,
    columns: usize,
    bias: f64,
    c: f64,
) -> Option<Box<dyn Descent>> {
    match method {
        Baseline::Pegasos => Some(Box::new(pegasos::Pegasos::for_stream(columns, bias, c))),
        Baseline::Sgd => Some(Box::new(sgd::Sgd::for_stream(loss, columns, bias, c))),
        _ => None,
    }
}

/// Trains on `store` within `budget`.
pub fn train(
    store: Arc<dyn BlockStore>,
    options: &BaselineOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Trained, TrainError> {
    options.objective.loss.visit(WithLoss { store, options, budget, observer })
}

/// Names become types here, once a run.
struct WithLoss<'a> {
    store: Arc<dyn BlockStore>,
    options: &'a BaselineOptions,
    budget: &'a Budget,
    observer: &'a mut dyn Observer,
}

impl LossVisitor for WithLoss<'_> {
    type Out = Result<Trained, TrainError>;

    fn visit<L: Loss>(self, loss: L) -> Self::Out {
        let WithLoss { store, options, budget, observer } = self;
        let shape = store.shape();
        let columns = shape.columns as usize;
        let Objective { c, bias, .. } = options.objective;
        let visits = shape.rows.saturating_mul(options.passes);
        // F(w)/(nC) = ½λ‖w‖² + mean of the losses: what the stochastic methods minimise.
        let lambda = 1.0 / (shape.rows.max(1) as f64 * c);
        if matches!(options.method, Baseline::Admm | Baseline::BcAdmm) {
            return consensus::Consensus::new(store, options, budget, observer, loss)?.run();
        }
        let run = passes::Passes { store, options, budget, observer, loss };
        match options.method {
            rule if options.objective.width() > 1 => {
                run.run(|| TopOne::new(rule, options.objective.width(), columns, bias))
            }
            Baseline::Admm | Baseline::BcAdmm => unreachable!("they have a loop of their own"),
            Baseline::MirrorDescent => {
                let lambda = lambda * options.objective.penalty.lambda();
                run.run(|| mirror_descent::MirrorDescent::new(loss, columns, bias, lambda, c))
            }
            Baseline::Pegasos => {
                let ceiling = Ceiling::of(&options.objective);
                run.run(|| pegasos::Pegasos::new(loss, columns, bias, lambda, c, visits).below(&ceiling))
            }
            Baseline::BmPegasos => run.run(|| block_pegasos::BlockPegasos::new(columns, bias, lambda, c)),
            Baseline::Perceptron => run.run(|| perceptron::Perceptron::new(columns, bias)),
            Baseline::Mira => run.run(|| mira::Mira::new(columns, bias)),
            Baseline::Cw => run.run(|| confidence_weighted::ConfidenceWeighted::new(columns, bias)),
            Baseline::Sgd => run.run(|| sgd::Sgd::new(loss, columns, bias, lambda, c, visits)),
        }
    }
}
