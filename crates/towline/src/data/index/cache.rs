//! Pages in memory, the least recently used ones leaving first (IBCD, section 4.2).
use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::forest::Forest;
use crate::block::Block;
use crate::budget::{Budget, BudgetError, Reservation};
use crate::machine;
use crate::store::{ReadBuffers, StoreError};

/// Bytes that a page takes besides its rows: its places in the two tables, and its block.
const ENTRY_BYTES: u64 = 512;

/// Pages are small, and what one leaves behind may be of no use to the next: after so much of the budget has left, free
/// memory is given back.
const LEFT_PART: u64 = 16;

/// Pages of an index, as many as the budget has room for. Others take memory over from it with
/// [`PageCache::make_room`].
pub struct PageCache {
    forest: Arc<Forest>,
    budget: Budget,
    pages: FxHashMap<u32, Entry>,
    /// The page that was used at each time, the oldest first.
    used: BTreeMap<u64, u32>,
    now: u64,
    buffers: ReadBuffers,
    paid: Reservation,
    bytes_read: u64,
    /// Bytes of pages that left since memory was last given back to the system.
    left_bytes: u64,
    _buffers_paid: Reservation,
}

struct Entry {
    page: Arc<Block>,
    bytes: u64,
    used: u64,
}

impl PageCache {
    /// An empty cache; the buffers for reading are paid at once.
    pub fn new(forest: Arc<Forest>, budget: &Budget) -> Result<Self, BudgetError> {
        let needed = |node: &super::nodes::Node| {
            u64::from(node.bytes) + 4 * (node.values + u64::from(node.rows)) + page_bytes(&forest, node)
        };
        let largest = forest.nodes().iter().map(needed).max().unwrap_or(0);
        Ok(PageCache {
            budget: budget.clone(),
            pages: FxHashMap::default(),
            used: BTreeMap::new(),
            now: 0,
            buffers: ReadBuffers::default(),
            paid: budget.reserve("pages of the index", 0)?,
            bytes_read: 0,
            left_bytes: 0,
            // Also the page at hand, which may have to leave the cache before it is looked at.
            _buffers_paid: budget.reserve_few("buffers for pages", largest)?,
            forest,
        })
    }

    /// The index that the pages are of.
    pub fn forest(&self) -> &Arc<Forest> {
        &self.forest
    }

    /// The page of a node, from memory or from disk.
    pub fn page(&mut self, number: u32) -> Result<Arc<Block>, StoreError> {
        self.now += 1;
        if let Some(entry) = self.pages.get_mut(&number) {
            self.used.remove(&entry.used);
            entry.used = self.now;
            self.used.insert(self.now, number);
            return Ok(entry.page.clone());
        }
        let node = &self.forest.nodes()[number as usize];
        let (rows, values) = (node.rows as usize, node.values as usize);
        let mut page = Block::with_capacity(self.forest.layout(), self.forest.columns(), rows, values);
        self.forest.read(number, &mut self.buffers, &mut page)?;
        self.bytes_read += u64::from(node.bytes);
        let page = Arc::new(page);
        let bytes = page_bytes(&self.forest, node);
        if self.make_room(bytes) && self.paid.resize(self.paid.bytes() + bytes).is_ok() {
            self.used.insert(self.now, number);
            self.pages.insert(number, Entry { page: page.clone(), bytes, used: self.now });
        }
        Ok(page)
    }

    /// Lets pages go until the budget has `bytes` free; whether it has.
    pub fn make_room(&mut self, bytes: u64) -> bool {
        while self.budget.free_bytes() < bytes {
            let Some((_, number)) = self.used.pop_first() else { return false };
            if let Some(entry) = self.pages.remove(&number) {
                // Shrinking is never refused.
                let _ = self.paid.resize(self.paid.bytes() - entry.bytes);
                self.left_bytes += entry.bytes;
            }
        }
        if self.left_bytes > self.budget.data_bytes() / LEFT_PART {
            self.left_bytes = 0;
            machine::give_back_free_memory();
        }
        true
    }

    /// Bytes of the pages that it holds.
    pub fn held_bytes(&self) -> u64 {
        self.paid.bytes()
    }

    /// Bytes that are read count from now on.
    pub fn begin_count(&mut self) {
        self.bytes_read = 0;
    }

    /// Others have read so many bytes of the same rows.
    pub fn count_read(&mut self, bytes: u64) {
        self.bytes_read += bytes;
    }

    /// Bytes read from disk since counting began, with those that others have read.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }
}

fn page_bytes(forest: &Forest, node: &super::nodes::Node) -> u64 {
    forest.layout().resident_bytes(u64::from(node.rows), node.values) + ENTRY_BYTES
}
