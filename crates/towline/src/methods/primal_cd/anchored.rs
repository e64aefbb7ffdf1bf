//! A penalty with a proximal term: what a block of rows minimises (DA-BCD, equation 14).
use super::separable_penalty::SeparablePenalty;

/// `R(w) + strength/2 ‖w - towards‖²`, part by part.
pub struct Anchored<'a, P> {
    /// R.
    pub parts: &'a P,
    /// Where the proximal term pulls.
    pub towards: &'a [f64],
    /// How hard: 1/η.
    pub strength: f64,
}

impl<P: SeparablePenalty> SeparablePenalty for Anchored<'_, P> {
    fn count(&self) -> usize {
        self.parts.count()
    }

    fn members<'a>(&'a self, part: &'a u32) -> &'a [u32] {
        self.parts.members(part)
    }

    /// `v` has the pull of the proximal term in it already.
    fn pull(&self, part: u32, v: &[f64]) -> f64 {
        self.parts.pull(part, v)
    }

    /// Two squares are one: `prox_{step/(1 + step s) R}((u + step s a) / (1 + step s))`.
    fn prox(&self, part: u32, step: f64, u: &mut [f64]) {
        let pull = step * self.strength;
        for (u, &j) in u.iter_mut().zip(self.parts.members(&part)) {
            *u = (*u + pull * self.towards[j as usize]) / (1.0 + pull);
        }
        self.parts.prox(part, step / (1.0 + pull), u);
    }

    fn value(&self, part: u32, w: &[f64]) -> f64 {
        let off = |&j: &u32| w[j as usize] - self.towards[j as usize];
        let squares: f64 = self.parts.members(&part).iter().map(off).map(|off| off * off).sum();
        self.parts.value(part, w) + 0.5 * self.strength * squares
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::columns::separable_penalty::{Coordinates, Groups};
    use crate::penalty::{ElasticTerms, Group, GroupMap};

    /// Nothing near the proximal point is better.
    fn is_least<P: SeparablePenalty>(parts: &P, w: &[f64], towards: &[f64], (step, strength): (f64, f64)) {
        let anchored = Anchored { parts, towards, strength };
        for part in 0..parts.count() as u32 {
            let members = parts.members(&part).to_vec();
            let from: Vec<f64> = members.iter().map(|&j| w[j as usize]).collect();
            let mut found = from.clone();
            anchored.prox(part, step, &mut found);
            let value = |x: &[f64]| {
                let mut all = w.to_vec();
                members.iter().zip(x).for_each(|(&j, &x)| all[j as usize] = x);
                let squares: f64 = x.iter().zip(&from).map(|(x, from)| (x - from) * (x - from)).sum();
                anchored.value(part, &all) + squares / (2.0 * step)
            };
            for k in 0..members.len() {
                for off in [-1e-4, 1e-4] {
                    let mut other = found.clone();
                    other[k] += off;
                    assert!(value(&found) <= value(&other) + 1e-13, "part {part}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn the_prox_has_both_terms(
            w in proptest::collection::vec(-3.0f64..3.0, 6),
            towards in proptest::collection::vec(-3.0f64..3.0, 6),
            numbers in (0.1f64..2.0, 0.1f64..2.0),
        ) {
            let net = ElasticTerms { l1: 0.42, l2: 0.28, non_negative: false };
            is_least(&Coordinates::new(net, 6), &w, &towards, numbers);
            let groups = GroupMap::new(vec![0, 1, 1, 0, 2, 1], vec![1.0, 0.5, 2.0]).unwrap();
            is_least(&Groups::new(&Group { lambda: 0.7, groups }, 6), &w, &towards, numbers);
        }
    }
}
