//! A word on columns whose scales are far apart: what that means for the penalty, and what to do about it.
use towline::block::Block;
use towline::budget::Budget;
use towline::objective::Objective;
use towline::penalty::AnyPenalty;
use towline::store::features::FeatureName;
use towline::store::{BlockId, BlockStore, DiskStore, ReadBuffers};

/// Scales that are less far apart are not worth a word.
const FAR_APART: f64 = 1e3;
/// Columns with fewer values in the first block say little about their scale.
const FEWEST_VALUES: u32 = 10;

/// What is worth saying of the columns of the first block: the roots of the means of squares of what is not 0.
pub fn note(store: &DiskStore, objective: &Objective, budget: &Budget) -> anyhow::Result<Option<String>> {
    let shape = store.shape();
    if store.blocks().is_empty() || matches!(objective.penalty, AnyPenalty::None(_)) {
        return Ok(None);
    }
    let bytes = store.one_block_bytes() + 16 * shape.columns;
    // Where memory is too short for it, training says so.
    let Ok(paid) = budget.reserve("scales of columns", bytes) else { return Ok(None) };
    let mut block = Block::new(shape.layout, shape.columns as usize);
    store.read(BlockId(0), &mut ReadBuffers::default(), &mut block)?;
    let mut sums = vec![(0.0, 0u32); shape.columns as usize];
    for i in 0..block.rows() {
        block.row(i).for_each(|j, x| {
            if x != 0.0 {
                let (squares, count) = &mut sums[j as usize];
                (*squares, *count) = (*squares + x * x, *count + 1);
            }
        });
    }
    drop((block, paid));
    let known = sums.iter().enumerate().filter(|(_, (_, count))| *count >= FEWEST_VALUES);
    let scales = known.map(|(j, (squares, count))| (j as u32, (squares / f64::from(*count)).sqrt()));
    let scales: Vec<(u32, f64)> = scales.collect();
    let least = scales.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
    let most = scales.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    let (Some(least), Some(most)) = (least, most) else { return Ok(None) };
    if most.1 <= FAR_APART * least.1 {
        return Ok(None);
    }
    let features = store.features(budget)?;
    let name = |column: u32| match features.name(column) {
        FeatureName::Number(number) => number.to_string(),
        FeatureName::Name(name) => name.to_string(),
    };
    Ok(Some(format!(
        "columns differ in scale: {} is about {:.3e}, {} about {:.3e}. The {} penalty hardly touches the weights of large columns, and weighs heavily on \
         those of small ones; towline pack --scale standard makes them alike",
        name(most.0),
        most.1,
        name(least.0),
        least.1,
        objective.penalty.name()
    )))
}
