//! Rows as they come out of a file: in the user's own feature numbers or names, before a store renumbers them.
use std::hash::{BuildHasher, Hasher};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// Rows parsed from one piece of the input.
///
/// Features are either *numbered* (libsvm text: `keys` holds the numbers as written) or *named* (tables: `keys` holds
/// positions in `names`, the batch's own dictionary, so that each distinct name is looked up once per batch and not
/// once per cell).
#[derive(Clone, Debug, Default)]
pub struct RowBatch {
    /// Feature of each value.
    pub keys: Vec<u64>,
    /// The values. Zeros are left out by the parsers; NaN and infinities are errors there.
    pub values: Vec<f64>,
    /// One past the last value of each row.
    pub ends: Vec<usize>,
    /// Target of each row; where `classes` is not empty, a position in it.
    pub labels: Vec<f64>,
    /// Targets behind the first, those of a row side by side; empty where rows have one.
    pub further: Vec<f64>,
    /// Weight of each row, or empty.
    pub weights: Vec<f64>,
    /// Group of each row, or empty.
    pub groups: Vec<u64>,
    /// Names of the features, for named inputs.
    pub names: NameList,
    /// How many of the names, from the first on, are numbers of a table: those are scaled by themselves.
    pub numbers: usize,
    /// Whether it matters how many rows have a feature, as for n-grams of text.
    pub needs_counts: bool,
    /// How often each of the numbers was absent.
    pub absent: Vec<u64>,
    /// Names of the classes, where labels are text.
    pub classes: NameList,
}

impl RowBatch {
    /// Drops all rows and names; the memory stays.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.values.clear();
        self.ends.clear();
        self.labels.clear();
        self.further.clear();
        self.weights.clear();
        self.groups.clear();
        self.names.clear();
        (self.numbers, self.needs_counts) = (0, false);
        self.absent.clear();
        self.classes.clear();
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    /// The values of row `i` as a range into `keys` and `values`.
    pub fn range(&self, i: usize) -> std::ops::Range<usize> {
        (if i == 0 { 0 } else { self.ends[i - 1] })..self.ends[i]
    }

    /// Targets of each row behind the first.
    pub fn further_count(&self) -> usize {
        self.further.len() / self.rows().max(1)
    }

    /// The targets of row `i` behind the first.
    pub fn further_of(&self, i: usize) -> &[f64] {
        let count = self.further_count();
        &self.further[i * count..][..count]
    }

    /// Closes the current row: all values pushed since the last row belong to it.
    pub fn end_row(&mut self, label: f64) {
        self.ends.push(self.values.len());
        self.labels.push(label);
    }

    /// Adds up values of the same feature from the value `first` on. Features stay in the order in which they first came:
    /// a row has the same sums whatever other rows come with it.
    pub(crate) fn add_up(&mut self, first: usize, order: &mut Vec<(u64, u32)>) {
        order.clear();
        order.extend(self.keys[first..].iter().zip(0..).map(|(&key, at)| (key, at)));
        order.sort_unstable();
        if order.windows(2).all(|pair| pair[0].0 != pair[1].0) {
            return;
        }
        let values: Vec<f64> = self.values[first..].to_vec();
        let mut sums: Vec<(u32, u64, f64)> = Vec::new();
        for same in order.chunk_by(|a, b| a.0 == b.0) {
            let sum = same.iter().map(|&(_, at)| values[at as usize]).sum();
            sums.push((same[0].1, same[0].0, sum));
        }
        sums.sort_unstable_by_key(|&(at, _, _)| at);
        self.keys.truncate(first);
        self.values.truncate(first);
        self.keys.extend(sums.iter().map(|&(_, key, _)| key));
        self.values.extend(sums.iter().map(|&(_, _, sum)| sum));
    }

    /// Bytes of memory held, counting room that is not used at the moment.
    pub fn capacity_bytes(&self) -> u64 {
        let numbers = self.keys.capacity()
            + self.values.capacity()
            + self.ends.capacity()
            + self.labels.capacity()
            + self.further.capacity()
            + self.weights.capacity()
            + self.groups.capacity();
        numbers as u64 * 8 + self.names.capacity_bytes() + self.classes.capacity_bytes()
    }
}

/// Distinct names, each with a number from 0 on in the order of their first appearance.
#[derive(Clone, Debug, Default)]
pub struct NameList {
    text: Vec<u8>,
    ends: Vec<usize>,
    table: HashTable<u32>,
}

impl NameList {
    /// The number of `name`, which is added if it is new.
    pub fn intern(&mut self, name: &[u8]) -> u32 {
        let NameList { text, ends, table } = self;
        let get = |i: u32| &text[if i == 0 { 0 } else { ends[i as usize - 1] }..ends[i as usize]];
        let hash = hash(name);
        if let Some(&found) = table.find(hash, |&i| get(i) == name) {
            return found;
        }
        let new = ends.len() as u32;
        text.extend_from_slice(name);
        ends.push(text.len());
        let get = |i: u32| &text[if i == 0 { 0 } else { ends[i as usize - 1] }..ends[i as usize]];
        table.insert_unique(hash, new, |&i| self::hash(get(i)));
        new
    }

    /// The name with number `i`.
    pub fn get(&self, i: usize) -> &[u8] {
        &self.text[if i == 0 { 0 } else { self.ends[i - 1] }..self.ends[i]]
    }

    /// The number of `name`, if it is known.
    pub fn find(&self, name: &[u8]) -> Option<u32> {
        self.table.find(hash(name), |&i| self.get(i as usize) == name).copied()
    }

    /// All names in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Forgets all names; the memory stays.
    pub fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.table.clear();
    }

    /// Bytes of memory held.
    pub fn capacity_bytes(&self) -> u64 {
        (self.text.capacity() + self.ends.capacity() * 8 + self.table.capacity() * 5) as u64
    }
}

/// A hash of a name.
pub(crate) fn hash(name: &[u8]) -> u64 {
    let mut hasher = FxBuildHasher.build_hasher();
    hasher.write(name);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_by_first_appearance() {
        let mut names = NameList::default();
        let numbers: Vec<u32> = ["b", "a", "b", "", "a"].iter().map(|n| names.intern(n.as_bytes())).collect();
        assert_eq!(numbers, [0, 1, 0, 2, 1]);
        assert_eq!(names.iter().collect::<Vec<_>>(), [&b"b"[..], b"a", b""]);
        assert_eq!((names.find(b"a"), names.find(b"c")), (Some(1), None));
        names.clear();
        assert_eq!(names.intern(b"a"), 0);
    }
}
