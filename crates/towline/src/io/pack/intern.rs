//! Features get small numbers in the order in which they are first seen, and are counted.
//!
//! Counts order the columns, and for that a sample of the rows is enough: which of two rare features comes first does
//! not matter, and every count is a miss of the cache. Where features are scaled, the counts are exact.
//!
//! Feature numbers of text are looked up in pages, a table of 4 bytes per possible feature, as long as that is not much
//! larger than a hash table would be (hashed n-grams fill their space); otherwise, and for names, in a hash table of
//! ids, which takes 6 to 12 bytes a feature. Names are known by a 128-bit hash: the names themselves go to a file at
//! once, so a column with millions of distinct texts costs little more than one with as many numbers. Where even that
//! does not fit, features come in [`Eras`].
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use super::PackError;
use super::by_column::ByColumn;
use super::eras::{self, ColumnOrder, Eras, Numbering, Place};
use super::keys::{Key, Keys, mix, reserve_to};
use super::scale::{Rule, Statistics};
use super::select::Selection;
use crate::budget::{Budget, BudgetError, Reservation};
use crate::input::RowBatch;
use crate::prefetch::{large_zeroed, prefetch};
use crate::store::StoreError;
use crate::store::features::{Columns, FeatureName};

/// Slots of a page, 16 MiB: most of it can be backed by large pages of 2 MiB wherever it begins, and what is never
/// touched costs nothing.
const PAGE: usize = 1 << 22;
/// How many values ahead memory is asked for: enough to cover a miss, few enough to stay in the first cache.
const LOOK_AHEAD: usize = 24;
/// What a slot holds before its feature is seen; else it holds the id plus one.
const UNSEEN: u32 = 0;
/// Feature numbers beyond this many pages are hashed: a table of all pages below them would be larger than what they
/// hold.
const LARGEST_PAGE: u64 = 1 << 16;
/// Pages may take this much per feature: more than a hash table, but one access finds a feature instead of two or
/// three.
const HASHED_BYTES: u64 = 48;

/// Is told the name, id and count of a feature.
pub type SeeName<'a> = &'a mut dyn FnMut(&[u8], u32, u32) -> Result<(), StoreError>;

/// All features seen so far, or in this era.
pub struct Features {
    folder: PathBuf,
    keys: Keys,
    /// Where ids of numbers are found; none if the hash table of the keys finds them.
    pages: Option<Vec<Option<Vec<u32>>>>,
    /// Where each name ends in the file, by id; empty for numbers.
    name_ends: Vec<u64>,
    /// Where the names of this era begin.
    names_begin: u64,
    names: Option<BufWriter<File>>,
    /// Features of older generations, whose columns stay.
    old: usize,
    /// Features of all eras that have ended, and the largest number among them.
    ended: (u64, u64),
    /// Eras that have ended, and the memory that is set aside for ending the first one; neither if all features have to
    /// fit.
    eras: Option<Eras>,
    ending: Option<Reservation>,
    /// What is known of their values; where they have to be seen, only those of the first era.
    statistics: Statistics,
    tables: Reservation,
    ends: Reservation,
}

impl Features {
    /// No features yet, and all will have to fit into memory. Names, if features have them, go to a nameless file in
    /// `folder`.
    pub fn new(named: bool, folder: &Path, budget: &Budget) -> Result<Self, StoreError> {
        let names = match named {
            true => Some(BufWriter::new(super::spill::nameless_file(folder)?)),
            false => None,
        };
        Ok(Features {
            folder: folder.to_path_buf(),
            keys: Keys::new(named, budget)?,
            pages: (!named).then(Vec::new),
            name_ends: Vec::new(),
            names_begin: 0,
            names,
            old: 0,
            ended: (0, 0),
            eras: None,
            ending: None,
            statistics: Statistics::new(Rule::None, budget)?,
            tables: budget.reserve("feature table", 0)?,
            ends: budget.reserve("feature counts", 0)?,
        })
    }

    /// No features yet; those that do not fit into memory may come in eras. Of their values `rule` is kept.
    pub fn parted(named: bool, rule: Rule, folder: &Path, budget: &Budget) -> Result<Self, StoreError> {
        let ending = budget.reserve("features on their way to disk", eras::ending_bytes(rule, budget))?;
        let statistics = Statistics::new(rule, budget)?;
        Ok(Features { ending: Some(ending), statistics, ..Features::new(named, folder, budget)? })
    }

    /// Takes over the features of an older generation.
    pub fn load(&mut self, mut known: Columns, budget: &Budget) -> Result<(), StoreError> {
        self.old = known.len() as usize;
        while let Some((name, scaling)) = known.next()? {
            let scaling = scaling.filter(|_| self.statistics.rule.is_some());
            let add = |features: &mut Features| -> Result<(), StoreError> {
                // Whatever may be refused comes before the first change.
                let room = scaling.map_or(0, |_| features.len() + 1);
                features.statistics.reserve(room)?;
                let id = match &name {
                    FeatureName::Number(number) => features.number(*number, budget)?,
                    FeatureName::Name(name) => features.name(name.as_bytes())?,
                };
                scaling.into_iter().for_each(|scaling| features.statistics.set(id, scaling));
                Ok(())
            };
            match add(self) {
                Err(StoreError::Budget(_)) if self.may_end_era() => {
                    self.end_era(budget)?;
                    add(self)?;
                }
                added => added?,
            }
        }
        self.keys.counts_mut().fill(0);
        Ok(())
    }

    /// Replaces the keys of `batch` from `done` on by ids. Where the budget says no, `done` tells how far it came, and
    /// the same call goes on from there.
    pub fn resolve(&mut self, batch: &mut RowBatch, done: &mut usize, budget: &Budget) -> Result<(), StoreError> {
        if self.names.is_some() {
            let mut ids = Vec::with_capacity(batch.names.len());
            for k in 0..batch.names.len() {
                ids.push(self.name(batch.names.get(k))?);
            }
            self.pay_for_values()?;
            for key in &mut batch.keys[*done..] {
                *key = u64::from(ids[*key as usize]);
            }
            *done = batch.keys.len();
            return Ok(());
        }
        self.resolve_numbers(&mut batch.keys, done, budget)?;
        Ok(self.pay_for_values()?)
    }

    /// Makes room for what is known of the values of all features.
    fn pay_for_values(&mut self) -> Result<(), BudgetError> {
        match &mut self.eras {
            _ if !self.statistics.rule.sees_values() => Ok(()),
            None => self.statistics.reserve(self.keys.len()),
            Some(eras) => eras.find_places(&self.keys),
        }
    }

    /// Notes the values of a batch that has been resolved.
    pub fn add_values(&mut self, batch: &RowBatch) -> Result<(), StoreError> {
        match &mut self.eras {
            _ if !self.statistics.rule.sees_values() => {}
            None => self.statistics.add(batch),
            Some(eras) => eras.add_values(batch)?,
        }
        Ok(())
    }

    /// What is known of the values of features in memory.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// The reverse for a batch of which the first `done` keys have been resolved.
    pub fn restore(&self, batch: &mut RowBatch, done: usize) {
        if self.names.is_none() {
            batch.keys[..done].iter_mut().for_each(|id| *id = self.keys.numbers()[*id as usize]);
            return;
        }
        let places = (0..batch.names.len()).filter_map(|k| Some((self.find_name(batch.names.get(k))?, k as u64)));
        let places: HashMap<u32, u64> = places.collect();
        batch.keys[..done].iter_mut().for_each(|id| *id = places.get(&(*id as u32)).copied().unwrap_or(*id));
    }

    fn resolve_numbers(&mut self, keys: &mut [u64], done: &mut usize, budget: &Budget) -> Result<(), BudgetError> {
        while *done < keys.len() {
            // The table is much larger than the caches: asking for slots well ahead hides most of the misses.
            if let (Some(pages), Some(&coming)) = (&self.pages, keys.get(*done + LOOK_AHEAD))
                && let Some(Some(page)) = pages.get((coming / PAGE as u64) as usize)
            {
                prefetch(page, coming as usize % PAGE);
            }
            keys[*done] = u64::from(self.number(keys[*done], budget)?);
            *done += 1;
        }
        Ok(())
    }

    /// Counts the ids of a batch whose first row has this number: in all rows, or in a sample that depends on nothing
    /// but their numbers.
    pub fn count(&mut self, batch: &RowBatch, first_row: u64, exactly: bool) {
        let counts = self.keys.counts_mut();
        for i in 0..batch.rows() {
            if !exactly && !is_sampled(first_row + i as u64) {
                continue;
            }
            let ids = &batch.keys[batch.range(i)];
            for (k, &id) in ids.iter().enumerate() {
                if let Some(&coming) = ids.get(k + LOOK_AHEAD) {
                    prefetch(counts, coming as usize);
                }
                counts[id as usize] = counts[id as usize].saturating_add(1);
            }
        }
    }

    /// Ids from `old` on, the most frequent ones first; among equals, as they were first seen.
    pub fn by_frequency(&self) -> Vec<u32> {
        // Nearly all counts are small: they are sorted by counting them. Those that are not share the first place until
        // they are compared.
        const MANY: u32 = 1 << 12;
        let slot = |id: u32| (MANY - self.keys.counts()[id as usize].min(MANY)) as usize;
        let (first, end) = (self.old as u32, self.keys.counts().len() as u32);
        let mut starts = vec![0u32; MANY as usize + 1];
        (first..end).for_each(|id| starts[slot(id)] += 1);
        let frequent = starts[0] as usize;
        let mut sum = 0;
        for start in &mut starts {
            (*start, sum) = (sum, sum + *start);
        }
        let mut order = vec![0; (end - first) as usize];
        for id in first..end {
            let place = &mut starts[slot(id)];
            order[*place as usize] = id;
            *place += 1;
        }
        order[..frequent].sort_unstable_by_key(|&id| (std::cmp::Reverse(self.keys.counts()[id as usize]), id));
        order
    }

    #[inline]
    fn number(&mut self, number: u64, budget: &Budget) -> Result<u32, BudgetError> {
        if let Some(pages) = &self.pages {
            let (page, slot) = ((number / PAGE as u64) as usize, number as usize % PAGE);
            if let Some(Some(page)) = pages.get(page)
                && page[slot] != UNSEEN
            {
                return Ok(page[slot] - 1);
            }
        }
        self.new_number(number, budget)
    }

    fn new_number(&mut self, number: u64, budget: &Budget) -> Result<u32, BudgetError> {
        // Whatever the budget may refuse comes before the first change.
        self.make_page(number / PAGE as u64, budget)?;
        let Some(pages) = &mut self.pages else { return Ok(self.keys.find_or_add(Key::Number(number))?.0) };
        let id = self.keys.push(Key::Number(number))?;
        if let Some(Some(page)) = pages.get_mut((number / PAGE as u64) as usize) {
            page[number as usize % PAGE] = id + 1;
        }
        Ok(id)
    }

    /// Makes sure that the page is there, or changes to hashing if pages cost too much.
    fn make_page(&mut self, page: u64, budget: &Budget) -> Result<(), BudgetError> {
        let Some(pages) = &mut self.pages else { return Ok(()) };
        if pages.get(page as usize).is_some_and(Option::is_some) {
            return Ok(());
        }
        let used = pages.iter().flatten().count() as u64 + 1;
        let needed = used * PAGE as u64 * 4 + page.min(LARGEST_PAGE) * size_of::<Option<Vec<u32>>>() as u64;
        // Pages pay off if they fit easily or are about as small as a hash table.
        let worth = (HASHED_BYTES * self.keys.len() as u64).max(budget.data_bytes() * 2 / 5);
        if page > LARGEST_PAGE || needed > worth || self.tables.grow_to(needed).is_err() {
            self.keys.find_all()?;
            self.pages = None;
            return self.tables.resize(0);
        }
        if page as usize >= pages.len() {
            pages.resize_with(page as usize + 1, || None);
        }
        pages[page as usize] = Some(large_zeroed(PAGE));
        Ok(())
    }

    fn name(&mut self, name: &[u8]) -> Result<u32, StoreError> {
        if self.name_ends.len() == self.name_ends.capacity() {
            let room = (self.name_ends.len() + self.name_ends.len() / 2).max(1024);
            self.ends.resize(room as u64 * 8)?;
            reserve_to(&mut self.name_ends, room);
        }
        let (id, new) = self.keys.find_or_add(Key::Name(xxh3_128(name)))?;
        if new {
            let end = self.name_ends.last().copied().unwrap_or(self.names_begin) + name.len() as u64;
            self.name_ends.push(end);
            if let Some(names) = &mut self.names {
                names.write_all(name).map_err(StoreError::io(Path::new("feature names"), "write them"))?;
            }
        }
        Ok(id)
    }

    /// Adds features that no row has had.
    pub fn add_names(&mut self, names: &[Vec<u8>]) -> Result<(), StoreError> {
        names.iter().try_for_each(|name| self.name(name).map(drop))
    }

    /// Whether features may be put aside to make room for others: an era has features.
    pub fn may_end_era(&self) -> bool {
        (self.ending.is_some() || self.eras.is_some()) && self.keys.len() > 0
    }

    /// Puts all features aside; ids begin anew.
    pub fn end_era(&mut self, budget: &Budget) -> Result<(), StoreError> {
        // What was set aside for it is taken over.
        self.ending = None;
        let (named, old) = (self.names.is_some(), self.old as u64);
        let eras = match &mut self.eras {
            Some(eras) => eras,
            None => self.eras.insert(Eras::new(named, self.statistics.rule, old, &self.folder, budget)?),
        };
        let starts = std::iter::once(self.names_begin).chain(self.name_ends.iter().copied());
        let mut lengths = starts.zip(&self.name_ends).map(|(start, &end)| (end - start) as u32);
        let statistics = &self.statistics;
        let features = self.keys.iter().enumerate();
        eras.end_era(
            features.map(|(id, (key, count))| (key, count, lengths.next().unwrap_or(0), statistics.pair(id))),
        )?;
        self.statistics.clear()?;
        self.names_begin = self.name_ends.last().copied().unwrap_or(self.names_begin);
        self.name_ends = Vec::new();
        let largest = self.keys.numbers().iter().copied().max().unwrap_or(0);
        self.ended = (self.ended.0 + self.keys.len() as u64, self.ended.1.max(largest));
        self.keys.clear()?;
        self.pages = None;
        self.tables.resize(0)?;
        Ok(self.ends.resize(0)?)
    }

    /// Eras that have ended.
    pub fn eras(&self) -> usize {
        self.eras.as_ref().map_or(0, Eras::count)
    }

    /// The id of a name, if it is known.
    pub fn find_name(&self, name: &[u8]) -> Option<u32> {
        self.keys.find(Key::Name(xxh3_128(name)))
    }

    /// Tells `see` the name, id and count of each feature that has a name.
    pub fn each_name(&mut self, see: SeeName) -> Result<(), StoreError> {
        self.flush_names()?;
        let Some(names) = &mut self.names else { return Ok(()) };
        let fail = || StoreError::io(Path::new("feature names"), "read them");
        let file = names.get_mut();
        file.rewind().map_err(fail())?;
        let (mut text, mut name, mut start) = (BufReader::new(file), Vec::new(), 0);
        for (id, (&end, &count)) in self.name_ends.iter().zip(self.keys.counts()).enumerate() {
            name.resize((end - start) as usize, 0);
            text.read_exact(&mut name).map_err(fail())?;
            see(&name, id as u32, count)?;
            start = end;
        }
        Ok(())
    }

    /// The columns of features that have come in eras, of which `place` is told; none if there was only one era.
    pub fn number_eras(
        &mut self,
        order: ColumnOrder,
        selection: Option<&mut Selection>,
        place: Place,
        budget: &Budget,
    ) -> Result<Option<Numbering>, PackError> {
        if self.eras.is_some() {
            self.end_era(budget)?;
        }
        let Some(eras) = self.eras.take() else { return Ok(None) };
        self.flush_names()?;
        let names = self.names.as_mut().map(BufWriter::get_mut);
        eras.number(order, names, selection, place, budget).map(Some)
    }

    fn flush_names(&mut self) -> Result<(), StoreError> {
        let flushed = self.names.as_mut().map_or(Ok(()), BufWriter::flush);
        flushed.map_err(StoreError::io(Path::new("feature names"), "write them"))
    }

    /// How many features there will be when the part `read` of the input has brought those that are known: others come
    /// in proportion, but numbers hardly go beyond the largest one seen.
    pub fn expected(&self, read: f64) -> u64 {
        // Some features come in several eras; they are counted twice here.
        let seen = (self.ended.0 + self.len() as u64) as f64;
        let in_proportion = seen / read.clamp(1e-6, 1.0);
        let largest = match self.names {
            Some(_) => f64::INFINITY,
            None => self.numbers().iter().fold(self.ended.1, |a, &b| a.max(b)) as f64 + 1.0,
        };
        in_proportion.min(largest).max(self.len() as f64) as u64
    }

    /// What features take.
    pub fn held_bytes(&self) -> u64 {
        let of_eras = self.eras.as_ref().map_or(0, Eras::place_bytes);
        self.tables.bytes() + self.keys.held_bytes() + self.ends.bytes() + self.statistics.held_bytes() + of_eras
    }

    /// What only looking up takes.
    pub fn lookup_bytes(&self) -> u64 {
        self.tables.bytes() + self.keys.table_bytes()
    }

    /// How many features there are, or have come in this era.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Features of older generations; their ids are their columns.
    pub fn old(&self) -> usize {
        self.old
    }

    /// How often each feature was seen, by id.
    pub fn counts(&self) -> &[u32] {
        self.keys.counts()
    }

    /// Feature numbers by id.
    pub fn numbers(&self) -> &[u64] {
        self.keys.numbers()
    }

    /// Ends of the names by id, and the file that holds them, rewound.
    pub fn names(&mut self) -> Result<Option<(&[u64], &mut File)>, StoreError> {
        self.flush_names()?;
        let Some(names) = &mut self.names else { return Ok(None) };
        let file = names.get_mut();
        file.rewind().map_err(StoreError::io(Path::new("feature names"), "read them"))?;
        Ok(Some((&self.name_ends, file)))
    }

    /// Names of new features by column, counted from the first new one; `columns` are those of all ids, and `order` has
    /// the id that names each column.
    pub fn names_by_column(
        &mut self,
        (columns, order): (&[u32], &[u32]),
        budget: &Budget,
    ) -> Result<Option<ByColumn>, StoreError> {
        if self.names.is_none() {
            return Ok(None);
        }
        let old = self.old;
        // Names of older generations come first in the file and are in their own maps already.
        let skipped = if old == 0 { 0 } else { self.name_ends[old - 1] };
        let total = self.name_ends.last().copied().unwrap_or(0) - skipped;
        let mut keys = ByColumn::new((order.len() - old) as u64, total, &self.folder, budget)?;
        self.each_name(&mut |name, id, _| match columns[id as usize] {
            column if (id as usize) < old || order.get(column as usize) != Some(&id) => Ok(()),
            column => keys.add(column - old as u32, name),
        })?;
        Ok(Some(keys))
    }

    /// Gives back what only looking up needed.
    pub fn drop_lookup(&mut self) -> Result<(), BudgetError> {
        self.pages = None;
        self.ending = None;
        self.keys.drop_table()?;
        self.tables.resize(0)
    }
}

/// All of the first rows are counted, so that few rows are counted exactly, and then one in eight.
fn is_sampled(row: u64) -> bool {
    row < 4096 || mix(u128::from(row)) >> 61 == 0
}

#[cfg(test)]
mod tests;
