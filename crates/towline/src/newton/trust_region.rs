//! The iteration itself (Lin, Weng and Keerthi 2008, Algorithms 1 and 2).
use super::Rows;
use crate::block::Row;
use crate::loss::SmoothLoss;
use crate::trainer::TrainError;

/// The radius shrinks below the first two ratios of actual to predicted fall and grows above the last; steps below the first are taken back.
const RATIOS: [f64; 3] = [1e-4, 0.25, 0.75];
/// The factors by which the radius may change.
const FACTORS: [f64; 3] = [0.25, 0.5, 4.0];
/// The quadratic model is solved until its gradient has fallen to this part.
const MODEL_PART: f64 = 0.1;
/// The preconditioner is so much of the Hessian's diagonal, and the rest of the identity.
const DIAGONAL_PART: f64 = 0.01;
/// Steps of conjugate gradients, at most, for one model.
const MOST_STEPS: usize = 200;

/// `½‖w‖² - v̄·w + Σ c L(y, w·x)`: the problem of a block beside dual variables that stay as they are, (16) of IBCD. Without v̄ it is the whole problem.
pub type Shift<'a> = Option<&'a [f64]>;

/// Minimises over rows, one iteration after the other.
pub struct Minimiser<'a, L> {
    loss: L,
    bias: f64,
    shift: Shift<'a>,
    /// The weights so far, the constant feature last.
    pub w: Vec<f64>,
    /// F at w, without what v̄ adds.
    pub objective: f64,
    /// Rows with a slope, at w.
    pub support: u64,
    /// Products with the Hessian so far.
    pub products: u64,
    gradient: Vec<f64>,
    diagonal: Vec<f64>,
    /// c L'' of each row at w.
    second: Vec<f64>,
    radius: f64,
}

/// What a scan at fixed weights finds.
struct Point {
    objective: f64,
    support: u64,
    gradient: Vec<f64>,
    diagonal: Vec<f64>,
    second: Vec<f64>,
}

impl<'a, L: SmoothLoss> Minimiser<'a, L> {
    /// Memory for weights of so many columns and for so many rows.
    pub fn bytes(columns: u64, rows: u64) -> u64 {
        10 * 8 * (columns + 1) + 2 * 8 * rows
    }

    /// Begins at `w`.
    pub fn begin<R: Rows>(loss: L, w: Vec<f64>, bias: f64, shift: Shift<'a>, rows: &mut R) -> Result<Self, TrainError> {
        let mut minimiser = Minimiser {
            loss,
            bias,
            shift,
            w,
            objective: 0.0,
            support: 0,
            products: 0,
            gradient: Vec::new(),
            diagonal: Vec::new(),
            second: Vec::new(),
            radius: f64::INFINITY,
        };
        let point = minimiser.evaluate(&minimiser.w, rows)?;
        minimiser.accept(point);
        Ok(minimiser)
    }

    /// How far F is above its minimum at most: `½‖∇F‖²`, since F is strongly convex, and the gap of the dual point that the slopes make.
    pub fn gap(&self) -> f64 {
        0.5 * dot(&self.gradient, &self.gradient)
    }

    /// One step. False if no step lowers F any more.
    pub fn step<R: Rows>(&mut self, rows: &mut R) -> Result<bool, TrainError> {
        let preconditioner: Vec<f64> =
            self.diagonal.iter().map(|d| (1.0 - DIAGONAL_PART) + DIAGONAL_PART * d).collect();
        if self.radius.is_infinite() {
            let squares = self.gradient.iter().zip(&preconditioner).map(|(g, m)| g * g / m);
            self.radius = squares.sum::<f64>().sqrt();
        }
        loop {
            let model = self.solve_model(&preconditioner, rows)?;
            let slope = dot(&self.gradient, &model.step);
            let predicted = -0.5 * (slope - dot(&model.step, &model.residual));
            let tried: Vec<f64> = self.w.iter().zip(&model.step).map(|(w, s)| w + s).collect();
            let point = self.evaluate(&tried, rows)?;
            let (before, after) = (self.shifted(self.objective, &self.w), self.shifted(point.objective, &tried));
            let actual = before - after;
            self.resize(&model, slope, actual, predicted);
            if actual > RATIOS[0] * predicted {
                self.w = tried;
                self.accept(point);
                return Ok(true);
            }
            let noise = 1e-14 * before.abs();
            if predicted <= noise || actual.abs() <= noise || self.radius < f64::MIN_POSITIVE {
                return Ok(false);
            }
        }
    }

    fn accept(&mut self, point: Point) {
        let Point { objective, support, gradient, diagonal, second } = point;
        (self.objective, self.support, self.gradient) = (objective, support, gradient);
        (self.diagonal, self.second) = (diagonal, second);
    }

    /// F with what v̄ adds.
    fn shifted(&self, objective: f64, w: &[f64]) -> f64 {
        objective - self.shift.map_or(0.0, |shift| dot(shift, w))
    }

    /// The radius after a step (Lin and Moré 1999): along the step, F is believed to be a parabola.
    fn resize(&mut self, model: &Model, slope: f64, actual: f64, predicted: f64) {
        let bend = -actual - slope;
        let factor = if bend <= 0.0 { FACTORS[2] } else { FACTORS[0].max(-0.5 * slope / bend) };
        let [shrink, halve, grow] = FACTORS.map(|factor| factor * self.radius);
        let wanted = factor * model.length;
        self.radius = if actual < RATIOS[0] * predicted {
            wanted.min(halve)
        } else if actual < RATIOS[1] * predicted {
            wanted.clamp(shrink, halve)
        } else if actual < RATIOS[2] * predicted {
            wanted.clamp(shrink, grow)
        } else if model.at_boundary {
            grow
        } else {
            wanted.min(grow).max(self.radius)
        };
    }

    fn evaluate<R: Rows>(&self, w: &[f64], rows: &mut R) -> Result<Point, TrainError> {
        let last = w.len() - 1;
        let (loss, bias) = (self.loss, self.bias);
        let mut gradient = w.to_vec();
        if let Some(shift) = self.shift {
            gradient.iter_mut().zip(shift).for_each(|(g, v)| *g -= v);
        }
        let mut diagonal = vec![1.0; w.len()];
        let mut second = Vec::with_capacity(self.second.len());
        let (mut losses, mut support) = (0.0, 0);
        rows.scan(|_, row, y, c| {
            let z = row.dot(w) + bias * w[last];
            losses += c * loss.value(y, z);
            let (slope, curvature) = (c * loss.slope(y, z), c * loss.second(y, z));
            second.push(curvature);
            if slope != 0.0 {
                support += 1;
                row.add_to(&mut gradient, slope);
                gradient[last] += slope * bias;
            }
            if curvature != 0.0 {
                row.for_each(|j, x| diagonal[j as usize] += curvature * x * x);
                diagonal[last] += curvature * bias * bias;
            }
        })?;
        Ok(Point { objective: 0.5 * dot(w, w) + losses, support, gradient, diagonal, second })
    }

    /// `out = H d`.
    fn product<R: Rows>(&mut self, d: &[f64], out: &mut [f64], rows: &mut R) -> Result<(), TrainError> {
        let last = d.len() - 1;
        let (bias, second) = (self.bias, &self.second);
        out.copy_from_slice(d);
        rows.scan(|i, row: Row, _, _| {
            if second[i] != 0.0 {
                let t = second[i] * (row.dot(d) + bias * d[last]);
                row.add_to(out, t);
                out[last] += t * bias;
            }
        })?;
        self.products += 1;
        Ok(())
    }

    /// Preconditioned conjugate gradients from 0, until the model is solved well enough or the step leaves the ball (Steihaug).
    fn solve_model<R: Rows>(&mut self, m: &[f64], rows: &mut R) -> Result<Model, TrainError> {
        let n = self.w.len();
        let mut model = Model {
            step: vec![0.0; n],
            residual: self.gradient.iter().map(|g| -g).collect(),
            length: 0.0,
            at_boundary: false,
        };
        let mut z: Vec<f64> = model.residual.iter().zip(m).map(|(r, m)| r / m).collect();
        let mut d = z.clone();
        let mut product = vec![0.0; n];
        let mut rz = dot(&model.residual, &z);
        let enough = MODEL_PART * rz.sqrt();
        for _ in 0..MOST_STEPS.max(n) {
            if rz.sqrt() <= enough {
                break;
            }
            self.product(&d, &mut product, rows)?;
            let mut alpha = rz / dot(&d, &product);
            let (ss, sd, dd) = (norm_in(m, &model.step, &model.step), norm_in(m, &model.step, &d), norm_in(m, &d, &d));
            let square = self.radius * self.radius;
            if ss + alpha * (2.0 * sd + alpha * dd) > square {
                // As far along d as the ball goes.
                let root = (sd * sd + dd * (square - ss).max(0.0)).sqrt();
                alpha = if sd >= 0.0 { (square - ss).max(0.0) / (sd + root) } else { (root - sd) / dd };
                model.at_boundary = true;
            }
            model.step.iter_mut().zip(&d).for_each(|(s, d)| *s += alpha * d);
            model.residual.iter_mut().zip(&product).for_each(|(r, p)| *r -= alpha * p);
            if model.at_boundary {
                break;
            }
            z.iter_mut().zip(&model.residual).zip(m).for_each(|((z, r), m)| *z = r / m);
            let next = dot(&model.residual, &z);
            let beta = next / rz;
            d.iter_mut().zip(&z).for_each(|(d, z)| *d = z + beta * *d);
            rz = next;
        }
        model.length = norm_in(m, &model.step, &model.step).sqrt();
        Ok(model)
    }
}

/// The minimum of a quadratic model.
struct Model {
    step: Vec<f64>,
    /// `-∇F - H step`.
    residual: Vec<f64>,
    /// The length of the step in the norm of the preconditioner.
    length: f64,
    at_boundary: bool,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm_in(m: &[f64], a: &[f64], b: &[f64]) -> f64 {
    m.iter().zip(a).zip(b).map(|((m, a), b)| m * a * b).sum()
}
