//! Rows with several targets: how many, what they are called, what their numbers look like.
use super::PackError;
use crate::input::RowBatch;
use crate::store::manifest::{Manifest, TargetSummary};

/// Targets seen so far; nothing is kept of single ones, which [`super::labels`] counts.
#[derive(Default)]
pub struct SeveralTargets {
    /// How many a row has, once a row has been seen.
    count: Option<u32>,
    summaries: Vec<TargetSummary>,
    rows: u64,
}

impl SeveralTargets {
    /// Goes on from what an older generation had.
    pub fn resume(old: &Manifest) -> Self {
        SeveralTargets { count: Some(old.layout.targets), summaries: old.targets.clone(), rows: old.rows }
    }

    /// Targets a row.
    pub fn count(&self) -> u32 {
        self.count.unwrap_or(1)
    }

    /// Adds rows; `names` are those of their targets, or empty where they have none.
    pub fn add(&mut self, batch: &RowBatch, names: Vec<String>) -> Result<(), PackError> {
        let found = batch.further_count() as u32 + 1;
        if batch.rows() == 0 {
            return Ok(());
        }
        let named = |at: u32| names.get(at as usize).cloned().unwrap_or_else(|| (at + 1).to_string());
        let names: Vec<String> = if found > 1 { (0..found).map(named).collect() } else { Vec::new() };
        match self.count {
            None => {
                self.count = Some(found);
                let (min, max) = (f64::INFINITY, f64::NEG_INFINITY);
                self.summaries = names.into_iter().map(|name| TargetSummary { name, min, max, mean: 0.0 }).collect();
            }
            Some(count) if count != found => {
                return mismatch(format!("the store has rows with {count} targets and these have {found}"));
            }
            Some(_) if !self.summaries.iter().map(|target| &target.name).eq(&names) => {
                let old: Vec<&str> = self.summaries.iter().map(|target| target.name.as_str()).collect();
                return mismatch(format!(
                    "the store has the targets {} and these rows {}",
                    old.join(","),
                    names.join(",")
                ));
            }
            Some(_) => {}
        }
        for i in 0..batch.rows() {
            let numbers = std::iter::once(&batch.labels[i]).chain(batch.further_of(i));
            self.rows += 1;
            for (target, &number) in self.summaries.iter_mut().zip(numbers) {
                (target.min, target.max) = (target.min.min(number), target.max.max(number));
                target.mean += (number - target.mean) / self.rows as f64;
            }
        }
        Ok(())
    }

    /// What the manifest says about them.
    pub fn summaries(&self) -> Vec<TargetSummary> {
        // The manifest is JSON, which knows no infinity.
        let finite = |mean: f64| mean.clamp(f64::MIN, f64::MAX);
        self.summaries.iter().map(|target| TargetSummary { mean: finite(target.mean), ..target.clone() }).collect()
    }
}

fn mismatch(problem: String) -> Result<(), PackError> {
    Err(PackError::Mismatch {
        problem,
        remedy: "append rows with the same targets (`label(a,b,c)` in the same order)".into(),
    })
}
