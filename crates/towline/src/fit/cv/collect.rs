//! Scores of all rows by models that have not seen them, for calibration.
use crate::budget::{Budget, BudgetError, Reservation};
use crate::evaluate::Judged;
use crate::evaluate::ranking::{Ranked, sort};

/// Scores of held-out rows.
#[derive(Debug)]
pub struct HeldOutScores {
    outputs: usize,
    /// The scores of each row, side by side.
    scores: Vec<f64>,
    /// The class of each row, and what it weighs.
    rows: Vec<(Option<u32>, f64)>,
    _paid: Reservation,
}

/// Bytes of a row besides its scores: class and weight, and its place in the list of the output at hand.
const ROW_BYTES: u64 = (size_of::<(Option<u32>, f64)>() + size_of::<Ranked>()) as u64;

impl HeldOutScores {
    /// Room for the scores of this many rows.
    pub fn new(rows: u64, outputs: usize, budget: &Budget) -> Result<Self, BudgetError> {
        let bytes = rows.saturating_mul(ROW_BYTES + 8 * outputs as u64);
        let paid = budget.reserve("scores of held-out rows", bytes)?;
        let scores = Vec::with_capacity(rows as usize * outputs);
        Ok(HeldOutScores { outputs, scores, rows: Vec::with_capacity(rows as usize), _paid: paid })
    }

    /// Adds a row.
    pub fn add(&mut self, row: &Judged) {
        self.scores.extend_from_slice(row.scores);
        self.rows.push((row.class.map(|class| class as u32), row.weight));
    }

    /// The rows by their score of this output, the highest first; positive are those of its class, or of the second of
    /// two.
    pub fn of_output(&self, output: usize) -> Vec<Ranked> {
        let class = if self.outputs == 1 { 1 } else { output as u32 };
        let scores = self.scores.iter().skip(output).step_by(self.outputs);
        let known = self.rows.iter().zip(scores).filter(|((class, weight), _)| class.is_some() && *weight > 0.0);
        let mut ranked = Vec::with_capacity(self.rows.len());
        ranked.extend(known.map(|((of, weight), &score)| Ranked::new(score, *of == Some(class), *weight)));
        sort(&mut ranked);
        ranked
    }
}
