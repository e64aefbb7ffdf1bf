//! Random numbers and random tables from a seed: the same on every machine.

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// A number in [0, 1).
    pub fn fraction(&mut self) -> f64 {
        self.below(1 << 53) as f64 / (1u64 << 53) as f64
    }
}

/// What the values of a table look like; each has an encoding of its own in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// 1 everywhere.
    Ones,
    /// The same in all of a row.
    PerRow,
    /// Small whole numbers.
    Counts,
    /// Any floats.
    Floats,
    /// Any doubles.
    Doubles,
}

pub const ALL_VALUES: [Values; 5] = [Values::Ones, Values::PerRow, Values::Counts, Values::Floats, Values::Doubles];

/// A table to be made.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    pub rows: u64,
    pub features: u64,
    /// The most values in a row; all features in every row if `dense`.
    pub row_values: u64,
    pub values: Values,
    pub dense: bool,
    pub groups: bool,
}

impl Table {
    /// Canonical libsvm text: one blank between entries, ascending indices, the shortest digits, no zeros.
    pub fn text(&self, random: &mut Random) -> String {
        let mut text = String::new();
        for _ in 0..self.rows {
            text += ["1", "-1", "2.5"][random.below(3) as usize];
            if self.groups {
                text += &format!(" qid:{}", 1 + random.below(5));
            }
            let constant = 1 + random.below(1000);
            for index in self.indices(random) {
                text += &format!(" {index}:{}", self.value(constant, random));
            }
            text.push('\n');
        }
        text
    }

    fn indices(&self, random: &mut Random) -> Vec<u64> {
        if self.dense {
            return (1..=self.features).collect();
        }
        let count = random.below(self.row_values + 1);
        let mut indices: Vec<u64> = (0..count).map(|_| random.below(self.features)).collect();
        indices.sort_unstable();
        indices.dedup();
        indices
    }

    fn value(&self, constant: u64, random: &mut Random) -> String {
        match self.values {
            Values::Ones => "1".into(),
            Values::PerRow => format!("{}", constant as f32 / 8.0),
            Values::Counts => format!("{}", 1 + random.below(20)),
            Values::Floats => format!("{}", (random.fraction() * 2.0 - 1.0) as f32 + f32::MIN_POSITIVE),
            Values::Doubles => format!("{}", random.fraction() * 2.0 - 1.0 + f64::MIN_POSITIVE),
        }
    }
}
