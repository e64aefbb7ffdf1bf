//! A loss of your own: one `impl Loss`, and it trains exactly, in memory or out of core, with a certificate.
//!
//! The quantile loss: L(y, z) = τ(y - z) below the target, (1 - τ)(z - y) above it. Its minimum is the τ-quantile of
//! the targets.
use towline::loss::Loss;
use towline::task::Task;
use towline::{Fit, FitError, Rows};

#[derive(Clone, Copy)]
struct Quantile {
    tau: f64,
}

impl Loss for Quantile {
    fn value(&self, y: f64, z: f64) -> f64 {
        if z < y { self.tau * (y - z) } else { (1.0 - self.tau) * (z - y) }
    }

    fn slope(&self, y: f64, z: f64) -> f64 {
        if z < y { -self.tau } else { 1.0 - self.tau }
    }

    /// L*(u) = uy for -τ ≤ u ≤ 1 - τ.
    fn conjugate(&self, y: f64, u: f64) -> f64 {
        if u < -self.tau || u > 1.0 - self.tau { f64::INFINITY } else { u * y }
    }

    /// β = -cL', so it lies between -c(1 - τ) and cτ.
    fn dual_bounds(&self, _y: f64, c: f64) -> (f64, f64) {
        (-c * (1.0 - self.tau), c * self.tau)
    }

    /// The slope jumps at the target.
    fn curvature(&self) -> f64 {
        f64::INFINITY
    }

    /// -½q(b - β)² - z(b - β) + by is largest at b = β + (y - z)/q, if that is within the bounds.
    fn dual_step(&self, y: f64, z: f64, beta: f64, q: f64, c: f64) -> f64 {
        let (low, high) = self.dual_bounds(y, c);
        let step = if q > 0.0 { beta + (y - z) / q } else { (y - z) * f64::INFINITY };
        if step.is_nan() { beta } else { step.clamp(low, high) }
    }

    /// cL(z) + β(z - y), each case by itself, so that nothing cancels.
    fn gap(&self, y: f64, z: f64, beta: f64, c: f64) -> f64 {
        let (low, high) = self.dual_bounds(y, c);
        if beta < low || beta > high {
            return f64::INFINITY;
        }
        if z < y { (high - beta) * (y - z) } else { (beta - low) * (z - y) }
    }
}

fn main() -> Result<(), FitError> {
    // 400 rows of two features and a constant; targets are spread by up to 1 above a plane.
    let noise = |k: u64| {
        let mixed = (k + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    };
    let row = |k: u64| [noise(3 * k) - 0.5, noise(3 * k + 1) - 0.5, 1.0];
    let values: Vec<f64> = (0..400).flat_map(row).collect();
    let targets: Vec<f64> = (0..400).map(|k| 2.0 * row(k)[0] - row(k)[1] + noise(3 * k + 2)).collect();
    let rows = Rows::dense(values, 3, &targets)?;
    let fit = Fit::new().task(Task::Regression).c(10.0).intercept(false).tolerance(1e-5);
    for tau in [0.1, 0.5, 0.9] {
        let trained = fit.run_own_loss(Quantile { tau }, &rows, &mut ())?;
        let (w, gap) = (&trained[0].weights, trained[0].certificate.relative_gap());
        let below =
            (0..400).zip(&targets).filter(|&(k, y)| *y < row(k).iter().zip(w).map(|(x, w)| x * w).sum()).count();
        println!("τ = {tau}: {below} of 400 targets lie below, at most {gap:.0e} above the optimum");
        assert!((below as f64 / 400.0 - tau).abs() < 0.03, "{below}");
        assert!(gap <= 1e-5);
    }
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
