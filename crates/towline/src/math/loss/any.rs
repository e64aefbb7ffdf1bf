//! Names become types here, and only here.
use serde::{Deserialize, Serialize};

use super::{
    EpsilonInsensitive, Hinge, Huber, Logistic, Loss, LossError, PiecewiseLinear, SmoothLoss, Squared,
    SquaredEpsilonInsensitive, SquaredHinge,
};

/// Any of the losses, as named on the command line and in model files.
///
/// It is a [`Loss`] itself, for certificates and tests. A solver wants the type inside, through [`AnyLoss::visit`], so
/// that its inner loop is compiled for that loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AnyLoss {
    /// `hinge`
    Hinge(Hinge),
    /// `squared-hinge`
    SquaredHinge(SquaredHinge),
    /// `logistic`
    Logistic(Logistic),
    /// `squared`
    Squared(Squared),
    /// `epsilon-insensitive`
    EpsilonInsensitive(EpsilonInsensitive),
    /// `squared-epsilon-insensitive`
    SquaredEpsilonInsensitive(SquaredEpsilonInsensitive),
    /// `huber`
    Huber(Huber),
}

/// One of each loss, with ordinary parameters.
pub const ALL: &[AnyLoss] = &[
    AnyLoss::Hinge(Hinge),
    AnyLoss::SquaredHinge(SquaredHinge),
    AnyLoss::Logistic(Logistic),
    AnyLoss::Squared(Squared),
    AnyLoss::EpsilonInsensitive(EpsilonInsensitive { epsilon: 0.1 }),
    AnyLoss::SquaredEpsilonInsensitive(SquaredEpsilonInsensitive { epsilon: 0.1 }),
    AnyLoss::Huber(Huber { delta: 1.0 }),
];

/// Code that is compiled once per loss.
pub trait LossVisitor {
    /// What it returns.
    type Out;

    /// Called with the loss as its own type.
    fn visit<L: Loss>(self, loss: L) -> Self::Out;
}

/// Code that is compiled once per smooth loss.
pub trait SmoothLossVisitor {
    /// What it returns.
    type Out;

    /// Called with the loss as its own type.
    fn visit<L: SmoothLoss>(self, loss: L) -> Self::Out;
}

/// Code that is compiled once per loss that is made of straight pieces.
pub trait PiecewiseVisitor {
    /// What it returns.
    type Out;

    /// Called with the loss as its own type.
    fn visit<L: PiecewiseLinear>(self, loss: L) -> Self::Out;
}

macro_rules! each {
    ($any:expr, $loss:ident => $body:expr) => {
        match $any {
            AnyLoss::Hinge($loss) => $body,
            AnyLoss::SquaredHinge($loss) => $body,
            AnyLoss::Logistic($loss) => $body,
            AnyLoss::Squared($loss) => $body,
            AnyLoss::EpsilonInsensitive($loss) => $body,
            AnyLoss::SquaredEpsilonInsensitive($loss) => $body,
            AnyLoss::Huber($loss) => $body,
        }
    };
}

impl AnyLoss {
    /// The loss called `name`; `epsilon` and `delta` are looked at by the losses that have them.
    pub fn from_name(name: &str, epsilon: f64, delta: f64) -> Result<Self, LossError> {
        Ok(match name {
            "hinge" => AnyLoss::Hinge(Hinge),
            "squared-hinge" => AnyLoss::SquaredHinge(SquaredHinge),
            "logistic" => AnyLoss::Logistic(Logistic),
            "squared" => AnyLoss::Squared(Squared),
            "epsilon-insensitive" => AnyLoss::EpsilonInsensitive(EpsilonInsensitive::new(epsilon)?),
            "squared-epsilon-insensitive" => {
                AnyLoss::SquaredEpsilonInsensitive(SquaredEpsilonInsensitive::new(epsilon)?)
            }
            "huber" => AnyLoss::Huber(Huber::new(delta)?),
            _ => return Err(LossError::UnknownName { name: name.to_owned() }),
        })
    }

    /// The name that [`from_name`](Self::from_name) knows it by.
    pub const fn name(self) -> &'static str {
        match self {
            AnyLoss::Hinge(_) => "hinge",
            AnyLoss::SquaredHinge(_) => "squared-hinge",
            AnyLoss::Logistic(_) => "logistic",
            AnyLoss::Squared(_) => "squared",
            AnyLoss::EpsilonInsensitive(_) => "epsilon-insensitive",
            AnyLoss::SquaredEpsilonInsensitive(_) => "squared-epsilon-insensitive",
            AnyLoss::Huber(_) => "huber",
        }
    }

    /// Whether targets are -1 and +1 (true) or any real (false).
    pub const fn is_classification(self) -> bool {
        matches!(self, AnyLoss::Hinge(_) | AnyLoss::SquaredHinge(_) | AnyLoss::Logistic(_))
    }

    /// The margin yz at which the loss reaches `1 + s`, above 0: L⁻¹(1 + s) of IBCD's equation (10). Rows below it are
    /// outliers of the loss that is cut off there. `None` for regression.
    pub fn ceiling_margin(self, s: f64) -> Option<f64> {
        match self {
            AnyLoss::Hinge(_) => Some(-s),
            AnyLoss::SquaredHinge(_) => Some(1.0 - (1.0 + s).sqrt()),
            AnyLoss::Logistic(_) => Some(-(1.0 + s).exp_m1().ln()),
            _ => None,
        }
    }

    /// Calls the visitor with the loss as its own type.
    pub fn visit<V: LossVisitor>(self, visitor: V) -> V::Out {
        each!(self, loss => visitor.visit(loss))
    }

    /// Calls the visitor with the loss as its own type if it is smooth.
    pub fn visit_smooth<V: SmoothLossVisitor>(self, visitor: V) -> Result<V::Out, LossError> {
        match self {
            AnyLoss::SquaredHinge(loss) => Ok(visitor.visit(loss)),
            AnyLoss::Logistic(loss) => Ok(visitor.visit(loss)),
            AnyLoss::Squared(loss) => Ok(visitor.visit(loss)),
            AnyLoss::SquaredEpsilonInsensitive(loss) => Ok(visitor.visit(loss)),
            AnyLoss::Huber(loss) => Ok(visitor.visit(loss)),
            AnyLoss::Hinge(_) | AnyLoss::EpsilonInsensitive(_) => Err(LossError::NotSmooth { name: self.name() }),
        }
    }
}

impl AnyLoss {
    /// The terms of a loss that is made of straight pieces; 0 for others.
    pub fn terms(&self) -> usize {
        match self {
            AnyLoss::Hinge(_) => <Hinge as PiecewiseLinear>::TERMS,
            AnyLoss::EpsilonInsensitive(_) => <EpsilonInsensitive as PiecewiseLinear>::TERMS,
            _ => 0,
        }
    }

    /// Calls the visitor with the loss as its own type if it is made of straight pieces; gives the visitor back if not.
    pub fn visit_piecewise<V: PiecewiseVisitor>(self, visitor: V) -> Result<V::Out, V> {
        match self {
            AnyLoss::Hinge(loss) => Ok(visitor.visit(loss)),
            AnyLoss::EpsilonInsensitive(loss) => Ok(visitor.visit(loss)),
            AnyLoss::SquaredHinge(_)
            | AnyLoss::Logistic(_)
            | AnyLoss::Squared(_)
            | AnyLoss::SquaredEpsilonInsensitive(_)
            | AnyLoss::Huber(_) => Err(visitor),
        }
    }
}

impl Loss for AnyLoss {
    fn value(&self, y: f64, z: f64) -> f64 {
        each!(self, loss => loss.value(y, z))
    }

    fn slope(&self, y: f64, z: f64) -> f64 {
        each!(self, loss => loss.slope(y, z))
    }

    fn conjugate(&self, y: f64, u: f64) -> f64 {
        each!(self, loss => loss.conjugate(y, u))
    }

    fn dual_bounds(&self, y: f64, c: f64) -> (f64, f64) {
        each!(self, loss => loss.dual_bounds(y, c))
    }

    fn curvature(&self) -> f64 {
        each!(self, loss => loss.curvature())
    }

    fn dual_step(&self, y: f64, z: f64, beta: f64, q: f64, c: f64) -> f64 {
        each!(self, loss => loss.dual_step(y, z, beta, q, c))
    }

    fn gap(&self, y: f64, z: f64, beta: f64, c: f64) -> f64 {
        each!(self, loss => loss.gap(y, z, beta, c))
    }

    fn slack(&self, y: f64, z: f64, beta: f64, c: f64) -> f64 {
        each!(self, loss => loss.slack(y, z, beta, c))
    }

    fn clearance(&self, y: f64, z: f64) -> f64 {
        each!(self, loss => loss.clearance(y, z))
    }

    fn dual_value(&self, y: f64, beta: f64, c: f64) -> f64 {
        each!(self, loss => loss.dual_value(y, beta, c))
    }

    fn initial_dual(&self, y: f64, c: f64) -> f64 {
        each!(self, loss => loss.initial_dual(y, c))
    }
}

/// The names in the order of [`ALL`], for error messages.
pub(super) fn known_names() -> String {
    ALL.iter().map(|loss| loss.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_files_round_trip() {
        for &loss in ALL {
            assert_eq!(AnyLoss::from_name(loss.name(), 0.1, 1.0), Ok(loss));
            let text = serde_json::to_string(&loss).unwrap();
            assert!(text.contains(&format!("\"name\":\"{}\"", loss.name())), "{text}");
            assert_eq!(serde_json::from_str::<AnyLoss>(&text).unwrap(), loss);
        }
        assert_eq!(
            serde_json::to_string(&AnyLoss::from_name("huber", 0.1, 1.0).unwrap()).unwrap(),
            r#"{"name":"huber","delta":1.0}"#
        );
    }

    #[test]
    fn the_table_has_each_loss_once() {
        let mut names: Vec<_> = ALL.iter().map(|loss| loss.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 7);
        assert_eq!(ALL.iter().filter(|loss| loss.is_classification()).count(), 3);
    }

    #[test]
    fn a_loss_reaches_its_ceiling_at_the_margin_that_is_said() {
        for &loss in ALL.iter().filter(|loss| loss.is_classification()) {
            for s in [0.0, 0.25, 1.0, 3.0] {
                let margin = loss.ceiling_margin(s).unwrap();
                for y in [-1.0, 1.0] {
                    let value = loss.value(y, y * margin);
                    assert!((value - (1.0 + s)).abs() < 1e-12, "{} at {margin}: {value}", loss.name());
                }
            }
        }
        let squared = AnyLoss::from_name("squared", 0.1, 1.0).unwrap();
        assert_eq!(squared.ceiling_margin(1.0), None);
    }

    #[test]
    fn parameters_are_checked() {
        for epsilon in [-0.1, f64::NAN, f64::INFINITY] {
            for name in ["epsilon-insensitive", "squared-epsilon-insensitive"] {
                assert!(matches!(AnyLoss::from_name(name, epsilon, 1.0), Err(LossError::Epsilon { .. })));
            }
        }
        for delta in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(AnyLoss::from_name("huber", 0.1, delta), Err(LossError::Delta { .. })));
        }
        assert!(AnyLoss::from_name("epsilon-insensitive", 0.0, 1.0).is_ok());
        for text in [r#"{"name":"huber","delta":0.0}"#, r#"{"name":"epsilon-insensitive","epsilon":-1.0}"#] {
            assert!(serde_json::from_str::<AnyLoss>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn errors_say_what_to_do() {
        let error = AnyLoss::from_name("hinge2", 0.1, 1.0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no loss is called \"hinge2\"; known losses: hinge, squared-hinge, logistic, squared, epsilon-insensitive, \
             squared-epsilon-insensitive, huber"
        );
    }
}
