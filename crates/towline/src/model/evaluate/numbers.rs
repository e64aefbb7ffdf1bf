//! Quality of predicted numbers.
use serde::Serialize;

use super::metric::Metric;

/// Quality of predicted numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NumberQuality {
    /// Rows looked at.
    pub rows: u64,
    /// Root of the mean squared error.
    pub rmse: f64,
    /// Mean absolute error.
    pub mae: f64,
    /// The share of the variance that is explained. `None` if there is no variance.
    pub r2: Option<f64>,
}

/// Quality of several predicted numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeveralQuality {
    /// Rows looked at.
    pub rows: u64,
    /// Root of the squared error, which is the mean over rows and targets.
    pub rmse: f64,
    /// The mean over rows and targets.
    pub mae: f64,
    /// The mean over targets. `None` if one of them has no variance.
    pub r2: Option<f64>,
    /// Each of them.
    pub targets: Vec<TargetQuality>,
}

/// Quality of one of several numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetQuality {
    /// What it is called.
    pub name: String,
    /// How good its predictions are.
    #[serde(flatten)]
    pub quality: NumberQuality,
}

impl NumberQuality {
    /// One of the measures; none where the rows do not say.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Rmse => Some(self.rmse),
            Metric::Mae => Some(self.mae),
            Metric::R2 => self.r2,
            _ => None,
        }
    }
}

impl SeveralQuality {
    /// One of the measures, over all targets; none where the rows do not say.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Rmse => Some(self.rmse),
            Metric::Mae => Some(self.mae),
            Metric::R2 => self.r2,
            _ => None,
        }
    }
}

/// Judges several numbers a row, while they come.
#[derive(Clone, Debug)]
pub struct SeveralSums {
    rows: f64,
    targets: Vec<(String, NumberSums)>,
}

/// Sums of errors, and mean and variance by Welford's recurrence.
#[derive(Clone, Copy, Debug, Default)]
struct NumberSums {
    squared: f64,
    absolute: f64,
    mean: f64,
    variance: f64,
}

impl SeveralSums {
    /// No rows yet.
    pub fn new(names: &[String]) -> Self {
        SeveralSums { rows: 0.0, targets: names.iter().map(|name| (name.clone(), NumberSums::default())).collect() }
    }

    /// Adds a row of this weight: predictions and truths in the order of the names.
    pub fn add<'a>(&mut self, predicted: &[f64], truths: impl Iterator<Item = &'a f64>, weight: f64) {
        if weight <= 0.0 {
            return;
        }
        self.rows += weight;
        for ((_, sums), (p, y)) in self.targets.iter_mut().zip(predicted.iter().zip(truths)) {
            let off = y - sums.mean;
            sums.squared += weight * (p - y) * (p - y);
            sums.absolute += weight * (p - y).abs();
            sums.mean += off * weight / self.rows;
            sums.variance += weight * off * (y - sums.mean);
        }
    }

    /// What came of it; no numbers where there are no rows.
    pub fn finish(self) -> SeveralQuality {
        let (n, rows) = (self.rows, self.rows.round() as u64);
        let judge = |(name, sums): (String, NumberSums)| {
            let r2 = (sums.variance > 0.0).then(|| 1.0 - sums.squared / sums.variance);
            let quality = NumberQuality { rows, rmse: (sums.squared / n).sqrt(), mae: sums.absolute / n, r2 };
            TargetQuality { name, quality }
        };
        let targets: Vec<TargetQuality> = self.targets.into_iter().map(judge).collect();
        let mean = |of: &dyn Fn(&NumberQuality) -> f64| {
            targets.iter().map(|target| of(&target.quality)).sum::<f64>() / targets.len().max(1) as f64
        };
        let all: Option<f64> = targets.iter().map(|target| target.quality.r2).sum();
        SeveralQuality {
            rows,
            rmse: mean(&|target| target.rmse * target.rmse).sqrt(),
            mae: mean(&|target| target.mae),
            r2: all.map(|sum| sum / targets.len().max(1) as f64),
            targets,
        }
    }
}
