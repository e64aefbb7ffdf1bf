//! One model of one output: which method trains it, and from where.

use super::equations::Way;
use super::few_rows::Reduced;
use super::heavy::Heavy;
use super::hessian::Smooth;
use super::multipliers::Origin;
use super::one_output::{Quadratic, Same};
use super::piecewise::Turn;
use super::rows::{StoreRows, TaskRows};
use super::session::{Estimate, Session};
use super::sparse::Sparse;
use super::{piecewise, smooth};
use crate::budget::Budget;
use crate::engine::{Duals, Start, Status, Task, TrainError, Trained};
use crate::loss::{Loss, PiecewiseLinear, PiecewiseVisitor, SmoothLoss, SmoothLossVisitor};
use crate::objective::Objective;
use crate::penalty::AnyPenalty;
use crate::store::Shape;

/// What λ|w| has of a penalty.
pub fn l1_part(penalty: &AnyPenalty) -> f64 {
    penalty.soft_threshold(1.0).map_or(0.0, |map| map.threshold)
}

/// What ½λw² has of it.
pub fn l2_part(penalty: &AnyPenalty) -> f64 {
    match penalty {
        AnyPenalty::L2(penalty) => penalty.lambda,
        AnyPenalty::ElasticNet(penalty) => penalty.parts().1.lambda,
        AnyPenalty::NonNegative(penalty) => penalty.parts().1,
        _ => 0.0,
    }
}

/// A model of one output, on the way to its method.
pub struct Run<'a, 's> {
    /// All rows.
    pub rows: &'a mut StoreRows,
    /// Rows with the same products and fewer features, where there are fewer rows than features.
    pub reduced: Option<&'a Reduced>,
    /// The columns that conjugate gradients are preconditioned with, where the Hessian does not fit.
    pub heavy: Option<&'a Heavy>,
    /// What it is trained for.
    pub task: &'a Task,
    /// Weights to start from.
    pub start: &'a [f64],
    /// Whether that is of a model like this one.
    pub is_near: bool,
    /// What memory there is.
    pub budget: &'a Budget,
    /// Who is told.
    pub session: &'a mut Session<'s>,
}

/// Where a model starts.
struct From {
    w: Vec<f64>,
    /// β by position, where that is known.
    duals: Vec<f64>,
    /// Whether that is near the optimum.
    is_near: bool,
}

/// What all methods begin with.
pub(super) struct Begin {
    pub(super) w: Vec<f64>,
    pub(super) ridge: Vec<f64>,
    /// What |w| costs.
    pub(super) bounds: Vec<f64>,
    pub(super) shift: Vec<f64>,
    /// Values of a row, on average.
    pub(super) len: f64,
}

impl Begin {
    pub(super) fn of(task: &Task, start: &[f64], shape: &Shape) -> Begin {
        let size = shape.columns as usize + 1;
        let Objective { penalty, intercept, .. } = &task.objective;
        let (mut ridge, mut bounds) = (vec![l2_part(penalty); size], vec![l1_part(penalty); size]);
        if *intercept {
            (ridge[size - 1], bounds[size - 1]) = (0.0, 0.0);
        }
        let mut w = start.to_vec();
        w.resize(size, 0.0);
        let len = shape.values as f64 / shape.rows.max(1) as f64 + 1.0;
        Begin { w, ridge, bounds, shift: vec![0.0; size], len }
    }

    pub(super) fn part(&self, bias: f64) -> Quadratic<'_> {
        Quadratic { ridge: &self.ridge, shift: &self.shift, bias, constant: 0.0, proximal: None }
    }
}

/// Certifies what the task begins with, if it begins with dual variables; `w` are the weights of them where it names no
/// others. Returns them, and how the run has ended, if it has.
pub(super) fn begin_with<L: Loss>(
    loss: L,
    rows: &mut TaskRows,
    w: &mut [f64],
    session: &mut Session,
) -> Result<(Vec<f64>, Option<Status>), TrainError> {
    let task = rows.task();
    let Some(start) = &task.start else { return Ok((Vec::new(), None)) };
    let mut duals = Duals::in_memory(rows.store_rows().store().shape().rows);
    duals.begin_with(start)?;
    let Duals::Memory(mut duals) = duals else { return Ok((Vec::new(), None)) };
    match start {
        Start::Left(left, _) if left.weights.len() == w.len() => w.copy_from_slice(&left.weights),
        _ if task.start_weights.len() == w.len() || !matches!(task.objective.penalty, AnyPenalty::L2(_)) => {}
        _ => {
            let (last, lambda, bias) = (w.len() - 1, task.objective.penalty.lambda(), task.objective.bias);
            w.fill(0.0);
            rows.scan_positions(|position, _, row, y, c| {
                let (low, high) = loss.dual_bounds(y, c);
                let beta = duals[position as usize].clamp(low, high);
                if beta != 0.0 {
                    row.add_to(w, beta / lambda);
                    w[last] += beta * bias / lambda;
                }
            })?;
        }
    }
    let ended = session.certify(loss, rows, w, &mut duals, |_, _| {})?;
    Ok((duals, ended))
}

impl SmoothLossVisitor for Run<'_, '_> {
    type Out = Result<Trained, TrainError>;

    fn visit<L: SmoothLoss>(self, loss: L) -> Self::Out {
        match self.reduced {
            Some(Reduced::Products(products)) => return self.with_products(loss, products),
            Some(Reduced::Rows(reduced)) => {
                return self.with_few_rows(loss, reduced, |part, (w, way), rows, (tolerance, _), session| {
                    smooth::solve(Smooth::new(Same(loss), part, way), w, rows, tolerance, session)
                });
            }
            None => {}
        }
        self.with_all_rows(loss, |from, begin, (part, way), rows, budget, session| {
            let start = (from.w, from.is_near);
            if begin.bounds.iter().all(|bound| *bound == 0.0) {
                let model = Smooth::new(Same(loss), part, way);
                return smooth::train(model, rows, start, budget, session);
            }
            let model = Sparse::new(Same(loss), part, &begin.bounds, (begin.len, loss.curvature()));
            smooth::train(model, rows, start, budget, session)
        })
    }
}

impl PiecewiseVisitor for Run<'_, '_> {
    type Out = Result<Trained, TrainError>;

    fn visit<L: PiecewiseLinear>(self, loss: L) -> Self::Out {
        if let Some(Reduced::Rows(reduced)) = self.reduced {
            let count = Some(reduced.rows());
            return self.with_few_rows(loss, reduced, |part, begin, rows, (tolerance, turn), session| {
                let turn = Turn { number: turn, count, tolerance, origin: Origin::default(), is_near: false };
                piecewise::solve(loss, part, begin, rows, turn, |_, known| {
                    session.iterated(1.0, None, Estimate::of_gap(known.gap))
                })
            });
        }
        self.with_all_rows(loss, |from, _, (part, way), rows, budget, session| {
            piecewise::train(loss, rows, part, (from.w, from.duals, way), budget, session)
        })
    }
}

impl Run<'_, '_> {
    /// Trains on rows as they are, unless what the task begins with will do.
    fn with_all_rows<L: Loss>(
        self,
        loss: L,
        train: impl FnOnce(
            From,
            &Begin,
            (Quadratic, Way),
            &mut TaskRows,
            &Budget,
            &mut Session,
        ) -> Result<Trained, TrainError>,
    ) -> Result<Trained, TrainError> {
        let Run { rows, heavy, task, start, is_near, budget, session, .. } = self;
        let mut begin = Begin::of(task, start, &rows.store().shape());
        let mut rows = TaskRows::new(rows, task);
        let mut w = std::mem::take(&mut begin.w);
        let (duals, ended) = begin_with(loss, &mut rows, &mut w, session)?;
        if let Some(status) = ended {
            return session.finish(&rows, duals, status);
        }
        let from = From { w, duals, is_near };
        let tolerance = session.limits.options().tolerance;
        let way = heavy.map_or(Way::Exact { len: begin.len }, |heavy| Way::Conjugate { heavy, tolerance });
        train(from, &begin, (begin.part(task.objective.bias), way), &mut rows, budget, session)
    }
}
