//! What the library asks of a penalty besides its formulas, so that it can be named, and solved in every way.
use super::{Group, NonNegative, Nuclear, Penalty, SoftThreshold};

/// A penalty that is a line of the table in `any.rs`.
pub trait Listed: Penalty + Clone {
    /// λ; 0 where there is none.
    fn lambda(&self) -> f64;

    /// The same with another λ.
    fn with_lambda(&self, lambda: f64) -> Self;

    /// Which of its weights hang together.
    fn structure(&self) -> Structure<'_>;

    /// The least λ for which w = 0 is optimal where -v is the gradient of the losses there; none if there is no kink
    /// at 0.
    fn least_lambda(&self, v: &[f64]) -> Option<f64>;

    /// The same for weights that may not be below 0, if that is known.
    fn non_negative(&self) -> Option<NonNegative> {
        None
    }

    /// The same for so many weights that lie side by side for each feature.
    fn for_outputs(&self, outputs: usize) -> Self {
        let _ = outputs;
        self.clone()
    }

    /// In a few words, for people.
    fn describe(&self, name: &str) -> String {
        format!("{name} penalty, lambda = {}", self.lambda())
    }
}

/// Which weights of a penalty hang together, and with that how its proximal map is evaluated for a row. What makes
/// problems of rows matches on it without a default arm: a new kind compiles once it is told how its map is evaluated.
#[derive(Clone, Copy, Debug)]
pub enum Structure<'a> {
    /// Each weight is by itself.
    Coordinates(ElasticTerms),
    /// Those of a group.
    Groups(&'a Group),
    /// All: they form a matrix of features by outputs.
    Matrix(&'a Nuclear),
}

/// `a|w_j| + b/2 w_j²` for every coordinate, which may be bound to be no less than 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ElasticTerms {
    /// a.
    pub l1: f64,
    /// b.
    pub l2: f64,
    /// Whether w_j below 0 costs more than anything.
    pub non_negative: bool,
}

impl ElasticTerms {
    /// a|w_j| alone.
    pub const fn l1(l1: f64) -> ElasticTerms {
        ElasticTerms { l1, l2: 0.0, non_negative: false }
    }

    /// What |w_j| costs below 0.
    pub fn below(&self) -> f64 {
        if self.non_negative { f64::INFINITY } else { self.l1 }
    }

    /// Threshold and factor of `prox_{ηR}`.
    ///
    /// For infinite η they are those of `∇R*`, which R has if it is strongly convex: the limit of `prox_{ηR}(ηv)`.
    pub fn soft_threshold(&self, eta: f64) -> SoftThreshold {
        let (threshold, factor) = match eta.is_finite() {
            true => (eta * self.l1, 1.0 / (1.0 + eta * self.l2)),
            false => (self.l1, 1.0 / self.l2),
        };
        let below = if self.non_negative { f64::INFINITY } else { threshold };
        SoftThreshold { threshold, below, factor }
    }
}
