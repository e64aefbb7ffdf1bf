//! A primal-dual interior point method for losses that are made of straight pieces.
//!
//! Each row has one or two terms `c max(0, t - sz)` with s = ±1: the hinge loss one with s = y and t = 1, the
//! epsilon-insensitive loss two, with t = y - ε and s = 1, and with t = -(y + ε) and s = -1. With dual variables α of
//! the terms, ν = c - α, excess ξ and slack σ = sz - t + ξ, all of them kept above 0,
//!
//! ```text
//! min ½ Σ ρ_j w_j² - v̄·w + Σ c ξ       β = Σ s α of a row,    ρw = v̄ + Σ βx,    α σ = μ,    ν ξ = μ,    μ → 0
//! ```
//! Newton's method on these equations (Mehrotra's predictor and corrector; Wright, "Primal-Dual Interior-Point
//! Methods", chapter 10; Ferris and Munson 2002 for support vector machines) eliminates all but w: `(diag(ρ) + Σ θ x
//! xᵀ) dw = ...` with θ = 1/(ξ/ν + σ/α). Both steps of an iteration share its factor. The number of iterations hardly
//! depends on the data, on the scale of its columns or on C.
use super::factor::Factor;
use super::gram::Gram;
use super::one_output::Quadratic;
use super::scanning::Rows;
use super::session::Estimate;
use crate::engine::TrainError;
use crate::loss::{Loss, PiecewiseLinear};

/// Steps go this part of the way to where something would become 0.
const SHORT_OF_ZERO: f64 = 0.9995;
/// Iterations, at most: it takes 15 to 50.
const MOST_ITERATIONS: u64 = 200;

/// What a term of a row is at.
#[derive(Clone, Copy, Debug, Default)]
struct Term {
    alpha: f64,
    xi: f64,
    slack: f64,
    /// dα of the predictor, and of the step.
    predicted: f64,
    step: f64,
}

/// A term as it is met in a scan.
#[derive(Clone, Copy)]
struct Place {
    alpha: f64,
    nu: f64,
    xi: f64,
    slack: f64,
    theta: f64,
    /// t - sz.
    missing: f64,
}

impl Place {
    fn of(term: &Term, c: f64, t: f64, m: f64) -> Place {
        let Term { alpha, xi, slack, .. } = *term;
        let nu = c - alpha;
        Place { alpha, nu, xi, slack, theta: 1.0 / (xi / nu + slack / alpha), missing: t - m }
    }

    /// dξ and dσ that go with dα, where both products are to become `aim`, less what second order adds to them.
    fn others(&self, step: f64, aim: f64, second: (f64, f64)) -> (f64, f64) {
        let (xi, slack) = (aim - self.nu * self.xi + second.0, aim - self.alpha * self.slack - second.1);
        ((xi + self.xi * step) / self.nu, (slack - self.slack * step) / self.alpha)
    }

    /// The products of the predictor's changes that the corrector takes into account.
    fn second(&self, predicted: f64) -> (f64, f64) {
        let (xi, slack) = self.others(predicted, 0.0, (0.0, 0.0));
        (predicted * xi, predicted * slack)
    }
}

/// How far steps may go: primal and dual.
#[derive(Clone, Copy)]
struct Lengths {
    primal: f64,
    dual: f64,
    /// Whether all changes are numbers.
    known: bool,
}

impl Lengths {
    const NONE: Lengths = Lengths { primal: 0.0, dual: 0.0, known: true };
    const FULL: Lengths = Lengths { primal: 1.0, dual: 1.0, known: true };

    fn note(&mut self, place: &Place, step: f64, (xi, slack): (f64, f64)) {
        let most = |value: f64, change: f64| if change < 0.0 { -SHORT_OF_ZERO * value / change } else { 1.0 };
        self.primal = self.primal.min(most(place.xi, xi)).min(most(place.slack, slack));
        self.dual = self.dual.min(most(place.alpha, step)).min(most(place.nu, -step));
        self.known &= (step + xi + slack).is_finite();
    }
}

/// What came of it.
pub struct Solution {
    /// The weights.
    pub w: Vec<f64>,
    /// β of each row.
    pub duals: Vec<f64>,
    /// Iterations.
    pub iterations: u64,
}

/// A run of the method over rows in memory.
pub struct InteriorPoint<'a, L, R> {
    loss: L,
    part: Quadratic<'a>,
    rows: &'a mut R,
    terms: Vec<Term>,
    margins: Vec<f64>,
    /// Changes of margins by the step.
    moves: Vec<f64>,
    w: Vec<f64>,
    gram: Gram,
    factor: Factor,
}

/// Bytes of memory for each row with this many terms.
pub fn row_bytes(terms: u64) -> u64 {
    3 * 8 + terms * size_of::<Term>() as u64
}

impl<'a, L: PiecewiseLinear, R: Rows> InteriorPoint<'a, L, R> {
    /// Begins at `w`; rows have about `len` values.
    pub fn begin(loss: L, part: Quadratic<'a>, w: Vec<f64>, len: f64, rows: &'a mut R) -> Result<Self, TrainError> {
        let (last, bias) = (w.len() - 1, part.bias);
        let (mut margins, mut missing, mut count) = (Vec::new(), 0.0, 0u64);
        rows.scan(|_, row, y, _| {
            let z = row.dot(&w) + bias * w[last];
            margins.push(z);
            for k in 0..L::TERMS {
                let (s, t) = loss.term(y, k);
                missing += (t - s * z).abs();
                count += 1;
            }
        })?;
        // As far from 0 as margins are from where they bend.
        let room = (missing / count.max(1) as f64).max(1e-6);
        let mut terms = Vec::with_capacity(count as usize);
        rows.scan(|i, _, y, c| {
            for k in 0..L::TERMS {
                let (s, t) = loss.term(y, k);
                let missing = t - s * margins[i];
                let (xi, slack) = (missing.max(0.0) + room, (-missing).max(0.0) + room);
                // Both products are the same.
                let alpha = c * xi / (xi + slack);
                terms.push(Term { alpha, xi, slack, ..Term::default() });
            }
        })?;
        let (gram, factor) = (Gram::new(w.len(), len), Factor::new(w.len()));
        let moves = vec![0.0; margins.len()];
        Ok(InteriorPoint { loss, part, rows, terms, margins, moves, w, gram, factor })
    }

    /// Iterates until the relative gap is below `tolerance`, or `stop`, which is told of the weights and what is known
    /// of them, says so.
    pub fn run(mut self, tolerance: f64, stop: impl FnMut(&[f64], Estimate) -> bool) -> Result<Solution, TrainError> {
        let mut iterations = 0;
        match self.iterate(tolerance, stop, &mut iterations) {
            // Whatever was broken off: dual variables are within their bounds, and any weights will do.
            Err(TrainError::Stopped(_)) => {}
            ended => ended?,
        }
        self.rows.let_end();
        let mut duals = vec![0.0; self.margins.len()];
        let (loss, terms) = (self.loss, &self.terms);
        self.rows.scan(|i, _, y, _| {
            let of_row = &terms[i * L::TERMS..][..L::TERMS];
            duals[i] = of_row.iter().enumerate().map(|(k, term)| loss.term(y, k).0 * term.alpha).sum();
        })?;
        Ok(Solution { w: self.w, duals, iterations })
    }

    /// Counts iterations, also those before it is broken off.
    fn iterate(
        &mut self,
        tolerance: f64,
        mut stop: impl FnMut(&[f64], Estimate) -> bool,
        iterations: &mut u64,
    ) -> Result<(), TrainError> {
        let mut lengths = Lengths::NONE;
        let mut aim = 0.0;
        let mut best = (f64::INFINITY, 0);
        let mut dw = vec![0.0; self.w.len()];
        loop {
            let (rhs, products, losses) = self.advance(lengths, aim, &dw)?;
            let objective = self.part.value(&self.w) + losses;
            if products <= tolerance * objective.abs().max(losses) && self.gap()? <= tolerance * losses.max(objective) {
                break;
            }
            if products < 0.9 * best.0 {
                best = (products, *iterations);
            }
            // Rounding has the last word where nothing has become smaller for long.
            let known = Estimate { objective: Some(objective), gap: products / objective };
            if *iterations == MOST_ITERATIONS || *iterations > best.1 + 15 || stop(&self.w, known) {
                break;
            }
            self.factor.find(&self.gram, self.part.ridge, self.rows.watch())?;
            let mut predictor = rhs;
            self.factor.solve(&self.gram, self.part.ridge, &mut predictor);
            let mu = products / self.terms.len() as f64 / 2.0;
            let (mut corrector, towards_centre, after) = self.predict(&predictor)?;
            let centring = (after / products).clamp(0.0, 1.0).powi(3);
            aim = centring * mu;
            corrector.iter_mut().zip(&towards_centre).for_each(|(r, g)| *r += aim * g);
            self.factor.solve(&self.gram, self.part.ridge, &mut corrector);
            dw = corrector;
            lengths = self.correct(&dw, aim)?;
            // Where products are about as small as numbers can be, matrices have none any more; a step with them would
            // be the end of all weights.
            if !lengths.known {
                break;
            }
            *iterations += 1;
        }
        Ok(())
    }

    /// Takes the step that was found and sums up the matrix of the next one. Returns the right side of the predictor, Σ
    /// (ασ + νξ), and the losses.
    fn advance(&mut self, lengths: Lengths, aim: f64, dw: &[f64]) -> Result<(Vec<f64>, f64, f64), TrainError> {
        let InteriorPoint { loss, part, rows, terms, margins, moves, w, gram, .. } = self;
        let (last, bias) = (w.len() - 1, part.bias);
        w.iter_mut().zip(dw).for_each(|(w, d)| *w += lengths.primal * d);
        let mut rhs: Vec<f64> = part.gradient(w).iter().map(|g| -g).collect();
        let (mut products, mut losses) = (0.0, 0.0);
        part.begin_matrix(gram);
        rows.scan(|i, row, y, c| {
            let (mut theta, mut coefficient) = (0.0, 0.0);
            let before = margins[i];
            margins[i] = before + lengths.primal * moves[i];
            for (k, term) in terms[i * L::TERMS..][..L::TERMS].iter_mut().enumerate() {
                let (s, t) = loss.term(y, k);
                if lengths.dual > 0.0 {
                    let place = Place::of(term, c, t, s * before);
                    let (xi, slack) = place.others(term.step, aim, place.second(term.predicted));
                    // What is above 0 stays so, whatever rounding does.
                    term.xi = (term.xi + lengths.primal * xi).max(f64::MIN_POSITIVE);
                    term.slack = (term.slack + lengths.primal * slack).max(f64::MIN_POSITIVE);
                    let least = c * f64::EPSILON;
                    term.alpha = (term.alpha + lengths.dual * term.step).clamp(f64::MIN_POSITIVE, c - least);
                }
                let m = s * margins[i];
                let place = Place::of(term, c, t, m);
                products += place.alpha * place.slack + place.nu * place.xi;
                losses += c * place.missing.max(0.0);
                theta += s * s * place.theta;
                coefficient += s * (place.alpha + place.theta * place.missing);
            }
            row.add_to(&mut rhs, coefficient);
            rhs[last] += coefficient * bias;
            gram.add(row, &[bias], theta);
        })?;
        gram.flush();
        Ok((rhs, products, losses))
    }

    /// The predictor's dα, the right side of the corrector in two parts, the second to be multiplied by what products
    /// aim at, and Σ (ασ + νξ) after the predictor.
    fn predict(&mut self, dw: &[f64]) -> Result<(Vec<f64>, Vec<f64>, f64), TrainError> {
        let InteriorPoint { loss, part, rows, terms, margins, w, .. } = self;
        let (last, bias) = (w.len() - 1, part.bias);
        let mut rhs: Vec<f64> = part.gradient(w).iter().map(|g| -g).collect();
        let mut towards_centre = vec![0.0; w.len()];
        let mut lengths = Lengths::FULL;
        // Products now, by their changes with dual and primal steps, and by both.
        let mut sums = [0.0f64; 4];
        rows.scan(|i, row, y, c| {
            let dz = row.dot(dw) + bias * dw[last];
            let (mut coefficient, mut centre) = (0.0, 0.0);
            for (k, term) in terms[i * L::TERMS..][..L::TERMS].iter_mut().enumerate() {
                let (s, t) = loss.term(y, k);
                let place = Place::of(term, c, t, s * margins[i]);
                let Place { alpha, nu, xi, slack, theta, missing } = place;
                let step = theta * (missing - s * dz);
                term.predicted = step;
                let others @ (d_xi, d_slack) = place.others(step, 0.0, (0.0, 0.0));
                lengths.note(&place, step, others);
                sums[0] += alpha * slack + nu * xi;
                sums[1] += step * (slack - xi);
                sums[2] += alpha * d_slack + nu * d_xi;
                sums[3] += step * (d_slack - d_xi);
                let corrected = missing - step * d_xi / nu - step * d_slack / alpha;
                coefficient += s * (alpha + theta * corrected);
                centre += s * theta * (1.0 / alpha - 1.0 / nu);
            }
            row.add_to(&mut rhs, coefficient);
            rhs[last] += coefficient * bias;
            row.add_to(&mut towards_centre, centre);
            towards_centre[last] += centre * bias;
        })?;
        let Lengths { primal, dual, .. } = lengths;
        let after = sums[0] + dual * sums[1] + primal * sums[2] + primal * dual * sums[3];
        Ok((rhs, towards_centre, after))
    }

    /// dα of the step, and how far it may go.
    fn correct(&mut self, dw: &[f64], aim: f64) -> Result<Lengths, TrainError> {
        let InteriorPoint { loss, part, rows, terms, margins, moves, w, .. } = self;
        let (last, bias) = (w.len() - 1, part.bias);
        let mut lengths = Lengths::FULL;
        rows.scan(|i, row, y, c| {
            let dz = row.dot(dw) + bias * dw[last];
            moves[i] = dz;
            for (k, term) in terms[i * L::TERMS..][..L::TERMS].iter_mut().enumerate() {
                let (s, t) = loss.term(y, k);
                let place = Place::of(term, c, t, s * margins[i]);
                let second = place.second(term.predicted);
                let corrected = place.missing - second.0 / place.nu - second.1 / place.alpha
                    + aim * (1.0 / place.alpha - 1.0 / place.nu);
                term.step = place.theta * (corrected - s * dz);
                lengths.note(&place, term.step, place.others(term.step, aim, second));
            }
        })?;
        Ok(lengths)
    }

    /// F(w) - D(β) with v = Σ βx summed anew, for weights that have a ridge; margins are computed anew as well.
    fn gap(&mut self) -> Result<f64, TrainError> {
        let InteriorPoint { loss, part, rows, terms, margins, w, .. } = self;
        let (last, bias) = (w.len() - 1, part.bias);
        let mut v = part.shift.to_vec();
        let mut gap = 0.0;
        rows.scan(|i, row, y, c| {
            let z = row.dot(w) + bias * w[last];
            margins[i] = z;
            let of_row = &terms[i * L::TERMS..][..L::TERMS];
            let beta: f64 = of_row.iter().enumerate().map(|(k, term)| loss.term(y, k).0 * term.alpha).sum();
            gap += Loss::gap(loss, y, z, beta, c);
            row.add_to(&mut v, beta);
            v[last] += beta * bias;
        })?;
        for ((w, v), ridge) in w.iter().zip(&v).zip(part.ridge) {
            if *ridge > 0.0 && part.proximal.is_none() {
                gap += (ridge * w - v).powi(2) / (2.0 * ridge);
            }
        }
        Ok(gap)
    }
}
