//! Isotonic regression by pool-adjacent-violators (Barlow et al. 1972; for calibration Zadrozny and Elkan 2002).
use super::Curve;
use crate::evaluate::ranking::{Ranked, by_score, weights};

/// Knots of a curve at most: they are part of the model.
const MOST_KNOTS: usize = 256;

/// Scores with one probability: the first and the last of them, what is positive among them, and what they weigh.
#[derive(Clone, Copy)]
struct Pool {
    first: f64,
    last: f64,
    positive: f64,
    weight: f64,
}

impl Pool {
    fn chance(&self) -> f64 {
        self.positive / self.weight
    }
}

/// The curve that never falls and is nearest to the rows, which come with the highest scores first.
pub fn fit(sorted: &[Ranked]) -> Curve {
    let mut pools: Vec<Pool> = Vec::new();
    // Downwards the chance must never rise.
    for (score, [positive, negative]) in by_score(sorted).filter(|(_, [a, b])| a + b > 0.0) {
        pools.push(Pool { first: score, last: score, positive, weight: positive + negative });
        while let [.., above, below] = pools[..] {
            if below.chance() < above.chance() {
                break;
            }
            pools.pop();
            let merged = Pool {
                first: below.first,
                last: above.last,
                positive: above.positive + below.positive,
                weight: above.weight + below.weight,
            };
            if let Some(top) = pools.last_mut() {
                *top = merged;
            }
        }
    }
    pools.reverse();
    let [positive, negative] = weights(sorted);
    // No row is certain: that would cost everything where it is wrong.
    let least = 1.0 / (positive + negative + 2.0);
    let mut knots: Vec<(f64, f64)> = Vec::with_capacity(2 * pools.len());
    for pool in &pools {
        let chance = pool.chance().clamp(least, 1.0 - least);
        knots.push((pool.first, chance));
        if pool.last > pool.first {
            knots.push((pool.last, chance));
        }
    }
    if knots.is_empty() {
        knots.push((0.0, 0.5));
    }
    let knots = thinned(knots);
    Curve::Knots {
        scores: knots.iter().map(|knot| knot.0).collect(),
        chances: knots.iter().map(|knot| knot.1).collect(),
    }
}

/// As many knots as are allowed, evenly among all.
fn thinned(knots: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if knots.len() <= MOST_KNOTS {
        return knots;
    }
    let last = knots.len() - 1;
    (0..MOST_KNOTS).map(|k| knots[k * last / (MOST_KNOTS - 1)]).collect()
}
