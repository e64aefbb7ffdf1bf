//! Names become types here, and only here.
use serde::{Deserialize, Serialize};

use super::non_negative::highest;
use super::{
    ElasticNet, Group, GroupMap, L1, L2, NoPenalty, NonNegative, Nuclear, Penalty, PenaltyError, SoftThreshold, largest,
};

/// Any of the penalties, as named on the command line and in model files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AnyPenalty {
    /// `l2`
    L2(L2),
    /// `l1`
    L1(L1),
    /// `elastic-net`
    ElasticNet(ElasticNet),
    /// `group`
    Group(Group),
    /// `nuclear`
    Nuclear(Nuclear),
    /// `non-negative`
    NonNegative(NonNegative),
    /// `none`
    None(NoPenalty),
}

impl Default for AnyPenalty {
    /// ½‖w‖²
    fn default() -> Self {
        AnyPenalty::L2(L2 { lambda: 1.0 })
    }
}

macro_rules! each {
    ($any:expr, $penalty:ident => $body:expr) => {
        match $any {
            AnyPenalty::L2($penalty) => $body,
            AnyPenalty::L1($penalty) => $body,
            AnyPenalty::ElasticNet($penalty) => $body,
            AnyPenalty::Group($penalty) => $body,
            AnyPenalty::Nuclear($penalty) => $body,
            AnyPenalty::NonNegative($penalty) => $body,
            AnyPenalty::None($penalty) => $body,
        }
    };
}

impl AnyPenalty {
    /// The penalty called `name`; `l1_ratio` and `groups` are looked at by the penalties that have them.
    pub fn from_name(
        name: &str,
        lambda: f64,
        l1_ratio: f64,
        groups: Option<GroupMap>,
    ) -> Result<AnyPenalty, PenaltyError> {
        if !(lambda.is_finite() && lambda > 0.0) {
            return Err(PenaltyError::Lambda { lambda });
        }
        Ok(match name {
            "l2" => AnyPenalty::L2(L2 { lambda }),
            "l1" => AnyPenalty::L1(L1 { lambda }),
            "elastic-net" if !(0.0..=1.0).contains(&l1_ratio) => return Err(PenaltyError::Ratio { ratio: l1_ratio }),
            "elastic-net" => AnyPenalty::ElasticNet(ElasticNet { lambda, l1_ratio }),
            "group" => AnyPenalty::Group(Group { lambda, groups: groups.ok_or(PenaltyError::NoGroups)? }),
            // For how many outputs is said later.
            "nuclear" => AnyPenalty::Nuclear(Nuclear { lambda, outputs: 1 }),
            "none" => AnyPenalty::None(NoPenalty),
            _ => return Err(PenaltyError::UnknownName { name: name.to_owned() }),
        })
    }

    /// The name that [`from_name`](Self::from_name) knows it by.
    pub const fn name(&self) -> &'static str {
        match self {
            AnyPenalty::L2(_) => "l2",
            AnyPenalty::L1(_) => "l1",
            AnyPenalty::ElasticNet(_) => "elastic-net",
            AnyPenalty::Group(_) => "group",
            AnyPenalty::Nuclear(_) => "nuclear",
            AnyPenalty::NonNegative(_) => "non-negative",
            AnyPenalty::None(_) => "none",
        }
    }

    /// The same for weights that may not be below 0.
    pub fn non_negative(self) -> Result<AnyPenalty, PenaltyError> {
        let (lambda, l1_ratio) = match self {
            AnyPenalty::L2(l2) => (l2.lambda, 0.0),
            AnyPenalty::L1(l1) => (l1.lambda, 1.0),
            AnyPenalty::ElasticNet(net) => (net.lambda, net.l1_ratio),
            AnyPenalty::NonNegative(known) => (known.lambda, known.l1_ratio),
            AnyPenalty::None(_) => (0.0, 1.0),
            AnyPenalty::Group(_) | AnyPenalty::Nuclear(_) => {
                return Err(PenaltyError::NonNegative { name: self.name() });
            }
        };
        Ok(AnyPenalty::NonNegative(NonNegative { lambda, l1_ratio }))
    }

    /// Whether it bounds Σ βx, so that dual variables can be scaled to that bound.
    pub fn bounds_sums(&self) -> bool {
        self.unpaid(&[]).is_none()
    }

    /// How far v is from what a penalty without a price for large weights permits; none for all others.
    pub fn unpaid(&self, v: &[f64]) -> Option<f64> {
        let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
        match self {
            AnyPenalty::None(_) => Some(norm(&mut v.iter().copied())),
            AnyPenalty::NonNegative(bound) if bound.lambda == 0.0 => Some(norm(&mut v.iter().map(|v| v.max(0.0)))),
            _ => None,
        }
    }

    /// λ; 0 for `none`.
    pub fn lambda(&self) -> f64 {
        match self {
            AnyPenalty::L2(penalty) => penalty.lambda,
            AnyPenalty::L1(penalty) => penalty.lambda,
            AnyPenalty::ElasticNet(penalty) => penalty.lambda,
            AnyPenalty::Group(penalty) => penalty.lambda,
            AnyPenalty::Nuclear(penalty) => penalty.lambda,
            AnyPenalty::NonNegative(penalty) => penalty.lambda,
            AnyPenalty::None(_) => 0.0,
        }
    }

    /// The same penalty with another λ.
    pub fn with_lambda(&self, lambda: f64) -> AnyPenalty {
        match self.clone() {
            AnyPenalty::L2(_) => AnyPenalty::L2(L2 { lambda }),
            AnyPenalty::L1(_) => AnyPenalty::L1(L1 { lambda }),
            AnyPenalty::ElasticNet(penalty) => AnyPenalty::ElasticNet(ElasticNet { lambda, ..penalty }),
            AnyPenalty::Group(penalty) => AnyPenalty::Group(Group { lambda, ..penalty }),
            AnyPenalty::Nuclear(penalty) => AnyPenalty::Nuclear(Nuclear { lambda, ..penalty }),
            AnyPenalty::NonNegative(penalty) => AnyPenalty::NonNegative(NonNegative { lambda, ..penalty }),
            AnyPenalty::None(penalty) => AnyPenalty::None(penalty),
        }
    }

    /// Multiples of a dual point with Σ βx = v that are worth trying: all have a finite conjugate.
    pub fn dual_scales(&self, v: &[f64]) -> [f64; 2] {
        let feasible = self.feasible_scale(v);
        match self {
            // Inside the ball of the l1 part, the conjugate is 0; which side wins depends on how small the other part
            // is.
            AnyPenalty::ElasticNet(penalty) => [feasible, penalty.parts().0.feasible_scale(v)],
            AnyPenalty::NonNegative(penalty) => [feasible, penalty.linear_part().feasible_scale(v)],
            _ => [feasible, feasible],
        }
    }

    /// The least λ for which R(w) ≥ v·w for all w, so that w = 0 is optimal where -v is the gradient of the losses
    /// there. None where no λ is large enough: the penalty has no kink at 0.
    pub fn least_lambda(&self, v: &[f64]) -> Option<f64> {
        match self {
            AnyPenalty::L1(_) => Some(largest(v)),
            AnyPenalty::ElasticNet(penalty) if penalty.l1_ratio > 0.0 => Some(largest(v) / penalty.l1_ratio),
            AnyPenalty::Group(penalty) => Some(penalty.lambda / penalty.largest_scale(v)),
            AnyPenalty::Nuclear(penalty) => Some(penalty.largest(v)),
            AnyPenalty::NonNegative(penalty) if penalty.l1_ratio > 0.0 => Some(highest(v) / penalty.l1_ratio),
            AnyPenalty::L2(_) | AnyPenalty::ElasticNet(_) | AnyPenalty::NonNegative(_) | AnyPenalty::None(_) => None,
        }
    }

    /// The same for so many weights that lie side by side for each feature. A group takes in all weights of its
    /// features.
    pub fn for_outputs(self, outputs: usize) -> AnyPenalty {
        match self {
            AnyPenalty::Group(Group { lambda, groups }) => {
                AnyPenalty::Group(Group { lambda, groups: groups.repeated(outputs) })
            }
            AnyPenalty::Nuclear(penalty) => AnyPenalty::Nuclear(Nuclear { outputs: outputs as u32, ..penalty }),
            other => other,
        }
    }

    /// In a few words, for people.
    pub fn describe(&self) -> String {
        match self {
            AnyPenalty::ElasticNet(p) => format!("elastic-net penalty, lambda = {}, l1 ratio {}", p.lambda, p.l1_ratio),
            AnyPenalty::Group(p) => format!("group penalty of {} groups, lambda = {}", p.groups.count(), p.lambda),
            AnyPenalty::NonNegative(p) if p.lambda == 0.0 => "no penalty, weights from 0 on".to_string(),
            AnyPenalty::NonNegative(p) => {
                format!("elastic-net penalty, lambda = {}, l1 ratio {}, weights from 0 on", p.lambda, p.l1_ratio)
            }
            AnyPenalty::None(_) => "no penalty".to_string(),
            other => format!("{} penalty, lambda = {}", other.name(), other.lambda()),
        }
    }

    /// Threshold and factor of `prox_{ηR}` where each coordinate is mapped for itself; `None` for groups and matrices.
    ///
    /// For infinite η they are those of `∇R*`, which R has if it is strongly convex: the limit of `prox_{ηR}(ηv)`.
    pub fn soft_threshold(&self, eta: f64) -> Option<SoftThreshold> {
        let (l1, l2) = match self {
            AnyPenalty::L2(penalty) => (0.0, penalty.lambda),
            AnyPenalty::L1(penalty) => (penalty.lambda, 0.0),
            AnyPenalty::ElasticNet(penalty) => (penalty.parts().0.lambda, penalty.parts().1.lambda),
            AnyPenalty::NonNegative(penalty) => penalty.parts(),
            AnyPenalty::None(_) => (0.0, 0.0),
            AnyPenalty::Group(_) | AnyPenalty::Nuclear(_) => return None,
        };
        let (threshold, factor) = match eta.is_finite() {
            true => (eta * l1, 1.0 / (1.0 + eta * l2)),
            false => (l1, 1.0 / l2),
        };
        let below = if matches!(self, AnyPenalty::NonNegative(_)) { f64::INFINITY } else { threshold };
        Some(SoftThreshold { threshold, below, factor })
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

    fn strong_convexity(&self) -> f64 {
        each!(self, penalty => penalty.strong_convexity())
    }
}
