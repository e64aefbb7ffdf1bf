//! Training.
use std::time::Duration;

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use towline::budget::Budget;
use towline::fit::State;
use towline::loss::{AnyLoss, LossParameters};
use towline::objective::{Classes, Multiclass, Targets};
use towline::penalty::GroupMap;
use towline::stop::Stop;
use towline::trainer::Solver;
use towline::{Data, Fit, Regularizer};

use crate::errors::{OrRaise, bad_value};
use crate::model::Model;
use crate::reading::choose;
use crate::rows::Rows;
use crate::store::Store;
use crate::watch::Watch;

/// What one model minimises, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Problem<'py> {
    loss: String,
    epsilon: f64,
    delta: f64,
    quantile: f64,
    c: f64,
    /// The value of a constant feature.
    bias: f64,
    /// Whether its weight is free of the penalty.
    intercept: bool,
    penalty: String,
    /// λ; a path has several of its own.
    strength: f64,
    l1_ratio: f64,
    /// Whether no weight may be below 0.
    non_negative: bool,
    /// The group of each column and of the constant feature, and what groups weigh.
    groups: Option<(Vec<u32>, Vec<f64>)>,
    /// Losses are cut off at 1 + this.
    truncate: Option<f64>,
    /// Label, name and weight of each class; none for regression.
    classes: Option<Vec<(f64, String, f64)>>,
    /// How more than two classes are distinguished: ovr, crammer-singer or softmax.
    multiclass: String,
    /// Whether, one against the rest, the weight of a class counts just where it is the positive one, as in LIBLINEAR.
    own_weight_only: bool,
    /// What the targets of a row are called, where there are several in one objective.
    several: Vec<String>,
    /// Dual variables and weights of an earlier run of the same models.
    start: Option<Vec<(PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>)>>,
}

impl Problem<'_> {
    /// The library's fit of it.
    pub fn fit(&self) -> PyResult<Fit> {
        Ok(self.fit_without_strength()?.lambda(self.strength))
    }

    /// The same without a strength of the penalty.
    pub fn fit_without_strength(&self) -> PyResult<Fit> {
        let parameters = LossParameters { epsilon: self.epsilon, delta: self.delta, quantile: self.quantile };
        let loss = AnyLoss::from_name(&self.loss, parameters).map_err(bad_value)?;
        let regularizer = self.penalty.parse::<Regularizer>().map_err(bad_value)?;
        let fit = Fit::new().loss(loss).c(self.c).penalty(regularizer).targets(self.targets()?);
        let mut fit = fit.own_weight_only(self.own_weight_only).non_negative(self.non_negative);
        fit = if self.intercept { fit.intercept(true) } else { fit.bias(self.bias) };
        if regularizer == Regularizer::ElasticNet {
            fit = fit.l1_ratio(self.l1_ratio);
        }
        if let Some((of_column, weights)) = self.groups.clone() {
            fit = fit.groups(GroupMap::new(of_column, weights).map_err(bad_value)?);
        }
        if let Some(s) = self.truncate {
            fit = fit.truncate(s);
        }
        Ok(match &self.start {
            Some(states) => {
                let state = |(duals, weights): &(PyReadonlyArray1<'_, f64>, PyReadonlyArray1<'_, f64>)| State {
                    duals: duals.as_array().to_vec(),
                    weights: weights.as_array().to_vec(),
                };
                fit.start_from(states.iter().map(state).collect())
            }
            None => fit,
        })
    }

    fn targets(&self) -> PyResult<Targets> {
        if !self.several.is_empty() {
            return Ok(Targets::Several { names: self.several.clone() });
        }
        let Some(classes) = &self.classes else { return Ok(Targets::Numbers) };
        let ways = Multiclass::ALL.map(|way| (way.name(), way));
        let multiclass = choose("multi_class", &self.multiclass, &ways)?;
        if let ([negative, positive], Multiclass::OneVsRest) = (&classes[..], multiclass) {
            return Ok(Targets::Binary {
                positive: positive.0,
                names: [negative.1.clone(), positive.1.clone()],
                weights: [negative.2, positive.2],
            });
        }
        let labels = classes.iter().map(|class| class.0).collect();
        let names = classes.iter().map(|class| class.1.clone()).collect();
        let classes = Classes::new(labels, names, classes.iter().map(|class| class.2).collect());
        Ok(Targets::Classes { classes, multiclass })
    }
}

/// How to train, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Limits {
    tolerance: f64,
    max_passes: u64,
    max_seconds: Option<f64>,
    /// The name of the solver.
    solver: String,
    seed: u64,
    pub memory: Option<u64>,
    threads: Option<usize>,
    pub callback: Option<Py<PyAny>>,
    /// Whether the callback is told the weights.
    pub weights: bool,
    /// Whether dual variables and weights are wanted, for a later start from them.
    keep_start: bool,
}

impl Limits {
    /// The same fit with these limits.
    pub fn set(&self, fit: Fit, budget: &Budget, stop: &Stop) -> PyResult<Fit> {
        let solver = choose("solver", &self.solver, &Solver::ALL.map(|solver| (solver.name(), solver)))?;
        let mut fit = fit.max_passes(self.max_passes).seed(self.seed).keep_state(self.keep_start);
        // With a tolerance of 0 all passes are made.
        fit = if self.tolerance > 0.0 { fit.tolerance(self.tolerance) } else { fit.all_passes() };
        if solver != Solver::Auto {
            fit = fit.solver(solver);
        }
        if let Some(seconds) = self.max_seconds {
            fit = fit.max_time(Duration::try_from_secs_f64(seconds).map_err(bad_value)?);
        }
        if let Some(threads) = self.threads {
            fit = fit.threads(threads);
        }
        Ok(fit.budget(budget.clone()).stop(stop.clone()))
    }

    /// What a fit may hold.
    pub fn budget(&self, data: &Data) -> Budget {
        self.memory.map_or_else(|| data.default_budget(), Budget::new)
    }
}

type Vector = Py<PyArray1<f64>>;

/// What came of training.
#[pyclass(frozen, get_all, module = "towline._native")]
pub struct Fitted {
    /// The model in the feature numbers or names of the data.
    model: Py<Model>,
    /// How many columns an array of the same features has: one more than the largest number.
    width: u64,
    /// For each model the dual variables, and weights by column, those of the constant feature last: for a later start
    /// from them, if that was asked for.
    start: Vec<(Vector, Vector)>,
    /// converged, out-of-passes, out-of-time or interrupted.
    status: &'static str,
    /// F.
    objective: f64,
    /// The relative duality gap.
    gap: f64,
    /// Passes over the data.
    passes: u64,
    /// Sweeps over rows in memory, of all classes together.
    sweeps: u64,
    /// The solver that has found the model, or the first of several.
    solver: &'static str,
    /// Bytes read from the store.
    bytes_read: u64,
    /// The exception that ended training early: KeyboardInterrupt, or what the callback raised.
    raised: Option<PyErr>,
}

/// The rows of a Python object.
pub fn data_of(data: &Bound<'_, PyAny>) -> PyResult<Data> {
    if let Ok(rows) = data.cast::<Rows>() {
        Ok(Data::from(rows.get().rows()))
    } else if let Ok(store) = data.cast::<Store>() {
        Ok(Data::from(&store.get().store))
    } else {
        Err(PyTypeError::new_err("data is neither Rows nor a Store"))
    }
}

/// The rows of a Python object for a problem, which may have one target for each.
fn data_for(data: &Bound<'_, PyAny>, problem: &Problem<'_>) -> PyResult<Data> {
    let data = data_of(data)?;
    let targets = data.store().shape().layout.targets;
    if targets > 1 && targets as usize != problem.several.len() {
        return Err(bad_value(format!("rows have {targets} targets, and estimators predict one; pack with one label")));
    }
    Ok(data)
}

/// Trains on rows in memory or on a store.
#[pyfunction]
pub fn train(py: Python<'_>, data: &Bound<'_, PyAny>, problem: Problem<'_>, limits: Limits) -> PyResult<Fitted> {
    let data = data_for(data, &problem)?;
    let stop = Stop::default();
    let budget = limits.budget(&data);
    let fit = limits.set(problem.fit()?, &budget, &stop)?;
    let mut watch = Watch::new(limits.callback, stop).with_weights(limits.weights);
    let fitted = py
        .detach(|| {
            let prepared = fit.prepare(&data)?;
            prepared.check_model()?;
            prepared.fitted(prepared.begin()?.train(&mut watch)?)
        })
        .or_raise()?;
    Fitted::new(py, fitted, watch.raised)
}

/// Trains a model for each strength of the penalty, in their order, each from where the one before has ended.
#[pyfunction]
pub fn path(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    problem: Problem<'_>,
    limits: Limits,
    strengths: Vec<f64>,
) -> PyResult<Vec<Fitted>> {
    let data = data_for(data, &problem)?;
    let (stop, budget) = (Stop::default(), limits.budget(&data));
    let path = limits.set(problem.fit_without_strength()?, &budget, &stop)?.path().lambdas(strengths);
    let mut watch = Watch::new(limits.callback, stop);
    let found = py.detach(|| path.run_with(&data, &mut watch)).or_raise()?;
    match watch.raised {
        Some(error) => Err(error),
        None => found.into_iter().map(|fitted| Fitted::new(py, fitted, None)).collect(),
    }
}

impl Fitted {
    fn new(py: Python<'_>, fitted: towline::Fitted, raised: Option<PyErr>) -> PyResult<Self> {
        let (width, solver) = (fitted.width(), fitted.solver().unwrap_or(Solver::Dual).name());
        let (gap, objective) = (fitted.gap(), fitted.objective_value());
        let (model, state) = fitted.into_parts();
        let vector = |numbers: Vec<f64>| PyArray1::from_vec(py, numbers).unbind();
        let start = state.into_iter().map(|state| (vector(state.duals), vector(state.weights))).collect();
        let header = &model.header;
        Ok(Fitted {
            width,
            start,
            status: header.status.name(),
            objective,
            gap,
            passes: header.cost.passes,
            sweeps: header.cost.sweeps,
            solver,
            bytes_read: header.cost.bytes_read,
            raised,
            model: Py::new(py, Model::from(model))?,
        })
    }
}
