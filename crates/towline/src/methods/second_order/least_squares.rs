//! The squared loss from sums over rows: every λ, C, fold and target without reading the data again.
//!
//! ```text
//! F(w) = R(w) + ½C (yᵀy - 2 w·Xᵀy + wᵀXᵀXw)        β = C (y - Xw),   v = Xᵀβ = C (Xᵀy - XᵀXw)
//! D(sβ) = s β·y - s² ‖β‖²/(2C) - R*(sv),            β·y = C (yᵀy - w·Xᵀy),   ‖β‖²/(2C) = ½C ‖y - Xw‖²
//! ```
//! So the duality gap, too, is a matter of d x d numbers. A free intercept is the mean of what is left over; without
//! it, everything is centred.
use super::factor::Factor;
use super::gram::Gram;
use super::lasso::Lasso;
use super::moments::Moments;
use super::norms::{Rounded, RoundedGroups, RoundedSpectrum};
use super::rounded::Problem;
use super::train::{l1_part, l2_part};
use crate::engine::{Certificate, Watch};
use crate::objective::Objective;
use crate::penalty::{AnyPenalty, Penalty, Spectrum};

/// Weights that are nearly 0 become 0 if the objective stays the same up to this part.
const AS_GOOD: f64 = 1e-9;

/// This many weights of a singular problem are the shortest solution, at most: eigenvectors take much longer than a
/// factor.
const MOST_SPECTRUM: usize = 1000;
/// By how much, as a part of yᵀy, the objective of the shortest solution may seem to be larger: rounding.
const AS_SHORT: f64 = 1e-12;

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
    /// The scan over the rows, and sweeps over the coordinates of what it summed up.
    pub sweeps: u64,
}

/// Whether all of an objective follows from sums over rows, with solvers that are here.
pub fn can_train(objective: &Objective) -> bool {
    matches!(objective.loss, crate::loss::AnyLoss::Squared(_)) && objective.targets.are_numbers()
}

/// Bytes of memory for this many features.
pub fn bytes(features: u64, objective: &Objective) -> u64 {
    let (size, targets) = (features + 1, objective.width() as u64);
    let joint = match objective.penalty {
        AnyPenalty::Group(_) => 16 * 8 * size * targets,
        AnyPenalty::Nuclear(_) => RoundedSpectrum::bytes(targets, size) + 16 * 8 * size * targets,
        _ => 0,
    };
    2 * Gram::bytes(size) + Factor::bytes(size) + 8 * size * (4 * targets + 4) + joint
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
        LeastSquares {
            matrix,
            linear: targets.clone().map(|k| (0..size).map(|j| entry(j, k)).collect()).collect(),
            squares: targets.map(|k| entry(k, k)).collect(),
            ridge: vec![l2_part(&objective.penalty); size],
            penalty: objective.penalty.clone(),
            intercept,
            rows: moments.rows,
        }
    }

    /// Solves them; a penalty with kinks starts from `start`, weights of the same order as those that come out. Where
    /// `watch` says that it is enough, they are what they are then: the certificate holds for any.
    pub fn solve(&self, start: Option<&[f64]>, watch: &Watch) -> Solved {
        let (outputs, size) = (self.linear.len(), self.ridge.len());
        match &self.penalty {
            AnyPenalty::Group(group) => {
                return self.solve_joint(RoundedGroups::new(group, outputs, size), start, watch);
            }
            AnyPenalty::Nuclear(nuclear) => {
                return self.solve_joint(RoundedSpectrum::new(nuclear, outputs, size), start, watch);
            }
            _ => {}
        }
        let columns = size + usize::from(self.intercept.is_some());
        let (mut weights, mut sums) = (vec![0.0; columns * outputs], vec![0.0; columns * outputs]);
        let mut certificates = Vec::with_capacity(outputs);
        let (mut factor, mut sweeps) = (None, 1);
        for k in 0..outputs {
            let mut w: Vec<f64> = match start {
                Some(start) if start.len() == weights.len() => (0..size).map(|j| start[j * outputs + k]).collect(),
                _ => vec![0.0; size],
            };
            let (bound, is_bounded) = (l1_part(&self.penalty), matches!(self.penalty, AnyPenalty::NonNegative(_)));
            match bound == 0.0 && !is_bounded {
                true => self.ridge(&mut factor, k, &mut w, watch),
                false => sweeps += self.sparse((bound, is_bounded), k, &mut w, watch),
            }
            let (certificate, v) = self.certify(&w, self.sides(k, &w));
            certificates.push(certificate);
            for j in 0..size {
                (weights[j * outputs + k], sums[j * outputs + k]) = (w[j], v[j]);
            }
            if let Some(intercept) = &self.intercept {
                weights[size * outputs + k] = intercept.of(k, &w);
            }
        }
        let certificate = Certificate::total(&certificates).expect("there is a target");
        Solved { weights, sums, certificate, sweeps }
    }

    fn sparse(&self, (bound, non_negative): (f64, bool), k: usize, w: &mut [f64], watch: &Watch) -> u64 {
        let (bounds, centre) = (vec![bound; w.len()], vec![0.0; w.len()]);
        let (matrix, ridge, pull) = (&self.matrix, &self.ridge, &self.linear[k]);
        Lasso { matrix, ridge, centre: &centre, pull, bounds: &bounds, non_negative }.solve(w, Some(watch))
    }

    fn ridge(&self, factor: &mut Option<Factor>, k: usize, w: &mut [f64], watch: &Watch) {
        if factor.is_none() {
            let mut found = Factor::new(self.ridge.len());
            if found.find(&self.matrix, &self.ridge, Some(watch)).is_ok() {
                *factor = Some(found);
            }
        }
        if let Some(factor) = factor {
            w.copy_from_slice(&self.linear[k]);
            factor.solve(&self.matrix, &self.ridge, w);
            if factor.is_singular() && w.len() <= MOST_SPECTRUM {
                self.shorten(k, w);
            }
        }
    }

    /// Replaces w by the shortest of all solutions, that of the pseudo-inverse, if its objective is no larger up to
    /// rounding: where columns differ much in scale, eigenvalues of the small ones are lost.
    fn shorten(&self, k: usize, w: &mut [f64]) {
        let size = w.len();
        let mut whole = vec![0.0; size * size];
        for i in 0..size {
            for j in 0..=i {
                let entry = self.matrix.at(i, j) + if i == j { self.ridge[i] } else { 0.0 };
                (whole[i * size + j], whole[j * size + i]) = (entry, entry);
            }
        }
        let Spectrum { values, vectors, .. } = Spectrum::of(&whole, size);
        let least = values.iter().fold(0.0, |most: f64, value| most.max(*value)) * f64::EPSILON * size as f64;
        let mut short = vec![0.0; size];
        for (value, vector) in values.iter().zip(vectors.chunks_exact(size)).filter(|(value, _)| **value > least) {
            let along: f64 = vector.iter().zip(&self.linear[k]).map(|(q, b)| q * b).sum();
            short.iter_mut().zip(vector).for_each(|(w, q)| *w += along / value * q);
        }
        let objective = |w: &[f64]| self.penalty.value(w) + self.sides(k, w).loss;
        if objective(&short) <= objective(w) + AS_SHORT * self.squares[k] {
            w.copy_from_slice(&short);
        }
    }

    /// The same for a penalty that binds several weights.
    fn solve_joint<R: Rounded>(&self, mut penalty: R, start: Option<&[f64]>, watch: &Watch) -> Solved {
        let (outputs, size) = (self.linear.len(), self.ridge.len());
        let columns = size + usize::from(self.intercept.is_some());
        let mut w = match start {
            Some(start) if start.len() == columns * outputs => start[..size * outputs].to_vec(),
            _ => vec![0.0; size * outputs],
        };
        let at_zero = 0.5 * self.squares.iter().sum::<f64>();
        Problem { matrix: &self.matrix, linear: &self.linear, at_zero, watch }.solve(&mut penalty, &mut w);
        // What is nearly 0 is part of the dual point, but not of the model.
        let (certificate, mut sums) = self.certify(&w, self.all_sides(&w));
        let mut cleared = w.clone();
        penalty.clear(&mut cleared);
        let objective = self.penalty.value(&cleared) + self.all_sides(&cleared).loss;
        let is_as_good = objective <= certificate.objective * (1.0 + AS_GOOD);
        let (mut w, objective) = if is_as_good { (cleared, objective) } else { (w, certificate.objective) };
        if let Some(intercept) = &self.intercept {
            let part = |k: usize| w.iter().skip(k).step_by(outputs).copied().collect::<Vec<f64>>();
            let intercepts: Vec<f64> = (0..outputs).map(|k| intercept.of(k, &part(k))).collect();
            w.extend(intercepts);
        }
        sums.resize(w.len(), 0.0);
        Solved { weights: w, sums, certificate: Certificate { objective, ..certificate }, sweeps: 1 }
    }

    /// What both sides of the gap are made of, for all targets together.
    fn all_sides(&self, w: &[f64]) -> Sides {
        let outputs = self.linear.len();
        let mut all = Sides { loss: 0.0, products: 0.0, v: vec![0.0; w.len()] };
        for k in 0..outputs {
            let part: Vec<f64> = w.iter().skip(k).step_by(outputs).copied().collect();
            let of = self.sides(k, &part);
            (all.loss, all.products) = (all.loss + of.loss, all.products + of.products);
            all.v.iter_mut().skip(k).step_by(outputs).zip(of.v).for_each(|(sum, v)| *sum = v);
        }
        all
    }

    /// What both sides of the gap are made of, for target k.
    fn sides(&self, k: usize, w: &[f64]) -> Sides {
        let mut v = vec![0.0; w.len()];
        self.matrix.product(&vec![0.0; w.len()], w, &mut v);
        let curved: f64 = v.iter().zip(w).map(|(v, w)| v * w).sum();
        let along: f64 = self.linear[k].iter().zip(w).map(|(b, w)| b * w).sum();
        let loss = (0.5 * (self.squares[k] - 2.0 * along + curved)).max(0.0);
        let products = self.squares[k] - along;
        v.iter_mut().zip(&self.linear[k]).for_each(|(v, b)| *v = b - *v);
        Sides { loss, products, v }
    }

    /// Both sides of the gap, and v.
    fn certify(&self, w: &[f64], Sides { loss, products, v }: Sides) -> (Certificate, Vec<f64>) {
        let objective = self.penalty.value(w) + loss;
        let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let (dual_objective, radius) = match (&self.penalty, self.penalty.unpaid(&v)) {
            (AnyPenalty::L2(l2), _) => {
                let apart = w.iter().zip(&v).map(|(w, v)| (l2.lambda * w - v).powi(2));
                (objective - apart.sum::<f64>() / (2.0 * l2.lambda), None)
            }
            (_, Some(unpaid)) => {
                let radius = 2.0 * norm(w);
                (products - loss - radius * unpaid, Some(radius))
            }
            (penalty, None) => {
                let scales = penalty.dual_scales(&v);
                let bound = |s: f64| s * products - s * s * loss - penalty.conjugate(&v, s);
                (bound(scales[0]).max(bound(scales[1])), None)
            }
        };
        let dual_objective = dual_objective.max(0.0);
        (
            Certificate {
                objective,
                dual_objective,
                multiple: 1.0,
                support: self.rows,
                radius,
                ..Certificate::default()
            },
            v,
        )
    }
}

/// Losses, β·y, and v = Xᵀβ.
struct Sides {
    loss: f64,
    products: f64,
    v: Vec<f64>,
}

impl Intercept {
    /// The mean of what is left over, for features as rows have them.
    fn of(&self, k: usize, w: &[f64]) -> f64 {
        let features = self.means.iter().zip(&self.shift).zip(w).map(|((mean, shift), w)| (mean + shift) * w);
        self.targets[k] - features.sum::<f64>()
    }
}
