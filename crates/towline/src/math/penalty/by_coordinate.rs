//! Penalties from outside the library.
use super::{LazyProx, Penalty, ProxMap};

/// A penalty that is a sum over coordinates, so that its proximal map can be asked for one of them at a time: what a
/// program brings that trains with a penalty of its own ([`crate::Fit::run_own_penalty`]).
pub trait CoordinatePenalty: Penalty + Clone + 'static {
    /// `prox_{ηR}(u)_j`, which depends on u_j alone, for a finite η > 0. With K outputs the weights of column k have
    /// the numbers kK to kK + K - 1. Without an intercept K more follow, those of the constant feature; they stay 0 where
    /// there is none, but the penalty is asked for them all the same.
    fn prox_at(&self, j: usize, eta: f64, u: f64) -> f64;
}

/// `w_j = prox_{ηR}(u)_j` by [`CoordinatePenalty::prox_at`].
pub(crate) struct ProxByCoordinate<P> {
    penalty: P,
    eta: f64,
}

impl<P: CoordinatePenalty> ProxByCoordinate<P> {
    /// For η = 1.
    pub fn new(penalty: P) -> Self {
        ProxByCoordinate { penalty, eta: 1.0 }
    }
}

impl<P: CoordinatePenalty> LazyProx for ProxByCoordinate<P> {
    #[inline(always)]
    fn weight(&self, j: usize, u: f64) -> f64 {
        self.penalty.prox_at(j, self.eta, u)
    }

    #[inline(always)]
    fn moved(&mut self, _j: usize, _old: f64, _new: f64) {}
}

impl<P: CoordinatePenalty> ProxMap for ProxByCoordinate<P> {
    fn map(&self, u: &[f64], w: &mut [f64]) {
        u.iter().zip(w).enumerate().for_each(|(j, (&u, w))| *w = self.weight(j, u));
    }

    fn renew(&mut self, _u: &[f64]) {}

    fn set_eta(&mut self, eta: f64) {
        self.eta = eta;
    }
}
