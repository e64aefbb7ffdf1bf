//! Equations with the Hessian, `(diag(ρ) + Σ θ x xᵀ) d = b`: by a factor where it fits, else by conjugate gradients.
//!
//! Newton's method adds rows while it scans them, and asks for a step afterwards. What is between is this.
use super::conjugate::Conjugate;
use super::factor::Factor;
use super::gram::Gram;
use super::heavy::Heavy;
use super::one_output::Quadratic;
use super::scanning::Rows;
use crate::block::Row;
use crate::engine::{TrainError, Watch};

/// How equations are solved.
#[derive(Clone, Copy)]
pub enum Way<'a> {
    /// With the matrix of all features, of rows that have about `len` values.
    Exact {
        /// Values of a row.
        len: f64,
    },
    /// By conjugate gradients.
    Conjugate {
        /// The columns whose matrix is the preconditioner.
        heavy: &'a Heavy,
        /// The gap that is asked for: equations are not solved any further than that needs.
        tolerance: f64,
    },
}

impl Way<'_> {
    /// The same for another gap.
    pub fn within(self, tolerance: f64) -> Self {
        match self {
            Way::Exact { .. } => self,
            Way::Conjugate { heavy, .. } => Way::Conjugate { heavy, tolerance },
        }
    }
}

/// The Hessian as a scan has left it.
pub enum Equations<'a> {
    /// The whole matrix.
    Exact(Gram, Factor),
    /// What products with it need.
    Conjugate(Box<Conjugate<'a>>),
}

impl<'a> Equations<'a> {
    /// Bytes of memory for this many weights, with the whole matrix.
    pub fn exact_bytes(size: u64) -> u64 {
        Gram::bytes(size) + Factor::bytes(size)
    }

    /// No row has been added to those of this many weights.
    pub fn new(size: usize, way: Way<'a>) -> Self {
        match way {
            Way::Exact { len } => Equations::Exact(Gram::new(size, len), Factor::new(size)),
            Way::Conjugate { heavy, .. } => Equations::Conjugate(Box::new(Conjugate::new(size, heavy))),
        }
    }

    /// Forgets all rows. What is left is that of a problem without them, but for its ridge.
    pub fn begin(&mut self, part: Quadratic) {
        match self {
            Equations::Exact(gram, _) => part.begin_matrix(gram),
            // Problems with a proximal part are of few features.
            Equations::Conjugate(products) => products.clear(),
        }
    }

    /// Adds θ x xᵀ for the row with number `i`, whose constant feature is `bias`; θ > 0.
    #[inline]
    pub fn add(&mut self, i: usize, row: Row, bias: f64, theta: f64) {
        match self {
            Equations::Exact(gram, _) => gram.add(row, &[bias], theta),
            Equations::Conjugate(products) => products.add(i, row, bias, theta),
        }
    }

    /// Adds δ x xᵀ for a row that has been added before, where the whole matrix is there.
    pub fn change(&mut self, row: Row, bias: f64, delta: f64) {
        if let Equations::Exact(gram, _) = self {
            gram.change(row, &[bias], delta);
        }
    }

    /// Factors the whole matrix with this ridge.
    pub fn factor(&mut self, ridge: &[f64], watch: Option<&Watch>) -> Result<(), TrainError> {
        match self {
            Equations::Exact(gram, factor) => factor.find(gram, ridge, watch),
            Equations::Conjugate(_) => Ok(()),
        }
    }

    /// Replaces `rhs` by what the last factor makes of it.
    pub fn solve_as_before(&self, rhs: &mut [f64]) {
        if let Equations::Exact(_, factor) = self {
            factor.solve_once(rhs);
        }
    }

    /// All rows have been added.
    pub fn flush(&mut self) {
        match self {
            Equations::Exact(gram, _) => gram.flush(),
            Equations::Conjugate(products) => products.flush(),
        }
    }

    /// Σ θx² of a column.
    pub fn diagonal(&self, j: usize) -> f64 {
        match self {
            Equations::Exact(gram, _) => gram.at(j, j),
            Equations::Conjugate(products) => products.diagonal(j),
        }
    }

    /// The step for `-gradient` on the right, and the products that it took. The gap that is left after it may be as
    /// large as `enough`.
    pub fn step<R: Rows>(
        &mut self,
        part: Quadratic,
        gradient: &[f64],
        enough: f64,
        rows: &mut R,
    ) -> Result<(Vec<f64>, u64), TrainError> {
        match self {
            Equations::Exact(gram, factor) => {
                let mut step: Vec<f64> = gradient.iter().map(|g| -g).collect();
                factor.find(gram, part.ridge, rows.watch())?;
                factor.solve(gram, part.ridge, &mut step);
                Ok((step, 0))
            }
            Equations::Conjugate(products) => products.step(part, gradient, enough, rows),
        }
    }
}
