//! Numbers that training could not compute with are refused while they come in.
use super::PackError;
use crate::fourier::FourierMap;
use crate::input::RowBatch;

/// Products of weights with C, rows and lengths must stay numbers.
const LARGEST_WEIGHT: f64 = 1e100;

/// The range of the numbers so far.
pub struct Range {
    map: Option<FourierMap>,
    /// The largest value without its sign, where rows are mapped.
    largest: f64,
}

impl Range {
    pub fn new(map: Option<FourierMap>) -> Range {
        Range { map, largest: 0.0 }
    }

    /// Looks at more rows.
    pub fn add(&mut self, batch: &RowBatch) -> Result<(), PackError> {
        if let Some(weight) = batch.weights.iter().find(|weight| **weight > LARGEST_WEIGHT) {
            let problem =
                format!("a row has the weight {weight:e}, and weights beyond {LARGEST_WEIGHT:e} have no sums");
            return Err(PackError::Mismatch { problem, remedy: "divide all weights by the same number".into() });
        }
        if self.map.is_some() {
            let before = self.largest;
            self.largest = batch.values.iter().fold(before, |largest, value| largest.max(value.abs()));
            // Whether values are too small is known in the end.
            if self.largest > before.max(1.0) {
                self.end()?;
            }
        }
        Ok(())
    }

    /// Refuses a map whose features would say nothing of rows with values like these.
    pub fn end(&self) -> Result<(), PackError> {
        let largest = self.largest;
        let Some(problem) = self.map.and_then(|map| map.unfit_for(largest)) else { return Ok(()) };
        Err(PackError::Mismatch {
            problem: format!("`gamma` is {problem} for values up to {largest:e}: features would be noise or constants"),
            remedy: "use about 1 over the squared distance of two rows, or scale the data".into(),
        })
    }
}
