//! The nuclear norm of the matrix of features by outputs (Fazel 2002; Pong et al. 2010 for several targets): few
//! directions in the space of outputs serve all of them.
//!
//! With UᵀU = Q Σ² Qᵀ, all that is needed is small: the norm is Σ σ, the dual norm is the largest σ, and
//! `prox_{ηλ‖·‖_*}(U) = U·G`, `G = Q diag(max(0, 1 - ηλ/σ)) Qᵀ`, a matrix of outputs by outputs.
use serde::{Deserialize, Serialize};

use super::spectrum::{self, Spectrum};
use super::{Listed, Penalty, ROUNDING, Structure};

/// λ‖W‖_*, the sum of the singular values
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Nuclear {
    /// λ, above 0.
    pub lambda: f64,
    /// Weights of a feature that lie side by side.
    pub outputs: u32,
}

impl Nuclear {
    fn size(&self) -> usize {
        self.outputs.max(1) as usize
    }

    /// The largest singular value.
    pub(super) fn largest(&self, v: &[f64]) -> f64 {
        let spectrum = Spectrum::of(&spectrum::gram(v, self.size()), self.size());
        spectrum.values.iter().fold(0.0, |most: f64, &value| most.max(value)).sqrt()
    }
}

/// G, where singular values are moved towards 0 by `threshold`.
pub(super) fn shrinking(spectrum: &Spectrum, threshold: f64, map: &mut [f64]) {
    let n = spectrum.values.len();
    map.fill(0.0);
    for (value, q) in spectrum.values.iter().zip(spectrum.vectors.chunks_exact(n)) {
        let kept = 1.0 - threshold / value.max(0.0).sqrt();
        // Negative, or not a number where both are 0.
        if kept > 0.0 {
            for (row, &a) in map.chunks_exact_mut(n).zip(q) {
                row.iter_mut().zip(q).for_each(|(sum, b)| *sum += kept * a * b);
            }
        }
    }
}

/// `w ← G u` for one feature; G is symmetric.
#[inline]
pub(super) fn apply(map: &[f64], u: &[f64], w: &mut [f64]) {
    for (row, w) in map.chunks_exact(u.len()).zip(w) {
        *w = spectrum::dot(row, u);
    }
}

impl Penalty for Nuclear {
    /// The singular vectors come from the Gram matrix, which is blind to singular values below √ε of the largest.
    /// Lengths along them are measured on W itself: for any orthonormal q the sum Σ‖Wq‖ is at least the norm, so that
    /// what is left of the error never flatters a certificate.
    fn along(&self, w: &[f64]) -> (f64, f64) {
        let n = self.size();
        let spectrum = Spectrum::of(&spectrum::gram(w, n), n);
        let mut sq_norms = vec![0.0; n];
        for row in w.chunks_exact(n).filter(|row| row.iter().any(|&w| w != 0.0)) {
            for (sum, q) in sq_norms.iter_mut().zip(spectrum.vectors.chunks_exact(n)) {
                let along = spectrum::dot(row, q);
                *sum += along * along;
            }
        }
        (self.lambda * sq_norms.iter().map(|sum| sum.sqrt()).sum::<f64>(), 0.0)
    }

    fn prox(&self, eta: f64, u: &mut [f64]) {
        let n = self.size();
        let (mut map, mut w) = (vec![0.0; n * n], vec![0.0; n]);
        shrinking(&Spectrum::of(&spectrum::gram(u, n), n), eta * self.lambda, &mut map);
        for row in u.chunks_exact_mut(n) {
            apply(&map, row, &mut w);
            row.copy_from_slice(&w);
        }
    }

    fn conjugate(&self, v: &[f64], scale: f64) -> f64 {
        if scale * self.largest(v) <= self.lambda * (1.0 + ROUNDING) { 0.0 } else { f64::INFINITY }
    }

    fn feasible_scale(&self, v: &[f64]) -> f64 {
        (self.lambda / self.largest(v)).min(1.0)
    }
}

impl Listed for Nuclear {
    fn lambda(&self) -> f64 {
        self.lambda
    }

    fn with_lambda(&self, lambda: f64) -> Self {
        Nuclear { lambda, ..*self }
    }

    fn structure(&self) -> Structure<'_> {
        Structure::Matrix(self)
    }

    fn least_lambda(&self, v: &[f64]) -> Option<f64> {
        Some(self.largest(v))
    }

    fn for_outputs(&self, outputs: usize) -> Self {
        Nuclear { outputs: outputs as u32, ..*self }
    }
}
