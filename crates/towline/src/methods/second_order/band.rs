//! How far from their kinks rows are on a parabola, at first (multipliers.rs).
//!
//! The wider the band, the fewer Newton steps its problem takes, and the larger the gap of its solution. With weights
//! from a sample the margins are about right, and say how large that would be. Where each step reads all rows, the band
//! is as narrow as the tolerance asks for from the start: that takes longer than one problem after another does, and
//! reads less.
use super::one_output::Quadratic;
use super::scanning::Rows;
use crate::engine::TrainError;
use crate::loss::PiecewiseLinear;

/// The part of all terms that is nearer to its kink than the widest band.
const MOST_PART: f64 = 0.3;
/// The narrowest band has at least this many terms for each weight.
const TERMS_PER_WEIGHT: usize = 10;
/// The part of F that the gap of the first solution may be, by the margins, where more is not asked for.
const FIRST_GAP: f64 = 1e-4;
/// The part of the tolerance that the gap may be.
const SAFE: f64 = 0.5;
/// Terms that are looked at, at most: where there are more, every second one, every fourth, and so on.
const MOST_TERMS: usize = 1 << 16;
/// No band is narrower.
const NARROWEST: f64 = 1e-6;

/// Where to begin.
#[derive(Clone, Copy, Debug)]
pub struct Band {
    /// Terms that miss more than this have their dual variable at its bound.
    pub radius: f64,
    /// σ: how curved parabolas are.
    pub sigma: f64,
}

/// t - sz and c of some terms.
struct Terms {
    step: usize,
    seen: usize,
    some: Vec<(f64, f64)>,
}

impl Terms {
    fn add(&mut self, missing: f64, c: f64) {
        if self.seen.is_multiple_of(self.step) {
            self.some.push((missing, c));
            if self.some.len() == MOST_TERMS {
                self.step *= 2;
                let mut number = 0;
                self.some.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
            }
        }
        self.seen += 1;
    }

    /// How many terms are within the band, and what the gap of its slopes as dual variables is.
    fn within(&self, radius: f64) -> (usize, f64) {
        let within = self.some.iter().filter(|(missing, _)| *missing > 0.0 && *missing < radius);
        let (count, gap) = within.fold((0, 0.0), |(n, gap), (m, c)| (n + 1, gap + c * m * (1.0 - m / radius)));
        (self.step * count, self.step as f64 * gap)
    }

    fn losses(&self) -> f64 {
        self.step as f64 * self.some.iter().map(|(missing, c)| c * missing.max(0.0)).sum::<f64>()
    }
}

impl Band {
    /// For weights that are near those to be found, or 0; one scan. As narrow as the gap `tolerance` asks for, if that
    /// is given.
    pub fn of<L: PiecewiseLinear, R: Rows>(
        loss: L,
        part: Quadratic,
        w: &[f64],
        rows: &mut R,
        tolerance: Option<f64>,
    ) -> Result<Band, TrainError> {
        let mut terms = Terms { step: 1, seen: 0, some: Vec::new() };
        let (last, mut curved, mut count) = (w.len() - 1, 0.0, 0u64);
        rows.scan(|_, row, y, c| {
            curved += c * row.sq_norm();
            count += 1;
            let z = row.dot(w) + part.bias * w[last];
            (0..L::TERMS).map(|k| loss.term(y, k)).for_each(|(s, t)| terms.add(t - s * z, c));
        })?;
        let mut distances: Vec<f64> = terms.some.iter().map(|(missing, _)| missing.abs()).collect();
        let at = (distances.len() as f64 * MOST_PART) as usize;
        let mut radius = match distances.is_empty() {
            true => 1.0,
            false => distances.select_nth_unstable_by(at, f64::total_cmp).1.max(NARROWEST),
        };
        if w.iter().all(|w| *w == 0.0) {
            // Without a model to begin with: rows weigh no more than the penalty, which is solved in a few steps
            // whatever comes of them.
            let ridge = part.ridge.iter().fold(NARROWEST, |most: f64, ridge| most.max(*ridge));
            let of_penalty = if curved > 0.0 { ridge * count as f64 / curved } else { f64::INFINITY };
            return Ok(Band { radius, sigma: (0.99 / radius).min(of_penalty) });
        }
        let most = |tolerance: f64| SAFE * tolerance.max(FIRST_GAP) * (part.value(w) + terms.losses());
        let most = tolerance.map_or(f64::INFINITY, most);
        loop {
            let (inside, gap) = terms.within(radius);
            if gap <= most || inside < 2 * TERMS_PER_WEIGHT * w.len() || radius <= NARROWEST {
                break;
            }
            radius *= 0.5;
        }
        // Terms that miss as much as the radius are on a parabola just so.
        Ok(Band { radius, sigma: 0.99 / radius })
    }
}
