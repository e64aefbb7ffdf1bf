//! Names become types here, and only here: the table of all losses, and what follows from it.
use serde::{Deserialize, Serialize};

use super::{
    EpsilonInsensitive, Hinge, Huber, Logistic, Loss, LossError, LossParameters, PiecewiseLinear, Quantile, SmoothLoss,
    Squared, SquaredEpsilonInsensitive, SquaredHinge,
};

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

/// Everything that is said of all losses, from one line for each: its type, its name, what targets are (`classes` -1
/// and +1, or `numbers`), whether it is `smooth` or made of straight pieces (`piecewise`), one with ordinary
/// parameters, and how it is made from given ones.
macro_rules! losses {
    ($($loss:ident $name:literal $targets:ident $shape:ident $ordinary:expr, $make:expr;)*) => {
        /// Any of the losses, as named on the command line and in model files.
        ///
        /// It is a [`Loss`] itself, for certificates and tests. A solver wants the type inside, through
        /// [`AnyLoss::visit`], so that its inner loop is compiled for that loss.
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "name")]
        #[non_exhaustive]
        pub enum AnyLoss {
            $(#[doc = concat!("`", $name, "`")] #[serde(rename = $name)] $loss($loss),)*
        }

        /// One of each loss, with ordinary parameters.
        pub const ALL: &[AnyLoss] = &[$(AnyLoss::$loss($ordinary)),*];

        macro_rules! each {
            ($any:expr, $bound:ident => $body:expr) => {
                match $any { $(AnyLoss::$loss($bound) => $body,)* }
            };
        }

        impl AnyLoss {
            /// The loss called `name`; parameters are looked at by the losses that have them.
            pub fn from_name(name: &str, parameters: LossParameters) -> Result<Self, LossError> {
                match name {
                    $($name => {
                        let make: fn(LossParameters) -> Result<$loss, LossError> = $make;
                        make(parameters).map(AnyLoss::$loss)
                    })*
                    _ => Err(LossError::UnknownName { name: name.to_owned() }),
                }
            }

            /// The name that [`from_name`](Self::from_name) knows it by.
            pub const fn name(self) -> &'static str {
                match self { $(AnyLoss::$loss(_) => $name,)* }
            }

            /// Whether targets are -1 and +1 (true) or any real (false).
            pub const fn is_classification(self) -> bool {
                match self { $(AnyLoss::$loss(_) => losses!(@are_classes $targets),)* }
            }

            /// The terms of a loss that is made of straight pieces; 0 for others.
            pub fn terms(&self) -> usize {
                match self { $(AnyLoss::$loss(_) => losses!(@terms $shape $loss),)* }
            }

            /// Calls the visitor with the loss as its own type if it is smooth.
            pub fn visit_smooth<V: SmoothLossVisitor>(self, visitor: V) -> Result<V::Out, LossError> {
                match self { $(AnyLoss::$loss(loss) => losses!(@smooth $shape loss visitor $name),)* }
            }

            /// Calls the visitor with the loss as its own type if it is made of straight pieces; gives the visitor back
            /// if not.
            pub fn visit_piecewise<V: PiecewiseVisitor>(self, visitor: V) -> Result<V::Out, V> {
                match self { $(AnyLoss::$loss(loss) => losses!(@piecewise $shape loss visitor),)* }
            }
        }
    };
    (@are_classes classes) => { true };
    (@are_classes numbers) => { false };
    (@terms piecewise $loss:ident) => { <$loss as PiecewiseLinear>::TERMS };
    (@terms smooth $loss:ident) => { 0 };
    (@smooth smooth $bound:ident $visitor:ident $name:literal) => { Ok($visitor.visit($bound)) };
    (@smooth piecewise $bound:ident $visitor:ident $name:literal) => {{
        let _ = ($bound, $visitor);
        Err(LossError::NotSmooth { name: $name })
    }};
    (@piecewise piecewise $bound:ident $visitor:ident) => { Ok($visitor.visit($bound)) };
    (@piecewise smooth $bound:ident $visitor:ident) => {{
        let _ = $bound;
        Err($visitor)
    }};
}

losses! {
    Hinge "hinge" classes piecewise Hinge, |_| Ok(Hinge);
    SquaredHinge "squared-hinge" classes smooth SquaredHinge, |_| Ok(SquaredHinge);
    Logistic "logistic" classes smooth Logistic, |_| Ok(Logistic);
    Squared "squared" numbers smooth Squared, |_| Ok(Squared);
    EpsilonInsensitive "epsilon-insensitive" numbers piecewise EpsilonInsensitive { epsilon: 0.1 },
        |given| EpsilonInsensitive::new(given.epsilon);
    SquaredEpsilonInsensitive "squared-epsilon-insensitive" numbers smooth SquaredEpsilonInsensitive { epsilon: 0.1 },
        |given| SquaredEpsilonInsensitive::new(given.epsilon);
    Huber "huber" numbers smooth Huber { delta: 1.0 }, |given| Huber::new(given.delta);
    Quantile "quantile" numbers piecewise Quantile { quantile: 0.5 }, |given| Quantile::new(given.quantile);
}

impl AnyLoss {
    /// The loss called `name`, with ordinary parameters.
    pub fn named(name: &str) -> Result<Self, LossError> {
        AnyLoss::from_name(name, LossParameters::default())
    }

    /// Calls the visitor with the loss as its own type.
    pub fn visit<V: LossVisitor>(self, visitor: V) -> V::Out {
        each!(self, loss => visitor.visit(loss))
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

    fn dual_gradient(&self, y: f64, z: f64, beta: f64, c: f64) -> f64 {
        each!(self, loss => loss.dual_gradient(y, z, beta, c))
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

    fn ceiling_margin(&self, s: f64) -> Option<f64> {
        each!(self, loss => loss.ceiling_margin(s))
    }
}

/// The names in the order of [`ALL`], for messages.
pub(super) fn known_names() -> String {
    ALL.iter().map(|loss| loss.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_files_round_trip() {
        for &loss in ALL {
            assert_eq!(AnyLoss::named(loss.name()), Ok(loss));
            let text = serde_json::to_string(&loss).unwrap();
            assert!(text.contains(&format!("\"name\":\"{}\"", loss.name())), "{text}");
            assert_eq!(serde_json::from_str::<AnyLoss>(&text).unwrap(), loss);
        }
        assert_eq!(
            serde_json::to_string(&AnyLoss::named("huber").unwrap()).unwrap(),
            r#"{"name":"huber","delta":1.0}"#
        );
    }

    #[test]
    fn the_table_has_each_loss_once() {
        let mut names: Vec<_> = ALL.iter().map(|loss| loss.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
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
        let squared = AnyLoss::named("squared").unwrap();
        assert_eq!(squared.ceiling_margin(1.0), None);
    }

    #[test]
    fn parameters_are_checked() {
        for epsilon in [-0.1, f64::NAN, f64::INFINITY] {
            for name in ["epsilon-insensitive", "squared-epsilon-insensitive"] {
                assert!(matches!(
                    AnyLoss::from_name(name, LossParameters { epsilon, ..LossParameters::default() }),
                    Err(LossError::Epsilon { .. })
                ));
            }
        }
        for delta in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(
                AnyLoss::from_name("huber", LossParameters { delta, ..LossParameters::default() }),
                Err(LossError::Delta { .. })
            ));
        }
        assert!(EpsilonInsensitive::new(0.0).is_ok());
        for quantile in [0.0, 1.0, -0.1, f64::NAN] {
            assert!(matches!(Quantile::new(quantile), Err(LossError::Quantile { .. })));
        }
        for text in [
            r#"{"name":"huber","delta":0.0}"#,
            r#"{"name":"epsilon-insensitive","epsilon":-1.0}"#,
            r#"{"name":"quantile","quantile":1.0}"#,
        ] {
            assert!(serde_json::from_str::<AnyLoss>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn errors_say_what_to_do() {
        let error = AnyLoss::named("hinge2").unwrap_err();
        assert_eq!(
            error.to_string(),
            "no loss is called \"hinge2\"; known losses: hinge, squared-hinge, logistic, squared, epsilon-insensitive, \
             squared-epsilon-insensitive, huber, quantile"
        );
    }
}
