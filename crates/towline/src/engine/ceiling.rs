//! Where losses are cut off.
use crate::loss::{AnyLoss, Loss};
use crate::objective::Objective;

/// Where losses are cut off.
#[derive(Clone, Copy, Debug)]
pub struct Ceiling {
    loss: AnyLoss,
    /// 1 + s.
    pub value: f64,
    /// Rows with a margin yz below it are outliers.
    pub margin: f64,
}

impl Ceiling {
    /// The ceiling of an objective; without one nobody is an outlier.
    pub fn of(objective: &Objective) -> Ceiling {
        let s = objective.truncate.unwrap_or(f64::INFINITY);
        let margin = objective.loss.ceiling_margin(s).filter(|margin| margin.is_finite());
        Ceiling { loss: objective.loss, value: 1.0 + s, margin: margin.unwrap_or(f64::NEG_INFINITY) }
    }

    /// Whether a row with target y and margin z is an outlier.
    #[inline]
    pub fn is_outlier(&self, y: f64, z: f64) -> bool {
        y * z < self.margin
    }

    /// min(L, 1 + s).
    #[inline]
    pub fn value_at(&self, y: f64, z: f64) -> f64 {
        self.loss.value(y, z).min(self.value)
    }
}
