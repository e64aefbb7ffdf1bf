//! A primal-dual interior point method for the loss of Crammer and Singer.
//!
//! A row of class y has an excess ξ and, for each class m, a slack σ_m = ξ + z_y - z_m - \[m ≠ y\] (σ_y is ξ itself)
//! with a dual variable α_m; slacks and dual variables are kept above 0,
//!
//! ```text
//! min ½ Σ ρ‖w_j‖² + Σ c ξ       Σ_m α_m = c,    β = c e_y - α,    ρW = Σ xβᵀ,    α_m σ_m = μ,    μ → 0
//! ```
//! Newton's method on these equations (Mehrotra's predictor and corrector, as in [`super::interior_point`]) eliminates
//! all but W: `(diag(ρ) + Σ M ⊗ x xᵀ) dW = ...` with M = diag(θ) - θθᵀ/Σθ and θ = α/σ, which has the form that softmax
//! has.
use super::block_gram::BlockGram;
use super::factor::Factor;
use super::gram::Gram;
use super::scanning::Rows;
use super::softmax::hold_free_columns;
use crate::engine::{TrainError, add_row, margins_of};
use crate::loss::classes::{ClassLoss, CrammerSinger};

/// Steps go this part of the way to where something would become 0.
const SHORT_OF_ZERO: f64 = 0.9995;
/// Iterations, at most: it takes 15 to 50.
const MOST_ITERATIONS: u64 = 200;
/// Iterations without a smaller gap, at most.
const MOST_STALLS: u64 = 15;

/// What a class of a row is at.
#[derive(Clone, Copy, Debug)]
struct Term {
    alpha: f64,
    slack: f64,
    /// dα and dσ of the predictor, and then of the step.
    step: f64,
    slack_step: f64,
}

/// The changes of a row: room for one number per class each.
struct Changes {
    /// What margins change by.
    moves: Vec<f64>,
    /// dα without what margins change by.
    own: Vec<f64>,
    /// q/σ - θr.
    pulls: Vec<f64>,
    residuals: Vec<f64>,
}

impl Changes {
    fn new(classes: usize) -> Self {
        let zeros = || vec![0.0; classes];
        Changes { moves: zeros(), own: zeros(), pulls: zeros(), residuals: zeros() }
    }

    /// What is missing of σ_m = ξ + z_y - z_m - \[m ≠ y\].
    fn find_residuals(&mut self, class: usize, terms: &[Term], margins: &[f64]) {
        for (m, residual) in self.residuals.iter_mut().enumerate() {
            let lead = margins[class] - margins[m] - f64::from(m != class);
            *residual = if m == class { 0.0 } else { terms[class].slack + lead - terms[m].slack };
        }
    }

    /// dα where margins stay, for products that are to change by `wanted`.
    fn find_own(&mut self, terms: &[Term], wanted: impl Fn(&Term) -> f64) {
        let Changes { own, pulls, residuals, .. } = self;
        for ((pull, term), residual) in pulls.iter_mut().zip(terms).zip(residuals.iter()) {
            *pull = (wanted(term) - term.alpha * residual) / term.slack;
        }
        let (sum, theta) = (pulls.iter().sum::<f64>(), theta_sum(terms));
        own.iter_mut()
            .zip(terms)
            .zip(pulls.iter())
            .for_each(|((own, term), pull)| *own = pull - term.theta() * (sum / theta));
        balance(own, terms);
    }

    /// dα and dσ of all classes with the moves of margins.
    fn find_steps(&mut self, terms: &mut [Term], wanted: impl Fn(&Term) -> f64) {
        self.find_own(terms, &wanted);
        let Changes { moves, own, pulls, residuals } = self;
        let theta = theta_sum(terms);
        let mean = terms.iter().zip(moves.iter()).map(|(term, dz)| term.theta() * dz).sum::<f64>() / theta;
        let raised = pulls.iter().sum::<f64>() / theta + mean;
        let products: Vec<f64> = terms.iter().map(&wanted).collect();
        own.iter_mut()
            .zip(terms.iter())
            .zip(moves.iter())
            .for_each(|((own, term), dz)| *own += term.theta() * (dz - mean));
        balance(own, terms);
        let largest = largest(terms);
        for (m, term) in terms.iter_mut().enumerate() {
            term.step = own[m];
            // Either equation, whichever keeps its digits.
            term.slack_step = match m == largest {
                true => (products[m] - term.slack * term.step) / term.alpha,
                false => raised - moves[m] + residuals[m],
            };
        }
    }
}

impl Term {
    fn theta(&self) -> f64 {
        self.alpha / self.slack
    }
}

fn theta_sum(terms: &[Term]) -> f64 {
    terms.iter().map(Term::theta).sum()
}

/// The class with the largest θ.
fn largest(terms: &[Term]) -> usize {
    let better = |best: usize, m: usize| if terms[m].theta() > terms[best].theta() { m } else { best };
    (0..terms.len()).fold(0, better)
}

/// Numbers that add up to 0: that of the largest θ is what the others leave, which keeps its digits.
fn balance(numbers: &mut [f64], terms: &[Term]) {
    let largest = largest(terms);
    numbers[largest] = 0.0;
    numbers[largest] = -numbers.iter().sum::<f64>();
}

/// How far steps may go: primal and dual.
#[derive(Clone, Copy)]
struct Lengths {
    primal: f64,
    dual: f64,
}

impl Lengths {
    const FULL: Lengths = Lengths { primal: 1.0, dual: 1.0 };

    fn note(&mut self, terms: &[Term]) {
        let most = |value: f64, change: f64| if change < 0.0 { -SHORT_OF_ZERO * value / change } else { 1.0 };
        for term in terms {
            self.primal = self.primal.min(most(term.slack, term.slack_step));
            self.dual = self.dual.min(most(term.alpha, term.step));
        }
    }
}

/// Bytes of memory for each class of a row.
pub const TERM_BYTES: u64 = (size_of::<Term>() + 8) as u64;

/// A run of the method over rows in memory.
pub struct ClassMargins<'a> {
    classes: usize,
    /// ρ of each weight; those of one column lie side by side.
    ridge: &'a [f64],
    bias: f64,
    terms: Vec<Term>,
    margins: Vec<f64>,
    /// The weights.
    pub w: Vec<f64>,
    blocks: BlockGram,
    matrix: Gram,
    factor: Factor,
    /// The step that is due, and how far it goes.
    ahead: (Vec<f64>, Lengths),
    /// Iterations so far.
    pub iterations: u64,
    /// The least gap so far, and when that was.
    best: (f64, u64),
}

impl<'a> ClassMargins<'a> {
    /// Bytes of memory for this many classes, columns with the constant feature, and rows.
    pub fn bytes(classes: u64, size: u64, rows: u64) -> u64 {
        let all = classes * size;
        let matrices = BlockGram::bytes(classes, size) + Gram::bytes(all) + Factor::bytes(all);
        matrices + 9 * 8 * all + classes * rows * TERM_BYTES
    }

    /// Begins at W = 0; rows have about `len` values.
    pub fn begin<R: Rows>(
        classes: usize,
        ridge: &'a [f64],
        (bias, len): (f64, f64),
        rows: &mut R,
    ) -> Result<Self, TrainError> {
        let (mut terms, mut count) = (Vec::new(), 0);
        rows.scan(|_, _, y, c| {
            // Margins are 0 and ξ is 2: slacks of 2 and 1. All products are the same.
            let slack = |m: usize| if m == y as usize { 2.0 } else { 1.0 };
            let inverse: f64 = (0..classes).map(|m| 1.0 / slack(m)).sum();
            let term = |m: usize| Term { alpha: c / (slack(m) * inverse), slack: slack(m), step: 0.0, slack_step: 0.0 };
            terms.extend((0..classes).map(term));
            count += classes;
        })?;
        let all = ridge.len();
        Ok(ClassMargins {
            classes,
            ridge,
            bias,
            terms,
            margins: vec![0.0; count],
            w: vec![0.0; all],
            blocks: BlockGram::new(classes, all / classes, len),
            matrix: Gram::new(all, 0.0),
            factor: Factor::new(all),
            ahead: (vec![0.0; all], Lengths { primal: 0.0, dual: 0.0 }),
            iterations: 0,
            best: (f64::INFINITY, 0),
        })
    }

    /// Iterates until the relative gap is below `tolerance`, or `stop` says so. False if rounding does not let it come
    /// nearer. Where it is broken off, dual variables are within their bounds all the same.
    pub fn run<R: Rows>(
        &mut self,
        rows: &mut R,
        tolerance: f64,
        mut stop: impl FnMut() -> bool,
    ) -> Result<bool, TrainError> {
        loop {
            let Advanced { residual, mut predictor, products, losses } = self.advance(rows)?;
            let squares = residual.iter().zip(self.ridge).filter(|(_, ridge)| **ridge > 0.0);
            let gap = products + squares.map(|(r, ridge)| r * r / (2.0 * ridge)).sum::<f64>();
            let penalty: f64 = 0.5 * self.w.iter().zip(self.ridge).map(|(w, ridge)| ridge * w * w).sum::<f64>();
            if gap <= tolerance * (penalty + losses) || stop() {
                return Ok(true);
            }
            // Products may grow at first, while the residual falls.
            if gap < 0.9 * self.best.0 {
                self.best = (gap, self.iterations);
            }
            let stalls = self.iterations - self.best.1;
            if self.iterations >= MOST_ITERATIONS || stalls > MOST_STALLS || !products.is_finite() {
                return Ok(false);
            }
            self.blocks.write_to(&mut self.matrix);
            hold_free_columns(&mut self.matrix, self.ridge, self.classes);
            self.factor.find(&self.matrix, self.ridge, rows.watch())?;
            self.factor.solve(&self.matrix, self.ridge, &mut predictor);
            let (own, towards_centre, after) = self.predict(rows, &predictor)?;
            let aim = (after / products).clamp(0.0, 1.0).powi(3) * products / self.terms.len() as f64;
            let mut corrector = residual;
            corrector.iter_mut().zip(own.iter().zip(&towards_centre)).for_each(|(r, (own, g))| *r -= own + aim * g);
            self.factor.solve(&self.matrix, self.ridge, &mut corrector);
            let lengths = self.correct(rows, &corrector, aim)?;
            // Where slacks are about as small as numbers can be, a step has none any more, and would be the end of all
            // weights.
            let is_known = self.terms.iter().all(|term| (term.step + term.slack_step).is_finite());
            if !is_known || !corrector.iter().all(|d| d.is_finite()) {
                return Ok(false);
            }
            self.ahead = (corrector, lengths);
            self.iterations += 1;
        }
    }

    /// Takes the step that is due and sums up the matrix of the next one.
    fn advance<R: Rows>(&mut self, rows: &mut R) -> Result<Advanced, TrainError> {
        let ClassMargins { classes, ridge, bias, terms, margins, w, blocks, ahead, .. } = self;
        let (classes, bias, (dw, lengths)) = (*classes, *bias, ahead);
        w.iter_mut().zip(dw.iter()).for_each(|(w, d)| *w += lengths.primal * d);
        let mut residual: Vec<f64> = w.iter().zip(*ridge).map(|(w, ridge)| -ridge * w).collect();
        let mut own = vec![0.0; w.len()];
        let (mut products, mut losses) = (0.0, 0.0);
        let (mut changes, mut steps) = (Changes::new(classes), vec![(0, 0.0); classes]);
        blocks.clear();
        rows.scan(|i, row, y, c| {
            let class = y as usize;
            let terms = &mut terms[i * classes..][..classes];
            let z = &mut margins[i * classes..][..classes];
            margins_of(row, w, bias, z);
            for term in terms.iter_mut() {
                // What is above 0 stays so, whatever rounding does.
                term.slack = (term.slack + lengths.primal * term.slack_step).max(f64::MIN_POSITIVE);
                term.alpha = (term.alpha + lengths.dual * term.step).max(c * 1e-300);
                products += term.alpha * term.slack;
            }
            losses += c * CrammerSinger.value(class, z);
            let beta = |m: usize| if m == class { c } else { 0.0 } - terms[m].alpha;
            steps.iter_mut().enumerate().for_each(|(m, step)| *step = (m as u32, beta(m)));
            add_row(row, &mut residual, classes, bias, &steps);
            changes.find_residuals(class, terms, z);
            changes.find_own(terms, |term| -term.alpha * term.slack);
            steps.iter_mut().zip(&changes.own).for_each(|(step, own)| step.1 = *own);
            add_row(row, &mut own, classes, bias, &steps);
            let (theta, largest) = (theta_sum(terms), largest(terms));
            let others: f64 = (0..classes).filter(|&m| m != largest).map(|m| terms[m].theta()).sum();
            blocks.add(row, bias, |k, l| {
                let (a, b) = (terms[k].theta(), terms[l].theta());
                match (k == l, k == largest) {
                    (true, true) => a * (others / theta),
                    (true, false) => a - a * (a / theta),
                    (false, _) => -a.min(b) * (a.max(b) / theta),
                }
            });
        })?;
        blocks.flush();
        let predictor = residual.iter().zip(&own).map(|(r, own)| r - own).collect();
        Ok(Advanced { residual, predictor, products, losses })
    }

    /// Finds the steps of the predictor. Returns Σ xaᵀ of the corrector in two parts, the second to be multiplied by
    /// what products aim at, and Σ ασ after the predictor.
    fn predict<R: Rows>(&mut self, rows: &mut R, dw: &[f64]) -> Result<(Vec<f64>, Vec<f64>, f64), TrainError> {
        let ClassMargins { classes, bias, terms, margins, .. } = self;
        let (classes, bias) = (*classes, *bias);
        let (mut own, mut centre) = (vec![0.0; dw.len()], vec![0.0; dw.len()]);
        let (mut changes, mut steps) = (Changes::new(classes), vec![(0, 0.0); classes]);
        let mut lengths = Lengths::FULL;
        // Products now, by their changes with dual and primal steps, and by both.
        let mut sums = [0.0f64; 4];
        rows.scan(|i, row, y, _| {
            let terms = &mut terms[i * classes..][..classes];
            margins_of(row, dw, bias, &mut changes.moves);
            changes.find_residuals(y as usize, terms, &margins[i * classes..][..classes]);
            changes.find_steps(terms, |term| -term.alpha * term.slack);
            lengths.note(terms);
            for term in terms.iter() {
                sums[0] += term.alpha * term.slack;
                sums[1] += term.step * term.slack;
                sums[2] += term.alpha * term.slack_step;
                sums[3] += term.step * term.slack_step;
            }
            changes.find_own(terms, |term| -term.alpha * term.slack - term.step * term.slack_step);
            (0..).zip(&changes.own).zip(&mut steps).for_each(|((m, own), step)| *step = (m, *own));
            add_row(row, &mut own, classes, bias, &steps);
            changes.residuals.fill(0.0);
            changes.find_own(terms, |_| 1.0);
            steps.iter_mut().zip(&changes.own).for_each(|(step, own)| step.1 = *own);
            add_row(row, &mut centre, classes, bias, &steps);
        })?;
        let Lengths { primal, dual } = lengths;
        let after = sums[0] + dual * sums[1] + primal * sums[2] + primal * dual * sums[3];
        Ok((own, centre, after))
    }

    /// The steps of all rows with the corrector, and how far they may go.
    fn correct<R: Rows>(&mut self, rows: &mut R, dw: &[f64], aim: f64) -> Result<Lengths, TrainError> {
        let ClassMargins { classes, bias, terms, margins, .. } = self;
        let (classes, bias) = (*classes, *bias);
        let mut changes = Changes::new(classes);
        let mut lengths = Lengths::FULL;
        rows.scan(|i, row, y, _| {
            let terms = &mut terms[i * classes..][..classes];
            margins_of(row, dw, bias, &mut changes.moves);
            changes.find_residuals(y as usize, terms, &margins[i * classes..][..classes]);
            changes.find_steps(terms, |term| aim - term.alpha * term.slack - term.step * term.slack_step);
            lengths.note(terms);
        })?;
        Ok(lengths)
    }

    /// β of the row with this number, of class y and weight c.
    pub fn duals(&self, i: usize, (y, c): (f64, f64), out: &mut [f64]) {
        let terms = &self.terms[i * self.classes..][..self.classes];
        out.iter_mut().zip(terms).for_each(|(beta, term)| *beta = -term.alpha);
        out[y as usize] += c;
    }
}

/// What is known after a step.
struct Advanced {
    /// Σ xβᵀ - ρW.
    residual: Vec<f64>,
    /// The right side of the predictor.
    predictor: Vec<f64>,
    /// Σ ασ.
    products: f64,
    losses: f64,
}
