//! Where runs keep their dual variables, and what another run starts from.
//!
//! They lie beside the model: `MODEL.duals`, or `MODEL.1.duals`, `MODEL.2.duals`, ... where each class has a model of its own.
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use towline::objective::Objective;
use towline::store::{BlockStore, DiskStore};
use towline::trainer::{Checkpoint, CheckpointFile, Start, StoreFingerprint, Task};

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

/// The dual variables of model `i` of `models` lie here.
pub fn duals_path(model: &Path, i: usize, models: usize) -> PathBuf {
    let mut name = model.file_name().unwrap_or_default().to_os_string();
    name.push(if models == 1 { ".duals".to_string() } else { format!(".{}.duals", i + 1) });
    model.with_file_name(name)
}

/// One task per model that the objective asks for, with its checkpoint beside `output` and its start.
pub fn tasks(objective: &Objective, store: &DiskStore, output: &Path, from: From) -> anyhow::Result<Vec<Task>> {
    let objectives = objective.split();
    let models = objectives.len();
    let make = |(i, objective): (usize, Objective)| {
        let path = duals_path(output, i, models);
        let (start, start_weights) = match from {
            From::Nothing => (None, Vec::new()),
            From::Earlier => earlier(&path, &objective, store)?,
            From::Model(model) => other(&duals_path(model, i, models), &objective, store)?,
        };
        let checkpoint = Some(CheckpointFile { path, store: StoreFingerprint::of(store.manifest()) });
        Ok(Task { start, start_weights, checkpoint, ..Task::new(objective) })
    };
    objectives.into_iter().enumerate().map(make).collect()
}

type Begin = (Option<Start>, Vec<f64>);

/// What an earlier run has left in a file, if anything.
pub fn open(path: &Path, objective: &Objective, store: &DiskStore) -> anyhow::Result<Option<Checkpoint>> {
    let shape = store.shape();
    let columns = shape.columns.saturating_add(1);
    let numbers = shape.rows.saturating_add(columns).saturating_mul(objective.width() as u64);
    Ok(Checkpoint::open(path, numbers)?)
}

fn earlier(path: &Path, objective: &Objective, store: &DiskStore) -> anyhow::Result<Begin> {
    let here = StoreFingerprint::of(store.manifest());
    Ok(match open(path, objective, store)? {
        Some(found) if found.header.store == here && found.header.objective == *objective => {
            let weights = weights(&found, objective, store)?;
            (Some(Start::Earlier(Box::new(found), 1.0)), weights)
        }
        _ => (None, Vec::new()),
    })
}

fn other(path: &Path, objective: &Objective, store: &DiskStore) -> anyhow::Result<Begin> {
    let here = StoreFingerprint::of(store.manifest());
    let Some(checkpoint) = open(path, objective, store)? else {
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
