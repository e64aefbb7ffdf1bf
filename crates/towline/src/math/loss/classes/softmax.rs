use super::{ClassLoss, ClassRow};

/// Multinomial logistic loss: minus the logarithm of the probability of the own class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Softmax;

/// Newton steps, at most, for the one unknown of a row; each of them solves one equation per class.
const MOST_STEPS: usize = 60;
/// How near to 1 the probabilities of a row have to add up before they are divided by their sum.
const NEAR: f64 = 1e-12;

impl ClassLoss for Softmax {
    fn value(&self, class: usize, margins: &[f64]) -> f64 {
        let most = margins.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = margins.iter().map(|z| (z - most).exp()).sum();
        // Small losses keep their accuracy: the own class is often the largest by far.
        if margins[class] == most {
            let others: f64 = (0..margins.len()).filter(|&m| m != class).map(|m| (margins[m] - most).exp()).sum();
            return others.ln_1p();
        }
        sum.ln() + most - margins[class]
    }

    fn dual_value(&self, class: usize, duals: &[f64], c: f64) -> f64 {
        let entropy = |p: f64| if p > 0.0 { -p * p.ln() } else { 0.0 };
        let others = (0..duals.len()).filter(|&m| m != class).map(|m| entropy(-duals[m] / c));
        c * (others.sum::<f64>() + entropy(1.0 - duals[class] / c))
    }

    /// With β = c(e_y - p), a = qc and p⁰ the point as it stands: min ½a‖p - p⁰‖² - z·p + Σ p_m log p_m over the
    /// simplex. Where the gradient is the same for all classes, log p_m + a p_m = ν + z_m + a p⁰_m; each side is
    /// monotone, so ν is found by Newton's method inside a bracket, and p_m for a given ν by Newton's method in log p_m
    /// (Yu, Huang & Lin 2011 treat the same problem two classes at a time).
    fn dual_step(&self, row: ClassRow, margins: &[f64], duals: &mut [f64], room: &mut [f64]) {
        let (class, c) = (row.class as usize, row.c);
        let a = row.sq_norm * c;
        // room: what a class has besides ν.
        for m in 0..margins.len() {
            let p = if m == class { 1.0 - duals[m] / c } else { -duals[m] / c };
            room[m] = margins[m] + a * p;
        }
        let most = room.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // The class with the most has a probability between 1/k and 1.
        let k = margins.len() as f64;
        let (mut low, mut high) = (a / k - k.ln() - most, a - most);
        let mut nu = low;
        for _ in 0..MOST_STEPS {
            let (mut sum, mut slope) = (0.0, 0.0);
            for (beta, &b) in duals.iter_mut().zip(room.iter()) {
                let p = probability(a, nu + b);
                *beta = p;
                sum += p;
                slope += p / (1.0 + a * p);
            }
            if (sum - 1.0).abs() < NEAR {
                break;
            }
            if sum < 1.0 {
                low = nu;
            } else {
                high = nu;
            }
            let newton = nu - (sum - 1.0) / slope;
            nu = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        }
        let sum: f64 = duals.iter().sum();
        let mut others = 0.0;
        for (m, beta) in duals.iter_mut().enumerate() {
            if m != class {
                *beta *= -c / sum;
                others -= *beta;
            }
        }
        duals[class] = others.min(c);
    }

    /// The Hessian diag(p) - ppᵀ has no eigenvalue above ½.
    fn curvature(&self) -> f64 {
        0.5
    }

    /// There are no corners: every probability is above 0.
    fn slack(&self, _class: usize, _margins: &[f64], _duals: &[f64], _c: f64) -> f64 {
        0.0
    }
}

/// The p with log p + ap = t.
fn probability(a: f64, t: f64) -> f64 {
    // s = log p solves s + a·exp(s) = t: convex and increasing, so from above Newton's method never overshoots.
    let mut s = if a > 0.0 && t > a.ln() { (t / a).max(f64::MIN_POSITIVE).ln().min(t) } else { t };
    if a > 0.0 && t > 1.0 {
        // Near the solution for large t: exp(s) ≈ (t - log(t/a))/a.
        s = ((t - (t / a).ln()).max(0.5 * t) / a).ln();
    }
    for _ in 0..50 {
        let exponential = a * s.exp();
        let step = (s + exponential - t) / (1.0 + exponential);
        s -= step;
        if step.abs() < 1e-14 * (1.0 + s.abs()) {
            break;
        }
    }
    s.exp()
}
