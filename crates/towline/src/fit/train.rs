//! The chosen trainer at work.
use std::sync::Arc;
use std::time::Duration;

use super::data::Data;
use super::error::{FitError, refuse};
use super::lowered::train_lowered;
use super::recipe::Recipe;
use crate::baselines;
use crate::budget::Budget;
use crate::engine::{After, Cost, Observer, Task, TrainError, TrainOptions, Trained, Watch, without_training};
use crate::index::{Forest, IndexManifest, PageCache};
use crate::indexed;
use crate::methods::auto::train_all;
use crate::store::BlockStore;
use crate::truncation;

impl Recipe {
    /// Trains all models.
    pub(super) fn train(
        &self,
        data: &Data,
        (options, first_truncate): (TrainOptions, Option<f64>),
        budget: &Budget,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Trained>, FitError> {
        match self {
            Recipe::Blocks => Ok(train_all(data.store(), &options, budget, observer)?),
            Recipe::Truncated(convex, beginning) => {
                let store = data.store();
                train_lowered(first_truncate, options, budget, observer, |options, observer| {
                    Ok(one_by_one(&store, budget, options, observer, |options, observer| {
                        truncation::train(store.clone(), options, (*beginning, *convex), budget, observer)
                    })?)
                })
            }
            Recipe::Indexed(indexed) => {
                let Some(store) = data.disk() else { return refuse("an index is that of a store") };
                let nodes = IndexManifest::read(store.path())?.map_or(0, |manifest| manifest.nodes);
                let coming = budget.expect(indexed::least_bytes(store, nodes, indexed, budget));
                let forest = Arc::new(Forest::open(store, budget)?);
                let mut pages = PageCache::new(forest, budget)?;
                drop(coming);
                train_lowered(first_truncate, options, budget, observer, |options, observer| {
                    Ok(indexed::train(store, &mut pages, (&options, indexed), budget, observer)?)
                })
            }
            Recipe::Baseline(options) => Ok(vec![baselines::train(data.store(), options, budget, observer)?]),
        }
    }
}

/// Trains the models of all tasks, one after the other, as long as there is time.
fn one_by_one(
    store: &Arc<dyn BlockStore>,
    budget: &Budget,
    mut options: TrainOptions,
    observer: &mut dyn Observer,
    mut train: impl FnMut(&TrainOptions, &mut dyn Observer) -> Result<Trained, TrainError>,
) -> Result<Vec<Trained>, TrainError> {
    let tasks: Vec<Task> = std::mem::take(&mut options.tasks);
    let mut trained: Vec<Trained> = Vec::with_capacity(tasks.len());
    let (max_time, mut before) = (options.max_time, Cost::default());
    let watch = Watch::new(&options.stop, max_time);
    let mut left = tasks.into_iter();
    while let Some(task) = left.next() {
        options.max_time = max_time.map(|limit| limit.saturating_sub(Duration::from_secs_f64(watch.seconds())));
        if let Some(status) = watch.look().filter(|_| !trained.is_empty()) {
            let tasks: Vec<Task> = [task].into_iter().chain(left).collect();
            trained.append(&mut without_training(store, &tasks, (&options.stop, status, before), budget)?);
            break;
        }
        options.tasks = vec![task];
        let model = train(&options, &mut After { before, observer })?;
        let cost = model.cost.after(&before);
        before = before.with(&model.cost);
        trained.push(model.at_cost(cost));
    }
    Ok(trained)
}
