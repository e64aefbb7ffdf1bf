//! Rows in memory as one part of so many, however large the budget is: how papers split their data.
use crate::engine::{Plan, TrainError};
use crate::store::{BlockId, BlockStore};

/// Steps of a pass where rows in memory are one part of `blocks`, and this share of them stays from step to step: SBM
/// has m blocks without a cache, and 2m half as large beside a cache of the other half (section 7.1).
fn steps(blocks: u32, share: f64) -> usize {
    (f64::from(blocks) / (1.0 - share)).round() as usize
}

impl Plan {
    /// The same with no more rows in memory than one of so many parts has.
    pub(crate) fn in_blocks(self, store: &dyn BlockStore, blocks: u32, share: f64) -> Result<Plan, TrainError> {
        let (found, wanted) = (store.blocks().len(), steps(blocks, share));
        if found < wanted || store.resident().is_some() {
            return Err(TrainError::Blocks { found, wanted });
        }
        let together = found.div_ceil(wanted) as u64;
        let of = |block: u64| ((together * block) as f64 / (1.0 - share)).ceil() as u64;
        let (rows, values) = (of(self.largest_block.0), of(self.largest_block.1));
        if rows > self.resident_rows || values > self.resident_values {
            // All rows fit, or blocks are too large for memory.
            return if self.in_memory {
                Ok(Plan { in_memory: false, ..self })
            } else {
                Err(TrainError::FewBlocks(blocks))
            };
        }
        let part = rows as f64 / self.resident_rows as f64;
        let resident_bytes = ((self.resident_bytes as f64 * part).ceil() as u64).max(self.later_bytes[1]);
        Ok(Plan { resident_rows: rows, resident_values: values, resident_bytes, in_memory: false, ..self })
    }
}

/// Blocks in this order, for as many steps.
pub(crate) fn split(order: &[BlockId], blocks: u32, share: f64) -> Vec<Vec<BlockId>> {
    let steps = steps(blocks, share).min(order.len()).max(1);
    let first = |step: usize| step * order.len() / steps;
    (0..steps).map(|step| order[first(step)..first(step + 1)].to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_in_one_step_and_steps_are_alike() {
        let order: Vec<BlockId> = (0..50).map(BlockId).collect();
        for (blocks, share, expected) in [(12, 0.0, 12), (12, 0.5, 24), (12, 1.0 / 3.0, 18), (50, 0.0, 50), (1, 0.0, 1)]
        {
            let found = split(&order, blocks, share);
            assert_eq!(found.len(), expected);
            assert_eq!(found.concat(), order);
            let sizes: Vec<usize> = found.iter().map(Vec::len).collect();
            assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{sizes:?}");
        }
    }
}
