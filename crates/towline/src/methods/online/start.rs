//! Going on from an earlier model.
use super::learner::StreamLearner;
use super::report::StreamError;
use super::{Columns, StreamClasses, StreamOptions};
use crate::budget::Budget;
use crate::input::RowBatch;
use crate::model::{Features, Model};
use crate::objective::Targets;

/// Takes over the weights of an earlier model, and says which classes it knows and how many rows it has seen.
pub fn begin_with(
    model: &Model,
    options: &StreamOptions,
    columns: &mut Columns,
    learner: &mut dyn StreamLearner,
    budget: &Budget,
) -> Result<(StreamClasses, u64), StreamError> {
    let fail = |problem: &str, remedy: &str| StreamError::Rows { problem: problem.into(), remedy: remedy.into() };
    let header = &model.header;
    if header.hash_bits != options.hash_bits {
        return Err(fail("the model has another number of hash bits", "use the same `hash_bits` as before"));
    }
    if header.unit_rows {
        return Err(fail(
            "the model expects rows of unit length, and streams are not scaled",
            "train it anew on the stream",
        ));
    }
    if matches!(header.objective.targets, Targets::Numbers) == options.loss.is_classification() {
        return Err(fail("the model is for another kind of loss", "use a loss like that of the model"));
    }
    let classes = match &options.positive {
        None => StreamClasses::known(&header.objective.targets),
        Some(_) => StreamClasses::default(),
    };
    let mut batch = RowBatch::default();
    match &model.features {
        Features::Numbered(numbers) => batch.keys.extend_from_slice(numbers),
        Features::Named(names) => {
            batch.keys.extend(names.iter().map(|name| u64::from(batch.names.intern(name.as_bytes()))));
        }
    }
    batch.values.resize(batch.keys.len(), 1.0);
    batch.end_row(0.0);
    // Hashed features are columns already.
    if let Columns::Seen(_) = columns {
        columns.resolve(&mut batch, budget)?;
    }
    learner.grow(columns.len())?;
    learner.know(&classes)?;
    let outputs = model.outputs();
    let mut weights = vec![vec![0.0; columns.len() + 1]; outputs];
    for (i, &column) in batch.keys.iter().enumerate() {
        for (vector, &weight) in weights.iter_mut().zip(model.weights_of(i)) {
            vector[column as usize] = weight;
        }
    }
    for (vector, intercept) in weights.iter_mut().zip(&header.intercepts) {
        let constant = vector.len() - 1;
        vector[constant] = if options.bias == 0.0 { 0.0 } else { intercept / options.bias };
    }
    learner.begin_with(weights);
    Ok((classes, header.rows))
}
