//! Rows that do not fit into memory wait on disk, already parted by where they will lie in the store.
//!
//! Every row has a place: a hash of its number, or the number itself if the order is kept. The store is the rows sorted by
//! place. A bucket holds all rows of a range of places, so that buckets can be sorted one after the other in memory. Which
//! rows share a bucket depends on the budget; the order in which they come out does not.
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::block::{Block, Layout};
use crate::store::StoreError;
use crate::store::format::{self, Scratch};

/// Buckets in a file without a name.
pub struct Spill {
    path: PathBuf,
    file: File,
    end: u64,
    buckets: Vec<Bucket>,
}

/// Rows of a range of places.
#[derive(Clone, Debug, Default)]
pub struct Bucket {
    segments: Vec<Segment>,
    /// Rows in it.
    pub rows: u64,
    /// Values in it.
    pub values: u64,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    offset: u64,
    bytes: usize,
}

/// A file that is gone when the process ends, however it ends.
pub fn nameless_file(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join(format!("rows-{}.new", std::process::id()));
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .map_err(StoreError::io(&path, "create a temporary file"))?;
    std::fs::remove_file(&path).map_err(StoreError::io(&path, "unlink a temporary file"))?;
    Ok(file)
}

impl Spill {
    /// An empty spill with `buckets` buckets, in `folder`.
    pub fn new(folder: &Path, buckets: usize) -> Result<Self, StoreError> {
        let file = nameless_file(folder)?;
        Ok(Spill { path: folder.to_path_buf(), file, end: 0, buckets: vec![Bucket::default(); buckets] })
    }

    /// Number of buckets.
    pub fn len(&self) -> usize {
        self.buckets.len()
    }

    /// What is in a bucket.
    pub fn bucket(&self, b: usize) -> &Bucket {
        &self.buckets[b]
    }

    /// Adds a bucket behind the others and returns its number.
    pub fn add_bucket(&mut self) -> usize {
        self.buckets.push(Bucket::default());
        self.buckets.len() - 1
    }

    /// Writes all rows of `slabs`, each into the bucket that `bucket_of` its id says.
    pub fn write(
        &mut self,
        slabs: &[Block],
        layout: Layout,
        bucket_of: impl Fn(u64) -> usize + Sync,
    ) -> Result<(), StoreError> {
        let mut members: Vec<Vec<(u32, u32)>> = vec![Vec::new(); self.buckets.len()];
        for (s, slab) in slabs.iter().enumerate() {
            for (i, &id) in slab.ids().iter().enumerate() {
                members[bucket_of(id)].push((s as u32, i as u32));
            }
        }
        let columns = slabs.first().map_or(0, Block::columns);
        // A few buckets at a time, so that what is encoded and not yet written stays small.
        for (group, chunk) in members.chunks(16).enumerate() {
            let encoded: Vec<(Vec<u8>, u64, u64)> = chunk
                .par_iter()
                .map_init(Scratch::default, |scratch, rows| {
                    let mut block = Block::new(layout, columns);
                    let values = rows.iter().map(|&(s, i)| slabs[s as usize].row_len(i as usize)).sum();
                    block.reserve(rows.len(), values);
                    rows.iter().for_each(|&(s, i)| block.push_from(&slabs[s as usize], i as usize));
                    let mut bytes = Vec::new();
                    if !rows.is_empty() {
                        format::encode(&block, scratch, &mut bytes);
                    }
                    (bytes, rows.len() as u64, values as u64)
                })
                .collect();
            for (k, (bytes, rows, values)) in encoded.into_iter().enumerate() {
                if bytes.is_empty() {
                    continue;
                }
                self.file.write_all_at(&bytes, self.end).map_err(StoreError::io(&self.path, "write temporary rows"))?;
                let bucket = &mut self.buckets[group * 16 + k];
                bucket.segments.push(Segment { offset: self.end, bytes: bytes.len() });
                bucket.rows += rows;
                bucket.values += values;
                self.end += bytes.len() as u64;
            }
        }
        Ok(())
    }

    /// Reads the rows of a bucket segment by segment, in the order in which they were written.
    pub fn read(
        &self,
        b: usize,
        layout: Layout,
        columns: usize,
        mut each: impl FnMut(Block) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let (mut bytes, mut scratch) = (Vec::new(), Scratch::default());
        for segment in &self.buckets[b].segments {
            bytes.resize(segment.bytes, 0);
            self.file
                .read_exact_at(&mut bytes, segment.offset)
                .map_err(StoreError::io(&self.path, "read temporary rows"))?;
            let mut block = Block::new(layout, columns);
            format::decode(&bytes, &mut block, &mut scratch)
                .map_err(|error| StoreError::damaged(&self.path, format!("temporary rows: {error}")))?;
            each(block)?;
        }
        Ok(())
    }
}
