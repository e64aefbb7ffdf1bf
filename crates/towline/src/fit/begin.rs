//! Where runs keep their dual variables, and what another run starts from.
//!
//! They lie beside the model in `MODEL.duals`: those of the only model, or of all of them where each class has a model
//! of its own.
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::data::Data;
use super::error::{FitError, refuse};
use crate::engine::{Checkpoint, CheckpointError, CheckpointFile, Checkpoints, Start, Task};
use crate::objective::{Objective, Targets};
use crate::store::StoreFingerprint;
use crate::store::{BlockStore, DiskStore};

/// What a model has left for another fit to start from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The dual variable of each row; none from a method without them.
    pub duals: Vec<f64>,
    /// Weights by column, those of the constant feature last.
    pub weights: Vec<f64>,
}

/// What a run starts from, if it is not what an earlier run with the same objective has left.
#[derive(Clone, Debug)]
pub(super) enum Begin {
    /// Nothing.
    Nothing,
    /// The dual variables beside this model, of another C or of fewer rows.
    Model(PathBuf),
    /// What the models of another fit have left.
    State(Vec<State>),
}

/// The dual variables of a model, or of several, lie here.
pub fn duals_path(model: &Path) -> PathBuf {
    let mut name = model.file_name().unwrap_or_default().to_os_string();
    name.push(".duals");
    model.with_file_name(name)
}

/// What an earlier run has left.
#[derive(Debug, Default)]
pub(super) enum Left {
    /// Nothing of this kind.
    #[default]
    Nothing,
    /// The only model.
    One(Box<Checkpoint>),
    /// One for each class.
    Many(Arc<Checkpoints>),
}

impl Left {
    /// What is in a file of as many models as these objectives.
    pub fn open(path: &Path, objectives: &[Objective], store: &DiskStore) -> Result<Left, FitError> {
        let shape = store.shape();
        let columns = shape.columns.saturating_add(1);
        let width = objectives.first().map_or(1, Objective::width) as u64;
        let numbers = shape.rows.saturating_add(columns).saturating_mul(width);
        Ok(match objectives.len() {
            1 => Checkpoint::open(path, numbers)?.map_or(Left::Nothing, |found| Left::One(Box::new(found))),
            models => {
                // Each class is named in the table.
                let names: usize = objectives[0].targets.names().iter().map(String::len).sum();
                let models = models as u64 + names as u64;
                Checkpoints::open(path, models, numbers)?.map_or(Left::Nothing, Left::Many)
            }
        })
    }

    /// What is known of each model.
    pub fn each(self, models: usize) -> Vec<Option<Checkpoint>> {
        match self {
            Left::Nothing => (0..models).map(|_| None).collect(),
            Left::One(found) => vec![Some(*found)],
            Left::Many(all) => (0..models).map(|model| all.get(&name(model))).collect(),
        }
    }
}

/// The name of a model among others.
fn name(model: usize) -> String {
    (model + 1).to_string()
}

/// Where the dual variables of this many models go: on in the file of an earlier run, or to a new one.
pub(super) fn files(
    path: &Path,
    earlier: Option<Arc<Checkpoints>>,
    models: usize,
    store: &DiskStore,
) -> Vec<CheckpointFile> {
    let store = StoreFingerprint::of(store.manifest());
    if models == 1 {
        return vec![CheckpointFile::alone(path.to_path_buf(), store)];
    }
    let all = earlier.unwrap_or_else(|| Checkpoints::new(path));
    (0..models).map(|model| CheckpointFile::among(&all, name(model), store.clone())).collect()
}

/// One task per model that the objective asks for, with its checkpoint beside `output` and its start.
pub(super) fn tasks(
    objectives: Vec<Objective>,
    data: &Data,
    output: Option<&Path>,
    begin: Option<&Begin>,
) -> Result<Vec<Task>, FitError> {
    let Some(store) = data.disk() else {
        if output.is_some() || matches!(begin, Some(Begin::Model(_))) {
            return refuse("`checkpoint` and `warm_start` from a file are for a store; pack the rows first");
        }
        return in_memory(objectives, begin);
    };
    if let Some(Begin::State(_)) = begin {
        let mut tasks = in_memory(objectives, begin)?;
        if let Some(output) = output {
            let files = files(&duals_path(output), None, tasks.len(), store);
            tasks.iter_mut().zip(files).for_each(|(task, file)| task.checkpoint = Some(file));
        }
        return Ok(tasks);
    }
    on_disk(objectives, store, output, begin)
}

fn on_disk(
    objectives: Vec<Objective>,
    store: &DiskStore,
    output: Option<&Path>,
    begin: Option<&Begin>,
) -> Result<Vec<Task>, FitError> {
    let models = objectives.len();
    let own = output.map(duals_path);
    let theirs = match begin {
        Some(Begin::Model(model)) => Some(duals_path(model)),
        Some(Begin::Nothing | Begin::State(_)) => None,
        None => own.clone(),
    };
    let left = theirs.as_ref().map_or(Ok(Left::Nothing), |path| Left::open(path, &objectives, store))?;
    let all = match (&left, begin) {
        (Left::Many(all), None) => Some(all.clone()),
        _ => None,
    };
    let mut begins = Vec::with_capacity(models);
    for (found, objective) in left.each(models).into_iter().zip(&objectives) {
        begins.push(match (begin, &theirs) {
            (Some(Begin::Model(_)), Some(path)) => other(found, path, objective, store)?,
            (_, Some(path)) => earlier(found, path, objective, store)?,
            (_, None) => (None, Vec::new()),
        });
    }
    // Where nothing can be continued, a new file takes the place of the old one.
    let all = all.filter(|_| begins.iter().any(|(start, _)| start.is_some()));
    let mut files = own.map_or(Vec::new(), |path| files(&path, all, models, store)).into_iter();
    let tasks = objectives.into_iter().zip(begins);
    let make = |(objective, (start, start_weights))| Task {
        start,
        start_weights,
        checkpoint: files.next(),
        ..Task::new(objective)
    };
    Ok(tasks.map(make).collect())
}

fn in_memory(objectives: Vec<Objective>, begin: Option<&Begin>) -> Result<Vec<Task>, FitError> {
    let mut tasks: Vec<Task> = objectives.into_iter().map(Task::new).collect();
    if let Some(Begin::State(states)) = begin {
        if states.len() != tasks.len() {
            return refuse(format!(
                "the fit to start from has {} models, and this one {}; start from one of the same classes",
                states.len(),
                tasks.len()
            ));
        }
        for (task, state) in tasks.iter_mut().zip(states) {
            // Models that sums over rows have led to have weights alone.
            task.start = (!state.duals.is_empty()).then(|| Start::Values(state.duals.clone()));
            task.start_weights = state.weights.clone();
        }
    }
    Ok(tasks)
}

/// One objective for each model. LIBLINEAR lets the weight of a class count just where it is the positive one.
pub(super) fn split(objective: &Objective, own_weight_only: bool) -> Vec<Objective> {
    let mut all = objective.split();
    for objective in all.iter_mut().filter(|_| own_weight_only) {
        if let Targets::OneOf { class, classes } = &mut objective.targets {
            let own = *class as usize;
            let weights = classes.weights_mut().iter_mut().enumerate();
            weights.filter(|(other, _)| *other != own).for_each(|(_, weight)| *weight = 1.0);
        }
    }
    all
}

type Begun = (Option<Start>, Vec<f64>);

fn earlier(
    found: Option<Checkpoint>,
    path: &Path,
    objective: &Objective,
    store: &DiskStore,
) -> Result<Begun, FitError> {
    let here = StoreFingerprint::of(store.manifest());
    Ok(match found {
        Some(found) if found.header.store == here && found.header.objective == *objective => {
            let weights = weights(&found, path, objective, store)?;
            (Some(Start::Earlier(Box::new(found), 1.0)), weights)
        }
        _ => (None, Vec::new()),
    })
}

fn other(found: Option<Checkpoint>, path: &Path, objective: &Objective, store: &DiskStore) -> Result<Begun, FitError> {
    let here = StoreFingerprint::of(store.manifest());
    let Some(checkpoint) = found else {
        return refuse(format!(
            "{}: not found; `warm_start` needs the dual variables that training writes beside a model",
            path.display()
        ));
    };
    let theirs = &checkpoint.header.store;
    let grown = theirs.generation < here.generation && theirs.rows <= here.rows;
    if *theirs != here && !grown {
        let path = path.display();
        return refuse(format!("{path}: these dual variables belong to another store; train without `warm_start`"));
    }
    if checkpoint.header.objective.targets.names() != objective.targets.names()
        || checkpoint.header.objective.width() != objective.width()
    {
        let path = path.display();
        return refuse(format!(
            "{path}: these dual variables are for other classes or targets; train without `warm_start`"
        ));
    }
    // Dual variables grow with C; rows at their bound stay there.
    let factor = objective.c / checkpoint.header.objective.c;
    let weights = weights(&checkpoint, path, objective, store)?;
    Ok((Some(Start::Earlier(Box::new(checkpoint), factor)), weights))
}

/// The weights that an earlier run has left.
pub(super) fn weights_in(checkpoint: &Checkpoint, path: &Path) -> Result<Vec<f64>, FitError> {
    let action = "read the weights of the earlier run";
    Ok(checkpoint.weights().map_err(|source| CheckpointError::Io { path: path.to_path_buf(), action, source })?)
}

fn weights(
    checkpoint: &Checkpoint,
    path: &Path,
    objective: &Objective,
    store: &DiskStore,
) -> Result<Vec<f64>, FitError> {
    // Dual coordinate descent sums w up from the dual variables; Newton steps keep it.
    if objective.is_plain_l2() && checkpoint.header.weights == 0 {
        return Ok(Vec::new());
    }
    let mut weights = weights_in(checkpoint, path)?;
    // The last weights are those of the constant feature, and new columns lie before it.
    let width = objective.width();
    if weights.len() >= width {
        let constants = weights.split_off(weights.len() - width);
        weights.resize(store.shape().columns as usize * width, 0.0);
        weights.extend(constants);
    }
    Ok(weights)
}
