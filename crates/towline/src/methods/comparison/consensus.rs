//! Consensus ADMM over blocks, and its variant that updates after every block: what DA-BCD compares with (Yen et al.
//! 2015, section 5; Boyd et al. 2011, section 7.1).
//!
//! ```text
//! minimise R(w) + Σ_k f_k(w_k) with w_k = w; f_k are the losses of block k, y_k = ρu_k the dual variables of w_k = w
//! w_k ← argmin f_k(v) + ρ/2 ‖v - w + y_k/ρ‖²         w ← prox_{R/(Kρ)}(mean(w_k + y_k/ρ))         y_k ← y_k + ρ(w_k - w)
//! ```
//! ADMM visits all blocks before it moves w; BC-ADMM moves w and y_k after each block, with running sums over the
//! others. w_k and y_k are in a file and come and go with their block. The problem of a block has the penalty ½‖·‖²
//! around another centre than 0, so the same dual coordinate descent solves it, from the dual variables of the last
//! visit.
//!
//! The papers leave ρ open. It begins at half the mean curvature of a row, which is 1/η of DA-BCD, and follows the
//! residuals for some passes (Boyd, 3.4.1; both in units of w, so that the rule does not depend on how losses are
//! scaled).
use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::bound::certify;
use super::shared_vectors::SharedVectors;
use super::{Baseline, BaselineOptions};
use crate::base::random::shuffle;
use crate::block::Row;
use crate::budget::{Budget, Reservation};
use crate::engine::{Duals, Observer, Pass, Plan, Session, Standing, Status, TrainError, Trained, Until, Watch};
use crate::loss::Loss;
use crate::order::{Order, Permutation};
use crate::penalty::Penalty;
use crate::residents::{Residents, View};
use crate::solver::{self, RowState, Weights, add_with_bias, margin_with_bias};
use crate::store::{BlockId, BlockStore};

/// w, w_k, y_k, the sums of both over all blocks, and scratch.
pub const VECTORS: u64 = 6;
/// Sweeps over a block, at most; another one follows while it gains more than [`PAYS`] of the first.
const MOST_SWEEPS: u32 = 10;
const PAYS: f64 = 0.01;
/// ρ changes in the first passes only: that is what convergence asks for.
const ADAPTING_PASSES: u64 = 30;
/// ρ is doubled or halved when one residual is this many times the other.
const IMBALANCE: f64 = 10.0;
/// Stands in for sup L'' where a loss has kinks, as in the proximal point method.
const CURVATURE_OF_A_KINK: f64 = 0.5;

/// `v = centre + Σ βx/ρ`.
struct Local {
    v: Vec<f64>,
    rho: f64,
    bias: f64,
}

impl Weights for Local {
    #[inline(always)]
    fn margin(&self, row: Row) -> f64 {
        margin_with_bias(row, &self.v, self.bias)
    }

    #[inline(always)]
    fn add(&mut self, row: Row, delta: f64) {
        add_with_bias(row, &mut self.v, self.bias, delta / self.rho);
    }

    #[inline(always)]
    fn curvature(&self, sq_norm: f64) -> f64 {
        sq_norm / self.rho
    }
}

/// A run of ADMM.
pub struct Consensus<'a, L> {
    loss: L,
    options: &'a BaselineOptions,
    session: Session<'a>,
    pass: Pass,
    /// Blocks of the store that are one block here, since they fit into memory together.
    groups: Vec<Vec<BlockId>>,
    residents: Residents,
    states: Vec<RowState>,
    duals: Duals,
    local: Local,
    w: Vec<f64>,
    /// ρ when w was moved last.
    moved_rho: f64,
    y: Vec<f64>,
    sums: [Vec<f64>; 2],
    scratch: Vec<f64>,
    /// w_k and y_k of all blocks.
    vectors: SharedVectors,
    order: Permutation,
    random: Xoshiro256PlusPlus,
    /// Σ‖w_k - w‖² and K‖w - w_before‖² of this pass.
    residuals: [f64; 2],
    _paid: [Reservation; 4],
}

impl<'a, L: Loss> Consensus<'a, L> {
    /// Lays out blocks within the budget.
    pub fn new(
        store: Arc<dyn BlockStore>,
        options: &'a BaselineOptions,
        budget: &Budget,
        observer: &'a mut dyn Observer,
        loss: L,
    ) -> Result<Self, TrainError> {
        let shape = store.shape();
        let length = shape.columns as usize + 1;
        let plan = Plan::for_vectors(&*store, VECTORS, budget)?;
        let paid = plan.reserve(budget)?;
        let duals = match plan.duals_on_disk {
            true => Duals::on_disk(shape.rows, &options.folder)?,
            false => Duals::in_memory(shape.rows),
        };
        let watch = Watch::new(&options.stop, options.max_time);
        let groups = groups(&*store, &plan);
        let zeros = || vec![0.0; length];
        Ok(Consensus {
            loss,
            options,
            session: Session::new(watch, options.passes, observer),
            pass: Pass::over(store.clone(), budget)?,
            residents: Residents::with_capacity(shape, plan.resident_rows as usize, plan.resident_values as usize),
            states: Vec::new(),
            duals,
            local: Local { v: zeros(), rho: 0.0, bias: options.objective.bias },
            w: zeros(),
            moved_rho: 0.0,
            y: zeros(),
            sums: [zeros(), zeros()],
            scratch: zeros(),
            vectors: SharedVectors::new(&options.folder, 2 * groups.len(), length)?,
            order: Permutation::default(),
            random: Xoshiro256PlusPlus::seed_from_u64(options.seed),
            residuals: [0.0; 2],
            groups,
            _paid: paid,
        })
    }

    /// Makes all passes.
    pub fn run(mut self) -> Result<Trained, TrainError> {
        let at_once = self.options.method == Baseline::BcAdmm;
        let status = loop {
            let stop = self.visit_all(at_once)?;
            // w of a pass that was broken off is that of the pass before.
            if !at_once && stop.is_none() {
                self.move_shared();
            }
            self.session.cost.passes += 1;
            if self.session.cost.visits == 0 {
                return Err(TrainError::NoWeight);
            }
            self.session.tell(Standing::default(), &[&self.w]);
            if let Some(status) = stop.or_else(|| self.session.out_of_passes()) {
                break status;
            }
            self.adapt();
        };
        self.finish(status)
    }

    /// Visits all blocks; says why the run has to end, if it has to.
    fn visit_all(&mut self, at_once: bool) -> Result<Option<Status>, TrainError> {
        let mut order: Vec<usize> = (0..self.groups.len()).collect();
        shuffle(&mut order, &mut self.random);
        self.pass.ask_for(order.iter().flat_map(|&k| self.groups[k].iter().copied()));
        self.residuals = [0.0; 2];
        if !at_once {
            self.sums.iter_mut().for_each(|sum| sum.fill(0.0));
        }
        for &k in &order {
            if at_once {
                self.visit_at_once(k)?
            } else {
                self.visit(k)?
            }
            if let Some(status) = self.session.watch().look() {
                self.pass.break_off()?;
                return Ok(Some(status));
            }
        }
        Ok(None)
    }

    /// ADMM: y_k follows the w of the last pass only now, so that its vectors are moved once a visit; with the ρ that w
    /// was moved with, so that the y_k add up to a subgradient of R at w.
    fn visit(&mut self, k: usize) -> Result<(), TrainError> {
        self.take(k)?;
        if self.session.cost.passes > 0 {
            for ((y, v), w) in self.y.iter_mut().zip(&self.local.v).zip(&self.w) {
                *y += self.moved_rho * (v - w);
                self.residuals[0] += (v - w) * (v - w);
            }
        }
        self.solve(k)?;
        add(&mut self.sums, 1.0, [&self.local.v, &self.y]);
        self.write(k)
    }

    /// BC-ADMM.
    fn visit_at_once(&mut self, k: usize) -> Result<(), TrainError> {
        self.take(k)?;
        add(&mut self.sums, -1.0, [&self.local.v, &self.y]);
        self.solve(k)?;
        add(&mut self.sums, 1.0, [&self.local.v, &self.y]);
        self.move_shared();
        let rho = self.local.rho;
        for (((y, v), w), sum) in self.y.iter_mut().zip(&self.local.v).zip(&self.w).zip(&mut self.sums[1]) {
            *y += rho * (v - w);
            *sum += rho * (v - w);
            self.residuals[0] += (v - w) * (v - w);
        }
        self.write(k)
    }

    /// Brings w_k, y_k and the rows of block k into memory.
    fn take(&mut self, k: usize) -> Result<(), TrainError> {
        self.session.cost.bytes_read += self.vectors.read(2 * k, &mut self.local.v)?;
        self.session.cost.bytes_read += self.vectors.read(2 * k + 1, &mut self.y)?;
        self.residents.retain(&vec![false; self.residents.rows()]);
        self.states.clear();
        let objective = &self.options.objective;
        let mut block_duals = Vec::new();
        for _ in 0..self.groups[k].len() {
            let Some((block, first)) = self.pass.next(&mut self.session.cost)? else { break };
            self.duals.read(first, block.rows(), &mut block_duals)?;
            for (i, &beta) in block_duals.iter().enumerate() {
                let (y, c) = objective.row(&block.info(i));
                if c > 0.0 {
                    self.residents.push(&block, i, first + i as u64);
                    let sq_norm = block.row(i).sq_norm() + objective.bias * objective.bias;
                    self.states.push(RowState { y, c, sq_norm, beta });
                }
            }
        }
        if self.local.rho == 0.0 && !self.states.is_empty() {
            let curvature = Some(self.loss.curvature()).filter(|c| c.is_finite()).unwrap_or(CURVATURE_OF_A_KINK);
            let norms: f64 = self.states.iter().map(|state| state.c * state.sq_norm).sum();
            let rho = 0.5 * curvature * norms / self.states.len() as f64;
            self.local.rho = if rho > 0.0 { rho } else { 1.0 };
        }
        Ok(())
    }

    /// w_k ← argmin f_k(v) + ρ/2 ‖v - w + y_k/ρ‖².
    fn solve(&mut self, k: usize) -> Result<(), TrainError> {
        if self.groups[k].is_empty() || self.local.rho == 0.0 {
            return Ok(());
        }
        let Consensus { local, states, residents, order, random, session, .. } = self;
        let (rho, watch) = (local.rho, session.watch().clone());
        session.cost.solving(|cost| {
            local.v.iter_mut().zip(&self.w).zip(&self.y).for_each(|((v, w), y)| *v = w - y / rho);
            for (i, state) in states.iter().enumerate() {
                local.add(residents.block.row(i), state.beta);
            }
            let numbers: Vec<u32> = (0..states.len() as u32).collect();
            let rows = View::new(residents, &numbers);
            let mut first_gain = None;
            for _ in 0..MOST_SWEEPS {
                order.begin_sweep(states.len(), random);
                let values = residents.block.values() / states.len().max(1) + 1;
                let mut order = Until { order, pace: watch.pace(values as u64), wants_gradients: false };
                let sweep = solver::sweep(self.loss, rows, states, local, &mut order);
                cost.sweeps += 1;
                cost.visits += sweep.visits;
                if sweep.gain <= PAYS * *first_gain.get_or_insert(sweep.gain) {
                    break;
                }
            }
        });
        let states = self.states.iter().map(|state| std::slice::from_ref(&state.beta));
        self.duals.set(self.residents.positions.iter().copied().zip(states))
    }

    fn write(&mut self, k: usize) -> Result<(), TrainError> {
        self.vectors.write(2 * k, &self.local.v)?;
        Ok(self.vectors.write(2 * k + 1, &self.y)?)
    }

    /// w ← prox_{R/(Kρ)}(mean(w_k + y_k/ρ)).
    fn move_shared(&mut self) {
        let (count, rho) = (self.groups.len() as f64, self.local.rho);
        for ((next, v), y) in self.scratch.iter_mut().zip(&self.sums[0]).zip(&self.sums[1]) {
            *next = (v + y / rho) / count;
        }
        let penalised = self.w.len() - usize::from(self.options.objective.intercept);
        self.options.objective.penalty.prox(1.0 / (count * rho), &mut self.scratch[..penalised]);
        let moved: f64 = self.scratch.iter().zip(&self.w).map(|(next, w)| (next - w) * (next - w)).sum();
        self.residuals[1] += count * moved;
        std::mem::swap(&mut self.w, &mut self.scratch);
        self.moved_rho = rho;
    }

    fn adapt(&mut self) {
        let [apart, moved] = self.residuals.map(f64::sqrt);
        if self.session.cost.passes < 2 || self.session.cost.passes > ADAPTING_PASSES {
            return;
        }
        if apart > IMBALANCE * moved {
            self.local.rho *= 2.0;
        } else if moved > IMBALANCE * apart {
            self.local.rho /= 2.0;
        }
    }

    fn finish(mut self, status: Status) -> Result<Trained, TrainError> {
        let objective = &self.options.objective;
        let scanned = (&self.w[..], &mut self.sums);
        let certificate = certify(&mut self.pass, self.loss, objective, scanned, &mut self.session.cost)?;
        self.session.tell(Standing::by_bound(certificate), &[&self.w]);
        Ok(self.session.end(self.w, status, certificate).by_baseline(self.options.method))
    }
}

fn add(sums: &mut [Vec<f64>; 2], sign: f64, vectors: [&Vec<f64>; 2]) {
    for (sum, vector) in sums.iter_mut().zip(vectors) {
        sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += sign * x);
    }
}

/// Neighbouring blocks of the store, as many as fit into memory together: rows have been shuffled while packing.
fn groups(store: &dyn BlockStore, plan: &Plan) -> Vec<Vec<BlockId>> {
    let mut groups: Vec<Vec<BlockId>> = Vec::new();
    let (mut rows, mut values) = (u64::MAX, u64::MAX);
    for (id, info) in store.blocks().iter().enumerate() {
        rows = rows.saturating_add(u64::from(info.rows));
        values = values.saturating_add(info.values);
        if rows > plan.resident_rows || values > plan.resident_values {
            groups.push(Vec::new());
            (rows, values) = (u64::from(info.rows), info.values);
        }
        if let Some(group) = groups.last_mut() {
            group.push(BlockId(id as u32));
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Block, Layout, RowInfo, ValueKind};
    use crate::loss::{AnyLoss, Squared};
    use crate::objective::{Objective, Targets};
    use crate::penalty::AnyPenalty;
    use crate::store::MemoryStore;

    /// Two blocks of two rows.
    fn store() -> Arc<MemoryStore> {
        let rows = [(1.0, [1.0, 0.5]), (-2.0, [0.0, 1.0]), (0.5, [2.0, -1.0]), (3.0, [1.0, 1.0])];
        let block = |rows: &[(f64, [f64; 2])]| {
            let mut block = Block::new(Layout::new(false, ValueKind::F64), 2);
            for (label, x) in rows {
                let info = RowInfo { label: *label, weight: 1.0, group: 0, id: 0 };
                block.push(info, x.iter().enumerate().map(|(j, &x)| (j as u32, x)));
            }
            block
        };
        Arc::new(MemoryStore::new(rows.chunks(2).map(block).collect()))
    }

    /// What w minimises says that Σ y_k is the slope of R at w; here R = ½‖w‖², whose slope is w.
    #[test]
    fn the_dual_vectors_add_up_to_the_slope_of_the_penalty_while_rho_changes() {
        let penalty = AnyPenalty::from_name("elastic-net", 1.0, 0.0, None).unwrap();
        let objective = Objective { penalty, ..Objective::new(AnyLoss::Squared(Squared), 1.0, Targets::Numbers) };
        let options = BaselineOptions::new(Baseline::Admm, objective, 10).unwrap();
        let (store, mut observer) = (store(), ());
        let mut admm = Consensus::new(store, &options, &Budget::unlimited(), &mut observer, Squared).unwrap();
        admm.groups = vec![vec![BlockId(0)], vec![BlockId(1)]];
        admm.vectors = SharedVectors::new(&options.folder, 4, admm.w.len()).unwrap();
        for pass in 0..6 {
            assert_eq!(admm.visit_all(false).unwrap(), None);
            if pass > 0 {
                for (sum, w) in admm.sums[1].iter().zip(&admm.w) {
                    assert!((sum - w).abs() <= 1e-9 * (1.0 + w.abs()), "pass {pass}: {sum} for {w}");
                }
            }
            admm.move_shared();
            admm.session.cost.passes += 1;
            admm.local.rho *= if pass % 2 == 0 { 2.0 } else { 0.25 };
        }
    }
}
