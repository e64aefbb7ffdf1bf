//! Whether rows come sorted by class, which a model that sees each of them once cannot make up for.

/// Fewer changes from one class to the next than this part of what rows in random order would have.
const SORTED: f64 = 0.1;
/// Changes that such rows would have, at least: before, chance may have its way.
const FEWEST: f64 = 50.0;

/// Counts classes, and how often one follows another.
#[derive(Debug, Default)]
pub struct ClassOrder {
    last: Option<u32>,
    changes: u64,
    counts: Vec<u64>,
}

impl ClassOrder {
    /// More rows have come, with these classes.
    pub fn see(&mut self, classes: &[u32]) {
        for &class in classes {
            self.changes += u64::from(self.last.is_some_and(|last| last != class));
            self.last = Some(class);
            let at = class as usize;
            if at >= self.counts.len() {
                self.counts.resize(at + 1, 0);
            }
            self.counts[at] += 1;
        }
    }

    /// Whether they are far from being in random order: with shares p of the classes, that has 1 - Σ p² changes a row.
    pub fn is_sorted(&self) -> bool {
        let rows: f64 = self.counts.iter().map(|&count| count as f64).sum();
        let same: f64 = self.counts.iter().map(|&count| (count as f64 / rows.max(1.0)).powi(2)).sum();
        let expected = rows * (1.0 - same);
        expected >= FEWEST && (self.changes as f64) < SORTED * expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_sorted(classes: impl Iterator<Item = u32>) -> bool {
        let mut order = ClassOrder::default();
        classes.collect::<Vec<_>>().chunks(7).for_each(|some| order.see(some));
        order.is_sorted()
    }

    #[test]
    fn sorted_rows_are_told_from_rare_classes() {
        assert!(is_sorted((0..1000).map(|i| i / 50)));
        assert!(!is_sorted((0..1000).map(|i| i * 7919 % 20)));
        // Three rows in a hundred are of the second class, each among others.
        assert!(!is_sorted((0..3000).map(|i| u32::from(i % 33 == 0))));
        assert!(is_sorted((0..3000).map(|i| u32::from(i > 2900))));
        // Too few rows to tell.
        assert!(!is_sorted((0..40).map(|i| i / 20)));
        assert!(!is_sorted((0..0).map(|_| 0)));
    }
}
