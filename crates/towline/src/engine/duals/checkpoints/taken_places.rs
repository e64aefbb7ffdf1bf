//! Which bytes of a file are taken.
use std::collections::BTreeMap;
use std::ops::Range;

/// Places in a file that hold something: where each begins and ends.
#[derive(Debug)]
pub struct TakenPlaces {
    begin: u64,
    taken: BTreeMap<u64, u64>,
    /// Places before this byte are kept, whoever gives them back.
    kept_before: u64,
}

impl TakenPlaces {
    /// Everything from `begin` on is free.
    pub fn new(begin: u64) -> Self {
        TakenPlaces { begin, taken: BTreeMap::new(), kept_before: 0 }
    }

    /// A place that is taken.
    pub fn take(&mut self, place: Range<u64>) {
        self.taken.insert(place.start, place.end);
    }

    /// What is taken now is never free again.
    pub fn keep_all(&mut self) {
        self.kept_before = self.taken.values().copied().max().unwrap_or(self.begin);
    }

    /// Takes the first place with room for so many bytes.
    pub fn place(&mut self, bytes: u64) -> u64 {
        // An empty place would be one with whatever comes next.
        let bytes = bytes.max(1);
        let mut free = self.begin;
        for (&begin, &end) in &self.taken {
            if begin >= free && begin - free >= bytes {
                break;
            }
            free = free.max(end);
        }
        self.taken.insert(free, free + bytes);
        free
    }

    /// A place is free again.
    pub fn give_back(&mut self, place: Range<u64>) {
        if place.start >= self.kept_before {
            self.taken.remove(&place.start);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn gaps_are_filled_first() {
        let mut room = TakenPlaces::new(10);
        let places: Vec<u64> = [5, 7, 3].iter().map(|&bytes| room.place(bytes)).collect();
        assert_eq!(places, [10, 15, 22]);
        room.give_back(15..22);
        assert_eq!((room.place(8), room.place(4), room.place(3)), (25, 15, 19));
        room.keep_all();
        room.give_back(10..15);
        assert_eq!(room.place(1), 33);
    }

    proptest! {
        #[test]
        fn places_never_overlap(sizes in proptest::collection::vec((0u64..50, any::<bool>()), 0..100)) {
            let mut room = TakenPlaces::new(80);
            let mut held: Vec<Range<u64>> = Vec::new();
            for (bytes, gives_back) in sizes {
                let begin = room.place(bytes);
                let place = begin..begin + bytes;
                prop_assert!(begin >= 80);
                prop_assert!(held.iter().all(|other| other.end <= place.start || place.end <= other.start));
                held.push(place);
                if gives_back {
                    room.give_back(held.swap_remove(held.len() / 2));
                }
            }
        }
    }
}
