//! A model that is solved for few of its features, all rows being in memory.
use std::sync::Arc;

use super::Learner;
use crate::columns;
use crate::engine::certificate::proximal::balance;
use crate::engine::duals::{Duals, Left, Start};
use crate::engine::{Cost, Task, TrainError, Trained};
use crate::methods::dual_cd::feature_screening::Pulls;
use crate::penalty::AnyPenalty;

impl Learner<'_> {
    /// Whether most of its weights may stay 0, and can be left out.
    pub fn may_leave_features_out(&self) -> bool {
        let is_sparse = matches!(self.task.objective.penalty, AnyPenalty::L1(_) | AnyPenalty::ElasticNet(_));
        is_sparse && columns::can_train(&self.task.objective).is_ok() && self.rows.problem.can_resume()
    }

    /// Whether its weights and Σ βx are known: it has been certified, or begins at what another model has left.
    pub fn knows_sums(&self) -> bool {
        self.certificate.is_some() || matches!(self.task.start, Some(Start::Left(..)))
    }

    /// Says how hard it pulls at each feature. Those with weights that are not 0 are held.
    pub fn pull(&self, pulls: &mut Pulls, columns: usize) {
        let problem = &self.rows.problem;
        // With η = 1 the threshold is what |v_j| has to reach.
        let Some(held_by) = self.task.objective.penalty.soft_threshold(1.0) else { return };
        for (j, w) in problem.weights()[..columns].iter().enumerate() {
            match *w != 0.0 {
                true => pulls.hold(j),
                false => pulls.raise(j, problem.sum_of(j).abs() / held_by.threshold),
            }
        }
    }

    /// The same task for these columns only, from where it stands.
    pub fn with_columns(&self, columns: &[u32]) -> Result<Task, TrainError> {
        let problem = &self.rows.problem;
        let last = problem.weights().len() - 1;
        let columns = || columns.iter().map(|&j| j as usize).chain([last]);
        let mut duals = Vec::new();
        self.duals.read(0, self.duals.rows() as usize, &mut duals)?;
        let left = Left {
            weights: columns().map(|j| problem.weights()[j]).collect(),
            sums: columns().map(|j| problem.sum_of(j)).collect(),
            duals: Duals::Memory(duals),
        };
        Ok(Task {
            rows: self.task.rows.clone(),
            start: Some(Start::Left(Arc::new(left), 1.0)),
            ..Task::new(self.task.objective.clone())
        })
    }

    /// Gives the memory of its weights away, until [`take_columns`](Self::take_columns).
    pub fn release(&mut self) {
        self.rows.problem.release();
    }

    /// What has come of `task`, one of few columns, if anything has. Goes on from there if it is better than before:
    /// the objective of few features is that of all, the others being 0. A scan follows, for the certificate and Σ βx
    /// of all features.
    pub fn take_columns(&mut self, columns: &[u32], task: &Task, found: Option<Trained>) -> Result<(), TrainError> {
        self.passes += 1;
        let before = self.certificate.map_or(f64::INFINITY, |certificate| certificate.objective);
        match found {
            Some(mut found) if found.certificate.objective < before => {
                let Cost { sweeps, visits, solve_seconds, certify_seconds, .. } = found.cost;
                self.cost = self.cost.with(&Cost { sweeps, visits, solve_seconds, certify_seconds, ..Cost::default() });
                if self.task.objective.intercept {
                    // Only Σβ = 0 has a dual objective, and the sums that would balance them are not known before the
                    // scan.
                    let multiples = balance(found.duals.sums()?.0);
                    found.duals.multiply(multiples)?;
                }
                self.rows.problem.resume_at(columns, &found.weights, &found.sums);
                self.duals.begin_with(&found.take_duals())?;
            }
            _ => {
                if let Some(Start::Left(left, _)) = &task.start {
                    self.rows.problem.resume_at(columns, &left.weights, &left.sums);
                }
            }
        }
        self.begin_scan()
    }
}
