//! How far apart the scales of columns are, as far as the first block tells.
use super::{BlockId, BlockStore, ReadBuffers, StoreError};
use crate::block::Block;
use crate::budget::Budget;

/// Columns with fewer values in the first block say little about their scale.
const FEWEST_VALUES: u32 = 10;

/// The columns of the smallest and of the largest scale: the root of the mean of squares of what is not 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scales {
    /// Column and scale.
    pub least: (u32, f64),
    /// The same.
    pub most: (u32, f64),
}

impl Scales {
    /// Reads the first block, if there is one and memory for it.
    pub fn of(store: &dyn BlockStore, budget: &Budget) -> Result<Option<Scales>, StoreError> {
        let shape = store.shape();
        if store.blocks().is_empty() {
            return Ok(None);
        }
        let bytes = store.one_block_bytes() + 32 * shape.columns;
        let Ok(_paid) = budget.reserve("scales of columns", bytes) else { return Ok(None) };
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
        let known = sums.iter().zip(0..).filter(|((_, count), _)| *count >= FEWEST_VALUES);
        let scales = known.map(|(&(squares, count), j)| (j, f64::sqrt(squares / f64::from(count))));
        let both = scales.map(|scale: (u32, f64)| Scales { least: scale, most: scale });
        Ok(both.reduce(|all, one| Scales {
            least: if one.least.1 < all.least.1 { one.least } else { all.least },
            most: if one.most.1 >= all.most.1 { one.most } else { all.most },
        }))
    }

    /// How many times the largest is the smallest.
    pub fn spread(&self) -> f64 {
        self.most.1 / self.least.1
    }
}
