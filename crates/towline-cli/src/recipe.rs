//! Which exact trainer runs: by blocks, with an index, in the primal, and whether losses are cut off.
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::ValueEnum;
use towline::budget::Budget;
use towline::columns;
use towline::index::{Forest, IndexManifest, PageCache};
use towline::indexed::{self, IndexedOptions};
use towline::loss::AnyLoss;
use towline::objective::Objective;
use towline::penalty::AnyPenalty;
use towline::second_order::can_use_newton;
use towline::store::{BlockStore, DiskStore, StoreError};
use towline::trainer::{
    Cost, Observer, Solver, Status, Step, StoreFingerprint, Task, TrainError, TrainOptions, Trained, WeightsNow, train,
    train_all, train_by_newton, without_training,
};
use towline::truncation::{self, Beginning, ConvexTrainer};

use crate::method::Method;
use crate::objective::not_negative;

/// Arguments about truncated losses, the index and the solver.
#[derive(clap::Args)]
pub struct RecipeArguments {
    /// Cut losses off at 1 + S, so that outliers count for no more than that [1 for methods that need it]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub truncate: Option<f64>,
    /// Rows of the convex model that a truncated loss begins with
    #[arg(long, value_name = "N", default_value_t = Beginning::default().rows, value_parser = clap::value_parser!(u64).range(1..))]
    init_rows: u64,
    /// Rows that a query of the index is to find
    #[arg(long, value_name = "N", default_value_t = IndexedOptions::default().wanted, value_parser = clap::value_parser!(u64).range(1..))]
    query_rows: u64,
    /// How the problem of the rows in memory is solved
    #[arg(long, value_enum, default_value_t = SolverChoice::Auto)]
    pub solver: SolverChoice,
    /// Whether late passes out of core leave features out that stay 0, for the penalties l1 and elastic-net
    #[arg(long, value_enum, default_value_t = WorkingSet::Auto)]
    pub working_set: WorkingSet,
}

/// Whether all rows with few of their features are solved in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WorkingSet {
    /// As long as they fit and that pays
    Auto,
    /// Never: all passes are over whole rows, as in papers
    Off,
}

/// How the problem is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SolverChoice {
    /// Whichever suits the data: by its shape, the memory, and how fast the gap falls
    Auto,
    /// Dual coordinate descent, for any loss and penalty
    Dual,
    /// Coordinate descent on columns, for the penalties l1, elastic-net and group; losses with kinks need all rows in memory
    Columns,
    /// Normal equations from one read, for the squared loss with l2, l1, elastic-net or no penalty
    Gram,
    /// Newton's method, for losses with a continuous slope and l2 or no penalty: with the exact Hessian where it fits, else by conjugate gradients
    Newton,
    /// The method of multipliers with Newton steps, for hinge and epsilon-insensitive with l2 or no penalty
    Multipliers,
}

/// Options about how rows are visited, which mean dual coordinate descent where they are typed.
const DUAL_ONLY: [&str; 4] = ["order", "cache_share", "selection", "rounds"];

/// A trainer and what it needs.
pub enum Recipe {
    /// A convex objective, by the solver that suits it.
    Blocks,
    /// A truncated loss by blocks.
    Truncated(ConvexTrainer, Beginning),
    /// A truncated loss with the index of the store.
    Indexed(IndexedOptions),
}

impl RecipeArguments {
    /// How trainers by blocks solve the problem of the rows in memory. A method with a name means its own way, unless another is typed.
    pub fn solver(&self, method: Method, typed: &[String]) -> Solver {
        match self.solver {
            SolverChoice::Auto
                if method == Method::Auto && !typed.iter().any(|id| DUAL_ONLY.contains(&id.as_str())) =>
            {
                Solver::Auto
            }
            SolverChoice::Auto | SolverChoice::Dual => Solver::Dual,
            SolverChoice::Columns => Solver::Columns,
            SolverChoice::Gram => Solver::Gram,
            SolverChoice::Newton => Solver::Newton,
            SolverChoice::Multipliers => Solver::Multipliers,
        }
    }

    /// Chooses the trainer for `objective`, whose loss and truncation follow the method. `typed` are the options that were typed; `notes` gets what is worth saying of an
    /// index that is there and not used.
    pub fn choose(
        &self,
        method: Method,
        objective: &mut Objective,
        store: &DiskStore,
        typed: &[String],
        notes: &mut Vec<String>,
    ) -> anyhow::Result<Recipe> {
        let is_typed = |id: &str| typed.iter().any(|typed| typed == id);
        if let Some(loss) = method.own_loss() {
            if (is_typed("loss") || is_typed("liblinear_type")) && objective.loss != loss {
                bail!("this method has the {} loss; leave --loss out, or use another method", loss.name());
            }
            objective.loss = loss;
        }
        let is_own = method.own_loss().is_some();
        objective.truncate = match self.truncate {
            Some(s) => Some(not_negative("--truncate", s)?),
            None => is_own.then_some(1.0),
        };
        let newton = self.solver == SolverChoice::Newton || method.is_primal();
        if self.solver == SolverChoice::Columns {
            columns::can_train(objective)?;
        }
        let is_sparse = matches!(objective.penalty, AnyPenalty::L1(_) | AnyPenalty::ElasticNet(_));
        if is_typed("working_set") && !(is_sparse && objective.width() == 1) {
            bail!(
                "--working-set is for one output and penalties that make weights 0 one by one, l1 and elastic-net; leave it out"
            );
        }
        if is_own && is_typed("solver") && newton != method.is_primal() {
            bail!("the method says how it solves; leave --solver out");
        }
        let beginning = Beginning {
            rows: self.init_rows,
            shuffled: store.manifest().shuffle_seed.is_some() && store.manifest().generation == 1,
        };
        let indexed = IndexedOptions { wanted: self.query_rows, primal: newton, beginning };
        let recipe = self.recipe(method, objective, (store, indexed), notes)?;
        self.check(&recipe, &is_typed)?;
        Ok(recipe)
    }

    fn recipe(
        &self,
        method: Method,
        objective: &Objective,
        (store, indexed): (&DiskStore, IndexedOptions),
        notes: &mut Vec<String>,
    ) -> anyhow::Result<Recipe> {
        if indexed.primal {
            if !matches!(method, Method::Auto) && method.own_loss().is_none() {
                bail!("--solver newton is a method of its own; leave --method out");
            }
            if objective.truncate.is_some() {
                can_use_newton(objective)?;
            }
        }
        if objective.truncate.is_none() {
            return Ok(Recipe::Blocks);
        }
        if !objective.loss.is_classification() || objective.width() > 1 || !objective.is_plain_l2() {
            bail!(
                "--truncate is for hinge, squared-hinge and logistic with the penalty l2, --lambda 1 and no intercept; use --bias, or leave --truncate out"
            );
        }
        if !matches!(method, Method::Auto | Method::Sbm | Method::Bmd) && method.own_loss().is_none() {
            bail!("--truncate is for exact methods on the penalty l2; use auto, sbm, bmd, or one of ibcd- and trunc-");
        }
        if method.wants_index() {
            indexed::can_train(objective, &indexed)?;
            return Ok(Recipe::Indexed(indexed));
        }
        if method == Method::Auto && suits_index(store, notes)? && indexed::can_train(objective, &indexed).is_ok() {
            return Ok(Recipe::Indexed(indexed));
        }
        let convex: ConvexTrainer = if indexed.primal { train_by_newton } else { train };
        Ok(Recipe::Truncated(convex, indexed.beginning))
    }

    /// Refuses options that the trainer would have to ignore.
    fn check(&self, recipe: &Recipe, is_typed: &dyn Fn(&str) -> bool) -> anyhow::Result<()> {
        let blocks = [("cache_share", "--cache-share"), ("selection", "--selection"), ("rounds", "--rounds")];
        let (truncated, with_index) = ([("init_rows", "--init-rows")], [("query_rows", "--query-rows")]);
        let find = |lists: &[&[(&str, &'static str)]]| {
            lists.concat().iter().find(|(id, _)| is_typed(id)).map(|&(_, option)| option)
        };
        let refuse = |option: Option<&str>, why: &str| match option {
            Some(option) => bail!("{option} {why}; leave it out"),
            None => Ok(()),
        };
        match recipe {
            Recipe::Blocks => {
                let second_order =
                    matches!(self.solver, SolverChoice::Gram | SolverChoice::Newton | SolverChoice::Multipliers);
                if second_order {
                    refuse(find(&[&blocks, &[("order", "--order")]]), "is for --solver dual")?;
                }
                refuse(find(&[&truncated, &with_index]), "is for truncated losses (--truncate)")
            }
            Recipe::Truncated(..) => refuse(find(&[&with_index]), "is for training with an index (towline index)"),
            Recipe::Indexed(_) => refuse(find(&[&blocks]), "means nothing to training with an index"),
        }
    }
}

/// Whether `store` has an index that is not out of date, and more rows than a few times its features: what an index is made for.
fn suits_index(store: &DiskStore, notes: &mut Vec<String>) -> anyhow::Result<bool> {
    let shape = store.shape();
    let is_current = |index: &IndexManifest| index.is_of(&StoreFingerprint::of(store.manifest()));
    match IndexManifest::read(store.path()) {
        Ok(Some(index)) if !is_current(&index) => {
            notes.push("the index is out of date and not used; 'towline index' builds it anew".into());
            Ok(false)
        }
        Ok(index) => Ok(index.is_some() && shape.rows > 4 * shape.columns),
        Err(error @ StoreError::Index { .. }) => {
            notes.push(crate::flags::typed(&format!("not using the index: {error}")));
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

impl Recipe {
    /// What is worth saying before it begins.
    pub fn note(&self) -> Option<String> {
        match self {
            Recipe::Indexed(options) => {
                let how = if options.primal { "Newton steps" } else { "dual coordinate descent" };
                Some(format!("using the index of the store, with {how} (--method trunc-l1-dual and others do without)"))
            }
            Recipe::Blocks | Recipe::Truncated(..) => None,
        }
    }

    /// Trains all models.
    pub fn train(
        &self,
        store: &Arc<DiskStore>,
        options: TrainOptions,
        budget: &Budget,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Trained>, TrainError> {
        match self {
            Recipe::Blocks => train_all(store.clone(), &options, budget, observer),
            Recipe::Truncated(convex, beginning) => {
                one_by_one(store, budget, options, observer, |options, observer| {
                    truncation::train(store.clone(), options, (*beginning, *convex), budget, observer)
                })
            }
            Recipe::Indexed(indexed) => {
                let forest = Arc::new(Forest::open(store, budget)?);
                let mut pages = PageCache::new(forest, budget)?;
                indexed::train(store, &mut pages, (&options, indexed), budget, observer)
            }
        }
    }
}

/// Trains the models of all tasks, one after the other, as long as there is time.
fn one_by_one(
    store: &Arc<DiskStore>,
    budget: &Budget,
    mut options: TrainOptions,
    observer: &mut dyn Observer,
    mut train: impl FnMut(&TrainOptions, &mut dyn Observer) -> Result<Trained, TrainError>,
) -> Result<Vec<Trained>, TrainError> {
    let tasks: Vec<Task> = std::mem::take(&mut options.tasks);
    let mut trained: Vec<Trained> = Vec::with_capacity(tasks.len());
    let (begin, max_time, mut before) = (Instant::now(), options.max_time, Cost::default());
    let mut left = tasks.into_iter();
    while let Some(task) = left.next() {
        options.max_time = max_time.map(|limit| limit.saturating_sub(begin.elapsed()));
        let status = match options.max_time {
            _ if options.stop.is_requested() => Some(Status::Interrupted),
            Some(Duration::ZERO) => Some(Status::OutOfTime),
            _ => None,
        };
        if let Some(status) = status.filter(|_| !trained.is_empty()) {
            let tasks: Vec<Task> = [task].into_iter().chain(left).collect();
            let store: Arc<dyn BlockStore> = store.clone();
            trained.append(&mut without_training(&store, &tasks, (&options.stop, status, before), budget)?);
            break;
        }
        options.tasks = vec![task];
        let model = train(&options, &mut After { before, observer })?;
        let cost = model.cost.after(&before);
        before = before.with(&model.cost);
        trained.push(Trained { cost, ..model });
    }
    Ok(trained)
}

/// Adds what earlier models cost to what an observer sees.
struct After<'a> {
    before: Cost,
    observer: &'a mut dyn Observer,
}

impl Observer for After<'_> {
    fn step(&mut self, step: &Step, weights: &WeightsNow) {
        self.observer.step(&Step { cost: self.before.with(&step.cost), ..*step }, weights);
    }

    fn note(&mut self, text: &str) {
        self.observer.note(text);
    }
}

impl Method {
    /// The loss that the name of the method has in it.
    pub fn own_loss(self) -> Option<AnyLoss> {
        let name = match self {
            Method::IbcdL1Dual | Method::TruncL1Dual => "hinge",
            Method::IbcdL2Dual | Method::IbcdL2Primal | Method::TruncL2Dual | Method::TruncL2Primal => "squared-hinge",
            _ => return None,
        };
        AnyLoss::from_name(name, 0.0, 1.0).ok()
    }

    fn is_primal(self) -> bool {
        matches!(self, Method::IbcdL2Primal | Method::TruncL2Primal)
    }

    fn wants_index(self) -> bool {
        matches!(self, Method::IbcdL1Dual | Method::IbcdL2Dual | Method::IbcdL2Primal)
    }
}
