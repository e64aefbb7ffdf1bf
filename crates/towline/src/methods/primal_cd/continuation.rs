//! From strong regularizers to weak ones: a series of problems, each of which starts where the one before it ended.
//!
//! At w = 0 and a λ far below the one at which weights leave 0, a working set is chosen by slopes that say nothing of
//! the optimum: too many weights leave 0, and taking them back is slow. So λ begins near the largest one that matters
//! and falls by a factor whenever steps gain little, as on a path (Friedman et al. 2010, section 2.5; Hale et al. 2008
//! call it continuation). Only the last of these problems is certified.
use super::separable_penalty::SeparablePenalty;

/// Problems begin at this part of the λ from which on all weights are 0.
const FIRST: f64 = 0.3;
/// The factor from one λ to the next.
const FACTOR: f64 = 0.5;
/// A λ within this factor of the first one needs no series.
const NEAR: f64 = 30.0;
/// λ falls when a step gains less than this part of what the best one at this λ did: problems that are solved well
/// choose better working sets for the next.
const WORTH: f64 = 0.002;
/// Steps at one λ, at most.
const MOST_STEPS: u32 = 30;

/// By how much the regularizer is stronger than it will be in the end.
#[derive(Clone, Copy, Debug)]
pub struct Continuation {
    strength: f64,
    /// The largest fall of a step at this strength.
    best_fall: f64,
    steps: u32,
}

impl Continuation {
    /// For slopes v at the first weights: none is needed if some weights are not 0, for then a run goes on.
    pub fn new<P: SeparablePenalty>(parts: &P, w: &[f64], v: &[f64]) -> Continuation {
        let is_zero = (0..parts.count() as u32).all(|part| parts.members(&part).iter().all(|&j| w[j as usize] == 0.0));
        let most = (0..parts.count() as u32).map(|part| parts.pull(part, v)).fold(0.0, f64::max);
        let strength = if is_zero && most.is_finite() && most > NEAR { FIRST * most } else { 1.0 };
        Continuation { strength, best_fall: 0.0, steps: 0 }
    }

    /// The regularizer of the next step.
    pub fn stronger<'a, P>(&self, parts: &'a P) -> Stronger<'a, P> {
        Stronger { parts, factor: self.strength }
    }

    /// A step at this strength let the objective fall by so much.
    pub fn stepped(&mut self, fall: f64) {
        self.best_fall = self.best_fall.max(fall);
        self.steps += 1;
        if self.strength > 1.0 && (fall <= WORTH * self.best_fall || self.steps == MOST_STEPS) {
            *self = Continuation { strength: (FACTOR * self.strength).max(1.0), best_fall: 0.0, steps: 0 };
        }
    }
}

/// A regularizer times a factor.
pub struct Stronger<'a, P> {
    parts: &'a P,
    factor: f64,
}

impl<P: SeparablePenalty> SeparablePenalty for Stronger<'_, P> {
    fn count(&self) -> usize {
        self.parts.count()
    }

    #[inline(always)]
    fn members<'a>(&'a self, part: &'a u32) -> &'a [u32] {
        self.parts.members(part)
    }

    #[inline(always)]
    fn pull(&self, part: u32, v: &[f64]) -> f64 {
        self.parts.pull(part, v) / self.factor
    }

    #[inline(always)]
    fn prox(&self, part: u32, step: f64, u: &mut [f64]) {
        self.parts.prox(part, self.factor * step, u);
    }

    fn value(&self, part: u32, w: &[f64]) -> f64 {
        self.factor * self.parts.value(part, w)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::separable_penalty::Coordinates;
    use crate::penalty::ElasticTerms;

    #[test]
    fn the_regularizer_ends_as_it_is_and_is_never_weaker() {
        let parts = Coordinates::new(ElasticTerms::l1(2.0), 3);
        let (w, v) = ([0.0, 0.0, 0.0, 7.0], [-200.0, 1000.0, 3.0, 1e9]);
        let mut found = Continuation::new(&parts, &w, &v);
        // The slope of the intercept, the last one, does not count.
        assert_eq!(found.strength, FIRST * 500.0);
        let mut before = f64::INFINITY;
        while found.strength > 1.0 {
            assert!(found.strength < before);
            before = found.strength;
            found.stepped(10.0);
            assert_eq!(found.strength, before, "a good step is followed by another one");
            found.stepped(1e-6);
        }
        assert_eq!(found.strength, 1.0);
        (0..100).for_each(|_| found.stepped(0.0));
        assert_eq!(found.strength, 1.0);
        // Steps that go on gaining are not waited for without end.
        let mut found = Continuation::new(&parts, &w, &v);
        (0..MOST_STEPS).for_each(|_| found.stepped(1.0));
        assert!(found.strength < FIRST * 500.0);
    }

    #[test]
    fn weights_that_are_known_and_strong_regularizers_need_no_series() {
        let parts = Coordinates::new(ElasticTerms::l1(2.0), 2);
        assert_eq!(Continuation::new(&parts, &[0.0, 0.1, 0.0], &[1e6, 1e6, 0.0]).strength, 1.0);
        assert_eq!(Continuation::new(&parts, &[0.0, 0.0, 0.0], &[2.0 * NEAR, 1.0, 0.0]).strength, 1.0);
    }

    #[test]
    fn a_stronger_regularizer_is_one_with_a_larger_lambda() {
        let (weak, strong) = [2.0, 6.0].map(|lambda| Coordinates::new(ElasticTerms::l1(lambda), 2)).into();
        let stronger = Stronger { parts: &weak, factor: 3.0 };
        for w in [-4.0, 0.5, 9.0] {
            let (mut a, mut b) = ([w], [w]);
            stronger.prox(0, 0.7, &mut a);
            strong.prox(0, 0.7, &mut b);
            assert!((a[0] - b[0]).abs() < 1e-12);
            assert!((stronger.value(0, &[w, 0.0]) - strong.value(0, &[w, 0.0])).abs() < 1e-12);
            assert!((stronger.pull(0, &[w, 0.0]) - strong.pull(0, &[w, 0.0])).abs() < 1e-12);
        }
    }
}
