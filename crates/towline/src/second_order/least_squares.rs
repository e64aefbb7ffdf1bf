//! The squared loss from sums over rows: every λ, C, fold and target without reading the data again.
//!
//! ```text
//! F(w) = R(w) + ½C (yᵀy - 2 w·Xᵀy + wᵀXᵀXw)        β = C (y - Xw),   v = Xᵀβ = C (Xᵀy - XᵀXw)
//! D(sβ) = s β·y - s² ‖β‖²/(2C) - R*(sv),            β·y = C (yᵀy - w·Xᵀy),   ‖β‖²/(2C) = ½C ‖y - Xw‖²
//! ```
//! So the duality gap, too, is a matter of d x d numbers. A free intercept is the mean of what is left over; without it, everything is
//! centred.
use super::factor::Factor;
use super::gram::Gram;
use super::lasso::Lasso;
use super::moments::Moments;
use crate::objective::Objective;
use crate::penalty::{AnyPenalty, Penalty};
use crate::trainer::{Certificate, Watch};

/// The equations of one objective.
pub struct LeastSquares {
    /// C XᵀX: features and, behind them, the constant feature if its weight is penalised.
    matrix: Gram,
    /// C Xᵀy for each target.
    linear: Vec<Vec<f64>>,
    /// C yᵀy for each target.
    squares: Vec<f64>,
    ridge: Vec<f64>,
    penalty: AnyPenalty,
    intercept: Option<Intercept>,
    /// All of which have a part in the solution.
    rows: u64,
}

/// What the intercept follows from.
struct Intercept {
    /// Means of shifted features, and of targets.
    means: Vec<f64>,
    targets: Vec<f64>,
    shift: Vec<f64>,
}

/// A model, and how good it is.
pub struct Solved {
    /// Weights, those of one column side by side, the constant feature last.
    pub weights: Vec<f64>,
    /// Σ βx in the same order.
    pub sums: Vec<f64>,
    /// Both sides of the gap.
    pub certificate: Certificate,
}

/// Whether all of an objective follows from sums over rows, with solvers that are here.
pub fn can_train(objective: &Objective) -> bool {
    let known = matches!(
        objective.penalty,
        AnyPenalty::L2(_) | AnyPenalty::None(_) | AnyPenalty::L1(_) | AnyPenalty::ElasticNet(_)
    );
    matches!(objective.loss, crate::loss::AnyLoss::Squared(_)) && objective.targets.are_numbers() && known
}

/// Bytes of memory for so many features and targets.
pub fn bytes(features: u64, targets: u64) -> u64 {
    let size = features + 1;
    2 * Gram::bytes(size) + Factor::bytes(size) + 8 * size * (4 * targets + 4)
}

impl LeastSquares {
    /// The equations of `objective` for rows with these sums.
    pub fn new(moments: &Moments, objective: &Objective) -> Self {
        let features = moments.features();
        let size = features + usize::from(!objective.intercept);
        let (c, bias) = (objective.c, objective.bias);
        let scale = |i: usize| if i == features { bias } else { 1.0 };
        let entry = |i: usize, j: usize| match objective.intercept {
            true => c * moments.centred(i, j),
            false => c * scale(i) * scale(j) * moments.raw(i, j),
        };
        let mut matrix = Gram::new(size, 0.0);
        for i in 0..size {
            (0..=i).for_each(|j| matrix.lower_mut()[i * size + j] = entry(i, j));
        }
        let targets = features + 1..features + 1 + objective.width();
        let intercept = objective.intercept.then(|| {
            let mean = |i: usize| moments.at(i, features) / moments.weight();
            let (means, targets) = ((0..features).map(mean).collect(), targets.clone().map(mean).collect());
            Intercept { means, targets, shift: moments.shift().to_vec() }
        });
        let l2 = match &objective.penalty {
            AnyPenalty::L2(penalty) => penalty.lambda,
            AnyPenalty::ElasticNet(net) => net.lambda * (1.0 - net.l1_ratio),
            _ => 0.0,
        };
        LeastSquares {
            matrix,
            linear: targets.clone().map(|k| (0..size).map(|j| entry(j, k)).collect()).collect(),
            squares: targets.map(|k| entry(k, k)).collect(),
            ridge: vec![l2; size],
            penalty: objective.penalty.clone(),
            intercept,
            rows: moments.rows,
        }
    }

    /// Solves them; a sparse penalty starts from `start`, weights of the same order as those that come out. Where `watch` says that it is enough, they
    /// are what they are then: the certificate holds for any.
    pub fn solve(&self, start: Option<&[f64]>, watch: &Watch) -> Solved {
        let (outputs, size) = (self.linear.len(), self.ridge.len());
        let columns = size + usize::from(self.intercept.is_some());
        let (mut weights, mut sums) = (vec![0.0; columns * outputs], vec![0.0; columns * outputs]);
        let mut certificates = Vec::with_capacity(outputs);
        let mut factor = None;
        for k in 0..outputs {
            let mut w: Vec<f64> = match start {
                Some(start) if start.len() == weights.len() => (0..size).map(|j| start[j * outputs + k]).collect(),
                _ => vec![0.0; size],
            };
            match self.l1_bound() {
                Some(bound) => self.sparse(bound, k, &mut w, watch),
                None => self.ridge(&mut factor, k, &mut w, watch),
            }
            let (certificate, v) = self.certify(k, &w);
            certificates.push(certificate);
            for j in 0..size {
                (weights[j * outputs + k], sums[j * outputs + k]) = (w[j], v[j]);
            }
            if let Some(intercept) = &self.intercept {
                weights[size * outputs + k] = intercept.of(k, &w);
            }
        }
        let certificate = Certificate::total(&certificates).expect("there is a target");
        Solved { weights, sums, certificate }
    }

    fn l1_bound(&self) -> Option<f64> {
        match &self.penalty {
            AnyPenalty::L1(penalty) => Some(penalty.lambda),
            AnyPenalty::ElasticNet(net) if net.l1_ratio > 0.0 => Some(net.lambda * net.l1_ratio),
            _ => None,
        }
    }

    fn sparse(&self, bound: f64, k: usize, w: &mut [f64], watch: &Watch) {
        let bounds = vec![bound; w.len()];
        Lasso { matrix: &self.matrix, ridge: &self.ridge, linear: &self.linear[k], bounds: &bounds }
            .solve(w, Some(watch));
    }

    fn ridge(&self, factor: &mut Option<Factor>, k: usize, w: &mut [f64], watch: &Watch) {
        if factor.is_none() {
            let mut found = Factor::new(self.ridge.len(), Some(watch));
            if found.find(&self.matrix, &self.ridge).is_ok() {
                *factor = Some(found);
            }
        }
        if let Some(factor) = factor {
            w.copy_from_slice(&self.linear[k]);
            factor.solve(&self.matrix, &self.ridge, w);
        }
    }

    /// Both sides of the gap for target k, and v.
    fn certify(&self, k: usize, w: &[f64]) -> (Certificate, Vec<f64>) {
        let mut v = vec![0.0; w.len()];
        self.matrix.product(&vec![0.0; w.len()], w, &mut v);
        let curved: f64 = v.iter().zip(w).map(|(v, w)| v * w).sum();
        let along: f64 = self.linear[k].iter().zip(w).map(|(b, w)| b * w).sum();
        let loss = (0.5 * (self.squares[k] - 2.0 * along + curved)).max(0.0);
        let products = self.squares[k] - along;
        v.iter_mut().zip(&self.linear[k]).for_each(|(v, b)| *v = b - *v);
        let objective = self.penalty.value(w) + loss;
        let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let (dual_objective, radius) = match &self.penalty {
            AnyPenalty::L2(l2) => {
                let apart = w.iter().zip(&v).map(|(w, v)| (l2.lambda * w - v).powi(2));
                (objective - apart.sum::<f64>() / (2.0 * l2.lambda), None)
            }
            AnyPenalty::None(_) => {
                let radius = 2.0 * norm(w);
                (products - loss - radius * norm(&v), Some(radius))
            }
            penalty => {
                let scales = penalty.dual_scales(&v);
                let bound = |s: f64| s * products - s * s * loss - penalty.conjugate(&v, s);
                (bound(scales[0]).max(bound(scales[1])), None)
            }
        };
        let dual_objective = dual_objective.max(0.0);
        (Certificate { objective, dual_objective, multiple: 1.0, support: self.rows, radius }, v)
    }
}

impl Intercept {
    /// The mean of what is left over, for features as rows have them.
    fn of(&self, k: usize, w: &[f64]) -> f64 {
        let features = self.means.iter().zip(&self.shift).zip(w).map(|((mean, shift), w)| (mean + shift) * w);
        self.targets[k] - features.sum::<f64>()
    }
}
