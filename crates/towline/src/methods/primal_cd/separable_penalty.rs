//! What of the weights is moved together: single coordinates, or groups of them.
use crate::penalty::{ElasticTerms, Group};

/// A penalty that is a sum over parts of the weights, each of which may be 0.
pub trait SeparablePenalty: Send + Sync {
    /// How many parts there are.
    fn count(&self) -> usize;

    /// The columns of a part.
    fn members<'a>(&'a self, part: &'a u32) -> &'a [u32];

    /// How hard the losses pull at a part that is 0, where v = -∇ of the losses: it leaves 0 where this is above 1.
    fn pull(&self, part: u32, v: &[f64]) -> f64;

    /// `u ← prox_{step R}(u)` for the weights of one part.
    fn prox(&self, part: u32, step: f64, u: &mut [f64]);

    /// What a part costs.
    fn value(&self, part: u32, w: &[f64]) -> f64;
}

/// `a|w_j| + b/2 w_j²` for every column: `l1`, `elastic-net`, and `non-negative`, where w_j may not be below 0.
pub struct Coordinates {
    columns: usize,
    a: f64,
    /// What |w_j| costs below 0.
    below: f64,
    b: f64,
}

impl Coordinates {
    /// For this many columns under the penalty, whose l1 part is not 0; [`can_train`](super::can_train) has looked.
    pub fn new(terms: ElasticTerms, columns: usize) -> Self {
        Coordinates { columns, a: terms.l1, below: terms.below(), b: terms.l2 }
    }
}

impl SeparablePenalty for Coordinates {
    fn count(&self) -> usize {
        self.columns
    }

    #[inline(always)]
    fn members<'a>(&'a self, part: &'a u32) -> &'a [u32] {
        std::slice::from_ref(part)
    }

    #[inline(always)]
    fn pull(&self, part: u32, v: &[f64]) -> f64 {
        let v = v[part as usize];
        (v / self.a).max(-v / self.below)
    }

    #[inline(always)]
    fn prox(&self, _part: u32, step: f64, u: &mut [f64]) {
        u[0] = (u[0] - u[0].clamp(-step * self.below, step * self.a)) / (1.0 + step * self.b);
    }

    fn value(&self, part: u32, w: &[f64]) -> f64 {
        let w = w[part as usize];
        (self.a * w).max(if w < 0.0 { -w * self.below } else { 0.0 }) + 0.5 * self.b * w * w
    }
}

/// `λω_g ‖w_g‖` for every group.
pub struct Groups {
    lambda: f64,
    weights: Vec<f64>,
    /// Columns by group, and where those of each group end.
    columns: Vec<u32>,
    ends: Vec<usize>,
}

impl Groups {
    /// Bytes for this many columns in this many groups.
    pub fn bytes(columns: u64, groups: u64) -> u64 {
        4 * columns + 16 * groups
    }

    /// For this many columns under the penalty.
    pub fn new(group: &Group, columns: usize) -> Self {
        let weights = group.groups.weights().to_vec();
        let of_column = &group.groups.of_column()[..columns];
        let mut ends = vec![0usize; weights.len()];
        of_column.iter().for_each(|&g| ends[g as usize] += 1);
        let mut before = 0;
        for end in &mut ends {
            (*end, before) = (before, before + *end);
        }
        let mut by_group = vec![0u32; columns];
        for (j, &g) in of_column.iter().enumerate() {
            by_group[ends[g as usize]] = j as u32;
            ends[g as usize] += 1;
        }
        Groups { lambda: group.lambda, weights, columns: by_group, ends }
    }

    fn norm(&self, part: u32, x: &[f64]) -> f64 {
        self.members(&part).iter().map(|&j| x[j as usize] * x[j as usize]).sum::<f64>().sqrt()
    }
}

impl SeparablePenalty for Groups {
    fn count(&self) -> usize {
        self.ends.len()
    }

    fn members<'a>(&'a self, part: &'a u32) -> &'a [u32] {
        let g = *part as usize;
        let start = if g == 0 { 0 } else { self.ends[g - 1] };
        &self.columns[start..self.ends[g]]
    }

    fn pull(&self, part: u32, v: &[f64]) -> f64 {
        self.norm(part, v) / (self.lambda * self.weights[part as usize])
    }

    fn prox(&self, part: u32, step: f64, u: &mut [f64]) {
        let norm = u.iter().map(|u| u * u).sum::<f64>().sqrt();
        // An empty group has 0/0 here; `max` makes that 0.
        let factor = (1.0 - step * self.lambda * self.weights[part as usize] / norm).max(0.0);
        u.iter_mut().for_each(|u| *u *= factor);
    }

    fn value(&self, part: u32, w: &[f64]) -> f64 {
        self.lambda * self.weights[part as usize] * self.norm(part, w)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::penalty::{AnyPenalty, ElasticNet, GroupMap, L1, NonNegative, Penalty, Structure};

    fn coordinates(penalty: &AnyPenalty) -> Coordinates {
        let Structure::Coordinates(terms) = penalty.structure() else { panic!("{} is not separable", penalty.name()) };
        Coordinates::new(terms, 9)
    }

    /// Sum, prox and domain of the parts are those of the whole penalty.
    fn agrees(penalty: &AnyPenalty, parts: &dyn SeparablePenalty, w: &[f64], step: f64) {
        let all = 0..parts.count() as u32;
        let value: f64 = all.clone().map(|part| parts.value(part, w)).sum();
        assert!((value - penalty.value(w)).abs() <= 1e-12 * value, "{value}");
        let mut wanted = w.to_vec();
        penalty.prox(step, &mut wanted);
        for part in all.clone() {
            let mut u: Vec<f64> = parts.members(&part).iter().map(|&j| w[j as usize]).collect();
            parts.prox(part, step, &mut u);
            for (&j, u) in parts.members(&part).iter().zip(u) {
                assert!((u - wanted[j as usize]).abs() <= 1e-12, "{u} for {}", wanted[j as usize]);
            }
        }
        let most = all.map(|part| parts.pull(part, w)).fold(0.0, f64::max);
        if let Some(least) = penalty.least_lambda(w) {
            assert!((most * penalty.lambda() / least - 1.0).abs() < 1e-12, "{most}");
        }
    }

    proptest! {
        #[test]
        fn parts_add_up_to_the_penalty(w in proptest::collection::vec(-3.0f64..3.0, 9), lambda in 0.1f64..2.0, step in 0.1f64..2.0) {
            let l1 = AnyPenalty::L1(L1 { lambda });
            agrees(&l1, &coordinates(&l1), &w, step);
            let net = AnyPenalty::ElasticNet(ElasticNet { lambda, l1_ratio: 0.3 });
            agrees(&net, &coordinates(&net), &w, step);
            let bounded = AnyPenalty::NonNegative(NonNegative { lambda, l1_ratio: 0.3 });
            let inside: Vec<f64> = w.iter().map(|w| w.abs()).collect();
            agrees(&bounded, &coordinates(&bounded), &inside, step);
            let map = GroupMap::new(vec![2, 0, 1, 1, 0, 2, 2, 0, 2], vec![1.0, 0.5, 2.0]).unwrap();
            let group = Group { lambda, groups: map };
            agrees(&AnyPenalty::Group(group.clone()), &Groups::new(&group, 9), &w, step);
        }
    }
}
