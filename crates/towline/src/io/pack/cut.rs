//! Rows in their final order are cut into blocks, encoded by several threads, and written in order.
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use super::arrange::{Arrangement, Arranger};
use super::fourier::{BlockMapper, Mapping};
use super::labels::RowStatistics;
use super::{PackError, PackOptions};
use crate::block::{Block, Layout};
use crate::budget::{Budget, Reservation};
use crate::store::StoreError;
use crate::store::format::{self, Header, Scratch};
use crate::store::writer::StoreWriter;

/// Cuts, encodes and writes.
pub struct Cutter<'a> {
    arrangement: &'a Arrangement,
    mapping: Option<&'a Mapping>,
    options: &'a PackOptions,
    writer: &'a mut StoreWriter,
    layout: Layout,
    block_bytes: u64,
    /// Blocks that are encoded at one time.
    encoders: usize,
    /// Rows that did not fill a block.
    carry: Block,
    /// The least layout of all blocks so far.
    pub stored_layout: Option<Layout>,
    /// Values written so far.
    pub values: u64,
    /// What the rows look like as they are stored.
    pub statistics: RowStatistics,
    _paid: Reservation,
}

struct Encoded {
    header: Header,
    bytes: Vec<u8>,
    statistics: RowStatistics,
}

impl<'a> Cutter<'a> {
    pub fn new(
        arrangement: &'a Arrangement,
        mapping: Option<&'a Mapping>,
        options: &'a PackOptions,
        writer: &'a mut StoreWriter,
        longest: u64,
        budget: &Budget,
    ) -> Result<Self, PackError> {
        let layout = Arrangement::layout(options.precision).with_targets(arrangement.targets);
        let block_bytes = options.block_bytes(budget);
        let longest = longest + arrangement.filled() as u64;
        let pay = |encoders: usize| {
            let mapped = mapping.map(|mapping| mapping.layout.resident_bytes(1, mapping.features()));
            budget.reserve("blocks being written", needed_bytes(block_bytes, (longest, layout), mapped, encoders))
        };
        // Where memory is short, fewer blocks are in work at one time; what is written is the same.
        let mut encoders = options.threads.max(1);
        let paid = loop {
            match pay(encoders) {
                Err(_) if encoders > 1 => encoders -= 1,
                paid => break paid?,
            }
        };
        let carry = Block::new(layout, u32::MAX as usize + 1);
        let statistics = RowStatistics::default();
        Ok(Cutter {
            arrangement,
            mapping,
            options,
            writer,
            layout,
            block_bytes,
            encoders,
            carry,
            stored_layout: None,
            values: 0,
            statistics,
            _paid: paid,
        })
    }

    /// Takes rows from `slabs` in the given order; what does not fill a block waits for the next call.
    pub fn add(&mut self, slabs: &[Block], order: &[(u32, u32)]) -> Result<(), PackError> {
        let carry = std::mem::replace(&mut self.carry, Block::new(self.layout, u32::MAX as usize + 1));
        let sources: Vec<&Block> = std::iter::once(&carry).chain(slabs).collect();
        let carried = (0..carry.rows() as u32).map(|i| (0, i));
        let rows: Vec<(u32, u32)> = carried.chain(order.iter().map(|&(s, i)| (s + 1, i))).collect();
        let cuts = self.cuts(&sources, &rows);
        let whole = cuts.last().copied().unwrap_or(0);
        self.write(&sources, &rows, &cuts)?;
        for &(s, i) in &rows[whole..] {
            self.carry.push_from(sources[s as usize], i as usize);
        }
        Ok(())
    }

    /// Writes the last, smaller block.
    pub fn finish(&mut self) -> Result<(), PackError> {
        let carry = std::mem::replace(&mut self.carry, Block::new(self.layout, 1));
        if carry.rows() == 0 {
            return Ok(());
        }
        let rows: Vec<(u32, u32)> = (0..carry.rows() as u32).map(|i| (0, i)).collect();
        self.write(&[&carry], &rows, &[rows.len()])
    }

    /// Where blocks end: as soon as they have the wanted size.
    fn cuts(&self, sources: &[&Block], rows: &[(u32, u32)]) -> Vec<usize> {
        let mut cuts = Vec::new();
        let (mut block_rows, mut block_values) = (0, 0);
        let arrangement = self.arrangement;
        let lengths: Vec<u32> =
            rows.par_iter().map(|&(s, i)| arrangement.stored_len(sources[s as usize], i as usize) as u32).collect();
        let mapped = self.mapping.map_or(0, |mapping| mapping.layout.resident_bytes(1, mapping.features()));
        for (k, &length) in lengths.iter().enumerate() {
            block_rows += 1;
            block_values += u64::from(length);
            if self.layout.resident_bytes(block_rows, block_values).max(block_rows * mapped) >= self.block_bytes {
                cuts.push(k + 1);
                (block_rows, block_values) = (0, 0);
            }
        }
        cuts
    }

    fn write(&mut self, sources: &[&Block], rows: &[(u32, u32)], cuts: &[usize]) -> Result<(), PackError> {
        let starts = std::iter::once(0).chain(cuts.iter().copied());
        let ranges: Vec<&[(u32, u32)]> = starts.zip(cuts).map(|(from, &to)| &rows[from..to]).collect();
        let (arrangement, mapping, layout) = (self.arrangement, self.mapping, self.layout);
        let mut ready: Vec<Encoded> = Vec::new();
        let encoders: Vec<Mutex<Encoder<'_>>> =
            (0..self.encoders).map(|_| Mutex::new(Encoder::new(arrangement, mapping, layout))).collect();
        for group in ranges.chunks(self.encoders) {
            if self.options.stop.is_requested() {
                return Err(PackError::Interrupted);
            }
            let encoders = &encoders;
            let encode_group = || {
                let work = group.par_iter().zip(encoders);
                // One encoder per block of the group: nobody waits for the lock.
                work.map(|(rows, encoder)| lock(encoder).encode(arrangement, sources, rows)).collect()
            };
            let (next, written) = rayon::join(encode_group, || self.write_encoded(std::mem::take(&mut ready)));
            written?;
            ready = next;
        }
        Ok(self.write_encoded(ready)?)
    }

    fn write_encoded(&mut self, group: Vec<Encoded>) -> Result<(), StoreError> {
        for Encoded { header, bytes, statistics } in group {
            self.writer.write_block(&header, &bytes)?;
            self.stored_layout = Some(self.stored_layout.map_or(header.layout, |layout| layout.join(header.layout)));
            self.values += header.values;
            self.statistics.join(&statistics);
        }
        Ok(())
    }
}

/// Memory for cutting blocks of `block_bytes` from rows of at most `longest` values, each of which may be mapped to
/// `mapped` bytes, `encoders` at a time.
fn needed_bytes(block_bytes: u64, (longest, layout): (u64, Layout), mapped: Option<u64>, encoders: usize) -> u64 {
    // A block ends with the row that fills it.
    let largest = block_bytes + layout.resident_bytes(1, longest).max(mapped.unwrap_or(0));
    // Dense rows of 32-bit floats have the most values.
    let values = if mapped.is_some() { largest / 4 } else { largest / layout.value_bytes(1) };
    // For each a block, perhaps mapped too, what its encoding takes, and the bytes of the one before, which are written
    // meanwhile.
    let blocks = if mapped.is_some() { 3 } else { 2 };
    let encoder = blocks * largest + format::encoding_bytes(largest, values) + Arranger::most_bytes(longest);
    encoders as u64 * encoder + largest
}

/// What a thread needs to encode a block, kept between blocks: fresh pages cost more than the encoding.
struct Encoder<'a> {
    scratch: Scratch,
    arranger: Arranger,
    mapper: Option<BlockMapper<'a>>,
    block: Block,
}

impl<'a> Encoder<'a> {
    fn new(arrangement: &Arrangement, mapping: Option<&'a Mapping>, layout: Layout) -> Self {
        let block = Block::new(layout, arrangement.column_count);
        let mapper = mapping.map(BlockMapper::new);
        Encoder { scratch: Scratch::default(), arranger: Arranger::default(), mapper, block }
    }

    fn encode(&mut self, arrangement: &Arrangement, sources: &[&Block], rows: &[(u32, u32)]) -> Encoded {
        let mut statistics = RowStatistics::default();
        self.block.clear();
        let values = rows.iter().map(|&(s, i)| arrangement.stored_len(sources[s as usize], i as usize)).sum();
        self.block.reserve(rows.len(), values);
        for &(s, i) in rows {
            let (source, i) = (sources[s as usize], i as usize);
            self.block.add_further(source.further(i));
            arrangement.push(source.info(i), source.row(i), &mut self.arranger, &mut self.block, &mut statistics);
        }
        let mut bytes = Vec::new();
        let (rows, statistics) = match &mut self.mapper {
            None => (&self.block, statistics),
            Some(mapper) => mapper.rows(&self.block),
        };
        let header = format::encode(rows, &mut self.scratch, &mut bytes);
        Encoded { header, bytes, statistics }
    }
}

fn lock<'a, 'b>(encoder: &'b Mutex<Encoder<'a>>) -> MutexGuard<'b, Encoder<'a>> {
    // An encoder is emptied before every use, so a panic elsewhere leaves nothing that could matter.
    encoder.lock().unwrap_or_else(PoisonError::into_inner)
}
