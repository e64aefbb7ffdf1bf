//! Who is an outlier, and what F_s is: one scan at fixed weights.
use std::sync::Arc;

use crate::bits::RowBits;
use crate::budget::Budget;
use crate::engine::{Ceiling, Cost, Duals, TrainError, Watch, scan_once};
use crate::objective::Objective;
use crate::store::BlockStore;

/// What a scan has found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Survey {
    /// F_s at the weights.
    pub objective: f64,
    /// What outliers cost whatever happens: Σ c (1 + s) over them.
    pub constant: f64,
    /// Rows that were outliers and are none any more, or the other way round.
    pub crossed: u64,
}

/// Scans all rows at `w`, whose penalty is ½‖w‖². Outliers are put into `outliers`, others taken out, and outliers lose
/// their dual variables. What is spare is given up where the run has to end.
pub fn survey(
    store: &Arc<dyn BlockStore>,
    w: &[f64],
    objective: &Objective,
    (outliers, duals): (&mut RowBits, &mut Duals),
    (budget, cost): (&Budget, &mut Cost),
    (watch, is_spare): (&Watch, bool),
) -> Result<Survey, TrainError> {
    let ceiling = Ceiling::of(objective);
    let mut survey = Survey { objective: 0.5 * w.iter().map(|w| w * w).sum::<f64>(), ..Survey::default() };
    let constant = objective.bias * w[w.len() - 1];
    let mut betas = Vec::new();
    let mut pace = watch.pace(store.shape().values / store.shape().rows.max(1) + 1);
    scan_once(store, budget, cost, |block, first| {
        duals.read(first, block.rows(), &mut betas)?;
        let mut moved = false;
        for (i, beta) in betas.iter_mut().enumerate() {
            pace.end_step(is_spare)?;
            let (y, c) = objective.row(&block.info(i));
            let z = block.row(i).dot(w) + constant;
            let (position, is_out) = (first + i as u64, c > 0.0 && ceiling.is_outlier(y, z));
            survey.crossed += u64::from(outliers.get(position) != is_out);
            outliers.set(position, is_out);
            survey.objective += c * ceiling.value_at(y, z);
            if is_out {
                survey.constant += c * ceiling.value;
                moved |= *beta != 0.0;
                *beta = 0.0;
            }
        }
        if moved { duals.write(first, &betas) } else { Ok(()) }
    })?;
    Ok(survey)
}
