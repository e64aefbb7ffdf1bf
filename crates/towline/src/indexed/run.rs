//! The series of convex problems with an index: cheap steps while active rows change sides, scans of all rows to be certain.
use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::IndexedOptions;
use super::active::ActiveSet;
use super::begin;
use super::rounds::{Next, Rounds, reserve, sq_norm};
use super::scan::{Look, Sums, scan_others};
use super::segment::Room;
use super::solve::{BlockSolver, DualSweeps, NewtonSteps};
use crate::budget::Budget;
use crate::index::{PageCache, Search};
use crate::loss::{AnyLoss, Loss};
use crate::store::{BlockStore, DiskStore};
use crate::trainer::{
    Certificate, Cost, Duals, Identity, Limits, Link, Observer, Status, Step, Task, TrainError, TrainOptions, Trained,
    WeightsNow,
};
use crate::truncation::first_model;

/// Steps of the series without a scan of all rows, at most.
const MOST_CHEAP: u32 = 20;
/// A step is cheap if its queries have looked at less than this part of the rows. Bytes read would tell more, but depend on the pages that happen to be in memory.
const CHEAP_PART: f64 = 0.5;
/// Newton steps on a block.
const MOST_NEWTON_STEPS: u32 = 30;
/// They go on to this part of the tolerance: w becomes the sum of the dual variables that its slopes make, and what is left of the gradient grows with the curvature then.
const NEWTON_PART: f64 = 1e-6;

/// Minimises the objectives of all tasks, one after the other, over the same pages of the index.
///
/// # Panics
/// If [`super::can_train`] says no.
pub fn train(
    store: &Arc<DiskStore>,
    pages: &mut PageCache,
    (options, indexed): (&TrainOptions, &IndexedOptions),
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Vec<Trained>, TrainError> {
    let mut trained = Vec::with_capacity(options.tasks.len());
    let mut before = Cost::default();
    for task in &options.tasks {
        let run = Run { store, task, options, indexed, budget, observer: &mut *observer, before };
        let model = match task.objective.loss {
            AnyLoss::SquaredHinge(loss) if indexed.primal => {
                let solver = NewtonSteps { tolerance: NEWTON_PART * options.tolerance, most: MOST_NEWTON_STEPS };
                run.run(loss, solver, pages)?
            }
            AnyLoss::SquaredHinge(loss) => run.run(loss, DualSweeps, pages)?,
            AnyLoss::Hinge(loss) => run.run(loss, DualSweeps, pages)?,
            other => unreachable!("an index is of no use for the {} loss", other.name()),
        };
        before = before.with(&model.cost);
        trained.push(model);
    }
    Ok(trained)
}

struct Run<'a> {
    store: &'a Arc<DiskStore>,
    task: &'a Task,
    options: &'a TrainOptions,
    indexed: &'a IndexedOptions,
    budget: &'a Budget,
    observer: &'a mut dyn Observer,
    /// What earlier models cost.
    before: Cost,
}

/// The best weights so far for which F_s is known.
struct Best {
    weights: Vec<f64>,
    objective: f64,
    /// That of the convex problem which they were found in: a bound for another problem says nothing of them.
    certificate: Certificate,
}

impl<'a> Run<'a> {
    fn run<L: Loss, S: BlockSolver<L>>(
        mut self,
        loss: L,
        solver: S,
        pages: &mut PageCache,
    ) -> Result<Trained, TrainError> {
        let limits = Limits::new(self.options);
        let mut rounds = self.begin(loss, solver, pages)?;
        rounds.begin_problem(pages)?;
        let mut best: Option<Best> = None;
        let mut cheap = 0;
        let (status, certificate, weights) = loop {
            let looked_before = rounds.looked;
            let next = rounds.solve(pages, &limits, |cost, w| self.see(&limits, *cost, None, w))?;
            let stop = limits.reason_to_stop(rounds.cost.passes);
            let is_little = (rounds.looked - looked_before) as f64 <= CHEAP_PART * self.store.shape().rows as f64;
            let is_cheap = cheap < MOST_CHEAP && is_little && stop.is_none() && matches!(next, Next::Solved);
            if is_cheap && rounds.may_step(pages)? {
                rounds.reference.copy_from_slice(rounds.weights.weights());
                rounds.begin_problem(pages)?;
                cheap += 1;
                continue;
            }
            let sums = self.scan(&mut rounds, pages)?;
            (rounds.was_scanned, rounds.is_fresh) = (true, true);
            self.save(&mut rounds, pages)?;
            let (now, then) = (rounds.sq_norm(), sq_norm(&rounds.reference));
            let (found, certificate) = (sums.truncated_objective(now), sums.certificate(now));
            let known = sums.reference_certificate(now, then);
            self.see(&limits, rounds.cost_so_far(pages), Some(certificate), rounds.weights.weights());
            self.note(&mut best, known.objective, known, &rounds.reference);
            if known.relative_gap() <= self.options.tolerance {
                break (Status::Converged, known, rounds.reference.clone());
            }
            self.note(&mut best, found, certificate, rounds.weights.weights());
            // F_s is that of the convex problem where no row has changed sides.
            let is_solved = certificate.relative_gap() <= self.options.tolerance;
            if is_solved && sums.crossed == 0 {
                break (Status::Converged, certificate, rounds.weights.weights().to_vec());
            }
            let Some(best) = &best else { continue };
            if let Some(status) = stop {
                break (status, best.certificate, best.weights.clone());
            }
            rounds.reference.copy_from_slice(&best.weights);
            rounds.begin_problem(pages)?;
            // Steps without a scan have led to worse weights: each one is looked at from now on.
            cheap = if best.objective < found { MOST_CHEAP } else { 0 };
        };
        let cost = Cost { seconds: limits.seconds(), ..rounds.cost_so_far(pages) };
        let duals = self.save(&mut rounds, pages)?;
        Ok(Trained { weights, duals, status, certificate, cost, by_columns: false, baseline: None, sums: Vec::new() })
    }

    /// Begins with the model of a few rows, or with dual variables from before.
    fn begin<L: Loss, S: BlockSolver<L>>(
        &self,
        loss: L,
        solver: S,
        pages: &mut PageCache,
    ) -> Result<Rounds<'a, L, S>, TrainError> {
        let (shape, budget) = (self.store.shape(), self.budget);
        let folder = self.task.checkpoint.as_ref().and_then(|file| file.path.parent()).filter(|folder| folder.is_dir());
        let folder = folder.map_or_else(std::env::temp_dir, |folder| folder.to_path_buf());
        let pages_before = pages.bytes_read();
        pages.make_room(budget.limit_bytes() / 2);
        let paid = reserve(shape.columns, self.indexed.primal, budget)?;
        let search = Search::new(pages.forest().clone(), self.options.seed, budget)?;
        let room =
            Room::of(shape, self.store.manifest().row_summary.max_values, budget.free_bytes() + pages.held_bytes());
        let active = ActiveSet::new(shape.rows, room, self.options.order, folder, budget)?;
        let mut rounds = Rounds {
            loss,
            solver,
            objective: &self.task.objective,
            options: self.indexed,
            tolerance: self.options.tolerance,
            active,
            weights: Identity::new(shape.columns as usize, self.task.objective.bias),
            reference: vec![0.0; shape.columns as usize + 1],
            search,
            was_scanned: false,
            is_fresh: false,
            looked: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(self.options.seed),
            cost: Cost::default(),
            pages_before,
            _paid: paid,
        };
        match &self.task.start {
            Some(start) => {
                let mut duals = self.no_duals(pages)?;
                duals.begin_with(start)?;
                begin::with_duals(&mut rounds, self.store, (&duals, self.indexed.beginning.rows), (pages, budget))?;
            }
            None => {
                let first = first_model(&**self.store, &self.alone(), self.indexed.beginning, budget)?;
                rounds.cost = first.cost;
                begin::with_first_model(&mut rounds, &first, pages)?;
            }
        }
        Ok(rounds)
    }

    /// The options of this run for its only task, from the beginning.
    fn alone(&self) -> TrainOptions {
        TrainOptions {
            tolerance: self.options.tolerance,
            max_passes: self.options.max_passes,
            max_time: self.options.max_time,
            order: self.options.order,
            seed: self.options.seed,
            threads: self.options.threads,
            stop: self.options.stop.clone(),
            ..TrainOptions::new(self.task.objective.clone())
        }
    }

    /// Keeps weights if F_s is lower than before.
    fn note(&mut self, best: &mut Option<Best>, objective: f64, certificate: Certificate, weights: &[f64]) {
        if best.as_ref().is_none_or(|best| objective < best.objective) {
            *best = Some(Best { weights: weights.to_vec(), objective, certificate });
            self.observer.problem_solved(objective, weights);
        }
    }

    /// Looks at all rows; those that the index has not found become active.
    fn scan<L: Loss, S: BlockSolver<L>>(
        &self,
        rounds: &mut Rounds<L, S>,
        pages: &mut PageCache,
    ) -> Result<Sums, TrainError> {
        let begin = std::time::Instant::now();
        let mut sums = rounds.scan_active(pages)?;
        let Rounds { loss, objective, reference, active, weights, .. } = rounds;
        let look = Look { objective, reference };
        let mut cost = scan_others(*loss, look, &mut sums, (active, weights), (self.store, pages, self.budget))?;
        cost.certify_seconds = begin.elapsed().as_secs_f64();
        rounds.cost = rounds.cost.with(&cost);
        Ok(sums)
    }

    fn see(&mut self, limits: &Limits, cost: Cost, certificate: Option<Certificate>, w: &[f64]) {
        let cost = self.before.with(&Cost { seconds: limits.seconds(), ..cost });
        let dual_objective = certificate.map(|certificate| certificate.dual_objective);
        self.observer
            .step(&Step { cost, dual_objective, gap_estimate: None, certificate }, &WeightsNow { models: &[w] });
    }

    /// Keeps the dual variables where another run can go on from them.
    fn save<L: Loss, S: BlockSolver<L>>(
        &self,
        rounds: &mut Rounds<L, S>,
        pages: &mut PageCache,
    ) -> Result<Duals, TrainError> {
        let duals = self.duals(rounds, pages)?;
        if let Some(file) = &self.task.checkpoint {
            file.save(&self.task.objective, rounds.cost_so_far(pages), &duals, &[])?;
        }
        Ok(duals)
    }

    /// As many dual variables as there are rows, all 0: in memory if there is room.
    fn no_duals(&self, pages: &mut PageCache) -> Result<Duals, TrainError> {
        let rows = self.store.shape().rows;
        pages.make_room(8 * rows);
        Ok(match self.budget.reserve("dual variables", 8 * rows) {
            Ok(_) => Duals::in_memory(rows),
            Err(_) => Duals::on_disk(rows, &std::env::temp_dir())?,
        })
    }

    /// The dual variables of all rows: those of the active ones, and zeros.
    fn duals<L: Loss, S: BlockSolver<L>>(
        &self,
        rounds: &mut Rounds<L, S>,
        pages: &mut PageCache,
    ) -> Result<Duals, TrainError> {
        let mut duals = self.no_duals(pages)?;
        for i in 0..rounds.active.segments.len() {
            rounds.active.load(i, &[], pages)?;
            let segment = &rounds.active.segments[i];
            let betas = segment.states.iter().map(|state| std::slice::from_ref(&state.beta));
            duals.set(segment.residents.positions.iter().copied().zip(betas))?;
        }
        Ok(duals)
    }
}
