//! Models that there was no time for: all weights are 0, and how good that is depends on nothing but the targets.
use std::collections::HashMap;
use std::sync::Arc;

use crate::block::{Block, RowInfo};
use crate::budget::Budget;
use crate::engine::{
    Ceiling, Certificate, Cost, RowFilter, Solver, Status, Task, TrainError, Trained, Watch, scan_once,
};
use crate::loss::Loss;
use crate::loss::classes::{ClassLoss, CrammerSinger, Softmax};
use crate::objective::{Multiclass, Objective, Targets};
use crate::stop::Stop;
use crate::store::BlockStore;

/// What tasks cost without any weight: sums over rows, which are added on the way while they are read for others.
#[derive(Default)]
pub(crate) struct ZeroCosts {
    sums: Sums,
    /// Whether all rows have been added.
    is_whole: bool,
}

impl ZeroCosts {
    /// Nothing has been added.
    pub fn of(tasks: &[Task]) -> Self {
        ZeroCosts { sums: Sums::of(tasks), is_whole: false }
    }

    /// All rows come, from the first on.
    pub fn begin(&mut self, tasks: &[Task]) {
        if !self.is_whole {
            self.sums = Sums::of(tasks);
        }
    }

    /// A block has come, whose first row has this position.
    pub fn add(&mut self, tasks: &[Task], block: &Block, first: u64) {
        if !self.is_whole {
            self.sums.add(tasks, block, first);
        }
    }

    /// All rows have come.
    pub fn end(&mut self) {
        self.is_whole = true;
        self.sums.of_labels.iter_mut().for_each(Labels::sort);
    }

    /// Whether all rows have been added.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// F(0) of the task with this number.
    pub fn objective(&self, tasks: &[Task], number: usize) -> f64 {
        let (objective, part) = (&tasks[number].objective, self.sums.part_of[number]);
        match objective.targets.are_numbers() {
            true => self.sums.of_numbers[part],
            false => at_zero(objective, &self.sums.of_labels[part].sorted),
        }
    }
}

/// The models of tasks that there was no time for, by one scan of the store.
pub(crate) fn by_scan(
    store: &Arc<dyn BlockStore>,
    tasks: &[Task],
    (status, solver, cost): (Status, Solver, Cost),
    watch: &Watch,
    budget: &Budget,
) -> Result<Vec<Trained>, TrainError> {
    let mut costs = ZeroCosts::of(tasks);
    scan_once(store, budget, &mut Cost::default(), |block, first| {
        watch.goes_on(false)?;
        costs.add(tasks, block, first);
        Ok(())
    })?;
    costs.end();
    let objectives: Vec<f64> = (0..tasks.len()).map(|number| costs.objective(tasks, number)).collect();
    Ok(models(tasks, &objectives, store.shape().columns, (status, solver, cost)))
}

/// The models of tasks that a run has had no time for, which has ended like this and cost so much.
pub fn without_training(
    store: &Arc<dyn BlockStore>,
    tasks: &[Task],
    (stop, status, cost): (&Stop, Status, Cost),
    budget: &Budget,
) -> Result<Vec<Trained>, TrainError> {
    let watch = Watch::new(stop, None);
    by_scan(store, tasks, (status, Solver::Dual, cost), &watch, budget)
}

/// Models with weights of 0 whose objectives these are.
pub(crate) fn models(
    tasks: &[Task],
    objectives: &[f64],
    columns: u64,
    (status, solver, cost): (Status, Solver, Cost),
) -> Vec<Trained> {
    // What was read served all models; their own work is none.
    let cost = Cost { sweeps: 0, visits: 0, solve_seconds: 0.0, certify_seconds: 0.0, ..cost };
    let model = |(task, &objective): (&Task, &f64)| {
        // No loss is less than 0, and neither is the optimum.
        let certificate =
            Certificate { objective, dual_objective: 0.0, multiple: 0.0, support: 0, ..Certificate::default() };
        let weights = vec![0.0; task.objective.width() * (columns as usize + 1)];
        Trained::new(weights, status, certificate, cost).by(solver)
    };
    tasks.iter().zip(objectives).map(model).collect()
}

/// Weights of rows by label, of rows that are trained on.
struct Labels {
    rows: Option<Arc<dyn RowFilter>>,
    by_label: HashMap<u64, f64>,
    /// The same with ascending labels, once all rows have been added.
    sorted: Vec<(f64, f64)>,
}

impl Labels {
    fn sort(&mut self) {
        if self.sorted.is_empty() {
            self.sorted = self.by_label.iter().map(|(bits, weight)| (f64::from_bits(*bits), *weight)).collect();
            self.sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
    }
}

/// What tasks need to know of their rows. Those that tell classes apart share what they know of the same rows.
#[derive(Default)]
struct Sums {
    of_labels: Vec<Labels>,
    /// F(0) of tasks that predict numbers.
    of_numbers: Vec<f64>,
    /// Which one is of a task.
    part_of: Vec<usize>,
}

impl Sums {
    fn of(tasks: &[Task]) -> Sums {
        let mut sums = Sums::default();
        for task in tasks {
            if task.objective.targets.are_numbers() {
                sums.part_of.push(sums.of_numbers.len());
                sums.of_numbers.push(0.0);
                continue;
            }
            let known = sums.of_labels.iter().position(|labels| are_same(&labels.rows, &task.rows));
            sums.part_of.push(known.unwrap_or(sums.of_labels.len()));
            if known.is_none() {
                let rows = task.rows.clone();
                sums.of_labels.push(Labels { rows, by_label: HashMap::new(), sorted: Vec::new() });
            }
        }
        sums
    }

    fn add(&mut self, tasks: &[Task], block: &Block, first: u64) {
        for labels in &mut self.of_labels {
            for i in 0..block.rows() {
                let info = block.info(i);
                if labels.rows.as_ref().is_none_or(|rows| rows.keeps(&info, first + i as u64)) {
                    *labels.by_label.entry(info.label.to_bits()).or_default() += info.weight;
                }
            }
        }
        let numbers = tasks.iter().zip(&self.part_of).filter(|(task, _)| task.objective.targets.are_numbers());
        for (task, &part) in numbers {
            for i in 0..block.rows() {
                let info = block.info(i);
                if task.keeps(&info, first + i as u64) {
                    self.of_numbers[part] += number_at_zero(&task.objective, &info, block.further(i));
                }
            }
        }
    }
}

fn are_same(a: &Option<Arc<dyn RowFilter>>, b: &Option<Arc<dyn RowFilter>>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        _ => false,
    }
}

/// What all rows with these labels cost.
fn at_zero(objective: &Objective, labels: &[(f64, f64)]) -> f64 {
    let ceiling = Ceiling::of(objective);
    let joint = if objective.width() > 1 { loss_at_zero(objective) } else { 0.0 };
    let cost = |&(label, weight): &(f64, f64)| {
        let (y, c) = objective.row(&RowInfo { label, weight, group: 0, id: 0 });
        c * if objective.width() > 1 { joint } else { ceiling.value_at(y, 0.0) }
    };
    labels.iter().map(cost).sum()
}

/// What a row costs whose target is a number, or several.
fn number_at_zero(objective: &Objective, info: &RowInfo, further: &[f64]) -> f64 {
    let (y, c) = objective.row(info);
    match objective.targets {
        Targets::Several { .. } => 0.5 * c * (y * y + further.iter().map(|y| y * y).sum::<f64>()),
        _ => c * objective.loss.value(y, 0.0),
    }
}

/// The loss of a row where all weights are 0, whatever its class.
pub fn loss_at_zero(objective: &Objective) -> f64 {
    let margins = vec![0.0; objective.width()];
    match objective.targets.multiclass() {
        Some(Multiclass::CrammerSinger) => CrammerSinger.value(0, &margins),
        _ => Softmax.value(0, &margins),
    }
}
