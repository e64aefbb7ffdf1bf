//! Proximal maps evaluated where a row asks for them, so that a visit costs what the row has, not what the model has.
use super::group::shrinkage;
use super::{ElasticTerms, Group};

/// `w = prox_{ηR}(u)` for a u that it knows.
pub trait ProxMap: Send {
    /// All weights.
    fn map(&self, u: &[f64], w: &mut [f64]);

    /// All of u may have changed.
    fn renew(&mut self, u: &[f64]);

    /// η changes; [`renew`](Self::renew) follows.
    fn set_eta(&mut self, eta: f64);
}

/// The same one coordinate at a time, while u changes one coordinate at a time.
pub trait LazyProx: ProxMap {
    /// w_j, given u_j.
    fn weight(&self, j: usize, u: f64) -> f64;

    /// u_j has changed.
    fn moved(&mut self, j: usize, old: f64, new: f64);
}

/// `w_j = factor · soft(u_j, threshold)`: `l1`, `l2`, `elastic-net` and `none`, and `non-negative`, for which u_j below
/// 0 becomes 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftThreshold {
    /// What is taken from u_j above 0.
    pub threshold: f64,
    /// What is added to u_j below 0: the same, or as much as there is.
    pub below: f64,
    /// What the rest is multiplied by.
    pub factor: f64,
}

impl SoftThreshold {
    /// w_j, given u_j.
    #[inline(always)]
    pub fn apply(&self, u: f64) -> f64 {
        self.factor * (u - u.clamp(-self.below, self.threshold))
    }
}

/// The map of [`SoftThreshold`] for an η that changes.
#[derive(Clone, Copy, Debug)]
pub struct SoftThresholding {
    terms: ElasticTerms,
    now: SoftThreshold,
}

impl SoftThresholding {
    /// For `prox_{ηR}`.
    pub fn new(terms: ElasticTerms, eta: f64) -> Self {
        SoftThresholding { terms, now: terms.soft_threshold(eta) }
    }
}

impl LazyProx for SoftThresholding {
    #[inline(always)]
    fn weight(&self, _j: usize, u: f64) -> f64 {
        self.now.apply(u)
    }

    #[inline(always)]
    fn moved(&mut self, _j: usize, _old: f64, _new: f64) {}
}

impl ProxMap for SoftThresholding {
    fn map(&self, u: &[f64], w: &mut [f64]) {
        u.iter().zip(w).for_each(|(&u, w)| *w = self.weight(0, u));
    }

    fn renew(&mut self, _u: &[f64]) {}

    fn set_eta(&mut self, eta: f64) {
        self.now = self.terms.soft_threshold(eta);
    }
}

/// `w_j = u_j · max(0, 1 - t_g/‖u_g‖)`; the norms follow u.
#[derive(Clone, Debug)]
pub struct GroupShrinkage {
    group: Group,
    eta: f64,
    sq_norms: Vec<f64>,
    factors: Vec<f64>,
}

impl GroupShrinkage {
    /// For `prox_{ηR}`, at u = 0.
    pub fn new(group: Group, eta: f64) -> Self {
        let zeros = vec![0.0; group.groups.weights().len()];
        GroupShrinkage { group, eta, sq_norms: zeros.clone(), factors: zeros }
    }

    #[inline(always)]
    fn factor(&self, g: usize) -> f64 {
        shrinkage(self.sq_norms[g].max(0.0), self.eta * self.group.lambda * self.group.groups.weights()[g])
    }
}

impl LazyProx for GroupShrinkage {
    #[inline(always)]
    fn weight(&self, j: usize, u: f64) -> f64 {
        u * self.factors[self.group.groups.of_column()[j] as usize]
    }

    #[inline(always)]
    fn moved(&mut self, j: usize, old: f64, new: f64) {
        let g = self.group.groups.of_column()[j] as usize;
        // Written so that rounding stays relative to the change.
        self.sq_norms[g] += (new - old) * (new + old);
        self.factors[g] = self.factor(g);
    }
}

impl ProxMap for GroupShrinkage {
    fn map(&self, u: &[f64], w: &mut [f64]) {
        u.iter().zip(w).enumerate().for_each(|(j, (&u, w))| *w = self.weight(j, u));
    }

    fn renew(&mut self, u: &[f64]) {
        self.sq_norms = self.group.groups.sq_norms(u);
        (0..self.factors.len()).for_each(|g| self.factors[g] = self.factor(g));
    }

    fn set_eta(&mut self, eta: f64) {
        self.eta = eta;
    }
}
