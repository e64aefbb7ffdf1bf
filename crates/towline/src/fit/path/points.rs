//! Where the points of a path lie.
use crate::budget::Budget;
use crate::engine::{Task, WarmState};
use crate::fit::data::Data;
use crate::fit::error::{FitError, positive, refuse};
use crate::methods::auto::{lambda_max, point_bytes};
use crate::objective::Objective;

/// Points as they were asked for.
#[derive(Clone, Debug)]
pub enum Grid {
    /// From the least λ under which all weights are 0 to a part of it.
    Down { ratio: f64, points: u32 },
    /// These λ.
    Lambdas(Vec<f64>),
    /// These C.
    Cs(Vec<f64>),
}

impl Default for Grid {
    fn default() -> Self {
        Grid::Down { ratio: 1e-3, points: 50 }
    }
}

impl Grid {
    pub fn ratio(&self) -> f64 {
        match self {
            Grid::Down { ratio, .. } => *ratio,
            Grid::Lambdas(_) | Grid::Cs(_) => 1e-3,
        }
    }

    pub fn points(&self) -> u32 {
        match self {
            Grid::Down { points, .. } => *points,
            Grid::Lambdas(_) | Grid::Cs(_) => 50,
        }
    }
}

/// The points of a path.
pub struct Points {
    /// What is minimised at each of them.
    pub objectives: Vec<Objective>,
    /// What the first one starts from.
    pub along: Option<WarmState>,
    /// What was read to find out.
    pub bytes_read: u64,
}

impl Points {
    /// The models of all points.
    pub fn tasks(&self) -> Vec<Task> {
        self.objectives.iter().flat_map(Objective::split).map(Task::new).collect()
    }
}

/// Lays out the points, all of which are like `objective` but for one number.
pub fn lay_out(grid: &Grid, objective: Objective, data: &Data, budget: &Budget) -> Result<Points, FitError> {
    let with = |lambda: f64| Objective { penalty: objective.penalty.with_lambda(lambda), ..objective.clone() };
    let told = |objectives: Vec<Objective>| match objectives.is_empty() {
        true => refuse("a path has at least one point; name some `lambdas`, or values of `c`"),
        false => Ok(Points { objectives, along: None, bytes_read: 0 }),
    };
    match grid {
        Grid::Cs(cs) => {
            let points = cs.iter().map(|&c| Ok(Objective { c: positive("c", c)?, ..objective.clone() }));
            told(points.collect::<Result<_, FitError>>()?)
        }
        Grid::Lambdas(lambdas) => {
            let points = lambdas.iter().map(|&lambda| Ok(with(positive("lambdas", lambda)?)));
            told(points.collect::<Result<_, FitError>>()?)
        }
        &Grid::Down { ratio, points } => down(&objective, with, (ratio, points), data, budget),
    }
}

fn down(
    objective: &Objective,
    with: impl Fn(f64) -> Objective,
    (ratio, points): (f64, u32),
    data: &Data,
    budget: &Budget,
) -> Result<Points, FitError> {
    if !(ratio > 0.0 && ratio < 1.0) {
        return refuse(format!("`lambda_ratio` must be a number between 0 and 1, not {ratio}"));
    }
    if points == 0 {
        return refuse("a path has at least one point; `points` is 0");
    }
    let outputs = objective.split().len().max(objective.width());
    if outputs > 1 {
        return refuse(format!(
            "where all weights are 0, and so where a path of lambdas begins, is found for one output, and there are \
             {outputs}; \
             name `lambdas`, or several values of `c`"
        ));
    }
    let store = data.store();
    let coming = budget.expect(point_bytes(&*store, objective));
    let zero = lambda_max(store, &Task::new(objective.clone()), budget)?;
    drop(coming);
    let Some(largest) = zero.largest_lambda else {
        let name = objective.penalty.name();
        return refuse(format!(
            "a path begins where all weights are 0, and with the {name} penalty they never are; name `lambdas`"
        ));
    };
    if largest == 0.0 {
        return refuse("all weights are 0 for every lambda: the features say nothing about the labels");
    }
    let steps = (points - 1).max(1);
    let first = if points == 1 { 1 } else { 0 };
    let part = |k: u32| ratio.powf(f64::from(k) / f64::from(steps));
    let objectives = (first..=steps).map(|k| with(largest * part(k))).collect();
    Ok(Points { objectives, along: Some(zero.along), bytes_read: zero.bytes_read })
}
