//! Proximal maps of weights that lie side by side for each column, evaluated for the row at hand.
use super::lazy::{LazyProx, ProxMap};
use super::nuclear::{apply, shrinking};
use super::spectrum::{self, Spectrum};
use super::{AnyPenalty, Nuclear};
use crate::block::Row;

/// A row with the constant feature behind its columns; 0 where there is none, or where its weights are free of the penalty.
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

/// What a round of rotations costs for each cube of the outputs, and a value of a row for each output.
const COST_OF_A_ROUND: f64 = 6.0;
const COST_OF_A_VALUE: f64 = 4.0;
/// G is made anew when the rows since the last time have cost so many times as much as that does. On 800 rows of covtype a G for every row and one
/// for 60 rows take as many sweeps; with one for 240 rows they are a quarter more.
const ROWS_OVER_MAPS: f64 = 8.0;

/// `W = U·G` with a G that follows U. A step of a row changes UᵀU by a matrix of rank two, which is cheap to follow; the eigenvectors
/// that make G of it are looked for as often as costs little beside the rows.
pub struct NuclearShrinkage {
    penalty: Nuclear,
    eta: f64,
    gram: Vec<f64>,
    spectrum: Spectrum,
    map: Vec<f64>,
    /// What rows have cost since G was made, and what they may.
    spent: f64,
    most_spent: f64,
    steps: Vec<f64>,
}

impl NuclearShrinkage {
    /// For `prox_{ηR}`, at U = 0.
    pub fn new(penalty: Nuclear, eta: f64) -> Self {
        let n = penalty.outputs.max(1) as usize;
        let zeros = vec![0.0; n * n];
        let (map, steps) = (zeros.clone(), vec![0.0; n]);
        let most_spent = ROWS_OVER_MAPS * COST_OF_A_ROUND * (n * n * n) as f64;
        NuclearShrinkage { penalty, eta, gram: zeros, spectrum: Spectrum::new(n), map, spent: 0.0, most_spent, steps }
    }

    /// G is made anew for every row.
    #[cfg(test)]
    pub(super) fn always_fresh(self) -> Self {
        NuclearShrinkage { most_spent: 0.0, ..self }
    }

    fn size(&self) -> usize {
        self.steps.len()
    }

    fn make_map(&mut self) {
        self.spectrum.follow(&self.gram);
        shrinking(&self.spectrum, self.eta * self.penalty.lambda, &mut self.map);
        self.spent = 0.0;
    }

    /// UᵀU after a step: `aδᵀ + δaᵀ + ‖x‖²δδᵀ` more, with a = Uᵀx before it.
    fn follow(&mut self, sq_norm: f64, products: &[f64], steps: &[(u32, f64)]) {
        let n = self.size();
        self.steps.fill(0.0);
        steps.iter().for_each(|&(m, step)| self.steps[m as usize] = step);
        for (i, row) in self.gram.chunks_exact_mut(n).enumerate() {
            let (a, step) = (products[i], self.steps[i]);
            let along = a + sq_norm * step;
            for (sum, (b, other)) in row.iter_mut().zip(products.iter().zip(&self.steps)) {
                *sum += along * other + step * b;
            }
        }
    }
}

impl ProxMap for NuclearShrinkage {
    fn map(&self, u: &[f64], w: &mut [f64]) {
        let n = self.size();
        u.chunks_exact(n).zip(w.chunks_exact_mut(n)).for_each(|(u, w)| apply(&self.map, u, w));
    }

    fn renew(&mut self, u: &[f64]) {
        self.gram = spectrum::gram(u, self.size());
        self.spectrum.forget();
        self.make_map();
    }

    fn set_eta(&mut self, _penalty: &AnyPenalty, eta: f64) {
        self.eta = eta;
    }
}

impl MatrixProx for NuclearShrinkage {
    fn margins(&self, u: &[f64], row: WholeRow, products: &mut [f64], margins: &mut [f64]) {
        row.row.dot_side_by_side(u, products);
        if row.constant != 0.0 {
            let constant = &u[u.len() - products.len()..];
            products.iter_mut().zip(constant).for_each(|(sum, u)| *sum += row.constant * u);
        }
        apply(&self.map, products, margins);
    }

    fn add(&mut self, u: &mut [f64], row: WholeRow, products: &[f64], steps: &[(u32, f64)]) {
        let n = self.size();
        row.row.add_side_by_side(u, n, steps);
        if row.constant != 0.0 {
            let constant = u.len() - n;
            steps.iter().for_each(|&(m, step)| u[constant + m as usize] += step * row.constant);
        }
        self.follow(row.sq_norm, products, steps);
        self.spent += COST_OF_A_VALUE * (row.row.len() + n) as f64 * n as f64;
        if self.spent >= self.most_spent {
            self.make_map();
        }
    }
}
