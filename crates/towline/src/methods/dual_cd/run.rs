//! The loop itself: blocks come, every model works on them, rows that are worth it stay.
use std::ops::Range;
use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use rayon::prelude::*;

use crate::budget::{Budget, Reservation};
use crate::engine::problem::cache;
use crate::engine::problem::rows::renumber;
use crate::engine::{
    Certificate, Cost, Limits, Observer, Pass, Plan, Session, Solver, Standing, Status, Task, TrainError, TrainOptions,
    Trained, Watch, ZeroCosts, unlearnt_models,
};
use crate::methods::dual_cd::group as recipes;
use crate::methods::dual_cd::learner::{ABSENT, Learner, Phase};
use crate::residents::Residents;
use crate::store::{BlockId, BlockStore, Lent, Shape};

mod feature_screening;
mod groups;

/// While several models train in memory, they are looked at this often, in seconds.
const LOOK: f64 = 0.2;

/// The rows side of a run: what is read, and what is in memory.
pub struct Run<'a> {
    store: Arc<dyn BlockStore>,
    options: &'a TrainOptions,
    /// Its cost is what all models share: passes, bytes, and waiting for them.
    session: Session<'a>,
    plan: Plan,
    budget: Budget,
    pass: Pass,
    residents: Residents,
    /// One bit per row: whether it is resident already when its block comes.
    cached: Vec<u64>,
    random: Xoshiro256PlusPlus,
    limits: Limits<'a>,
    threads: Arc<rayon::ThreadPool>,
    /// Sweeps, visits and seconds of models that are done with, from waves before this one.
    earlier: Cost,
    /// When features are left out.
    turns: feature_screening::Turns,
    /// All tasks, where not all of them are in the first wave, and what they cost without weights.
    expected: Option<(&'a [Task], ZeroCosts)>,
    _paid: [Reservation; 4],
}

impl<'a> Run<'a> {
    /// Nothing is read yet. `plan` is for as many models as a wave has at most.
    pub fn new(
        store: Arc<dyn BlockStore>,
        options: &'a TrainOptions,
        plan: Plan,
        budget: &Budget,
        observer: &'a mut dyn Observer,
    ) -> Result<Self, TrainError> {
        let paid = plan.reserve(budget)?;
        let pass = Pass::over(store.clone(), budget)?;
        let (shape, limits) = (store.shape(), Limits::new(options));
        let threads = rayon::ThreadPoolBuilder::new().num_threads(options.threads).build();
        Ok(Run {
            options,
            session: Session::within(&limits, observer),
            pass,
            residents: match store.resident() {
                Some(block) => Residents::over(block, store.resident_columns()),
                None => Residents::with_capacity(shape, plan.resident_rows as usize, plan.resident_values as usize),
            },
            cached: vec![0; (shape.rows as usize).div_ceil(64)],
            random: Xoshiro256PlusPlus::seed_from_u64(options.seed),
            limits,
            threads: Arc::new(threads.map_err(|error| TrainError::Threads(error.to_string()))?),
            earlier: Cost::default(),
            turns: feature_screening::Turns::default(),
            expected: None,
            plan,
            budget: budget.clone(),
            store,
            _paid: paid,
        })
    }

    /// Trains a wave of models together.
    pub fn train(&mut self, tasks: &[Task]) -> Result<Vec<Trained>, TrainError> {
        let Shape { rows, columns, .. } = self.store.shape();
        let run = (self.limits.watch(), &self.threads);
        let problem =
            |task| recipes::problem(task, columns as usize, &self.plan, run, (&self.options.variant, &self.budget));
        let new = |task| Learner::new(problem(task), task, self.limits.clone(), &self.plan, rows, &self.budget);
        let mut learners = tasks.iter().map(new).collect::<Result<Vec<_>, _>>()?;
        if self.plan.in_memory {
            self.run_in_memory(&mut learners)?;
        } else {
            self.run_out_of_core(&mut learners)?;
        }
        learners.iter().try_for_each(|learner| learner.commit())?;
        self.observe(&learners);
        let shared = self.shared_cost();
        learners.iter().for_each(|learner| self.earlier = self.earlier.with(&learner.cost));
        learners.into_iter().map(|learner| learner.into_trained(shared)).collect()
    }

    /// More tasks are to come than the first wave has: what they cost without weights is added up on the way, in case
    /// that there is no time for them.
    pub fn expect(&mut self, tasks: &'a [Task]) {
        self.expected = Some((tasks, ZeroCosts::of(tasks)));
    }

    /// The models of expected tasks that there was no time for, those with these numbers.
    pub fn unlearnt(&mut self, numbers: Range<usize>, status: Status) -> Result<Vec<Trained>, TrainError> {
        let Some((tasks, mut costs)) = self.expected.take() else { return Err(TrainError::Stopped(status)) };
        costs.begin(tasks);
        if self.plan.in_memory {
            costs.add(tasks, &self.residents.block, 0);
        } else if !costs.is_whole() {
            self.pass.ask_for(self.pass.blocks());
            let watch = self.limits.watch();
            self.pass.visit_asked(&mut Cost::default(), |block, first| {
                Work::Reading.goes_on(watch)?;
                costs.add(tasks, block, first);
                Ok(())
            })?;
        }
        costs.end();
        let objectives: Vec<f64> = numbers.clone().map(|number| costs.objective(tasks, number)).collect();
        self.expected = Some((tasks, costs));
        let solver = if self.plan.solver == Solver::Columns { Solver::Columns } else { Solver::Dual };
        let how = (status, solver, self.shared_cost());
        Ok(unlearnt_models(&tasks[numbers], &objectives, self.store.shape().columns, how))
    }

    /// Why nothing goes any further.
    pub fn reason_to_stop(&self) -> Option<Status> {
        self.limits.look()
    }

    /// What reading has cost so far.
    pub fn shared_cost(&self) -> Cost {
        self.session.cost()
    }

    /// Everything is resident: read once, then each model goes its own way.
    fn run_in_memory(&mut self, learners: &mut [Learner]) -> Result<(), TrainError> {
        if self.session.cost.passes == 0 && self.store.resident().is_none() {
            self.pass.ask_for(self.pass.blocks());
            self.take_blocks(usize::MAX, Work::Reading, learners)?;
        } else {
            learners.iter_mut().for_each(Learner::join_late);
            learners.iter_mut().try_for_each(|learner| learner.enter(&self.residents))?;
        }
        self.session.cost.passes = 1;
        self.turn(learners);
        loop {
            let (residents, watch) = (&self.residents, self.limits.watch());
            let (looked, alone) = (watch.seconds(), learners.len() == 1);
            let pauses = || alone || watch.seconds() > looked + LOOK;
            each(&self.threads, learners, |learner| learner.run_resident(residents, pauses))?;
            self.observe(learners);
            if learners.iter().all(|learner| learner.is_done()) {
                return Ok(());
            }
        }
    }

    fn run_out_of_core(&mut self, learners: &mut [Learner]) -> Result<(), TrainError> {
        // Rows that an earlier wave left behind.
        self.keep(&vec![false; self.residents.rows()], learners);
        self.begin_with_few_features(learners)?;
        while learners.iter().any(|learner| !learner.is_done()) {
            self.leave_features_out(learners)?;
            let training = learners.iter().any(|learner| learner.phase == Phase::Training);
            if !training {
                self.prepare_to_leave_features_out(learners);
            }
            let groups = if training { self.groups() } else { vec![self.pass.blocks().collect()] };
            let begin = self.limits.seconds();
            let whole = self.go_over(&groups, training, learners)?;
            self.session.cost.passes += 1;
            if whole && (!training || self.session.cost.certify_seconds == 0.0) {
                // What a scan takes, or at most so until there has been one.
                self.limits.watch().reserve(self.limits.seconds() - begin);
            }
            if whole {
                each(&self.threads, learners, Learner::end_pass)?;
            } else {
                // The state of all models is certified by one more pass, whatever they were at.
                learners.iter_mut().try_for_each(Learner::begin_scan)?;
            }
            if training {
                let cost = self.shared_cost();
                learners.iter_mut().try_for_each(|learner| learner.save(cost))?;
                learners.iter().try_for_each(|learner| learner.commit())?;
            }
            for learner in learners.iter_mut().filter(|learner| learner.phase == Phase::Training) {
                learner.enter(&self.residents)?;
            }
            self.observe(learners);
        }
        Ok(())
    }

    /// Goes over the blocks in this order, a step for each group. False if it had to end on the way.
    fn go_over(
        &mut self,
        groups: &[Vec<BlockId>],
        training: bool,
        learners: &mut [Learner],
    ) -> Result<bool, TrainError> {
        // The reader runs ahead over the whole pass, across steps.
        self.pass.ask_for(groups.iter().flatten().copied());
        if let Some((tasks, costs)) = &mut self.expected {
            costs.begin(tasks);
        }
        let work = if training { Work::Training } else { Work::Reading };
        for group in groups {
            if !self.take_blocks(group.len(), work, learners)? {
                return Ok(false);
            }
            if !training {
                continue;
            }
            self.turn(learners);
            let residents = &self.residents;
            each(&self.threads, learners, |learner| match learner.phase {
                Phase::Training => learner.solve_step(residents),
                _ => Ok(()),
            })?;
            if self.limits.look().is_some() {
                self.observe(learners);
                self.pass.break_off()?;
                return Ok(false);
            }
            self.keep_informative(learners);
            self.observe(learners);
        }
        if let Some((_, costs)) = &mut self.expected {
            costs.end();
        }
        Ok(true)
    }

    /// Lays the rows in memory out by column, if that is how they are solved.
    fn turn(&mut self, learners: &mut [Learner]) {
        if let (Solver::Columns, Some(first)) = (self.plan.solver, learners.first_mut()) {
            first.cost.solving(|_| self.residents.turn());
        }
    }

    /// Hands the next `blocks` blocks that the reader delivers to all models, with those rows in memory that somebody
    /// trains on. False if it had to end on the way.
    fn take_blocks(&mut self, blocks: usize, work: Work, learners: &mut [Learner]) -> Result<bool, TrainError> {
        let mut places = Vec::new();
        for _ in 0..blocks {
            let Some((block, first)) = self.pass.next(&mut self.session.cost)? else { break };
            if !work.goes_on(self.limits.watch())? {
                drop(block);
                self.pass.break_off()?;
                return Ok(false);
            }
            self.turns.count(&block);
            if let Some((tasks, costs)) = self.expected.as_mut().filter(|_| !self.plan.in_memory) {
                costs.add(tasks, &block, first);
            }
            self.make_resident(&block, first, learners, &mut places);
            let (places, residents, watch) = (&places[..], &self.residents, self.limits.watch());
            each(&self.threads, learners, |learner| match work.goes_on(watch)? {
                true => learner.take(&block, first, places, residents),
                false => Ok(()),
            })?;
        }
        Ok(true)
    }

    /// Where each row of the block is in memory from now on: nowhere, if it is there already or nobody trains on it.
    fn make_resident(&mut self, block: &Lent, first: u64, learners: &[Learner], places: &mut Vec<u32>) {
        places.clear();
        for i in 0..block.rows() {
            let position = first + i as u64;
            let is_cached = self.cached[position as usize / 64] >> (position % 64) & 1 == 1;
            let mut training = learners.iter().filter(|learner| learner.phase == Phase::Training);
            if !is_cached && training.any(|learner| learner.wants(block, i, position)) {
                places.push(self.residents.rows() as u32);
                self.residents.push(block, i, position);
            } else {
                places.push(ABSENT);
            }
        }
    }

    /// Keeps the rows that are worth it to some model and forgets the others.
    fn keep_informative(&mut self, learners: &mut [Learner]) {
        let mut best = vec![u32::MAX; self.residents.rows()];
        for learner in learners.iter().filter(|learner| learner.phase == Phase::Training) {
            learner.rank(&mut best);
        }
        let keep = cache::choose(&self.residents, &best, self.plan.cache_room(self.options.cache_share));
        self.keep(&keep, learners);
    }

    fn keep(&mut self, keep: &[bool], learners: &mut [Learner]) {
        for (&position, &stays) in self.residents.positions.iter().zip(keep) {
            let (word, bit) = (position as usize / 64, 1u64 << (position % 64));
            self.cached[word] = if stays { self.cached[word] | bit } else { self.cached[word] & !bit };
        }
        self.residents.retain(keep);
        let numbers = renumber(keep);
        learners.iter_mut().for_each(|learner| learner.retain(keep, &numbers));
    }

    fn observe(&mut self, learners: &[Learner]) {
        let own = learners.iter().fold(self.earlier, |cost, learner| cost.with(&learner.cost));
        let cost = Cost { seconds: self.limits.seconds(), ..own.with(&self.session.cost) };
        let certificates: Option<Vec<Certificate>> = learners.iter().map(|learner| learner.certificate).collect();
        let estimates: Option<Vec<f64>> = learners.iter().map(|learner| learner.gap_estimate).collect();
        let certificate = certificates.and_then(|all| Certificate::total(&all));
        let standing = Standing {
            dual_objective: Some(learners.iter().map(|learner| learner.dual_objective).sum()),
            gap_estimate: estimates.and_then(|all| all.into_iter().reduce(f64::max)),
            objective: certificate.map(|certificate| certificate.objective),
            violation: learners.iter().filter_map(|learner| learner.violation).reduce(f64::max),
            certificate,
        };
        let models: Vec<&[f64]> = learners.iter().map(Learner::weights).collect();
        self.session.tell_at(cost, standing, &models);
    }
}

/// What blocks are read for.
#[derive(Clone, Copy)]
enum Work {
    /// To train on some of them, which may end at any time.
    Training,
    /// To have all of them: without, there is nothing to train on, or nothing is known of what was trained.
    Reading,
}

impl Work {
    /// Whether the next block is worth it.
    fn goes_on(self, watch: &Watch) -> Result<bool, TrainError> {
        match (watch.look(), self) {
            (None, _) => Ok(true),
            (Some(_), Work::Training) => Ok(false),
            (Some(status), Work::Reading) if !watch.lets_end(status) => Err(TrainError::Stopped(status)),
            (Some(_), Work::Reading) => Ok(true),
        }
    }
}

/// Calls `work` for each model, on several threads if there are several. Models know nothing of each other, so the
/// number of threads changes nothing.
fn each<'a>(
    threads: &rayon::ThreadPool,
    learners: &mut [Learner<'a>],
    work: impl Fn(&mut Learner<'a>) -> Result<(), TrainError> + Send + Sync,
) -> Result<(), TrainError> {
    match learners {
        [alone] => work(alone),
        many => threads.install(|| many.par_iter_mut().try_for_each(work)),
    }
}
