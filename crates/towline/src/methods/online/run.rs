//! The pipeline: rows are gathered on this thread while the learner works on a thread of its own.
use std::path::Path;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::class_order::ClassOrder;
use super::gather::Gather;
use super::learner::{self, Room};
use super::models::{FEW_MODELS, MODEL_ROW_BYTES};
use super::report::{StreamError, StreamReport, Watch};
use super::serve::{Answer, Work, serve};
use super::start::begin_with;
use super::{Columns, StreamClasses, StreamOptions};
use crate::block::{Block, Layout};
use crate::budget::Budget;
use crate::input::{InputError, RowBatch, RowSource};
use crate::model::Model;
use crate::residents::Residents;
use crate::schema::Schema;

/// Learns from all rows of `source`; `start` is a model to go on from. Names of features wait in `folder`.
pub fn stream(
    source: Box<dyn RowSource>,
    options: &StreamOptions,
    start: Option<&Model>,
    folder: &Path,
    budget: &Budget,
    watch: &mut dyn Watch,
) -> Result<(Model, StreamReport), StreamError> {
    let named = source.features_are_named();
    let mut columns = Columns::new(named, options.hash_bits, folder, budget)?;
    let row_bytes = options.row_bytes.unwrap_or_else(|| row_bytes(budget.free_bytes()));
    let rows_paid = budget.reserve("rows of a stream", row_bytes)?;
    let room = divide(row_bytes, options.cache_share);
    let empty = || Block::with_capacity(Layout::SPARSE_F32, 0, room.all.0 as usize, room.all.1 as usize);
    let mut learner = learner::make(options, room, empty(), budget)?;
    let mut classes = StreamClasses::default();
    let mut begun = 0;
    if let Some(model) = start {
        (classes, begun) = begin_with(model, options, &mut columns, &mut *learner, budget)?;
    }
    let (work, asked) = bounded::<Work>(1);
    let (answers, done) = bounded::<Answer>(1);
    let (batches, spare, batch_reader) = read_ahead(source);
    let progressive = options.progressive;
    let result = std::thread::scope(|scope| {
        scope.spawn(move || serve(&mut *learner, progressive, &asked, &answers));
        let mut gather = Gather {
            options,
            budget,
            watch,
            columns,
            known_classes: if start.is_some() { classes.len() } else { usize::MAX },
            classes,
            named,
            work,
            done,
            filling: empty(),
            rows_paid,
            room: (room.new.0 as usize, room.new.1 as usize),
            report: StreamReport { rows: begun, ..StreamReport::default() },
            busy: false,
            begin: Instant::now(),
            saved: (begun, Instant::now()),
            class_order: ClassOrder::default(),
            schema: start.and_then(|model| model.header.schema.clone()),
        };
        gather.run(&batches, &spare)
    });
    drop((batches, spare));
    // The reader may sleep in a read that never ends; it goes with the process.
    drop(batch_reader);
    result
}

/// Text takes at most a quarter of what is free, and what two threads take where that is more.
const TEXT_BYTES: u64 = 54 << 20;

/// What rows take where so much is free before the input is opened: three eighths of what text leaves; features,
/// weights and models to save grow into the rest. What text takes depends on threads, and when it takes it on time;
/// blocks must not.
pub fn row_bytes(free_bytes: u64) -> u64 {
    (free_bytes - (free_bytes / 4).min(TEXT_BYTES)) / 8 * 3
}

/// Room for two blocks that go round: one is filled while the learner works on the other, and each has room for new
/// rows and those that stay.
fn divide(bytes: u64, cache_share: f64) -> Room {
    // What a row takes in its block, and in the models of a few classes; and values of 4 bytes with columns of 4.
    let row_bytes = Residents::bytes(Layout::SPARSE_F32, 1, 0) + MODEL_ROW_BYTES * FEW_MODELS;
    let whole = bytes as f64 / 2.0;
    let split = |bytes: f64| {
        let rows = (bytes / 3.0) as u64 / row_bytes;
        (rows.max(16), ((bytes * 2.0 / 3.0) as u64 / 8).max(1024))
    };
    Room { cache: split(whole * cache_share), new: split(whole * (1.0 - cache_share)), all: split(whole) }
}

/// Rows that were read, and what the columns of their table are, where that is new.
pub struct Read {
    pub batch: RowBatch,
    pub schema: Option<Schema>,
}

/// Batches come from a thread of their own, so that waiting for them can end.
fn read_ahead(
    mut source: Box<dyn RowSource>,
) -> (Receiver<Result<Read, InputError>>, Sender<RowBatch>, std::thread::JoinHandle<()>) {
    let (send, receive) = bounded(1);
    let (spare, spares) = bounded::<RowBatch>(3);
    let thread = std::thread::spawn(move || {
        let mut columns = 0;
        loop {
            let mut batch = spares.try_recv().unwrap_or_default();
            let read = source.next_batch(&mut batch);
            let schema = source.schema().filter(|schema| schema.columns.len() > columns);
            columns = schema.as_ref().map_or(columns, |schema| schema.columns.len());
            match read {
                Ok(true) if send.send(Ok(Read { batch, schema })).is_ok() => {}
                Ok(_) => return,
                Err(error) => {
                    let _ = send.send(Err(error));
                    return;
                }
            }
        }
    });
    (receive, spare, thread)
}
