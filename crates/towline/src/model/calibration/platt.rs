//! Platt's sigmoid `p = 1 / (1 + exp(A f + B))`, by Newton's method with backtracking and his targets, as in Lin, Lin
//! and Weng, "A note on Platt's probabilistic outputs for support vector machines" (2007), Algorithm 1.
use super::Curve;
use crate::evaluate::ranking::{Ranked, weights};

/// Limits of the algorithm, from the paper.
const ITERATIONS: usize = 100;
const LEAST_STEP: f64 = 1e-10;
const RIDGE: f64 = 1e-12;
/// The gradient at which it ends, as a part of the weight of all rows.
const GRADIENT: f64 = 1e-10;

/// The sigmoid of these rows. Where scores say nothing, or the wrong thing, it is the share of positive rows.
pub fn fit(rows: &[Ranked]) -> Curve {
    let [positive, negative] = weights(rows);
    let level = ((negative + 1.0) / (positive + 1.0)).ln();
    let problem = Problem {
        rows,
        high: (positive + 1.0) / (positive + 2.0),
        low: 1.0 / (negative + 2.0),
        least: GRADIENT * (positive + negative),
    };
    let (a, b) = problem.minimise(level);
    match a.is_finite() && b.is_finite() && a <= 0.0 {
        true => Curve::Sigmoid { slope: -a, offset: -b },
        false => Curve::Sigmoid { slope: 0.0, offset: -level },
    }
}

struct Problem<'a> {
    rows: &'a [Ranked],
    /// What the probability of a positive row should be, and of a negative one.
    high: f64,
    low: f64,
    least: f64,
}

impl Problem<'_> {
    fn target(&self, row: &Ranked) -> f64 {
        if row.is_positive() { self.high } else { self.low }
    }

    /// -log likelihood (equation 5, written so that nothing overflows).
    fn value(&self, a: f64, b: f64) -> f64 {
        let of_row = |row: &Ranked| {
            let (z, t) = (a * row.score + b, self.target(row));
            row.weight() * if z >= 0.0 { t * z + (-z).exp().ln_1p() } else { (t - 1.0) * z + z.exp().ln_1p() }
        };
        self.rows.iter().map(of_row).sum()
    }

    fn minimise(&self, level: f64) -> (f64, f64) {
        let (mut a, mut b) = (0.0, level);
        let mut value = self.value(a, b);
        for _ in 0..ITERATIONS {
            let (mut h11, mut h22, mut h21, mut g1, mut g2) = (RIDGE, RIDGE, 0.0, 0.0, 0.0);
            for row in self.rows {
                let p = crate::predict::probability(-(a * row.score + b));
                let (curvature, slope) = (row.weight() * p * (1.0 - p), row.weight() * (self.target(row) - p));
                h11 += row.score * row.score * curvature;
                h22 += curvature;
                h21 += row.score * curvature;
                g1 += row.score * slope;
                g2 += slope;
            }
            if g1.abs() < self.least && g2.abs() < self.least {
                break;
            }
            let determinant = h11 * h22 - h21 * h21;
            let (da, db) = (-(h22 * g1 - h21 * g2) / determinant, -(h11 * g2 - h21 * g1) / determinant);
            let along = g1 * da + g2 * db;
            let mut step = 1.0;
            loop {
                let (new_a, new_b) = (a + step * da, b + step * db);
                let new_value = self.value(new_a, new_b);
                if new_value < value + 1e-4 * step * along {
                    (a, b, value) = (new_a, new_b, new_value);
                    break;
                }
                step /= 2.0;
                if step < LEAST_STEP {
                    return (a, b);
                }
            }
        }
        (a, b)
    }
}
