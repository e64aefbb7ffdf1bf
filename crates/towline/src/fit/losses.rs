//! A fit for each loss.
use super::Fit;
use crate::loss::{
    AnyLoss, EpsilonInsensitive, Hinge, Huber, Logistic, LossError, Quantile, Squared, SquaredEpsilonInsensitive,
    SquaredHinge,
};
use crate::objective::Multiclass;

impl Fit {
    /// The linear support vector machine: max(0, 1 - yz).
    pub fn hinge() -> Fit {
        Fit::new().loss(AnyLoss::Hinge(Hinge))
    }

    /// max(0, 1 - yz)².
    pub fn squared_hinge() -> Fit {
        Fit::new().loss(AnyLoss::SquaredHinge(SquaredHinge))
    }

    /// Logistic regression: log(1 + exp(-yz)).
    pub fn logistic() -> Fit {
        Fit::new().loss(AnyLoss::Logistic(Logistic))
    }

    /// Least squares: ½(z - y)².
    pub fn squared() -> Fit {
        Fit::new().loss(AnyLoss::Squared(Squared))
    }

    /// Support vector regression: max(0, |z - y| - ε).
    pub fn epsilon_insensitive(epsilon: f64) -> Fit {
        Fit::with(EpsilonInsensitive::new(epsilon).map(AnyLoss::EpsilonInsensitive))
    }

    /// max(0, |z - y| - ε)².
    pub fn squared_epsilon_insensitive(epsilon: f64) -> Fit {
        Fit::with(SquaredEpsilonInsensitive::new(epsilon).map(AnyLoss::SquaredEpsilonInsensitive))
    }

    /// ½(z - y)² up to a residual of δ, linear beyond.
    pub fn huber(delta: f64) -> Fit {
        Fit::with(Huber::new(delta).map(AnyLoss::Huber))
    }

    /// Quantile regression: predictions that a part `quantile` of the targets is below.
    pub fn quantile(quantile: f64) -> Fit {
        Fit::with(Quantile::new(quantile).map(AnyLoss::Quantile))
    }

    /// All classes in one objective with the hinge loss (Crammer and Singer).
    pub fn crammer_singer() -> Fit {
        Fit::new().multiclass(Multiclass::CrammerSinger)
    }

    /// Multinomial logistic regression: all classes in one objective.
    pub fn softmax() -> Fit {
        Fit::new().multiclass(Multiclass::Softmax)
    }

    fn with(loss: Result<AnyLoss, LossError>) -> Fit {
        let mut fit = Fit::new();
        match loss {
            Ok(loss) => fit.goal.loss = Some(loss),
            Err(error) => fit.goal.wrong_loss = Some(error),
        }
        fit
    }
}
