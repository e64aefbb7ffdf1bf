//! How far the values of a model's features spread in a store: what makes weights of columns in different units
//! comparable.
use hashbrown::HashMap;

use crate::block::Block;
use crate::budget::Budget;
use crate::model::{Features, Model};
use crate::store::features::FeatureName;
use crate::store::{BlockId, BlockStore, DiskStore, ReadBuffers, StoreError};

/// Bytes of a column: mean, squares and factor; and of a feature of the model: a place in a table of names.
const COLUMN_BYTES: u64 = 24;
const FEATURE_BYTES: u64 = 64;

/// The standard deviation of each feature of the model over the rows of `store`, in the units of the input; 0 for
/// features that the store has not. Two scans: means come first, so that large ones do not drown what is around them.
pub fn deviations(model: &Model, store: &DiskStore, budget: &Budget) -> Result<Vec<f64>, StoreError> {
    let columns = store.shape().columns;
    let bytes = columns * COLUMN_BYTES + model.features.len() as u64 * FEATURE_BYTES + store.one_block_bytes();
    let _paid = budget.reserve("deviations of features", bytes)?;
    let mut means = vec![0.0; columns as usize];
    let mut rows = 0.0;
    each_block(store, |block| {
        for i in 0..block.rows() {
            let weight = block.info(i).weight;
            rows += weight;
            block.row(i).add_to(&mut means, weight);
        }
    })?;
    means.iter_mut().for_each(|mean| *mean /= f64::max(rows, f64::MIN_POSITIVE));
    // As if all values were 0, which most are; what is not makes up for it.
    let mut squares: Vec<f64> = means.iter().map(|mean| rows * mean * mean).collect();
    each_block(store, |block| {
        for i in 0..block.rows() {
            let weight = block.info(i).weight;
            block.row(i).for_each(|column, value| {
                let mean = means[column as usize];
                squares[column as usize] += weight * value * (value - 2.0 * mean);
            });
        }
    })?;
    let mut found = vec![0.0; model.features.len()];
    let place_of = places(model);
    let mut names = store.feature_columns(budget)?;
    for square in squares {
        let Some((name, scaling)) = names.next()? else { break };
        if let Some(place) = place_of(&name) {
            let factor = scaling.map_or(1.0, |scaling| scaling.factor);
            let deviation = (square.max(0.0) / f64::max(rows, f64::MIN_POSITIVE)).sqrt();
            found[place] = if factor != 0.0 { deviation / factor.abs() } else { 0.0 };
        }
    }
    Ok(found)
}

fn each_block(store: &DiskStore, mut each: impl FnMut(&Block)) -> Result<(), StoreError> {
    let shape = store.shape();
    let mut block = Block::new(shape.layout, shape.columns as usize);
    let mut buffers = ReadBuffers::default();
    for number in 0..store.blocks().len() as u32 {
        block.clear();
        store.read(BlockId(number), &mut buffers, &mut block)?;
        each(&block);
    }
    Ok(())
}

/// Where a feature is in the model.
fn places(model: &Model) -> impl Fn(&FeatureName) -> Option<usize> + '_ {
    let by_name: HashMap<&str, usize> = match &model.features {
        Features::Named(names) => names.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect(),
        Features::Numbered(_) => HashMap::new(),
    };
    move |name| match (name, &model.features) {
        (FeatureName::Number(number), Features::Numbered(numbers)) => numbers.binary_search(number).ok(),
        (FeatureName::Name(name), _) => by_name.get(name).copied(),
        _ => None,
    }
}
