//! A word on columns whose scales are far apart: what that means for the penalty, and what to do about it.
use super::data::Data;
use super::error::FitError;
use crate::budget::Budget;
use crate::objective::Objective;
use crate::penalty::AnyPenalty;
use crate::store::features::FeatureName;
use crate::store::scales::Scales;

/// Scales that are less far apart are not worth a word.
const FAR_APART: f64 = 1e3;

/// What is worth saying of the columns of the first block of a store.
pub(super) fn of_scales(data: &Data, objective: &Objective, budget: &Budget) -> Result<Option<String>, FitError> {
    let Some(store) = data.disk().filter(|_| !matches!(objective.penalty, AnyPenalty::None(_))) else {
        return Ok(None);
    };
    // Where memory is too short for it, training says so.
    let scales = Scales::of(&**store, budget)?.filter(|scales| scales.spread() > FAR_APART);
    let Some(Scales { least, most }) = scales else { return Ok(None) };
    let features = store.features(budget)?;
    let name = |column: u32| match features.name(column) {
        FeatureName::Number(number) => number.to_string(),
        FeatureName::Name(name) => name.to_string(),
    };
    Ok(Some(format!(
        "columns differ in scale: {} is about {:.3e}, {} about {:.3e}. The {} penalty hardly touches the weights of \
         large columns, and weighs heavily on \
         those of small ones; pack with `scale(standard)` to make them alike",
        name(most.0),
        most.1,
        name(least.0),
        least.1,
        objective.penalty.name()
    )))
}
