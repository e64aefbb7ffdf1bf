//! Rows that do not fit into memory wait on disk, already parted by where they will lie in the store.
//!
//! Every row has a place: a hash of its number, or the number itself if the order is kept. The store is the rows sorted
//! by place. A bucket holds all rows of a range of places, so that buckets can be sorted one after the other in memory.
//! Which rows share a bucket depends on the budget; the order in which they come out does not.
use std::fs::File;
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
    tempfile::tempfile_in(folder).map_err(StoreError::io(folder, "create a temporary file in it"))
}

impl Spill {
    /// An empty spill with `buckets` buckets, in `folder`.
    pub fn new(folder: &Path, buckets: usize) -> Result<Self, StoreError> {
        let file = nameless_file(folder)?;
        Ok(Spill { path: folder.to_path_buf(), file, end: 0, buckets: vec![Bucket::default(); buckets] })
    }

    /// Adds empty buckets.
    pub fn add_buckets(&mut self, count: usize) {
        self.buckets.resize_with(self.buckets.len() + count, Bucket::default);
    }

    /// Number of buckets.
    pub fn len(&self) -> usize {
        self.buckets.len()
    }

    /// What is in a bucket.
    pub fn bucket(&self, b: usize) -> &Bucket {
        &self.buckets[b]
    }

    /// Memory that writing a segment of this size takes besides the rows themselves.
    pub fn writing_bytes(segment_bytes: u64, layout: Layout) -> u64 {
        segment_bytes + format::encoding_bytes(segment_bytes, segment_bytes / layout.value_bytes(1))
    }

    /// Writes all rows of `slabs`, each into the bucket that `bucket_of` its id says, in segments of about
    /// `segment_bytes`, as many at one time as `paid_bytes` pay for.
    pub fn write(
        &mut self,
        slabs: &[Block],
        layout: Layout,
        (segment_bytes, paid_bytes): (u64, u64),
        bucket_of: impl Fn(u64) -> usize,
    ) -> Result<(), StoreError> {
        let (rows, ends) = by_bucket(slabs, self.buckets.len(), bucket_of);
        let mut segments: Vec<(usize, Cut)> = Vec::new();
        for (bucket, &end) in ends.iter().enumerate() {
            let begin = if bucket == 0 { 0 } else { ends[bucket - 1] };
            segments.extend(cut(slabs, layout, segment_bytes, &rows[begin..end]).map(|part| (bucket, part)));
        }
        let columns = slabs.first().map_or(0, Block::columns);
        let encode = |scratch: &mut Scratch, (_, part): &(usize, Cut)| {
            let mut block = Block::new(layout, columns);
            block.reserve(part.rows.len(), part.values);
            part.rows.iter().for_each(|&(s, i)| block.push_from(&slabs[s as usize], i as usize));
            let mut bytes = Vec::new();
            format::encode(&block, scratch, &mut bytes);
            bytes
        };
        let mut rest = &segments[..];
        while !rest.is_empty() {
            let mut needed = 0;
            let is_paid = |(_, part): &&(usize, Cut)| {
                needed += Self::writing_bytes(part.bytes, layout);
                needed <= paid_bytes
            };
            let group;
            (group, rest) = rest.split_at(rest.iter().take_while(is_paid).count().max(1));
            let encoded: Vec<Vec<u8>> = group.par_iter().map_init(Scratch::default, encode).collect();
            for ((bucket, part), bytes) in group.iter().zip(encoded) {
                self.append(*bucket, &bytes, part.rows.len() as u64, part.values as u64)?;
            }
        }
        Ok(())
    }

    fn append(&mut self, bucket: usize, bytes: &[u8], rows: u64, values: u64) -> Result<(), StoreError> {
        self.file.write_all_at(bytes, self.end).map_err(StoreError::io(&self.path, "write temporary rows"))?;
        let bucket = &mut self.buckets[bucket];
        bucket.segments.push(Segment { offset: self.end, bytes: bytes.len() });
        bucket.rows += rows;
        bucket.values += values;
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Reads the rows of a bucket segment by segment, in the order in which they were written.
    pub fn read<E: From<StoreError>>(
        &self,
        b: usize,
        layout: Layout,
        columns: usize,
        mut each: impl FnMut(Block) -> Result<(), E>,
    ) -> Result<(), E> {
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

/// A row as slab and number within it.
type RowPlace = (u32, u32);

/// All rows in the order of their buckets, those of one bucket in the order of the slabs, and where each bucket ends.
fn by_bucket(slabs: &[Block], buckets: usize, bucket_of: impl Fn(u64) -> usize) -> (Vec<RowPlace>, Vec<usize>) {
    let mut ends = vec![0; buckets];
    slabs.iter().flat_map(|slab| slab.ids()).for_each(|&id| ends[bucket_of(id)] += 1);
    let mut sum = 0;
    for end in &mut ends {
        (*end, sum) = (sum, sum + *end);
    }
    let mut rows = vec![(0, 0); sum];
    for (s, slab) in slabs.iter().enumerate() {
        for (i, &id) in slab.ids().iter().enumerate() {
            let place = &mut ends[bucket_of(id)];
            rows[*place] = (s as u32, i as u32);
            *place += 1;
        }
    }
    (rows, ends)
}

/// Rows that become a segment.
struct Cut<'a> {
    rows: &'a [RowPlace],
    values: usize,
    /// What they take in memory.
    bytes: u64,
}

/// Cuts `rows` into parts of about `segment_bytes` in memory; a single row may be larger.
fn cut<'a>(
    slabs: &'a [Block],
    layout: Layout,
    segment_bytes: u64,
    mut rows: &'a [RowPlace],
) -> impl Iterator<Item = Cut<'a>> + 'a {
    std::iter::from_fn(move || {
        let (mut length, mut values, mut bytes) = (0, 0, 0);
        for &(s, i) in rows {
            let row_values = slabs[s as usize].row_len(i as usize);
            let row_bytes = layout.resident_bytes(1, row_values as u64);
            if length > 0 && bytes + row_bytes > segment_bytes {
                break;
            }
            (length, values, bytes) = (length + 1, values + row_values, bytes + row_bytes);
        }
        let (part, rest) = rows.split_at(length);
        rows = rest;
        (length > 0).then_some(Cut { rows: part, values, bytes })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::RowInfo;

    fn slabs(lengths: &[&[usize]]) -> Vec<Block> {
        let mut id = 0;
        let slab = |rows: &&[usize]| {
            let mut block = Block::new(Layout::SPARSE_F32, 1000);
            for &length in *rows {
                let info = RowInfo { label: 1.0, weight: 2.0, group: 3, id };
                block.push(info, (0..length as u32).map(|column| (column, f64::from(column) + id as f64)));
                id += 1;
            }
            block
        };
        lengths.iter().map(slab).collect()
    }

    #[test]
    fn rows_come_back_bucket_by_bucket_whatever_the_size_of_segments() {
        let folder = tempfile::tempdir().unwrap();
        let slabs = slabs(&[&[3, 0, 900, 2], &[], &[1, 1, 1, 0, 40]]);
        for sizes in [(1, 1), (100, 1000), (1000, 1), (1 << 20, 1 << 20)] {
            let mut spill = Spill::new(folder.path(), 3).unwrap();
            // Twice, as two floods of rows would come.
            for _ in 0..2 {
                spill.write(&slabs, Layout::SPARSE_F32, sizes, |id| (id % 3) as usize).unwrap();
            }
            for bucket in 0..3 {
                let mut seen = Vec::new();
                spill
                    .read(bucket, Layout::SPARSE_F32, 1000, |block| {
                        for i in 0..block.rows() {
                            let id = block.info(i).id;
                            assert!(block.row(i).iter().all(|(column, value)| value == f64::from(column) + id as f64));
                            seen.push((id, block.row_len(i)));
                        }
                        Ok::<_, StoreError>(())
                    })
                    .unwrap();
                let lengths = [3, 0, 900, 2, 1, 1, 1, 0, 40];
                let once: Vec<(u64, usize)> =
                    (0..9).filter(|id| id % 3 == bucket as u64).map(|id| (id, lengths[id as usize])).collect();
                assert_eq!(seen, [&once[..], &once[..]].concat());
                assert_eq!(spill.bucket(bucket).rows, seen.len() as u64);
            }
        }
    }
}
