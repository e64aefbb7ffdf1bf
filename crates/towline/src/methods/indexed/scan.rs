//! What is certain: sums over the active rows, and over all rows.
use super::active::ActiveSet;
use super::segment::Segment;
use crate::block::{Block, Row};
use crate::engine::{Ceiling, Certificate, Identity, SingleLink, SupportCount, TrainError, Watch};
use crate::index::PageCache;
use crate::loss::Loss;
use crate::objective::Objective;
use crate::solver::Weights;
use crate::store::StoreError;

/// Sums over rows at fixed weights.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// Σ c L over rows that are no outliers under wᵗ.
    pub losses: f64,
    /// Their shares of the duality gap.
    pub gap: f64,
    /// What outliers under wᵗ cost: Σ c (1 + s).
    pub constant: f64,
    /// The same at wᵗ.
    pub reference_losses: f64,
    /// Σ c min(L, 1 + s) over all rows.
    pub truncated: f64,
    /// Rows that are outliers under just one of w and wᵗ.
    pub crossed: u64,
    /// Rows with a dual variable.
    pub support: SupportCount,
    /// Rows that were not active and should have been.
    pub missing: u64,
}

impl Sums {
    /// F_s at weights of this squared length.
    pub fn truncated_objective(&self, sq_norm: f64) -> f64 {
        0.5 * sq_norm + self.truncated
    }

    /// The certificate of the convex problem (5) at weights of this squared length, constant included.
    pub fn certificate(&self, sq_norm: f64) -> Certificate {
        let objective = 0.5 * sq_norm + self.losses + self.constant;
        Certificate {
            objective,
            dual_objective: objective - self.gap,
            multiple: 1.0,
            support: self.support.count(),
            ..Certificate::default()
        }
    }

    /// The same certificate for wᵗ, of this squared length, where the objective is F_s: whether it was good enough
    /// before the problem was solved.
    pub fn reference_certificate(&self, sq_norm: f64, reference_sq_norm: f64) -> Certificate {
        let objective = 0.5 * reference_sq_norm + self.reference_losses + self.constant;
        Certificate { objective, ..self.certificate(sq_norm) }
    }

    /// Adds a row with its margins under w and wᵗ.
    fn add<L: Loss>(&mut self, loss: L, ceiling: &Ceiling, (y, c, beta): (f64, f64, f64), (z, reference): (f64, f64)) {
        let is_out = ceiling.is_outlier(y, reference);
        self.truncated += c * ceiling.value_at(y, z);
        self.crossed += u64::from(is_out != ceiling.is_outlier(y, z));
        if is_out {
            self.constant += c * ceiling.value;
        } else {
            self.losses += c * loss.value(y, z);
            self.reference_losses += c * loss.value(y, reference);
            self.gap += loss.gap(y, z, beta, c);
        }
        self.support.add(beta, c);
    }
}

/// What a scan is about.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// What is minimised.
    pub objective: &'a Objective,
    /// wᵗ.
    pub reference: &'a [f64],
}

impl Look<'_> {
    pub fn reference_margin(&self, row: Row) -> f64 {
        row.dot(self.reference) + self.objective.bias * self.reference[self.reference.len() - 1]
    }
}

/// Sums over the active rows; the weights are summed anew on the way. An error if the run has to end before it is done,
/// and then
/// the weights are those of before.
pub fn scan_active<L: Loss>(
    loss: L,
    look: Look,
    (watch, is_spare): (&Watch, bool),
    active: &mut ActiveSet,
    weights: &mut Identity,
    pages: &mut PageCache,
) -> Result<Sums, TrainError> {
    let ceiling = Ceiling::of(look.objective);
    let mut sums = Sums::default();
    let mut pace = watch.pace(active.row_work());
    weights.begin_scan([0.0; 2]);
    for i in 0..active.segments.len() {
        active.load(i, &[], pages)?;
        let Segment { residents, states, order, .. } = &mut active.segments[i];
        for (i, state) in states.iter().enumerate() {
            pace.end_step(is_spare)?;
            let row = residents.block.row(i);
            let z = weights.scan(loss, row, state);
            sums.add(loss, &ceiling, (state.y, state.c, state.beta), (z, look.reference_margin(row)));
            order.revise(i, loss.slack(state.y, z, state.beta, state.c));
        }
    }
    weights.end_scan();
    Ok(sums)
}

/// Adds the rows of a block of the store that are not active. Rows that should be active under w itself, no outliers
/// with a margin below 1, become so.
pub fn scan_others<L: Loss>(
    loss: L,
    look: Look,
    sums: &mut Sums,
    (active, weights): (&mut ActiveSet, &Identity),
    (block, first, pages): (&Block, u64, &mut PageCache),
    (watch, is_spare): (&Watch, bool),
) -> Result<(), TrainError> {
    let ceiling = Ceiling::of(look.objective);
    let mut pace = watch.pace(block.values() as u64 / block.rows().max(1) as u64 + 1);
    for i in 0..block.rows() {
        pace.end_step(is_spare)?;
        let position = first + i as u64;
        let (y, c) = look.objective.row(&block.info(i));
        if c <= 0.0 || active.bits.get(position) {
            continue;
        }
        let z = weights.margin(block.row(i));
        sums.add(loss, &ceiling, (y, c, 0.0), (z, look.reference_margin(block.row(i))));
        if y * z < 1.0 && !ceiling.is_outlier(y, z) {
            sums.missing += 1;
            match active.push(loss, (block, i), (position, 0.0), look.objective, pages) {
                // Where memory is short, queries bring those that are still missing.
                Err(TrainError::Budget(_) | TrainError::Store(StoreError::Budget(_))) | Ok(()) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}
