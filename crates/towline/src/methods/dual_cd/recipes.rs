//! Names become types here, once a run: the loss, the way from dual variables to weights, and what a model consists of.
use std::sync::Arc;

use super::choose::train_alike;
use super::joint::Joint;
use super::lean::Lean;
use super::limits::{Limits, Watch};
use super::link::Identity;
use super::path::Chain;
use super::plan::Plan;
use super::problem::Problem;
use super::proximal::Proximal;
use super::run::Run;
use super::side_by_side::Plain;
use super::single::Single;
use super::{CheckpointFile, Cost, Observer, Solver, Status, Task, TrainError, TrainOptions, Trained};
use crate::budget::Budget;
use crate::columns::{Bends, ByColumns, ColumnsOfBlock, Coordinates, Groups, Room, Rounded, Smooth};
use crate::loss::classes::{CrammerSinger, Softmax};
use crate::loss::joint::{JointLoss, OfClass, SquaredTargets};
use crate::loss::{Loss, LossVisitor, SmoothLoss, SmoothLossVisitor};
use crate::objective::{Multiclass, Objective, Targets};
use crate::penalty::{AnyPenalty, Group as GroupPenalty, GroupMap, GroupShrinkage, NuclearShrinkage, SoftThreshold};
use crate::store::BlockStore;

/// Trains one model on `store` within `budget`: the first task, which should be the only one.
pub fn train(
    store: Arc<dyn BlockStore>,
    options: &TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Trained, TrainError> {
    Ok(train_all(store, options, budget, observer)?.swap_remove(0))
}

/// The same by Newton's method, for what solves one convex problem after the other.
pub fn train_by_newton(
    store: Arc<dyn BlockStore>,
    given: &TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Trained, TrainError> {
    let options = TrainOptions { solver: Solver::Newton, ..given.with_tasks(Vec::new()) };
    Ok(train_alike(&store, &given.tasks[..1], &options, budget, observer)?.swap_remove(0))
}

/// Trains all models on `store` within `budget`, as many at a time as there is room for.
pub fn train_all(
    store: Arc<dyn BlockStore>,
    options: &TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Vec<Trained>, TrainError> {
    let mut all = Vec::with_capacity(options.tasks.len());
    let limits = Limits::new(options);
    for tasks in options.tasks.chunk_by(|a, b| is_alike(&a.objective, &b.objective)) {
        let rest = TrainOptions { max_time: limits.rest(), ..options.with_tasks(Vec::new()) };
        all.append(&mut train_alike(&store, tasks, &rest, budget, observer)?);
    }
    // Where models share a file, it is written at once.
    let mut files = options.tasks.iter().filter_map(|task| task.checkpoint.as_ref());
    files.try_for_each(CheckpointFile::commit)?;
    Ok(all)
}

/// Trains models that are alike by coordinate descent on rows or on columns.
pub fn by_coordinates(
    store: &Arc<dyn BlockStore>,
    tasks: &[Task],
    options: &TrainOptions,
    budget: &Budget,
    observer: &mut dyn Observer,
) -> Result<Vec<Trained>, TrainError> {
    let mut all = Vec::with_capacity(tasks.len());
    let each = &mut |_: usize, trained: &mut Vec<Trained>| {
        if tasks.len() > trained.len() {
            trained.iter_mut().for_each(Trained::keep_only_weights);
        }
        all.append(trained);
        Ok::<(), TrainError>(())
    };
    let store = store.clone();
    Group { store, tasks, options, budget, observer, chain: None, each }.run()?;
    Ok(all)
}

/// Whether models of both objectives take the same memory and can have the same solver, and so one plan is for both.
fn is_alike(a: &Objective, b: &Objective) -> bool {
    let is_several = |objective: &Objective| matches!(objective.targets, Targets::Several { .. });
    let kind = |objective: &Objective| objective.targets.multiclass();
    a.loss == b.loss
        && kind(a) == kind(b)
        && is_several(a) == is_several(b)
        && a.is_plain_l2() == b.is_plain_l2()
        && a.penalty.name() == b.penalty.name()
        && a.width() == b.width()
}

/// Models that are trained together where all rows are in memory, at most.
const MOST_IN_MEMORY: usize = 128;

/// Is given the models of a wave, and the number of the first.
pub type TakesModels<'a, E> = dyn FnMut(usize, &mut Vec<Trained>) -> Result<(), E> + 'a;

/// Tasks that are alike.
pub struct Group<'a, E> {
    pub store: Arc<dyn BlockStore>,
    pub tasks: &'a [Task],
    pub options: &'a TrainOptions,
    pub budget: &'a Budget,
    pub observer: &'a mut dyn Observer,
    /// Whether tasks are points of a path, which start from those before them.
    pub chain: Option<Chain>,
    /// Told of each wave: the number of its first task, and its models, to be looked at or taken away.
    pub each: &'a mut TakesModels<'a, E>,
}

/// What a task asks for, as one of the kinds of problems.
pub fn problem(task: &Task, columns: usize, plan: &Plan, watch: &Watch, budget: &Budget) -> Box<dyn Problem> {
    let objective = &task.objective;
    if plan.solver == Solver::Columns && plan.in_memory {
        let room = || (Room { budget: budget.clone(), bytes: plan.spare_bytes }, watch.clone());
        let smooth = objective.loss.visit_smooth(ByColumn { task, columns, room: room() });
        return smooth.unwrap_or_else(|_| objective.loss.visit(ByColumn { task, columns, room: room() }));
    }
    if plan.solver == Solver::Columns
        && let Ok(problem) = objective.loss.visit_smooth(ByColumnsOfBlocks { task, columns, watch })
    {
        return problem;
    }
    match (&objective.targets, objective.targets.multiclass()) {
        (Targets::Several { .. }, _) => joint(SquaredTargets, task, columns, budget),
        (_, Some(Multiclass::CrammerSinger)) => joint(OfClass(CrammerSinger), task, columns, budget),
        (_, Some(Multiclass::Softmax)) => joint(OfClass(Softmax), task, columns, budget),
        (_, Some(Multiclass::OneVsRest) | None) => {
            let with = WithLoss { task, columns, is_lean: plan.is_lean };
            match &task.own_loss {
                Some(own) => own.0.problem(with),
                None => objective.loss.visit(with),
            }
        }
    }
}

/// All outputs in one objective, with the penalty that the task asks for.
fn joint<M: JointLoss>(loss: M, task: &Task, columns: usize, budget: &Budget) -> Box<dyn Problem> {
    let objective = task.objective.clone();
    if objective.is_plain_l2() {
        let plain = Plain::new(columns, objective.width(), objective.bias);
        return Box::new(Joint::new(loss, plain, objective, Some(budget)));
    }
    let curvature = loss.curvature();
    match &task.objective.penalty {
        AnyPenalty::Group(group) => {
            let lazy = GroupShrinkage::new(group.clone(), 1.0);
            Box::new(Joint::new(loss, Proximal::new(columns, task, curvature, lazy), objective, Some(budget)))
        }
        AnyPenalty::Nuclear(nuclear) => {
            let lazy = NuclearShrinkage::new(*nuclear, 1.0);
            Box::new(Joint::new(loss, Proximal::new(columns, task, curvature, lazy), objective, Some(budget)))
        }
        _ => {
            let lazy = SoftThreshold { threshold: 0.0, factor: 1.0 };
            Box::new(Joint::new(loss, Proximal::new(columns, task, curvature, lazy), objective, Some(budget)))
        }
    }
}

/// A problem of one output.
pub struct WithLoss<'a> {
    task: &'a Task,
    columns: usize,
    /// Whether weights without a second vector have to do.
    is_lean: bool,
}

impl LossVisitor for WithLoss<'_> {
    type Out = Box<dyn Problem>;

    fn visit<L: Loss>(self, loss: L) -> Self::Out {
        let WithLoss { task, columns, is_lean } = self;
        let objective = task.objective.clone();
        if objective.is_plain_l2() && is_lean {
            return Box::new(Single::new(loss, Lean::new(columns, objective.bias), objective));
        }
        if objective.is_plain_l2() {
            return Box::new(Single::new(loss, Identity::new(columns, objective.bias), objective));
        }
        let curvature = loss.curvature();
        match &task.objective.penalty {
            AnyPenalty::Group(group) => {
                let lazy = GroupShrinkage::new(group.clone(), 1.0);
                Box::new(Single::new(loss, Proximal::new(columns, task, curvature, lazy), objective))
            }
            AnyPenalty::Nuclear(nuclear) => {
                // The one singular value of a vector is its length: all features are one group.
                let group = GroupPenalty { lambda: nuclear.lambda, groups: GroupMap::whole(columns + 1) };
                let lazy = GroupShrinkage::new(group, 1.0);
                Box::new(Single::new(loss, Proximal::new(columns, task, curvature, lazy), objective))
            }
            _ => {
                let lazy = SoftThreshold { threshold: 0.0, factor: 1.0 };
                Box::new(Single::new(loss, Proximal::new(columns, task, curvature, lazy), objective))
            }
        }
    }
}

/// All rows are in memory, by row and by column.
struct ByColumn<'a> {
    task: &'a Task,
    columns: usize,
    /// Where columns may be copied to, and when the run has to end.
    room: (Room, Watch),
}

impl ByColumn<'_> {
    fn problem<B: Bends + 'static>(self, bends: B) -> Box<dyn Problem> {
        let ByColumn { task, columns, room } = self;
        let penalised = columns + usize::from(!task.objective.intercept);
        match &task.objective.penalty {
            AnyPenalty::Group(group) => {
                Box::new(ByColumns::new(bends, columns, task, Groups::new(group, penalised), room))
            }
            penalty => Box::new(ByColumns::new(bends, columns, task, Coordinates::new(penalty, penalised), room)),
        }
    }
}

impl SmoothLossVisitor for ByColumn<'_> {
    type Out = Box<dyn Problem>;

    fn visit<L: SmoothLoss>(self, loss: L) -> Self::Out {
        self.problem(Smooth(loss))
    }
}

impl LossVisitor for ByColumn<'_> {
    type Out = Box<dyn Problem>;

    fn visit<L: Loss>(self, loss: L) -> Self::Out {
        self.problem(Rounded::new(loss))
    }
}

/// Each block is solved by its columns.
struct ByColumnsOfBlocks<'a> {
    task: &'a Task,
    columns: usize,
    watch: &'a Watch,
}

impl SmoothLossVisitor for ByColumnsOfBlocks<'_> {
    type Out = Box<dyn Problem>;

    fn visit<L: SmoothLoss>(self, loss: L) -> Self::Out {
        let ByColumnsOfBlocks { task, columns, watch } = self;
        let objective = task.objective.clone();
        let penalised = columns + usize::from(!objective.intercept);
        let curvature = objective.loss.curvature();
        match &task.objective.penalty {
            AnyPenalty::Group(group) => {
                let link = Proximal::new(columns, task, curvature, GroupShrinkage::new(group.clone(), 1.0));
                let solver = ColumnsOfBlock::new(Groups::new(group, penalised), watch.clone());
                Box::new(Single::solved_by(solver, loss, link, objective))
            }
            penalty => {
                let link = Proximal::new(columns, task, curvature, SoftThreshold { threshold: 0.0, factor: 1.0 });
                let solver = ColumnsOfBlock::new(Coordinates::new(penalty, penalised), watch.clone());
                Box::new(Single::solved_by(solver, loss, link, objective))
            }
        }
    }
}

impl<E: From<TrainError>> Group<'_, E> {
    /// Trains in waves of as many models as fit.
    pub fn run(self) -> Result<Cost, E> {
        let Group { store, tasks, options, budget, observer, mut chain, each } = self;
        // Models of a path are handed over as they come.
        let models = (tasks.len(), chain.is_none());
        let plan = Plan::for_run(&*store, &tasks[0].objective, options.solver, models, budget);
        let (plan, mut size) = plan?;
        if plan.in_memory {
            // Nor is any, where rows stay: models that are done make room, and those of a run that has to end are fewer that are not.
            size = size.min(MOST_IN_MEMORY.max(options.threads));
        }
        if let Some(chain) = &chain
            && plan.in_memory
        {
            // No reading is saved by more of them, and a start from nearby is lost.
            size = size.min(options.threads.max(chain.models));
        }
        let mut run = Run::new(store, options, plan, budget, observer)?;
        let mut cost = Cost::default();
        let together = chain.as_ref().map_or(size, |chain| chain.wave(size));
        if size.min(together) < tasks.len() {
            run.expect(tasks);
        }
        for (number, points) in tasks.chunks(together).enumerate() {
            let mut ended = Vec::with_capacity(points.len());
            // Where not even one point fits, its models take turns.
            for wave in points.chunks(size) {
                let started = chain.as_ref().and_then(|chain| chain.start(ended.len(), wave));
                let before = run.shared_cost();
                let wave = started.as_deref().unwrap_or(wave);
                let mut trained = match run.reason_to_stop().filter(|_| before.passes > 0) {
                    Some(status) => {
                        let first = number * together + ended.len();
                        run.unlearnt(first..first + wave.len(), status)?
                    }
                    None => run.train(wave)?,
                };
                if chain.is_some() {
                    trained.iter_mut().for_each(|trained| trained.cost = trained.cost.without(&before));
                }
                trained.iter().for_each(|trained| cost = cost.with(&trained.cost));
                ended.append(&mut trained);
            }
            let interrupted = ended.iter().any(|trained| trained.status == Status::Interrupted);
            each(number * together, &mut ended)?;
            if let Some(chain) = &mut chain {
                chain.go_on_from(ended, points);
                if interrupted {
                    break;
                }
            }
        }
        let Cost { passes, bytes_read, seconds, read_seconds, .. } = run.shared_cost();
        Ok(Cost { passes, bytes_read, seconds, read_seconds, ..cost })
    }
}
