//! Numbering features of which not all fit into memory.
//!
//! The rows come in eras. In each, features get ids as they are first seen; when there is no room for more, the era
//! ends: its features go to disk with their counts, its rows with the ids of the era, and the table is empty again. At
//! the end a feature is known by several ids, one of each era that has seen it. Features are parted by their hash, so
//! that the ones of a part fit into memory:
//!
//! ```text
//! join      each part alone: the same feature in several eras ─► one number within the part, and the sum of its counts
//! number    all ids in the order in which they came: a feature that comes for the first time gets its column,
//!           behind those of its count that came before, and its key goes to the feature map
//! tell      each part alone: the column of each id
//! ```
//! Then the rows of an era need only the columns of its ids. Every step reads and writes in order; what is held is a
//! part of the features and buffers. Columns are those that a table of all features would give: by count, and then as
//! first seen.
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::by_column::ByColumn;
use super::keys::{Key, Keys, too_many};
use super::streams::{StreamReader, Streams};
use crate::budget::{Budget, Reservation};
use crate::store::StoreError;

/// Parts by hash. A part of features takes some 40 bytes for each, and so less than a byte for each of all.
const PARTS: usize = 64;
/// Which part each id belongs to, and the length of its name, are streams of their own.
const PART_OF: usize = PARTS;
const LENGTHS: usize = PARTS + 1;
const STREAMS: usize = PARTS + 2;

/// Features of eras that have ended.
pub struct Eras {
    folder: PathBuf,
    named: bool,
    streams: Streams,
    /// Features of each era.
    sizes: Vec<u32>,
    /// Ids in each part.
    records: Vec<u64>,
    /// Features of older generations, which came first; in all, and in each part.
    old: u64,
    old_in_part: Vec<u32>,
}

/// Is told the name, the column or id, and the count of a feature.
pub type See<'a> = &'a mut dyn FnMut(&[u8], u32, u32) -> Result<(), StoreError>;

/// What ending an era takes, whenever that will be.
pub fn ending_bytes(budget: &Budget) -> u64 {
    Streams::needed_bytes(STREAMS, budget)
}

impl Eras {
    /// No era has ended. The first `old` features that come are of older generations.
    pub fn new(named: bool, old: u64, folder: &Path, budget: &Budget) -> Result<Self, StoreError> {
        Ok(Eras {
            folder: folder.to_path_buf(),
            named,
            streams: Streams::new(folder, STREAMS, budget)?,
            sizes: Vec::new(),
            records: vec![0; PARTS],
            old,
            old_in_part: vec![0; PARTS],
        })
    }

    /// How many have ended.
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// Ends an era with these features in the order of their ids: key, count, and length of the name.
    pub fn end_era(&mut self, features: impl Iterator<Item = (Key, u32, u32)>) -> Result<(), StoreError> {
        let before: u64 = self.sizes.iter().map(|&size| u64::from(size)).sum();
        let mut size = 0;
        for (key, count, length) in features {
            let part = key.part(PARTS);
            self.streams.append(PART_OF, &[part as u8])?;
            match key {
                Key::Number(number) => self.streams.append(part, &number.to_le_bytes())?,
                Key::Name(hash) => {
                    self.streams.append(part, &hash.to_le_bytes())?;
                    self.streams.append(LENGTHS, &length.to_le_bytes())?;
                }
            }
            self.streams.append(part, &count.to_le_bytes())?;
            self.records[part] += 1;
            self.old_in_part[part] += u32::from(before + u64::from(size) < self.old);
            size += 1;
        }
        self.sizes.push(size);
        Ok(())
    }

    /// The columns of all features; `see` is told the name, column and count of each that has a name. `names` holds the
    /// names of all eras, one behind the other.
    pub fn number(mut self, names: Option<&mut File>, see: See, budget: &Budget) -> Result<Numbering, StoreError> {
        self.streams.end_writing()?;
        let joined = self.join(budget)?;
        let mut columns = Streams::new(&self.folder, PARTS, budget)?;
        let keys = self.assign(&joined, names, see, &mut columns, budget)?;
        columns.end_writing()?;
        let told = self.tell(&joined, &columns, budget)?;
        let Joined { features, largest, .. } = joined;
        Ok(Numbering { eras: self, told, features, largest, keys })
    }

    /// Finds the same features of several eras.
    fn join(&self, budget: &Budget) -> Result<Joined, StoreError> {
        let mut streams = Streams::new(&self.folder, 2 * PARTS, budget)?;
        let (mut counts, mut largest, mut features) = (BTreeMap::<u32, u32>::new(), 0, 0);
        for part in 0..PARTS {
            let mut reader = self.streams.read(part, budget)?;
            let mut keys = Keys::new(self.named, budget)?;
            for _ in 0..self.records[part] {
                let key = if self.named { Key::Name(reader.u128()?) } else { Key::Number(reader.u64()?) };
                let id = keys.add(key, reader.u32()?)?;
                streams.append(part, &id.to_le_bytes())?;
            }
            features += keys.len() as u64;
            for (id, (key, count)) in keys.iter().enumerate() {
                streams.append(PARTS + part, &count.to_le_bytes())?;
                let is_new = id >= self.old_in_part[part] as usize;
                if let Key::Number(number) = key {
                    streams.append(PARTS + part, &number.to_le_bytes())?;
                    largest = if is_new { number.max(largest) } else { largest };
                }
                *counts.entry(count).or_default() += u32::from(is_new);
            }
        }
        if features > u64::from(u32::MAX) {
            return Err(too_many().into());
        }
        streams.end_writing()?;
        Ok(Joined { streams, counts, largest, features })
    }

    /// Gives columns to features in the order in which they were first seen.
    fn assign(
        &self,
        joined: &Joined,
        names: Option<&mut File>,
        see: See,
        columns: &mut Streams,
        budget: &Budget,
    ) -> Result<ByColumn, StoreError> {
        let mut ids = read_all(&joined.streams, 0..PARTS, budget)?;
        let mut features = read_all(&joined.streams, PARTS..2 * PARTS, budget)?;
        let mut part_of = self.streams.read(PART_OF, budget)?;
        let mut names = names.map(|file| Names::new(file, &self.streams, budget)).transpose()?;
        let key_bytes = names.as_ref().map_or(8 * joined.features, |names| names.bytes);
        let mut keys = ByColumn::new(joined.features - self.old, key_bytes, &self.folder, budget)?;
        // Columns of a count follow those of all larger counts.
        let (mut next, mut sum) = (BTreeMap::new(), self.old as u32);
        for (&count, &features) in joined.counts.iter().rev() {
            next.insert(count, sum);
            sum += features;
        }
        let (mut seen, mut first_seen) = ([0; PARTS], 0);
        for _ in 0..self.records.iter().sum() {
            let part = part_of.u8()? as usize;
            let is_new = ids[part].u32()? == seen[part];
            let name = names.as_mut().map(Names::next).transpose()?;
            if !is_new {
                continue;
            }
            let count = features[part].u32()?;
            let number = if self.named { [0; 8] } else { features[part].u64()?.to_le_bytes() };
            seen[part] += 1;
            first_seen += 1;
            let is_old = first_seen <= self.old;
            let column = match next.get_mut(&count) {
                _ if is_old => first_seen as u32 - 1,
                Some(next) => std::mem::replace(next, *next + 1),
                None => return Err(too_many().into()),
            };
            columns.append(part, &column.to_le_bytes())?;
            if let Some(name) = name {
                see(name, column, count)?;
            }
            if !is_old {
                keys.add(column - self.old as u32, name.unwrap_or(&number))?;
            }
        }
        keys.end_writing()?;
        Ok(keys)
    }

    /// Finds the column of each id.
    fn tell(&self, joined: &Joined, columns: &Streams, budget: &Budget) -> Result<Streams, StoreError> {
        let mut told = Streams::new(&self.folder, PARTS, budget)?;
        for part in 0..PARTS {
            let count = columns.bytes(part) / 4;
            let _paid = budget.reserve("columns of features", 4 * count)?;
            let mut reader = columns.read(part, budget)?;
            let known = (0..count).map(|_| reader.u32()).collect::<Result<Vec<u32>, _>>()?;
            let mut ids = joined.streams.read(part, budget)?;
            for _ in 0..self.records[part] {
                told.append(part, &known[ids.u32()? as usize].to_le_bytes())?;
            }
        }
        told.end_writing()?;
        Ok(told)
    }
}

fn read_all<'a>(
    streams: &'a Streams,
    which: Range<usize>,
    budget: &Budget,
) -> Result<Vec<StreamReader<'a>>, StoreError> {
    which.map(|s| Ok(streams.read(s, budget)?)).collect()
}

/// Features by part.
struct Joined {
    /// By part the numbers of its ids within the part, in the order of the ids; and its features: counts, and feature
    /// numbers if they have them.
    streams: Streams,
    /// How many new features have each count.
    counts: BTreeMap<u32, u32>,
    /// The largest new feature number.
    largest: u64,
    features: u64,
}

/// Names of all ids, one after the other.
struct Names<'a> {
    text: BufReader<&'a mut File>,
    lengths: StreamReader<'a>,
    name: Vec<u8>,
    bytes: u64,
    paid: Reservation,
}

impl<'a> Names<'a> {
    fn new(file: &'a mut File, streams: &'a Streams, budget: &Budget) -> Result<Self, StoreError> {
        let fail = || StoreError::io(Path::new("feature names"), "read them");
        file.rewind().map_err(fail())?;
        let bytes = file.metadata().map_err(fail())?.len();
        let paid = budget.reserve("a feature name", 8 << 10)?;
        Ok(Names { text: BufReader::new(file), lengths: streams.read(LENGTHS, budget)?, name: Vec::new(), bytes, paid })
    }

    fn next(&mut self) -> Result<&[u8], StoreError> {
        let length = self.lengths.u32()?;
        self.paid.grow_to((8 << 10) + u64::from(length))?;
        self.name.resize(length as usize, 0);
        let read = self.text.read_exact(&mut self.name);
        read.map_err(StoreError::io(Path::new("feature names"), "read them"))?;
        Ok(&self.name)
    }
}

/// The columns of features that do not fit into memory.
pub struct Numbering {
    eras: Eras,
    told: Streams,
    /// Features in all, those of older generations included.
    pub features: u64,
    /// The largest number of a new feature.
    pub largest: u64,
    /// New features by column, counted from the first new one.
    pub keys: ByColumn,
}

impl Numbering {
    /// Calls `each` with the columns of the ids of one era after the other.
    pub fn each_era(
        &self,
        budget: &Budget,
        mut each: impl FnMut(usize, &[u32]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut part_of = self.eras.streams.read(PART_OF, budget)?;
        let mut told = read_all(&self.told, 0..PARTS, budget)?;
        for (era, &size) in self.eras.sizes.iter().enumerate() {
            let _paid = budget.reserve("columns of features", 4 * u64::from(size))?;
            let mut columns = Vec::with_capacity(size as usize);
            for _ in 0..size {
                columns.push(told[part_of.u8()? as usize].u32()?);
            }
            each(era, &columns)?;
        }
        Ok(())
    }
}
