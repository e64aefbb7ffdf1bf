//! A penalty of your own: the formulas of R, and it trains exactly, in memory or out of core, with a certificate.
//!
//! The adaptive lasso (Zou 2006): R(w) = λ Σ ω_j|w_j|, where features that a first model has found useless cost more.
//! It is fitted with a loss from outside as well, squares that are steeper below the target than above it.
use towline::loss::Loss;
use towline::penalty::{CoordinatePenalty, Penalty};
use towline::task::Task;
use towline::{Fit, FitError, Rows};

#[derive(Clone)]
struct AdaptiveLasso {
    lambda: f64,
    /// ω of each column.
    weights: Vec<f64>,
}

impl AdaptiveLasso {
    fn of(&self, j: usize) -> f64 {
        self.lambda * self.weights[j]
    }
}

impl Penalty for AdaptiveLasso {
    /// R(tw) = t R(w): no part grows with the square.
    fn along(&self, w: &[f64]) -> (f64, f64) {
        (w.iter().enumerate().map(|(j, w)| self.of(j) * w.abs()).sum(), 0.0)
    }

    fn prox(&self, eta: f64, u: &mut [f64]) {
        u.iter_mut().enumerate().for_each(|(j, u)| *u = self.prox_at(j, eta, *u));
    }

    /// R*(v) = 0 where |v_j| ≤ λω_j for all j.
    fn conjugate(&self, v: &[f64], scale: f64) -> f64 {
        if scale <= self.feasible_scale(v) * (1.0 + towline::penalty::ROUNDING) { 0.0 } else { f64::INFINITY }
    }

    fn feasible_scale(&self, v: &[f64]) -> f64 {
        v.iter().enumerate().fold(1.0, |scale, (j, v)| (self.of(j) / v.abs()).min(scale))
    }
}

impl CoordinatePenalty for AdaptiveLasso {
    /// u moved towards 0 by ηλω_j.
    fn prox_at(&self, j: usize, eta: f64, u: f64) -> f64 {
        let threshold = eta * self.of(j);
        u - u.clamp(-threshold, threshold)
    }
}

/// L(y, z) = s/2 (z - y)², s = 3 below the target and 1 above it.
#[derive(Clone, Copy)]
struct Asymmetric;

impl Asymmetric {
    fn steepness(y: f64, z: f64) -> f64 {
        if z < y { 3.0 } else { 1.0 }
    }
}

impl Loss for Asymmetric {
    fn value(&self, y: f64, z: f64) -> f64 {
        0.5 * Self::steepness(y, z) * (z - y) * (z - y)
    }

    fn slope(&self, y: f64, z: f64) -> f64 {
        Self::steepness(y, z) * (z - y)
    }

    /// L*(u) = uy + u²/2s, with the s of the side on which the slope is u.
    fn conjugate(&self, y: f64, u: f64) -> f64 {
        u * y + u * u / (2.0 * if u < 0.0 { 3.0 } else { 1.0 })
    }

    fn dual_bounds(&self, _y: f64, _c: f64) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }

    fn curvature(&self) -> f64 {
        3.0
    }

    /// The maximum of by - b²/(2cs) - z(b - β) - ½q(b - β)²: b = (y - z + qβ)/(1/cs + q), whose sign says which s it
    /// is.
    fn dual_step(&self, y: f64, z: f64, beta: f64, q: f64, c: f64) -> f64 {
        let towards = y - z + q * beta;
        towards / (1.0 / (c * if towards > 0.0 { 3.0 } else { 1.0 }) + q)
    }

    /// cL(z) + cL*(-β/c) + βz, which is a square where both are on the same side.
    fn gap(&self, y: f64, z: f64, beta: f64, c: f64) -> f64 {
        let (s, t) = (Self::steepness(y, z), if beta > 0.0 { 3.0 } else { 1.0 });
        let off = z - y;
        match s == t {
            true => (c * s * off + beta) * (c * s * off + beta) / (2.0 * c * s),
            false => 0.5 * c * s * off * off + beta * off + beta * beta / (2.0 * c * t),
        }
    }
}

fn main() -> Result<(), FitError> {
    // 300 rows of 8 features, of which two matter.
    let noise = |k: u64| {
        let mixed = (k + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let row = |k: u64| (0..8).map(move |j| noise(9 * k + j));
    let values: Vec<f64> = (0..300).flat_map(row).collect();
    let target = |k: u64| 3.0 * noise(9 * k) - 2.0 * noise(9 * k + 1) + 0.4 * noise(9 * k + 8);
    let rows = Rows::dense(values, 8, &(0..300).map(target).collect::<Vec<f64>>())?;
    let fit = Fit::squared().intercept(false).tolerance(1e-6);

    // The lasso first: all features cost the same, and so does the constant feature behind them.
    let equal = AdaptiveLasso { lambda: 0.5, weights: vec![1.0; 9] };
    let first = fit.run_own_penalty(equal, &rows, &mut ())?.remove(0);
    let weights = first.weights.iter().map(|w| 1.0 / (w.abs() + 0.01)).collect();
    let adaptive = AdaptiveLasso { lambda: 0.5, weights };
    let second = fit.run_own_penalty(adaptive.clone(), &rows, &mut ())?.remove(0);
    let fit = Fit::new().task(Task::Regression).intercept(false).tolerance(1e-6);
    let third = fit.run_own(Asymmetric, adaptive, &rows, &mut ())?.remove(0);
    for (name, trained) in [("squared loss", &second), ("loss from outside", &third)] {
        let (used, gap) = (trained.weights.iter().filter(|w| **w != 0.0).count(), trained.certificate.relative_gap());
        println!("{name}: {used} of 8 features, at most {gap:.0e} above the optimum");
        assert!(used == 2 && gap <= 1e-6, "{:?}", trained.weights);
    }
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
