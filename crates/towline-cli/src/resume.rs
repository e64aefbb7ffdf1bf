//! Where runs keep their dual variables, and what another run starts from.
//!
//! They lie beside the model in `MODEL.duals`: those of the only model, or of all of them where each class has a model
//! of its own.
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use towline::objective::Objective;
use towline::store::{BlockStore, DiskStore};
use towline::trainer::{Checkpoint, CheckpointFile, Checkpoints, Start, StoreFingerprint, Task};

/// What a run starts from.
#[derive(Clone, Copy)]
pub enum From<'a> {
    /// What an earlier run with the same objective has left, if there is one.
    Earlier,
    /// Nothing.
    Nothing,
    /// The dual variables beside this model, of another C or of fewer rows.
    Model(&'a Path),
}

/// The dual variables of a model, or of several, lie here.
pub fn duals_path(model: &Path) -> PathBuf {
    let mut name = model.file_name().unwrap_or_default().to_os_string();
    name.push(".duals");
    model.with_file_name(name)
}

/// What an earlier run has left.
#[derive(Debug, Default)]
pub enum Left {
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
    pub fn open(path: &Path, objectives: &[Objective], store: &DiskStore) -> anyhow::Result<Left> {
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

/// Where the dual variables of so many models go: on in the file of an earlier run, or to a new one.
pub fn files(path: &Path, earlier: Option<Arc<Checkpoints>>, models: usize, store: &DiskStore) -> Vec<CheckpointFile> {
    let store = StoreFingerprint::of(store.manifest());
    if models == 1 {
        return vec![CheckpointFile::alone(path.to_path_buf(), store)];
    }
    let all = earlier.unwrap_or_else(|| Checkpoints::new(path));
    (0..models).map(|model| CheckpointFile::among(&all, name(model), store.clone())).collect()
}

/// One task per model that the objective asks for, with its checkpoint beside `output` and its start.
pub fn tasks(objective: &Objective, store: &DiskStore, output: &Path, from: From) -> anyhow::Result<Vec<Task>> {
    let objectives = objective.split();
    let (models, path) = (objectives.len(), duals_path(output));
    let (left, theirs) = match from {
        From::Nothing => (Left::Nothing, path.clone()),
        From::Earlier => (Left::open(&path, &objectives, store)?, path.clone()),
        From::Model(model) => (Left::open(&duals_path(model), &objectives, store)?, duals_path(model)),
    };
    let all = match (&left, from) {
        (Left::Many(all), From::Earlier) => Some(all.clone()),
        _ => None,
    };
    let mut begins = Vec::with_capacity(models);
    for (found, objective) in left.each(models).into_iter().zip(&objectives) {
        begins.push(match from {
            From::Nothing => (None, Vec::new()),
            From::Earlier => earlier(found, objective, store)?,
            From::Model(_) => other(found, &theirs, objective, store)?,
        });
    }
    // Where nothing can be continued, a new file takes the place of the old one.
    let all = all.filter(|_| begins.iter().any(|(start, _)| start.is_some()));
    let files = files(&path, all, models, store).into_iter().map(Some);
    let tasks = objectives.into_iter().zip(begins).zip(files);
    let make = |((objective, (start, start_weights)), checkpoint)| Task {
        start,
        start_weights,
        checkpoint,
        ..Task::new(objective)
    };
    Ok(tasks.map(make).collect())
}

type Begin = (Option<Start>, Vec<f64>);

fn earlier(found: Option<Checkpoint>, objective: &Objective, store: &DiskStore) -> anyhow::Result<Begin> {
    let here = StoreFingerprint::of(store.manifest());
    Ok(match found {
        Some(found) if found.header.store == here && found.header.objective == *objective => {
            let weights = weights(&found, objective, store)?;
            (Some(Start::Earlier(Box::new(found), 1.0)), weights)
        }
        _ => (None, Vec::new()),
    })
}

fn other(found: Option<Checkpoint>, path: &Path, objective: &Objective, store: &DiskStore) -> anyhow::Result<Begin> {
    let here = StoreFingerprint::of(store.manifest());
    let Some(checkpoint) = found else {
        bail!(
            "{}: not found; --warm-start needs the dual variables that training writes beside a model",
            path.display()
        );
    };
    let theirs = &checkpoint.header.store;
    let grown = theirs.generation < here.generation && theirs.rows <= here.rows;
    if *theirs != here && !grown {
        bail!("{}: these dual variables belong to another store; train without --warm-start", path.display());
    }
    if checkpoint.header.objective.targets.names() != objective.targets.names()
        || checkpoint.header.objective.width() != objective.width()
    {
        bail!("{}: these dual variables are for other classes or targets; train without --warm-start", path.display());
    }
    // Dual variables grow with C; rows at their bound stay there.
    let factor = objective.c / checkpoint.header.objective.c;
    let weights = weights(&checkpoint, objective, store)?;
    Ok((Some(Start::Earlier(Box::new(checkpoint), factor)), weights))
}

fn weights(checkpoint: &Checkpoint, objective: &Objective, store: &DiskStore) -> anyhow::Result<Vec<f64>> {
    // Dual coordinate descent sums w up from the dual variables; Newton steps keep it.
    if objective.is_plain_l2() && checkpoint.header.weights == 0 {
        return Ok(Vec::new());
    }
    let mut weights = checkpoint.weights().context("cannot read the weights of the earlier run")?;
    // The last weights are those of the constant feature, and new columns lie before it.
    let width = objective.width();
    if weights.len() >= width {
        let constants = weights.split_off(weights.len() - width);
        weights.resize(store.shape().columns as usize * width, 0.0);
        weights.extend(constants);
    }
    Ok(weights)
}
