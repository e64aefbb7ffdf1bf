//! Which number has this value? The hash table behind the encodings with dictionaries.

/// Distinct values, numbered by first appearance: open addressing, emptied in one step by a new epoch.
pub struct Dictionary {
    slots: Vec<Slot>,
    epoch: u32,
    pub(super) entries: Vec<u64>,
    pub(super) counts: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    bits: u64,
    code: u32,
    epoch: u32,
}

impl Default for Dictionary {
    fn default() -> Self {
        Dictionary { slots: vec![Slot::default(); 256], epoch: 1, entries: Vec::new(), counts: Vec::new() }
    }
}

impl Dictionary {
    /// The most that the dictionary of a block with this many values takes: two to four slots for each distinct one.
    pub fn most_bytes(values: u64) -> u64 {
        values.min(super::LARGEST_DICTIONARY as u64) * 4 * size_of::<Slot>() as u64
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.counts.clear();
        self.epoch = self.epoch.checked_add(1).unwrap_or_else(|| {
            self.slots.fill(Slot::default());
            1
        });
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    pub(super) fn code(&mut self, bits: u64) -> u32 {
        let mask = self.slots.len() - 1;
        let mut at = (bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & mask;
        loop {
            let slot = &mut self.slots[at];
            if slot.epoch != self.epoch {
                break;
            }
            if slot.bits == bits {
                return slot.code;
            }
            at = (at + 1) & mask;
        }
        self.insert(bits, at)
    }

    #[cold]
    fn insert(&mut self, bits: u64, at: usize) -> u32 {
        let code = self.entries.len() as u32;
        self.slots[at] = Slot { bits, code, epoch: self.epoch };
        self.entries.push(bits);
        self.counts.push(0);
        if self.entries.len() * 2 > self.slots.len() {
            self.grow();
        }
        code
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 2;
        self.slots.clear();
        self.slots.resize(size, Slot::default());
        for (code, &bits) in self.entries.iter().enumerate() {
            let mut at = (bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & (size - 1);
            while self.slots[at].epoch == self.epoch {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = Slot { bits, code: code as u32, epoch: self.epoch };
        }
    }
}
