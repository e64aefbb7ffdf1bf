//! Which blocks are in memory together, and when.
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::Run;
use crate::base::random::shuffle;
use crate::engine::{Centre, Partition};
use crate::methods::dual_cd::blocks;
use crate::store::BlockId;

impl Run<'_> {
    /// All blocks in random order (4.3.2 of DA-BCD), in groups for the steps of a pass.
    pub fn groups(&mut self) -> Vec<Vec<BlockId>> {
        let mut blocks: Vec<BlockId> = self.pass.blocks().collect();
        match self.options.variant.partition {
            // Rows that meet others in each pass would find ways out of the corners in which D-BCD gets stuck.
            Partition::Redrawn if self.options.centre == Centre::AfterPass => {
                shuffle(&mut blocks, &mut self.random);
                self.together(&blocks)
            }
            // Algorithm 1 of SBM and of DA-BCD splits the data once.
            _ => {
                shuffle(&mut blocks, &mut Xoshiro256PlusPlus::seed_from_u64(self.options.seed));
                let mut groups = self.together(&blocks);
                shuffle(&mut groups, &mut self.random);
                groups
            }
        }
    }

    /// Groups neighbours: as many as fit beside the cache, or as are asked for.
    fn together(&self, order: &[BlockId]) -> Vec<Vec<BlockId>> {
        if let Some(count) = self.options.variant.blocks {
            return blocks::split(order, count, self.options.cache_share);
        }
        let (cached_rows, cached_values) = self.plan.cache_room(self.options.cache_share);
        let (rows, values) = (self.plan.resident_rows - cached_rows, self.plan.resident_values - cached_values);
        let mut groups: Vec<Vec<BlockId>> = Vec::new();
        let (mut group_rows, mut group_values) = (u64::MAX, u64::MAX);
        for &id in order {
            let info = self.store.blocks()[id.0 as usize];
            let fits = group_rows.saturating_add(u64::from(info.rows)) <= rows
                && group_values.saturating_add(info.values) <= values;
            if !fits {
                groups.push(Vec::new());
                (group_rows, group_values) = (0, 0);
            }
            group_rows += u64::from(info.rows);
            group_values += info.values;
            if let Some(group) = groups.last_mut() {
                group.push(id);
            }
        }
        groups
    }
}
