//! Names become types here, once a run: the loss, the way from dual variables to weights, and what a model consists of.
use std::sync::Arc;

use rayon::ThreadPool;

use super::run::Run;
use crate::budget::Budget;
use crate::columns::{ByColumns, ColumnsOfBlock, Coordinates, Groups, ModelLoss, Room, Rounded, Smooth};
use crate::engine::problem::make::{ByRowsIn, ProblemRequest, problem_by_rows};
use crate::engine::{
    Cost, Observer, PathState, Plan, Problem, Proximal, Single, Solver, Task, TrainError, TrainOptions, Trained,
    Variant, Watch,
};
use crate::loss::{Loss, LossVisitor, SmoothLoss, SmoothLossVisitor};
use crate::penalty::{GroupShrinkage, SoftThresholding, Structure};
use crate::store::BlockStore;

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
    pub chain: Option<PathState>,
    /// Told of each wave: the number of its first task, and its models, to be looked at or taken away.
    pub each: &'a mut TakesModels<'a, E>,
}

/// What a task asks for, as one of the kinds of problems.
pub fn problem(
    task: &Task,
    columns: usize,
    plan: &Plan,
    (watch, threads): (&Watch, &Arc<ThreadPool>),
    (variant, budget): (&Variant, &Budget),
) -> Box<dyn Problem> {
    let objective = &task.objective;
    if plan.solver == Solver::Columns && plan.in_memory {
        let room = || (Room { budget: budget.clone(), bytes: plan.spare_bytes }, watch.clone());
        let smooth = objective.loss.visit_smooth(ByColumn { task, columns, room: room() });
        return smooth.unwrap_or_else(|_| objective.loss.visit(ByColumn { task, columns, room: room() }));
    }
    if plan.solver == Solver::Columns
        && let Ok(problem) = objective.loss.visit_smooth(ByColumnsOfBlocks { task, columns, watch, variant })
    {
        return problem;
    }
    let how = match plan.parts {
        1 if plan.is_lean => ByRowsIn::LittleMemory,
        1 => ByRowsIn::OnePart,
        parts => ByRowsIn::Parts(parts, threads.clone()),
    };
    problem_by_rows(ProblemRequest { task, columns, how, variant, budget })
}

/// All rows are in memory, by row and by column.
struct ByColumn<'a> {
    task: &'a Task,
    columns: usize,
    /// Where columns may be copied to, and when the run has to end.
    room: (Room, Watch),
}

impl ByColumn<'_> {
    fn problem<B: ModelLoss + 'static>(self, model_loss: B) -> Box<dyn Problem> {
        let ByColumn { task, columns, room } = self;
        let penalised = columns + usize::from(!task.objective.intercept);
        match task.objective.penalty.structure() {
            Structure::Groups(group) => {
                Box::new(ByColumns::new(model_loss, columns, task, Groups::new(group, penalised), room))
            }
            Structure::Coordinates(terms) => {
                Box::new(ByColumns::new(model_loss, columns, task, Coordinates::new(terms, penalised), room))
            }
            Structure::Matrix(_) => unreachable!("refused by columns::can_train"),
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
    variant: &'a Variant,
}

impl SmoothLossVisitor for ByColumnsOfBlocks<'_> {
    type Out = Box<dyn Problem>;

    fn visit<L: SmoothLoss>(self, loss: L) -> Self::Out {
        let ByColumnsOfBlocks { task, columns, watch, variant } = self;
        let objective = task.objective.clone();
        let penalised = columns + usize::from(!objective.intercept);
        let curvature = objective.loss.curvature();
        match task.objective.penalty.structure() {
            Structure::Groups(group) => {
                let link = Proximal::new(columns, (task, variant), curvature, GroupShrinkage::new(group.clone(), 1.0));
                let solver = ColumnsOfBlock::new(Groups::new(group, penalised), watch.clone(), variant);
                Box::new(Single::solved_by(solver, loss, link, objective))
            }
            Structure::Coordinates(terms) => {
                let link = Proximal::new(columns, (task, variant), curvature, SoftThresholding::new(terms, 1.0));
                let solver = ColumnsOfBlock::new(Coordinates::new(terms, penalised), watch.clone(), variant);
                Box::new(Single::solved_by(solver, loss, link, objective))
            }
            Structure::Matrix(_) => unreachable!("refused by columns::can_train"),
        }
    }
}

impl<E: From<TrainError>> Group<'_, E> {
    /// Trains in waves of as many models as fit.
    pub fn run(self) -> Result<Cost, E> {
        let Group { store, tasks, options, budget, observer, mut chain, each } = self;
        // Models of a path are handed over as they come.
        let models = (tasks.len(), chain.is_none());
        let plan = Plan::for_run(&*store, &tasks[0].objective, (options.solver, options.parts), models, budget);
        let (plan, mut size) = plan?;
        if plan.in_memory {
            // Nor is any, where rows stay: models that are done make room, and those of a run that has to end are fewer
            // that are not.
            size = size.min(MOST_IN_MEMORY.max(options.threads));
        }
        if let Some(chain) = &chain
            && plan.in_memory
        {
            // No reading is saved by more of them, and a start from nearby is lost.
            size = size.min(options.threads.max(chain.models));
        }
        let plan = match options.variant.blocks {
            Some(blocks) => plan.in_blocks(&*store, blocks, options.cache_share)?,
            None => plan,
        };
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
            let is_over = ended.iter().any(|trained| trained.status.is_stop());
            each(number * together, &mut ended)?;
            if let Some(chain) = &mut chain {
                chain.go_on_from(ended, points);
                if is_over {
                    break;
                }
            }
        }
        let Cost { passes, bytes_read, seconds, read_seconds, .. } = run.shared_cost();
        Ok(Cost { passes, bytes_read, seconds, read_seconds, ..cost })
    }
}
