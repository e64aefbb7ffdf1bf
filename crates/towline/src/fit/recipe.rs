//! Which trainer runs: by blocks, with an index, in the primal, a baseline, and whether losses are cut off.
use std::time::Duration;

use super::Fit;
use super::data::Data;
use super::error::{FitError, not_negative, positive, refuse};
use super::method::{BASELINE_PASSES, Method};
use super::parameters::Parameters;
use super::settings::Setting;
use crate::baselines::{Baseline, BaselineOptions};
use crate::columns;
use crate::engine::classes::Classes;
use crate::engine::{Solver, Task, TrainOptions};
use crate::index::IndexManifest;
use crate::indexed::{self, IndexedOptions};
use crate::methods::auto::{train, train_by_newton};
use crate::objective::{Multiclass, Objective, Targets};
use crate::penalty::AnyPenalty;
use crate::second_order::can_use_newton;
use crate::store::StoreFingerprint;
use crate::store::{BlockStore, DiskStore, StoreError};
use crate::truncation::{Beginning, ConvexTrainer};

/// A trainer and what it needs.
#[derive(Debug)]
#[non_exhaustive]
pub enum Recipe {
    /// A convex objective, by the solver that suits it.
    Blocks,
    /// A truncated loss by blocks.
    Truncated(ConvexTrainer, Beginning),
    /// A truncated loss with the index of the store.
    Indexed(IndexedOptions),
    /// A method without dual variables.
    Baseline(Box<BaselineOptions>),
}

impl Recipe {
    /// Whether it makes its passes and has no tolerance to reach.
    pub(super) fn is_baseline(&self) -> bool {
        matches!(self, Recipe::Baseline(_))
    }

    /// What is worth saying before it begins.
    pub fn note(&self) -> Option<String> {
        match self {
            Recipe::Indexed(options) => {
                let how = if options.primal { "Newton steps" } else { "dual coordinate descent" };
                Some(format!(
                    "using the index of the store, with {how} (`method(trunc-l1-dual)` and others do without)"
                ))
            }
            Recipe::Blocks | Recipe::Truncated(..) | Recipe::Baseline(_) => None,
        }
    }
}

/// Settings about how rows are visited, which mean dual coordinate descent where somebody has made them.
const DUAL_ONLY: [Setting; 13] = [
    Setting::Order,
    Setting::CacheShare,
    Setting::Selection,
    Setting::Rounds,
    Setting::Parts,
    Setting::Partition,
    Setting::Blocks,
    Setting::InnerTolerance,
    Setting::Violation,
    Setting::Eta,
    Setting::EtaGrowth,
    Setting::Extrapolation,
    Setting::InnerPasses,
];
/// Those of them that are about blocks.
const BLOCKS: [Setting; 7] = [
    Setting::CacheShare,
    Setting::Selection,
    Setting::Rounds,
    Setting::Parts,
    Setting::Partition,
    Setting::Blocks,
    Setting::InnerTolerance,
];
/// Those of an index.
const QUERIES: [Setting; 3] = [Setting::QueryBlocks, Setting::QueryMargin, Setting::PageShare];
/// Settings of the proximal point method.
const PROXIMAL: [Setting; 4] = [Setting::Eta, Setting::EtaGrowth, Setting::Extrapolation, Setting::InnerPasses];

impl Fit {
    /// How trainers by blocks solve their problem. A method with a name means its own way, unless another is asked for.
    pub fn solver_for_blocks(&self) -> Solver {
        match self.solver {
            Some(solver) if solver != Solver::Auto => solver,
            _ if self.method == Method::Auto && self.first_set(&DUAL_ONLY).is_none() => Solver::Auto,
            _ => Solver::Dual,
        }
    }

    /// Where losses are cut off: where somebody says, or where the method has it.
    pub(super) fn ceiling(&self) -> Result<Option<f64>, FitError> {
        match self.truncate {
            Some(s) => Ok(Some(not_negative("truncate", s)?)),
            None => Ok(self.method.own_loss().map(|_| 1.0)),
        }
    }

    /// Whether the objective may have an intercept that is free of the penalty.
    pub(super) fn can_have_intercept(&self) -> bool {
        self.truncate.is_none() && self.method.can_have_intercept()
    }

    /// The same with the loss that the method has in its name.
    pub(super) fn with_own_loss(&self) -> Result<Fit, FitError> {
        let mut fit = self.clone();
        if let Some(own) = self.method.own_loss() {
            if self.goal.loss.is_some_and(|asked| asked != own) {
                return refuse(format!(
                    "this method has the {} loss; leave `loss` out, or use another method",
                    own.name()
                ));
            }
            fit.goal.loss = Some(own);
        }
        Ok(fit)
    }

    /// The same where rules of their own meet many classes: the top-1 rule tells them apart, and is judged by the loss
    /// that it leans on.
    pub(super) fn with_top_one(mut self, data: &Data) -> Fit {
        let is_open = self.goal.multiclass.is_none() && self.goal.positive.is_none();
        if self.method.has_own_rule() && is_open && Classes::of(data.labels()).is_ok_and(|classes| classes.len() > 2) {
            self.goal.multiclass = Some(Multiclass::CrammerSinger);
        }
        self
    }

    /// Chooses the trainer for `objective`; `notes` gets what is worth saying of an index that is there and not used.
    pub(super) fn choose(
        &self,
        objective: &Objective,
        data: &Data,
        notes: &mut Vec<String>,
    ) -> Result<Recipe, FitError> {
        if let Some(baseline) = self.method.baseline() {
            return Ok(Recipe::Baseline(Box::new(self.baseline_options(baseline, objective, data)?)));
        }
        let newton = self.solver == Some(Solver::Newton) || self.method.is_primal();
        if self.solver == Some(Solver::Columns) {
            columns::can_train(objective)?;
        }
        let is_sparse = matches!(objective.penalty, AnyPenalty::L1(_) | AnyPenalty::ElasticNet(_));
        if self.is_set(Setting::WorkingSet) && !(is_sparse && objective.width() == 1) {
            return refuse(
                "`working_set` is for one output and penalties that make weights 0 one by one, l1 and elastic-net; \
                 leave it out",
            );
        }
        if self.method.own_loss().is_some() && self.is_set(Setting::Solver) && newton != self.method.is_primal() {
            return refuse("the method says how it solves; leave `solver` out");
        }
        self.check_parameters(objective)?;
        if matches!(self.method.ours(), Method::DaBcd | Method::DBcd) && objective.is_plain_l2() {
            return refuse(
                "`method(da-bcd)` and d-bcd are for other penalties than l2; use sbm or bmd, or add `penalty(l1)` or \
                 `intercept`",
            );
        }
        let beginning =
            Beginning { rows: self.init_rows.unwrap_or(Beginning::default().rows), shuffled: data.is_shuffled() };
        let wanted = self.query_rows.unwrap_or(IndexedOptions::default().wanted);
        let indexed = IndexedOptions { wanted, primal: newton, beginning, queries: self.parameters().queries };
        let recipe = self.recipe(objective, data, indexed, notes)?;
        self.check_recipe(&recipe)?;
        Ok(recipe)
    }

    fn recipe(
        &self,
        objective: &Objective,
        data: &Data,
        indexed: IndexedOptions,
        notes: &mut Vec<String>,
    ) -> Result<Recipe, FitError> {
        let method = self.method;
        if indexed.primal {
            if method != Method::Auto && method.own_loss().is_none() {
                return refuse("`solver(newton)` is a method of its own; leave `method` out");
            }
            if objective.truncate.is_some() {
                can_use_newton(objective)?;
            }
        }
        if objective.truncate.is_none() {
            return Ok(Recipe::Blocks);
        }
        if !objective.loss.is_classification() || objective.width() > 1 || !objective.is_plain_l2() {
            return refuse(
                "`truncate` is for hinge, squared-hinge and logistic with the penalty l2, `lambda(1)` and no \
                 intercept; use \
                 `bias`, or leave `truncate` out",
            );
        }
        if !matches!(method.ours(), Method::Auto | Method::Sbm | Method::Bmd) && method.own_loss().is_none() {
            return refuse(
                "`truncate` is for exact methods on the penalty l2; use auto, sbm, bmd, or one of ibcd- and trunc-",
            );
        }
        if method.wants_index() {
            indexed::can_train(objective, &indexed)?;
            if data.disk().is_none() {
                return refuse("an index is that of a store; pack the rows, or use one of the trunc- methods");
            }
            return Ok(Recipe::Indexed(indexed));
        }
        if let (Method::Auto, Some(store)) = (method, data.disk())
            && suits_index(store, notes)?
            && indexed::can_train(objective, &indexed).is_ok()
        {
            return Ok(Recipe::Indexed(indexed));
        }
        let convex: ConvexTrainer = if indexed.primal { train_by_newton } else { train };
        Ok(Recipe::Truncated(convex, indexed.beginning))
    }

    /// Refuses settings that the trainer would have to ignore.
    fn check_recipe(&self, recipe: &Recipe) -> Result<(), FitError> {
        let refused = |settings: &[Setting], why: &str| match self.first_set(settings) {
            Some(name) => refuse(format!("`{name}` {why}; leave it out")),
            None => Ok(()),
        };
        match recipe {
            Recipe::Blocks => {
                if self.solver.is_some_and(Solver::is_second_order) {
                    refused(&DUAL_ONLY, "is for `solver(dual)`")?;
                }
                if self.solver == Some(Solver::Columns) {
                    refused(
                        &[Setting::Order],
                        "is about rows, and `solver(columns)` visits those that have not settled",
                    )?;
                } else {
                    refused(&[Setting::BlockSteps], "is for `solver(columns)`")?;
                }
                refused(&[Setting::InitRows, Setting::QueryRows], "is for truncated losses (`truncate`)")?;
                refused(&[Setting::FirstTruncate], "is for truncated losses (`truncate`)")?;
                refused(&QUERIES, "is for training with an index (`index`)")
            }
            Recipe::Truncated(..) => {
                refused(&[Setting::BlockSteps], "is for `solver(columns)`")?;
                refused(&[Setting::QueryRows], "is for training with an index (`index`)")?;
                refused(&QUERIES, "is for training with an index (`index`)")
            }
            Recipe::Indexed(_) => {
                refused(&BLOCKS, "means nothing to training with an index")?;
                refused(&[Setting::BlockSteps], "is for `solver(columns)`")
            }
            Recipe::Baseline(_) => Ok(()),
        }
    }

    /// Refuses parameters that are out of range, or about something that the objective has not.
    fn check_parameters(&self, objective: &Objective) -> Result<(), FitError> {
        let Parameters { variant, queries, first_truncate, .. } = self.parameters();
        first_truncate.map(|s| not_negative("first_truncate", s)).transpose()?;
        not_negative("query_margin", queries.far)?;
        if !(0.0..=0.9).contains(&queries.page_share) {
            return refuse(format!("`page_share` must be a number from 0 to 0.9, not {}", queries.page_share));
        }
        if objective.is_plain_l2()
            && let Some(name) = self.first_set(&PROXIMAL)
        {
            return refuse(format!(
                "`{name}` is for the proximal point method, and the penalty l2 does without; leave it out, or use another `penalty`"
            ));
        }
        if variant.blocks == Some(0) {
            return refuse("`blocks` must be 1 or more");
        }
        for (name, value) in
            [("eta", variant.eta), ("violation", variant.violation), ("inner_tolerance", variant.inner_tolerance)]
        {
            value.map(|value| positive(name, value)).transpose()?;
        }
        if !(1.0..=1e3).contains(&variant.eta_growth) {
            return refuse(format!("`eta_growth` must be a number from 1 to 1000, not {}", variant.eta_growth));
        }
        for (name, count) in [("inner_passes", variant.inner_passes), ("block_steps", variant.block_steps)] {
            if count == Some(0) {
                return refuse(format!("`{name}` must be 1 or more"));
            }
        }
        let has_gradients = objective.is_plain_l2() && objective.width() == 1 && objective.truncate.is_none();
        if variant.violation.is_some() && !has_gradients {
            return refuse(
                "`violation` is for one output, the penalty l2 and losses that are not cut off; use `tolerance`, the \
                 relative duality gap",
            );
        }
        if variant.violation.is_some() && self.is_set(Setting::Tolerance) {
            return refuse("`violation` and `tolerance` are two ways to end; leave out one of them");
        }
        if variant.inner_tolerance.is_some() && !has_gradients {
            return refuse("`inner_tolerance` is for one output and the penalty l2; use `rounds`");
        }
        Ok(())
    }

    fn baseline_options(
        &self,
        baseline: Baseline,
        objective: &Objective,
        data: &Data,
    ) -> Result<BaselineOptions, FitError> {
        let name = baseline.name();
        if objective.width() > 1 && objective.targets.are_numbers() {
            return refuse(format!(
                "`method({name})` predicts one number, and rows of this store have {}; leave `method` out",
                objective.width()
            ));
        }
        if let Targets::Classes { classes, .. } = &objective.targets
            && !(self.method.has_own_rule() && objective.width() > 1)
        {
            return refuse(format!(
                "`method({name})` tells two classes apart, and the labels have {} distinct values; name one with \
                 `positive(LABEL)`",
                classes.len()
            ));
        }
        if baseline == Baseline::Cw && data.is_weighted() {
            return refuse(
                "the rows of this store have weights, which `method(cw)` knows nothing of; use another method",
            );
        }
        let passes = self.max_passes.unwrap_or(BASELINE_PASSES);
        let mut options = BaselineOptions::new(baseline, objective.clone(), passes)?;
        if let Some(folder) = self.checkpoint.as_ref().and_then(|model| model.parent()).filter(|folder| folder.is_dir())
        {
            options.folder = folder.to_path_buf();
        }
        (options.max_time, options.seed, options.stop) = (self.time_limit()?, self.seed, self.stop.clone());
        Ok(options)
    }

    fn time_limit(&self) -> Result<Option<Duration>, FitError> {
        match self.max_time {
            Some(Duration::ZERO) => refuse("`max_time` must be a number above 0, not 0"),
            limit => Ok(limit),
        }
    }

    /// How to train these models.
    pub(super) fn options(&self, tasks: Vec<Task>) -> Result<TrainOptions, FitError> {
        let Some(first) = tasks.first() else { return refuse("there is nothing to train") };
        let defaults = TrainOptions::new(first.objective.clone());
        self.check_parameters(&first.objective)?;
        let parameters = self.parameters();
        let share = parameters.cache_share;
        if !(0.0..=0.9).contains(&share) {
            return refuse(format!("`cache_share` must be a number from 0 to 0.9, not {share}"));
        }
        if self.rounds == Some(Some(0)) {
            return refuse("`rounds` must be 1 or more");
        }
        if let Some(parts) = self.parts.filter(|parts| !(1..=64).contains(parts)) {
            return refuse(format!("`parts` must be a number from 1 to 64, not {parts}"));
        }
        Ok(TrainOptions {
            tasks,
            tolerance: match self.all_passes || parameters.variant.violation.is_some() {
                true => -1.0,
                false => positive("tolerance", self.tolerance.unwrap_or(defaults.tolerance))?,
            },
            max_passes: self.max_passes.unwrap_or(defaults.max_passes),
            max_time: self.time_limit()?,
            order: parameters.order,
            cache_share: share,
            selection: parameters.selection,
            rounds: parameters.rounds,
            parts: self.parts,
            seed: self.seed,
            centre: parameters.centre,
            variant: parameters.variant,
            solver: self.solver_for_blocks(),
            patience: None,
            working_set: parameters.working_set,
            threads: self.threads.unwrap_or(defaults.threads),
            stop: self.stop.clone(),
        })
    }
}

/// Whether `store` has an index that is not out of date, and more rows than a few times its features: what an index is
/// made for.
fn suits_index(store: &DiskStore, notes: &mut Vec<String>) -> Result<bool, FitError> {
    let shape = store.shape();
    let is_current = |index: &IndexManifest| index.is_of(&StoreFingerprint::of(store.manifest()));
    match IndexManifest::read(store.path()) {
        Ok(Some(index)) if !is_current(&index) => {
            notes.push("the index is out of date and not used; `index` builds it anew".into());
            Ok(false)
        }
        Ok(index) => Ok(index.is_some() && shape.rows > 4 * shape.columns),
        Err(error @ StoreError::Index { .. }) => {
            notes.push(format!("not using the index: {error}"));
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}
