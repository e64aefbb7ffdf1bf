//! The one loop of all baselines.
use std::sync::Arc;
use std::time::Instant;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::bound::SlopeScan;
use super::{BaselineOptions, Online};
use crate::base::random::shuffle;
use crate::budget::Budget;
use crate::engine::{
    Certificate, Cost, Duals, Observer, READ_AHEAD, Solver, Status, Step, TrainError, Trained, Watch, WeightsNow,
};
use crate::loss::Loss;
use crate::order::{Order, Permutation};
use crate::store::{BlockId, BlockStore, ReadAhead};

/// A run of a baseline.
pub struct Passes<'a, L> {
    pub store: Arc<dyn BlockStore>,
    pub options: &'a BaselineOptions,
    pub budget: &'a Budget,
    pub observer: &'a mut dyn Observer,
    pub loss: L,
}

impl<L: Loss> Passes<'_, L> {
    /// Lets the rule that `make` makes see every row once a pass.
    pub fn run<R: Online>(self, make: impl FnOnce() -> R) -> Result<Trained, TrainError> {
        let (begin, watch) = (Instant::now(), Watch::new(&self.options.stop, self.options.max_time));
        let blocks = self.store.blocks();
        let length = self.store.shape().columns as usize + 1;
        let most_rows = blocks.iter().map(|block| u64::from(block.rows)).max().unwrap_or(0);
        let ids = 4 * (most_rows + blocks.len() as u64);
        let bytes = self.options.method.vectors() * 8 * length as u64 + ids;
        self.budget.check("weights and blocks", bytes + ReadAhead::needed_bytes(&*self.store, READ_AHEAD))?;
        let mut reader = ReadAhead::new(self.store.clone(), READ_AHEAD, self.budget)?;
        let _paid = self.budget.reserve("weights", bytes)?;

        let objective = &self.options.objective;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.options.seed);
        let mut rows = Permutation::default();
        let mut order: Vec<BlockId> = (0..blocks.len() as u32).map(BlockId).collect();
        let mut cost = Cost::default();
        let mut w = vec![0.0; length];
        let mut rule = make();
        let mut fresh = true;
        let status = loop {
            shuffle(&mut order, &mut random);
            order.iter().for_each(|&id| reader.request(id));
            let mut stop = None;
            while stop.is_none() {
                let waiting = Instant::now();
                let Some(block) = reader.take()? else { break };
                cost.read_seconds += waiting.elapsed().as_secs_f64();
                cost.bytes_read += blocks[block.id().0 as usize].stored_bytes;
                let solving = Instant::now();
                if std::mem::take(&mut fresh) {
                    rule.look_at(&block, objective);
                }
                rows.begin_sweep(block.rows(), &mut random);
                while let Some(i) = rows.next() {
                    let (y, c) = objective.row(&block.info(i));
                    if c > 0.0 {
                        rule.learn(block.row(i), y, c);
                        cost.visits += 1;
                    }
                }
                cost.solve_seconds += solving.elapsed().as_secs_f64();
                stop = watch.look();
            }
            reader.forget()?;
            cost.passes += 1;
            cost.sweeps += 1;
            cost.seconds = begin.elapsed().as_secs_f64();
            rule.write(&mut w);
            if w.iter().any(|w| !w.is_finite()) {
                return Err(TrainError::Diverged { method: self.options.method.name() });
            }
            self.observer.step(
                &Step { cost, dual_objective: None, objective: None, gap_estimate: None, certificate: None },
                &WeightsNow { models: &[&w] },
            );
            if cost.visits == 0 {
                return Err(TrainError::NoWeight);
            }
            if let Some(status) = stop {
                break status;
            }
            if cost.passes >= self.options.passes {
                break Status::OutOfPasses;
            }
        };
        // Its vectors make room for the two that the certificate needs.
        drop(rule);
        let certifying = Instant::now();
        let certificate = self.certify(&mut reader, &w, &mut cost)?;
        cost.certify_seconds = certifying.elapsed().as_secs_f64();
        cost.seconds = begin.elapsed().as_secs_f64();
        let objective = Some(certificate.objective);
        self.observer.step(
            &Step { cost, dual_objective: None, objective, gap_estimate: None, certificate: Some(certificate) },
            &WeightsNow { models: &[&w] },
        );
        let baseline = Some(self.options.method);
        let (duals, sums) = (Duals::in_memory(0), Vec::new());
        Ok(Trained { weights: w, duals, sums, status, certificate, cost, solver: Solver::Dual, baseline })
    }

    fn certify(&self, reader: &mut ReadAhead, w: &[f64], cost: &mut Cost) -> Result<Certificate, TrainError> {
        let objective = &self.options.objective;
        let blocks = self.store.blocks();
        let mut v = [vec![0.0; w.len()], vec![0.0; w.len()]];
        let [below, above] = &mut v;
        let mut scan = SlopeScan::new(objective, w, [below, above]);
        (0..blocks.len() as u32).for_each(|id| reader.request(BlockId(id)));
        while let Some(block) = reader.take()? {
            cost.bytes_read += blocks[block.id().0 as usize].stored_bytes;
            for i in 0..block.rows() {
                let (y, c) = objective.row(&block.info(i));
                if c > 0.0 {
                    scan.add(self.loss, block.row(i), y, c);
                }
            }
        }
        cost.passes += 1;
        Ok(scan.finish())
    }
}
