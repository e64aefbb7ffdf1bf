//! The logistic loss.
//!
//! With t = yz and α = yβ: L = log(1 + exp(-t)), L*(-ya) = a log a + (1 - a) log(1 - a) on \[0, 1\], and at the optimum
//! α = cσ(-t), strictly between 0 and c.
//!
//! The one-row dual has no closed form. As in Yu, Huang & Lin, "Dual coordinate descent methods for logistic regression
//! and maximum entropy models" (Machine Learning 85, 2011), an iteration runs on the distance of α to the end that the
//! optimum is nearer to, which keeps its digits however near that is and makes the equation concave on the whole way.
//! We depart from them twice, both to spend fewer logarithms: the iteration is Halley's, of third order, and where the
//! current α is a poor start we begin at the Lambert equation that the optimum nearly satisfies, instead of damping a
//! long walk of Newton's along the logarithm. So nothing depends on where α is, and it may sit on an end, which is
//! where it rounds to when σ(-t) is below the machine's precision.
use serde::{Deserialize, Serialize};

use super::{Loss, SmoothLoss};

/// log(1 + exp(-yz))
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Logistic;

impl Loss for Logistic {
    #[inline]
    fn value(&self, y: f64, z: f64) -> f64 {
        let t = y * z;
        let tail = (-t.abs()).exp().ln_1p();
        if t < 0.0 { tail - t } else { tail }
    }

    #[inline]
    fn slope(&self, y: f64, z: f64) -> f64 {
        -y * sigmoid(-y * z)
    }

    fn conjugate(&self, y: f64, u: f64) -> f64 {
        let a = -y * u;
        if !(0.0..=1.0).contains(&a) {
            return f64::INFINITY;
        }
        -entropy(a.min(1.0 - a))
    }

    #[inline]
    fn dual_bounds(&self, y: f64, c: f64) -> (f64, f64) {
        if y > 0.0 { (0.0, c) } else { (-c, 0.0) }
    }

    fn curvature(&self) -> f64 {
        0.25
    }

    #[inline]
    fn dual_step(&self, y: f64, z: f64, beta: f64, q: f64, c: f64) -> f64 {
        let (alpha, t) = (y * beta, y * z);
        // The dual's slope at the middle says in which half the optimum is; the upper half is the lower one mirrored.
        if t + q * (0.5 * c - alpha) < 0.0 {
            y * (c - c * nearer_end(q * c, (c - alpha) / c, -t))
        } else {
            y * (c * nearer_end(q * c, alpha / c, t))
        }
    }

    /// log((c - α)/α) - t, the derivative of the entropy. An α that has rounded to an end is not pushed beyond it.
    fn dual_gradient(&self, y: f64, z: f64, beta: f64, c: f64) -> f64 {
        let alpha = y * beta;
        let ratio = (c - alpha).max(f64::EPSILON * c) / alpha.max(f64::MIN_POSITIVE);
        let gradient = ratio.ln() - y * z;
        if alpha <= 0.0 {
            gradient.max(0.0)
        } else if alpha >= c {
            gradient.min(0.0)
        } else {
            gradient
        }
    }

    /// c times the Kullback–Leibler divergence of a = α/c from p = σ(-t).
    fn gap(&self, y: f64, z: f64, beta: f64, c: f64) -> f64 {
        let (alpha, t) = (y * beta, y * z);
        if !(0.0..=c).contains(&alpha) {
            return f64::INFINITY;
        }
        // Mirrored so that p ≤ ½, where exp(-t) gives it with all digits; so c - α, exact near c, stands in for α
        // there.
        let (a, rest, t) = if t < 0.0 { ((c - alpha) / c, alpha / c, -t) } else { (alpha / c, (c - alpha) / c, t) };
        let e = (-t).exp();
        let tail = e.ln_1p();
        let off = a - e / (1.0 + e);
        c * (divergence(a, e / (1.0 + e), off, -t - tail) + divergence(rest, 1.0 / (1.0 + e), -off, -tail))
    }

    fn dual_value(&self, y: f64, beta: f64, c: f64) -> f64 {
        let alpha = y * beta;
        if !(0.0..=c).contains(&alpha) {
            return f64::NEG_INFINITY;
        }
        // c - α is exact near c, where 1 - β/c would only see the rounding of the quotient.
        c * entropy(alpha.min(c - alpha) / c)
    }

    /// Inside the open interval, and so near zero that w starts near zero: min(c/1000, 1e-8) as in Yu, Huang & Lin.
    /// Zero would do for [`dual_step`](Loss::dual_step); it is for methods that follow the dual's gradient, infinite
    /// there.
    fn initial_dual(&self, y: f64, c: f64) -> f64 {
        y * (1e-3 * c).min(1e-8)
    }

    fn ceiling_margin(&self, s: f64) -> Option<f64> {
        Some(-(1.0 + s).exp_m1().ln())
    }
}

impl SmoothLoss for Logistic {
    fn is_curved_everywhere(&self) -> bool {
        true
    }

    #[inline]
    fn second(&self, y: f64, z: f64) -> f64 {
        let e = (-(y * z).abs()).exp();
        e / ((1.0 + e) * (1.0 + e))
    }
}

/// 1 / (1 + exp(-t)), precise on both sides: an infinite exp gives the right zero.
#[inline]
fn sigmoid(t: f64) -> f64 {
    1.0 / (1.0 + (-t).exp())
}

/// -a log a - (1 - a) log(1 - a) for a ≤ ½, where neither logarithm loses digits.
fn entropy(a: f64) -> f64 {
    -x_log(a, a.ln()) - (1.0 - a) * (-a).ln_1p()
}

/// x·log, continued by zero to x = 0.
#[inline]
fn x_log(x: f64, log: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x * log }
}

/// a log(a/p) - (a - p), at least zero, given a - p and log p; the two ends' sum is the divergence, as a - p cancels in
/// it.
fn divergence(a: f64, p: f64, off: f64, log_p: f64) -> f64 {
    let x = off / p;
    if x.abs() < 0.01 {
        // p ((1 + x) log(1 + x) - x) = p Σ_{k≥2} (-x)^k / (k(k-1)); eight terms reach 1e-18 of the first.
        const SERIES: [f64; 8] = [1. / 2., 1. / 6., 1. / 12., 1. / 20., 1. / 30., 1. / 42., 1. / 56., 1. / 72.];
        return off * x * SERIES.iter().rev().fold(0.0, |sum, term| term - x * sum);
    }
    x_log(a, a.ln() - log_p) - off
}

/// Steps after which the iteration gives up; the tests see at most three.
const MOST_STEPS: usize = 20;

/// The root x in (0, ½] of f(x) = curve·(x - from) + t + log(x/(1 - x)), which is increasing and concave there.
///
/// Requires f(½) ≥ 0. Zero if the root is below the smallest number.
fn nearer_end(curve: f64, from: f64, t: f64) -> f64 {
    halley(curve, from, t).0
}

/// [`nearer_end`], and the number of steps that it took.
#[inline]
fn halley(curve: f64, from: f64, t: f64) -> (f64, usize) {
    let f = |x: f64| curve * (x - from) + t + (x / (1.0 - x)).ln();
    let mut x = from;
    let mut value = f(x);
    // Late in training the row has hardly moved and `from` is best. NaN and infinity, at the ends, are not near.
    let near = from <= 0.5 && value.abs() < 1.0;
    if !near {
        x = guess(curve, curve * from - t);
        value = f(x);
    }
    for steps in 0..MOST_STEPS {
        if x < f64::MIN_POSITIVE {
            return (0.0, steps);
        }
        let inverse = 1.0 / (x * (1.0 - x));
        let slope = curve + inverse;
        // f''/f', so written that it overflows no sooner than f'.
        let bend = (2.0 * x - 1.0) * inverse * (inverse / slope);
        // x - f/(f' - f f''/2f'). Both starts have -1.4 < f < 1, so the denominator is above 0.3f' and the result above
        // zero; where curve·from and t are so huge that their difference is noise it may not be, and zero is as good an
        // answer.
        let next = (x - value / (slope - 0.5 * value * bend)).min(0.5);
        let moved = (next - x).abs();
        x = next;
        // Third order: the relative error left is about the cube of the last relative move.
        if moved <= 1e-5 * x {
            return (x, steps + 1);
        }
        value = f(x);
    }
    (x, MOST_STEPS)
}

/// A start within a small factor of the root of curve·x + log(x/(1 - x)) = k that lies in (0, ½].
///
/// But for 1 - x, which is between ½ and 1, X = curve·x solves X + log X = K := k + log(curve), so X = W(e^K) with the
/// function of Lambert. For large K it is K - log K to first order (Corless et al., "On the Lambert W function", 1996);
/// else W(v) ≥ v/(1 + v), and x = e^k/(1 + (1 + curve)e^k) carries that bound over to the equation with 1 - x.
fn guess(curve: f64, k: f64) -> f64 {
    let log = k + curve.ln();
    if log > 1.0 {
        ((log - log.ln()) / curve).min(0.5)
    } else {
        // No overflow: f(½) ≥ 0 means k ≤ curve/2, which with log ≤ 1 keeps k small.
        let e = k.exp();
        e / (1.0 + (1.0 + curve) * e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_keeps_its_digits() {
        // For a near p the divergence is (a - p)²/(2p(1 - p)); the naive sum would give noise of 1e-16.
        for t in [-8.0, -3.0, 0.0, 2.0, 25.0] {
            let c = 0.7;
            let p = sigmoid(-t);
            for relative in [1e-3_f64, 1e-5, -1e-5] {
                let alpha = if t < 0.0 { c - c * (1.0 - p) * (1.0 + relative) } else { c * p * (1.0 + relative) };
                let off = alpha / c - p;
                let expected = c * off * off / (2.0 * p * sigmoid(t));
                let gap = Logistic.gap(1.0, t, alpha, c);
                assert!((gap / expected - 1.0).abs() < 2e-3, "t {t}: {gap:e} for {expected:e}");
            }
        }
    }

    #[test]
    fn the_series_meets_the_logarithm() {
        for p in [0.5, 1e-3, 1e-12] {
            for x in [0.00999999, -0.00999999] {
                let exact = p * ((1.0 + x) * f64::ln_1p(x) - x);
                let series = divergence(p * (1.0 + x), p, p * x, f64::ln(p));
                assert!((series / exact - 1.0).abs() < 1e-11, "p {p}, x {x}: {series:e} for {exact:e}");
            }
        }
    }

    #[test]
    fn few_steps_do_from_anywhere() {
        let (mut most, mut from_anywhere) = (0, 0);
        for q_power in -12..=14 {
            let curve = 10f64.powi(q_power);
            for from in [0.0, 1e-300, 1e-20, 1e-8, 1e-3, 0.3, 0.5, 0.7, 1.0 - 1e-9, 1.0] {
                for t in [-1e6, -800.0, -40.0, -3.0, -0.1, 0.0, 1e-9, 0.4, 5.0, 36.0, 700.0, 745.0, 1e6] {
                    if t + curve * (0.5 - from) < 0.0 {
                        continue;
                    }
                    let (x, steps) = halley(curve, from, t);
                    most = most.max(steps);
                    from_anywhere += 1;
                    assert!((0.0..=0.5).contains(&x));
                    if x > 0.0 && x < 0.5 {
                        let terms = curve * x.max(from) + t.abs() + x.ln().abs();
                        let residual = curve * (x - from) + t + (x / (1.0 - x)).ln();
                        assert!(residual.abs() <= 1e-14 * terms, "{curve:e} {from:e} {t:e}: {x:e} leaves {residual:e}");
                    }
                }
            }
        }
        assert!(from_anywhere > 1000 && most <= 3, "{most} steps, {from_anywhere} cases");
    }

    #[test]
    fn a_settled_row_takes_one_step() {
        for t in [0.1, 2.0, 30.0, 600.0] {
            let (x, _) = halley(3.0, 0.2, t);
            let moved = t + 3.0 * (x - 0.2);
            assert_eq!(halley(3.0, x, moved + 1e-6).1, 1);
        }
    }

    #[test]
    fn the_middle_is_not_passed() {
        for k in 0..5000 {
            assert!(halley(0.0, 0.5 - 1e-4 * f64::from(k), 0.0).0 <= 0.5);
        }
    }

    #[test]
    fn noise_cannot_throw_it_out() {
        // curve·from and t cancel in all sixteen digits, so that f is known to within ten or so only.
        for (curve, from) in [(1e17, 0.7), (1e17, 0.2), (3e16, 1.0), (1e18, 0.9)] {
            for shift in -40..=40 {
                let (x, _) = halley(curve, from, curve * from + 16.0 * f64::from(shift));
                assert!((0.0..=1e-12).contains(&x), "{curve:e} {from} {shift}: {x:e}");
            }
        }
    }

    #[test]
    fn the_ends_are_no_trap() {
        // A row that was sure of its label, β rounded to an end, and w has moved against it since.
        for (beta, z) in [(0.0, -2.0), (1.0, 2.0), (0.0, 2.0), (1.0, -2.0)] {
            let step = Logistic.dual_step(1.0, z, beta, 0.5, 1.0);
            let expected = sigmoid(-(z + 0.5 * (step - beta)));
            assert!((step - expected).abs() < 1e-15, "from {beta} at {z}: {step}");
        }
    }
}
