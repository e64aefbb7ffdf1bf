//! Reading and decoding on a thread of its own, in the order that was asked for.
//!
//! The reader owns a fixed number of blocks that go round: it fills one, the consumer works on it and lets go of it,
//! the reader fills it again. An error comes out in its place in the order; the reader does not hang and does not skip.
use std::ops::Deref;
use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded, select, unbounded};

use super::{BlockId, BlockStore, ReadBuffers, StoreError};
use crate::block::Block;
use crate::budget::{Budget, Reservation};

/// Blocks that are read before they are needed.
pub struct ReadAhead {
    requests: Option<Sender<BlockId>>,
    /// The reader's end of the requests, to take back what it has not begun.
    waiting: Receiver<BlockId>,
    results: Option<Receiver<Result<(BlockId, Block), StoreError>>>,
    returns: Option<Sender<Block>>,
    pending: usize,
    /// Dropped to tell the reader to end, even while blocks are on loan.
    alive: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    _paid: Reservation,
}

/// A block on loan; dropping it lets the reader fill it again.
pub struct Lent {
    id: BlockId,
    block: Option<Block>,
    returns: Sender<Block>,
}

impl Lent {
    /// Which block it is.
    pub fn id(&self) -> BlockId {
        self.id
    }
}

impl Deref for Lent {
    type Target = Block;
    fn deref(&self) -> &Block {
        self.block.as_ref().expect("the block is there until drop")
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            // Nobody to return it to means that reading has ended.
            let _ = self.returns.send(block);
        }
    }
}

impl ReadAhead {
    /// What `depth` blocks and the buffers for reading take from the budget.
    pub fn needed_bytes(store: &dyn BlockStore, depth: usize) -> u64 {
        if store.resident().is_some() {
            return 0;
        }
        let layout = store.shape().layout;
        let largest_block = store.blocks().iter().map(|b| b.resident_bytes(layout)).max().unwrap_or(0);
        depth as u64 * largest_block + store.reading_bytes()
    }

    /// Starts a reader with `depth` blocks (at least 1) in flight.
    pub fn new(store: Arc<dyn BlockStore>, depth: usize, budget: &Budget) -> Result<ReadAhead, StoreError> {
        let depth = depth.max(1);
        let paid = budget.reserve("read-ahead", Self::needed_bytes(&*store, depth))?;
        let (request_tx, request_rx) = unbounded();
        let waiting = request_rx.clone();
        let (result_tx, result_rx) = bounded(depth);
        let (return_tx, return_rx) = bounded(depth);
        let (alive_tx, alive_rx) = bounded(0);
        let shape = store.shape();
        for _ in 0..depth {
            // The channel has room for all of them.
            let _ = return_tx.send(Block::new(shape.layout, shape.columns as usize));
        }
        let thread = std::thread::spawn(move || serve(&*store, &request_rx, &return_rx, &alive_rx, &result_tx));
        Ok(ReadAhead {
            requests: Some(request_tx),
            waiting,
            results: Some(result_rx),
            returns: Some(return_tx),
            pending: 0,
            alive: Some(alive_tx),
            thread: Some(thread),
            _paid: paid,
        })
    }

    /// Asks for a block; blocks come out of [`ReadAhead::take`] in the order of the requests.
    pub fn request(&mut self, id: BlockId) {
        if self.requests.as_ref().is_some_and(|requests| requests.send(id).is_ok()) {
            self.pending += 1;
        }
    }

    /// The next block that was asked for, or `None` if nothing is outstanding.
    pub fn take(&mut self) -> Result<Option<Lent>, StoreError> {
        if self.pending == 0 {
            return Ok(None);
        }
        let (Some(results), Some(returns)) = (&self.results, &self.returns) else { return Err(StoreError::ReaderGone) };
        self.pending -= 1;
        let (id, block) = results.recv().map_err(|_| StoreError::ReaderGone)??;
        Ok(Some(Lent { id, block: Some(block), returns: returns.clone() }))
    }
}

impl ReadAhead {
    /// Drops everything that was asked for and not taken yet; what has not been read by now is not read.
    pub fn forget(&mut self) -> Result<(), StoreError> {
        while self.waiting.try_recv().is_ok() {
            self.pending -= 1;
        }
        while self.take()?.is_some() {}
        Ok(())
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        self.requests = None;
        self.alive = None;
        self.returns = None;
        self.results = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(
    store: &dyn BlockStore,
    requests: &Receiver<BlockId>,
    returns: &Receiver<Block>,
    alive: &Receiver<()>,
    results: &Sender<Result<(BlockId, Block), StoreError>>,
) {
    let mut buffers = ReadBuffers::default();
    for id in requests {
        let mut block = select! {
            recv(returns) -> block => match block {
                Ok(block) => block,
                Err(_) => return,
            },
            recv(alive) -> _ => return,
        };
        block.clear();
        let result = store.read(id, &mut buffers, &mut block).map(|()| (id, block));
        if let Err(error) = result {
            // Whoever waits gets the reason; the block that was to be filled is gone, so reading ends here.
            let _ = results.send(Err(error));
            return;
        }
        if results.send(result).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
