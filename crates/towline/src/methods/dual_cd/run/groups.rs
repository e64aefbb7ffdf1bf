//! Which blocks are in memory together, and when.
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::Run;
use crate::base::random::shuffle;
use crate::engine::Centre;
use crate::store::BlockId;

impl Run<'_> {
    /// All blocks in random order (4.3.2 of DA-BCD), in groups for the steps of a pass.
    pub fn groups(&mut self) -> Vec<Vec<BlockId>> {
        let mut blocks: Vec<BlockId> = self.pass.blocks().collect();
        if self.options.centre == Centre::AfterPass {
            shuffle(&mut blocks, &mut self.random);
            return self.together(&blocks);
        }
        // Algorithm 1 splits the data once. Rows that meet others in each pass find ways out of the corners in which it
        // gets stuck.
        shuffle(&mut blocks, &mut Xoshiro256PlusPlus::seed_from_u64(self.options.seed));
        let mut groups = self.together(&blocks);
        shuffle(&mut groups, &mut self.random);
        groups
    }

    /// Groups neighbours, as many as fit beside the cache.
    fn together(&self, order: &[BlockId]) -> Vec<Vec<BlockId>> {
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
