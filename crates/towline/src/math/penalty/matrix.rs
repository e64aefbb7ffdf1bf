//! Proximal maps of weights that lie side by side for each column, evaluated for the row at hand.
use super::Nuclear;
use super::lazy::{LazyProx, ProxMap};
use super::nuclear::{apply, shrinking};
use super::spectrum::{self, Spectrum};
use crate::block::Row;

/// A row with the constant feature behind its columns; 0 where there is none, or where its weights are free of the
/// penalty.
#[derive(Clone, Copy)]
pub struct WholeRow<'a> {
    /// Its values.
    pub row: Row<'a>,
    /// The value of the constant feature.
    pub constant: f64,
    /// ‖x‖², with that of the constant.
    pub sq_norm: f64,
}

impl WholeRow<'_> {
    /// Calls `f` with each column and value; the constant feature is the last of `columns`.
    #[inline(always)]
    fn for_each(&self, columns: usize, mut f: impl FnMut(usize, f64)) {
        self.row.for_each(|j, x| f(j as usize, x));
        if self.constant != 0.0 {
            f(columns - 1, self.constant);
        }
    }
}

/// `W = prox_{ηR}(U)`, whose products with a row are asked for while rows change U.
pub trait MatrixProx: ProxMap {
    /// `margins ← Wᵀx`; what `products` is left with is for [`add`](Self::add).
    fn margins(&self, u: &[f64], row: WholeRow, products: &mut [f64], margins: &mut [f64]);

    /// `U ← U + x·stepsᵀ` for the outputs that are named.
    fn add(&mut self, u: &mut [f64], row: WholeRow, products: &[f64], steps: &[(u32, f64)]);
}

/// Maps that know one coordinate at a time.
impl<P: LazyProx> MatrixProx for P {
    fn margins(&self, u: &[f64], row: WholeRow, _products: &mut [f64], margins: &mut [f64]) {
        let width = margins.len();
        margins.fill(0.0);
        row.for_each(u.len() / width, |j, x| {
            for (m, (margin, &u)) in margins.iter_mut().zip(&u[j * width..][..width]).enumerate() {
                *margin += x * self.weight(j * width + m, u);
            }
        });
    }

    fn add(&mut self, u: &mut [f64], row: WholeRow, products: &[f64], steps: &[(u32, f64)]) {
        let width = products.len();
        row.for_each(u.len() / width, |j, x| {
            for &(m, step) in steps {
                let at = j * width + m as usize;
                let (old, new) = (u[at], u[at] + step * x);
                u[at] = new;
                self.moved(at, old, new);
            }
        });
    }
}

/// Eigenvectors are looked for again when UᵀU has moved by this part of the squared threshold. Singular values are
/// shrunk by a function of their squares whose slope is at most half of one over that, so it is what small means here.
const SMALL: f64 = 0.1;

/// `W = U·G` with a G that follows U. A step of a row changes UᵀU by a matrix E of rank two, and G, to first order, by
/// what Daleckii & Krein (1965) say: in the basis of the eigenvectors of UᵀU,
/// `dG_ij = E_ij (g(λ_i) - g(λ_j)) / (λ_i - λ_j)`, where g(λ) = max(0, 1 - t/√λ). That costs the square of the outputs.
/// Without it rows would push against weights that do not answer before the next eigenvectors are found, and where all
/// rows look alike they would push too far, for ever: on one extract of covtype a G that was held for 14 rows never
/// converged.
pub struct NuclearShrinkage {
    penalty: Nuclear,
    eta: f64,
    gram: Vec<f64>,
    spectrum: Spectrum,
    /// Of the eigenvectors: g(λ_i) on the diagonal, with what the steps since then have changed.
    inner: Vec<f64>,
    /// (g(λ_i) - g(λ_j)) / (λ_i - λ_j).
    slopes: Vec<f64>,
    /// What UᵀU has changed by, in the same basis.
    moved: Vec<f64>,
    /// How far that may go, as a part of the squared threshold.
    small: f64,
    /// Scratch: a row and a step in the same basis.
    turned: [Vec<f64>; 2],
}

impl NuclearShrinkage {
    /// For `prox_{ηR}`, at U = 0.
    pub fn new(penalty: Nuclear, eta: f64) -> Self {
        let n = penalty.outputs.max(1) as usize;
        let square = || vec![0.0; n * n];
        let (gram, inner, slopes, moved) = (square(), square(), square(), square());
        let (spectrum, turned) = (Spectrum::new(n), [vec![0.0; n], vec![0.0; n]]);
        NuclearShrinkage { penalty, eta, gram, spectrum, inner, slopes, moved, small: SMALL, turned }
    }

    /// Eigenvectors are looked for after every step.
    #[cfg(test)]
    pub(super) fn always_fresh(self) -> Self {
        NuclearShrinkage { small: 0.0, ..self }
    }

    fn size(&self) -> usize {
        self.spectrum.values.len()
    }

    fn threshold(&self) -> f64 {
        self.eta * self.penalty.lambda
    }

    /// Eigenvectors of UᵀU as it is, and what follows from them.
    fn refresh(&mut self) {
        let (n, t) = (self.size(), self.threshold());
        self.spectrum.find(&self.gram);
        self.moved.fill(0.0);
        self.inner.fill(0.0);
        let values = &self.spectrum.values;
        for i in 0..n {
            self.inner[i * n + i] = kept(values[i], t);
            for j in 0..n {
                self.slopes[i * n + j] = slope(values[i], values[j], t);
            }
        }
    }

    /// Follows a step: UᵀU becomes `aδᵀ + δaᵀ + ‖x‖²δδᵀ` more, with a = Uᵀx before it. Says whether that is still
    /// small.
    fn follow(&mut self, sq_norm: f64, products: &[f64], steps: &[(u32, f64)]) -> bool {
        let n = self.size();
        let [a, step] = &mut self.turned;
        step.fill(0.0);
        steps.iter().for_each(|&(m, delta)| step[m as usize] = delta);
        add_products(&mut self.gram, products, step, sq_norm, |_, change| change);
        for (i, q) in self.spectrum.vectors.chunks_exact(n).enumerate() {
            a[i] = steps.iter().map(|&(m, delta)| q[m as usize] * delta).sum();
        }
        std::mem::swap(a, step);
        apply(&self.spectrum.vectors, products, a);
        add_products(&mut self.moved, a, step, sq_norm, |_, change| change);
        add_products(&mut self.inner, a, step, sq_norm, |at, change| self.slopes[at] * change);
        let bound = self.threshold() * self.threshold();
        let norm: f64 = self.moved.iter().map(|moved| moved * moved).sum();
        let crosses = |(i, &value): (usize, &f64)| (value > bound) != (value + self.moved[i * n + i] > bound);
        norm.sqrt() <= self.small * bound && !self.spectrum.values.iter().enumerate().any(crosses)
    }
}

/// `matrix_ij += scale(ij, a_i d_j + d_i a_j + q d_i d_j)`.
#[inline]
fn add_products(matrix: &mut [f64], a: &[f64], d: &[f64], q: f64, scale: impl Fn(usize, f64) -> f64) {
    let n = a.len();
    for i in 0..n {
        let along = a[i] + q * d[i];
        for j in 0..n {
            matrix[i * n + j] += scale(i * n + j, along * d[j] + d[i] * a[j]);
        }
    }
}

/// What is left of a singular value whose square is λ: g(λ).
fn kept(value: f64, t: f64) -> f64 {
    // Not a number where both are 0, which `max` makes 0.
    (1.0 - t / value.max(0.0).sqrt()).max(0.0)
}

/// The slope of g between two squares, which may be the same.
fn slope(a: f64, b: f64, t: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if high - low > 1e-6 * high.max(t * t) {
        return (kept(high, t) - kept(low, t)) / (high - low);
    }
    let middle = 0.5 * (low + high);
    if middle > t * t { 0.5 * t / (middle * middle.sqrt()) } else { 0.0 }
}

impl ProxMap for NuclearShrinkage {
    fn map(&self, u: &[f64], w: &mut [f64]) {
        let n = self.size();
        let mut map = vec![0.0; n * n];
        shrinking(&self.spectrum, self.threshold(), &mut map);
        u.chunks_exact(n).zip(w.chunks_exact_mut(n)).for_each(|(u, w)| apply(&map, u, w));
    }

    fn renew(&mut self, u: &[f64]) {
        self.gram = spectrum::gram(u, self.size());
        self.refresh();
    }

    fn set_eta(&mut self, eta: f64) {
        self.eta = eta;
    }
}

impl MatrixProx for NuclearShrinkage {
    fn margins(&self, u: &[f64], row: WholeRow, products: &mut [f64], margins: &mut [f64]) {
        let n = self.size();
        row.row.dot_side_by_side(u, products);
        if row.constant != 0.0 {
            let constant = &u[u.len() - n..];
            products.iter_mut().zip(constant).for_each(|(sum, u)| *sum += row.constant * u);
        }
        // Into the basis of the eigenvectors, through G there, and back.
        apply(&self.spectrum.vectors, products, margins);
        let turned = margins.to_vec();
        margins.fill(0.0);
        for (q, inner) in self.spectrum.vectors.chunks_exact(n).zip(self.inner.chunks_exact(n)) {
            let along = spectrum::dot(inner, &turned);
            margins.iter_mut().zip(q).for_each(|(margin, q)| *margin += along * q);
        }
    }

    fn add(&mut self, u: &mut [f64], row: WholeRow, products: &[f64], steps: &[(u32, f64)]) {
        let n = self.size();
        row.row.add_side_by_side(u, n, steps);
        if row.constant != 0.0 {
            let constant = u.len() - n;
            steps.iter().for_each(|&(m, step)| u[constant + m as usize] += step * row.constant);
        }
        if !self.follow(row.sq_norm, products, steps) {
            self.refresh();
        }
    }
}
