//! Newton steps where the Hessian does not fit: preconditioned conjugate gradients.
//!
//! ```text
//! H = diag(ρ) + Σ θ x xᵀ        M = [ H of heavy columns, factored ] ⊕ [ m_j for all others ]
//! m_j² = (ρ_j + Σ θ x_j²) (ρ_j + θ̄ q_j),   θ̄ the mean of θ, q_j the mean square of the nonzeros of column j
//! ```
//! A product with H is one scan over the rows with θ > 0. Few columns of a wide table are dense or measured in large
//! units; those are what a Hessian is badly conditioned by, and M has all of them, exactly. For the others the scale of
//! a column cancels out, and how many rows have it does so by half: with the whole diagonal, rare columns weigh too
//! much. The second factor is what one row adds on average, over all rows: with the mean over the rows of a column,
//! columns of rows that are settled weigh too little (raw word counts of news20, logistic loss, C = 1000, in a
//! prototype: 7,839 products to a gap of 1e-6 with the diagonal, 6,981 with the mean of a column's rows, 2,354 with
//! that of all rows). Equations are solved as far as the quadratic model is worth (Eisenstat and Walker 1996, choice
//! 1): a tenth far from the optimum, all digits where the model has foretold the last gradient.
use super::factor::Factor;
use super::gram::Gram;
use super::heavy::Heavy;
use super::one_output::Quadratic;
use super::scanning::Rows;
use crate::block::Row;
use crate::engine::TrainError;

/// The residual falls at least to this part of the right side.
const MOST_LEFT: f64 = 0.1;
/// And not below this: sums over rows have no more digits.
const LEAST_LEFT: f64 = 1e-7;
/// What is left may be this part of what is enough.
const SAFE: f64 = 0.1;
/// Products for one step, at most.
const MOST_PRODUCTS: u32 = 5000;
/// The same where each of them reads all rows.
const MOST_SCANS: u32 = 100;

/// Rows with a second derivative, and the preconditioner.
pub struct Conjugate<'a> {
    heavy: &'a Heavy,
    gram: Gram,
    factor: Factor,
    /// Σ θx² of all columns.
    diagonal: Vec<f64>,
    /// Rows with θ > 0, by number.
    numbers: Vec<u32>,
    thetas: Vec<f64>,
    mean_theta: f64,
    /// The norms of the last right side and of what was left of it.
    last: Option<(f64, f64)>,
}

/// Dense vectors besides the step.
const VECTORS: u64 = 5;

impl<'a> Conjugate<'a> {
    /// Bytes of memory for this many weights, heavy columns, and rows.
    pub fn bytes(size: u64, heavy: u64, rows: u64) -> u64 {
        Gram::bytes(heavy + 1) + Factor::bytes(heavy + 1) + 8 * VECTORS * size + 24 * rows
    }

    /// No row has been added.
    pub fn new(size: usize, heavy: &'a Heavy) -> Self {
        let block = heavy.columns.columns().len() + 1;
        Conjugate {
            heavy,
            gram: Gram::new(block, heavy.len + 1.0),
            factor: Factor::new(block),
            diagonal: vec![0.0; size],
            numbers: Vec::new(),
            thetas: Vec::new(),
            mean_theta: 0.0,
            last: None,
        }
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.gram.clear();
        self.diagonal.fill(0.0);
        self.numbers.clear();
        self.thetas.clear();
    }

    /// Adds a row.
    pub fn add(&mut self, i: usize, row: Row, bias: f64, theta: f64) {
        self.numbers.push(i as u32);
        self.thetas.push(theta);
        let diagonal = &mut self.diagonal;
        row.for_each(|j, x| diagonal[j as usize] += theta * x * x);
        if let Some(constant) = diagonal.last_mut() {
            *constant += theta * bias * bias;
        }
        self.gram.add_chosen(row, &self.heavy.columns, bias, theta);
    }

    /// All rows have been added.
    pub fn flush(&mut self) {
        self.gram.flush();
        self.mean_theta = self.thetas.iter().sum::<f64>() / self.heavy.rows.max(1) as f64;
    }

    /// Σ θx² of a column.
    pub fn diagonal(&self, j: usize) -> f64 {
        self.diagonal[j]
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
        let enough = SAFE * enough;
        let mut step = vec![0.0; gradient.len()];
        let mut residual: Vec<f64> = gradient.iter().map(|g| -g).collect();
        if self.gap_of(part, &residual, |_| true) <= enough {
            return Ok((step, 0));
        }
        let ridge: Vec<f64> = self.of_block(part.ridge).collect();
        self.factor.find(&self.gram, &ridge, rows.watch())?;
        let mut pulled = residual.clone();
        self.precondition(part, &mut pulled);
        let (mut along, mut product) = (pulled.clone(), vec![0.0; gradient.len()]);
        let mut square = dot(&residual, &pulled);
        let first = square.sqrt();
        let left = self.part_left(first);
        let most = if rows.are_in_memory() { MOST_PRODUCTS } else { MOST_SCANS };
        let mut products = 0;
        let is_light = |j: usize| j < gradient.len() - 1 && !self.heavy.columns.has(j);
        while products < most && square.sqrt() > left * first && self.gap_of(part, &residual, is_light) > enough {
            self.product(part, &along, &mut product, rows)?;
            products += 1;
            let alpha = square / dot(&along, &product);
            if !alpha.is_finite() {
                break;
            }
            step.iter_mut().zip(&along).for_each(|(s, d)| *s += alpha * d);
            residual.iter_mut().zip(&product).for_each(|(r, p)| *r -= alpha * p);
            pulled.copy_from_slice(&residual);
            self.precondition(part, &mut pulled);
            let next = dot(&residual, &pulled);
            let beta = next / std::mem::replace(&mut square, next);
            along.iter_mut().zip(&pulled).for_each(|(d, z)| *d = z + beta * *d);
        }
        let of_light = (0..step.len()).filter(|&j| is_light(j)).map(|j| residual[j] * pulled[j]);
        self.last = Some((first, of_light.sum::<f64>().sqrt()));
        self.add_block(part, &residual, &mut step);
        Ok((step, u64::from(products)))
    }

    /// What may be left of a right side with this norm.
    fn part_left(&self, norm: f64) -> f64 {
        let foretold = self.last.map_or(MOST_LEFT, |(before, left)| (norm - left).abs() / before);
        if foretold.is_nan() { MOST_LEFT } else { foretold.clamp(LEAST_LEFT, MOST_LEFT) }
    }

    /// What the gap would be with this gradient, of the columns that count: Σ r²/(2ρ), and about as much as F can fall
    /// by where there is no ridge.
    fn gap_of(&self, part: Quadratic, residual: &[f64], counts: impl Fn(usize) -> bool) -> f64 {
        let of = |(j, ((r, ridge), curved)): (usize, ((&f64, &f64), &f64))| {
            let stiff = if *ridge > 0.0 { *ridge } else { *curved };
            if *r == 0.0 || !counts(j) { 0.0 } else { r * r / (2.0 * stiff) }
        };
        residual.iter().zip(part.ridge).zip(&self.diagonal).enumerate().map(of).sum()
    }

    /// The heavy columns are solved exactly in the end, all others as they are. In their large units, the gap of what
    /// conjugate gradients leave of them would be a multiple of F.
    fn add_block(&mut self, part: Quadratic, residual: &[f64], step: &mut [f64]) {
        let ridge: Vec<f64> = self.of_block(part.ridge).collect();
        let mut block: Vec<f64> = self.of_block(residual).collect();
        self.factor.solve(&self.gram, &ridge, &mut block);
        let (columns, last) = (self.heavy.columns.columns(), step.len() - 1);
        columns.iter().zip(&block).for_each(|(&j, x)| step[j as usize] += x);
        step[last] += block[columns.len()];
    }

    /// The numbers of the heavy columns and of the constant feature.
    fn of_block<'b>(&'b self, all: &'b [f64]) -> impl Iterator<Item = f64> + 'b {
        let columns = self.heavy.columns.columns();
        columns.iter().map(|&j| all[j as usize]).chain([all[all.len() - 1]])
    }

    /// `z = M⁻¹ z`.
    fn precondition(&self, part: Quadratic, z: &mut [f64]) {
        let mut block: Vec<f64> = self.of_block(z).collect();
        self.factor.solve_once(&mut block);
        let columns = part.ridge.iter().zip(&self.diagonal).zip(&self.heavy.mean_squares);
        for (z, ((ridge, curved), mean_square)) in z.iter_mut().zip(columns) {
            let stiff = ((ridge + curved) * (ridge + self.mean_theta * mean_square)).sqrt();
            *z = if stiff > 0.0 { *z / stiff } else { 0.0 };
        }
        let columns = self.heavy.columns.columns();
        columns.iter().zip(&block).for_each(|(&j, &x)| z[j as usize] = x);
        if let (Some(z), Some(x)) = (z.last_mut(), block.last()) {
            *z = *x;
        }
    }

    /// `out = H d`.
    fn product<R: Rows>(&self, part: Quadratic, d: &[f64], out: &mut [f64], rows: &mut R) -> Result<(), TrainError> {
        let (last, bias) = (d.len() - 1, part.bias);
        out.iter_mut().zip(d).zip(part.ridge).for_each(|((out, d), ridge)| *out = ridge * d);
        rows.scan_some(&self.numbers, |place, row| {
            let t = self.thetas[place] * (row.dot(d) + bias * d[last]);
            row.add_to(out, t);
            out[last] += t * bias;
        })
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
