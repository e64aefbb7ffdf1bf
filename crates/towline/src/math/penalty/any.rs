//! Names become types here, and only here: the table of all penalties, and what follows from it.
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    ElasticNet, Group, L1, L2, Listed, NoPenalty, NonNegative, Nuclear, Penalty, PenaltyError, PenaltyParameters,
    SoftThreshold, Structure,
};

/// Everything that is said of all penalties, from one line for each: its variant and type, its name, a line of
/// documentation, and how it is made from parameters. Those behind `by setting` have no name that can be asked for:
/// another setting makes them.
macro_rules! penalties {
    (
        by name { $($(#[$meta:meta])* $variant:ident($penalty:ident) $name:literal $line:literal, $make:expr;)* }
        by setting { $($other:ident($other_penalty:ident) $other_name:literal;)* }
    ) => {
        /// Any of the penalties, as named on the command line and in model files.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "name")]
        #[non_exhaustive]
        pub enum AnyPenalty {
            $(#[doc = concat!("`", $name, "`")] #[serde(rename = $name)] $variant($penalty),)*
            $(#[doc = concat!("`", $other_name, "`")] #[serde(rename = $other_name)] $other($other_penalty),)*
        }

        /// The regularizer R of `R(w) + C Σ L`, by name.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Regularizer {
            $(#[doc = $line] $(#[$meta])* $variant,)*
        }

        impl Regularizer {
            /// Each of them.
            pub const ALL: &[Regularizer] = &[$(Regularizer::$variant),*];

            /// The name that it is chosen by.
            pub const fn name(self) -> &'static str {
                match self { $(Regularizer::$variant => $name,)* }
            }

            /// The penalty of this name; parameters are looked at by the penalties that have them.
            pub fn with(self, given: PenaltyParameters) -> Result<AnyPenalty, PenaltyError> {
                let lambda = given.lambda;
                if !(lambda.is_finite() && lambda > 0.0) {
                    return Err(PenaltyError::Lambda { lambda });
                }
                match self {
                    $(Regularizer::$variant => {
                        let make: fn(PenaltyParameters) -> Result<$penalty, PenaltyError> = $make;
                        make(given).map(AnyPenalty::$variant)
                    })*
                }
            }
        }

        macro_rules! each {
            ($any:expr, $bound:ident => $body:expr) => {
                match $any {
                    $(AnyPenalty::$variant($bound) => $body,)*
                    $(AnyPenalty::$other($bound) => $body,)*
                }
            };
        }

        /// The same, back as one of them.
        macro_rules! map {
            ($any:expr, $bound:ident => $body:expr) => {
                match $any {
                    $(AnyPenalty::$variant($bound) => AnyPenalty::$variant($body),)*
                    $(AnyPenalty::$other($bound) => AnyPenalty::$other($body),)*
                }
            };
        }

        impl AnyPenalty {
            /// The name in files and for people.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(AnyPenalty::$variant(_) => $name,)*
                    $(AnyPenalty::$other(_) => $other_name,)*
                }
            }
        }
    };
}

penalties! {
    by name {
        #[default]
        L2(L2) "l2" "λ/2 ‖w‖², ridge.", |given| Ok(L2 { lambda: given.lambda });
        L1(L1) "l1" "λ‖w‖₁, the lasso.", |given| Ok(L1 { lambda: given.lambda });
        ElasticNet(ElasticNet) "elastic-net" "λ(ρ‖w‖₁ + (1-ρ)/2 ‖w‖²).",
            |given| ElasticNet::new(given.lambda, given.l1_ratio);
        Group(Group) "group" "The group lasso.", |given| Group::new(given.lambda, given.groups);
        // For how many outputs is said later.
        Nuclear(Nuclear) "nuclear" "The sum of singular values, for several outputs in one objective.",
            |given| Ok(Nuclear { lambda: given.lambda, outputs: 1 });
        None(NoPenalty) "none" "None.", |_| Ok(NoPenalty);
    }
    by setting { NonNegative(NonNegative) "non-negative"; }
}

impl fmt::Display for Regularizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Regularizer {
    type Err = PenaltyError;

    fn from_str(name: &str) -> Result<Self, PenaltyError> {
        let found = Regularizer::ALL.iter().copied().find(|known| known.name() == name);
        found.ok_or_else(|| PenaltyError::UnknownName { name: name.to_owned() })
    }
}

/// The names in the order of the table, for messages.
pub(super) fn known_names() -> String {
    Regularizer::ALL.iter().map(|known| known.name()).collect::<Vec<_>>().join(", ")
}

impl Default for AnyPenalty {
    /// ½‖w‖²
    fn default() -> Self {
        AnyPenalty::L2(L2 { lambda: 1.0 })
    }
}

impl AnyPenalty {
    /// The penalty called `name`; `l1_ratio` and `groups` are looked at by the penalties that have them.
    pub fn from_name(
        name: &str,
        lambda: f64,
        l1_ratio: f64,
        groups: Option<super::GroupMap>,
    ) -> Result<AnyPenalty, PenaltyError> {
        name.parse::<Regularizer>()?.with(PenaltyParameters { lambda, l1_ratio, groups })
    }

    /// The same for weights that may not be below 0.
    pub fn non_negative(self) -> Result<AnyPenalty, PenaltyError> {
        let bounded = each!(&self, penalty => penalty.non_negative());
        bounded.map(AnyPenalty::NonNegative).ok_or(PenaltyError::NonNegative { name: self.name() })
    }

    /// λ; 0 for `none`.
    pub fn lambda(&self) -> f64 {
        each!(self, penalty => penalty.lambda())
    }

    /// The same penalty with another λ.
    pub fn with_lambda(&self, lambda: f64) -> AnyPenalty {
        map!(self, penalty => penalty.with_lambda(lambda))
    }

    /// The least λ for which R(w) ≥ v·w for all w, so that w = 0 is optimal where -v is the gradient of the losses
    /// there. None where no λ is large enough: the penalty has no kink at 0.
    pub fn least_lambda(&self, v: &[f64]) -> Option<f64> {
        each!(self, penalty => penalty.least_lambda(v))
    }

    /// The same for so many weights that lie side by side for each feature. A group takes in all weights of its
    /// features.
    pub fn for_outputs(self, outputs: usize) -> AnyPenalty {
        map!(self, penalty => penalty.for_outputs(outputs))
    }

    /// In a few words, for people.
    pub fn describe(&self) -> String {
        each!(self, penalty => penalty.describe(self.name()))
    }

    /// Which of its weights hang together: what a solver has to know of it besides its formulas.
    pub fn structure(&self) -> Structure<'_> {
        each!(self, penalty => penalty.structure())
    }

    /// Threshold and factor of `prox_{ηR}` where each coordinate is mapped for itself; `None` for groups and matrices.
    pub fn soft_threshold(&self, eta: f64) -> Option<SoftThreshold> {
        match self.structure() {
            Structure::Coordinates(terms) => Some(terms.soft_threshold(eta)),
            Structure::Groups(_) | Structure::Matrix(_) => None,
        }
    }
}

impl Penalty for AnyPenalty {
    fn along(&self, w: &[f64]) -> (f64, f64) {
        each!(self, penalty => penalty.along(w))
    }

    fn prox(&self, eta: f64, u: &mut [f64]) {
        each!(self, penalty => penalty.prox(eta, u))
    }

    fn conjugate(&self, v: &[f64], scale: f64) -> f64 {
        each!(self, penalty => penalty.conjugate(v, scale))
    }

    fn feasible_scale(&self, v: &[f64]) -> f64 {
        each!(self, penalty => penalty.feasible_scale(v))
    }

    fn dual_scales(&self, v: &[f64]) -> [f64; 2] {
        each!(self, penalty => penalty.dual_scales(v))
    }

    fn unpaid(&self, v: &[f64]) -> Option<f64> {
        each!(self, penalty => penalty.unpaid(v))
    }

    fn strong_convexity(&self) -> f64 {
        each!(self, penalty => penalty.strong_convexity())
    }

    fn bounds_sums(&self) -> bool {
        each!(self, penalty => penalty.bounds_sums())
    }

    fn determines_weights(&self) -> bool {
        each!(self, penalty => penalty.determines_weights())
    }
}
