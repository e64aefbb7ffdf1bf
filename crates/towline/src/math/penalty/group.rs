//! The group lasso (Yuan & Lin 2006): features of a group come and go together.
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::{Listed, Penalty, PenaltyError, ROUNDING, Structure};

/// λ Σ_g ω_g ‖w_g‖
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// λ, above 0.
    pub lambda: f64,
    /// Which column is in which group.
    pub groups: GroupMap,
}

/// Which column is in which group, and what groups weigh.
///
/// Files keep the number of groups and a hash: enough to tell whether two runs had the same groups, in a few bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GroupMap {
    count: u64,
    hash: u64,
    #[serde(skip)]
    of_column: Arc<[u32]>,
    #[serde(skip)]
    weights: Arc<[f64]>,
}

impl PartialEq for GroupMap {
    fn eq(&self, other: &Self) -> bool {
        (self.count, self.hash) == (other.count, other.hash)
    }
}

impl GroupMap {
    /// `of_column` has a group for each column, and one for the constant feature behind them; `weights` one number
    /// above 0 for each group.
    pub fn new(of_column: Vec<u32>, weights: Vec<f64>) -> Result<GroupMap, PenaltyError> {
        if let Some(&weight) = weights.iter().find(|weight| !(weight.is_finite() && **weight > 0.0)) {
            return Err(PenaltyError::GroupWeight { weight });
        }
        if let Some(&group) = of_column.iter().find(|&&group| group as usize >= weights.len()) {
            return Err(PenaltyError::NoSuchGroup { group, groups: weights.len() });
        }
        Ok(GroupMap::known(of_column, weights))
    }

    fn known(of_column: Vec<u32>, weights: Vec<f64>) -> GroupMap {
        let mut hash = Xxh3::new();
        of_column.iter().for_each(|group| hash.update(&group.to_le_bytes()));
        weights.iter().for_each(|weight| hash.update(&weight.to_le_bytes()));
        let count = weights.len() as u64;
        GroupMap { count, hash: hash.digest(), of_column: of_column.into(), weights: weights.into() }
    }

    /// All columns are one group of weight 1.
    pub fn whole(columns: usize) -> GroupMap {
        GroupMap::known(vec![0; columns], vec![1.0])
    }

    /// Each column is a group of its own, of weight 1; `columns` with the constant feature.
    pub fn of_each(columns: usize) -> Result<GroupMap, PenaltyError> {
        let columns =
            u32::try_from(columns).map_err(|_| PenaltyError::NoSuchGroup { group: u32::MAX, groups: columns })?;
        Ok(GroupMap::known((0..columns).collect(), vec![1.0; columns as usize]))
    }

    /// The same for so many weights that lie side by side for each column: all weights of a feature are in its group.
    pub fn repeated(&self, outputs: usize) -> GroupMap {
        if outputs == 1 {
            return self.clone();
        }
        let of_weight = self.of_column.iter().flat_map(|&group| std::iter::repeat_n(group, outputs)).collect();
        GroupMap::known(of_weight, self.weights.to_vec())
    }

    /// How many groups there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The group of each column; empty if this map was read from a model.
    pub fn of_column(&self) -> &[u32] {
        &self.of_column
    }

    /// ω of each group.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Bytes that a run holds for them: the group of each column; weight, squared norm and shrinkage of each group.
    pub fn bytes(&self) -> u64 {
        4 * self.of_column.len() as u64 + 4 * 8 * self.count
    }

    /// ‖x_g‖² of each group; `x` may end before the constant feature.
    pub fn sq_norms(&self, x: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.weights.len()];
        for (x, &group) in x.iter().zip(self.of_column.iter()) {
            sums[group as usize] += x * x;
        }
        sums
    }
}

/// What is left of a group of this squared norm when it is moved towards 0 by t.
#[inline(always)]
pub(super) fn shrinkage(sq_norm: f64, t: f64) -> f64 {
    // An empty group has 0/0 or a negative number here; `max` makes both 0.
    (1.0 - t / sq_norm.sqrt()).max(0.0)
}

impl Group {
    /// There have to be groups.
    pub fn new(lambda: f64, groups: Option<GroupMap>) -> Result<Self, PenaltyError> {
        Ok(Group { lambda, groups: groups.ok_or(PenaltyError::NoGroups)? })
    }

    /// The multiple of v that lies on the dual ball; infinite for 0.
    pub(super) fn largest_scale(&self, v: &[f64]) -> f64 {
        let norms = self.groups.sq_norms(v);
        norms
            .iter()
            .zip(self.groups.weights())
            .fold(f64::INFINITY, |scale, (sq_norm, weight)| scale.min(self.lambda * weight / sq_norm.sqrt()))
    }
}

impl Penalty for Group {
    fn along(&self, w: &[f64]) -> (f64, f64) {
        let norms = self.groups.sq_norms(w);
        let sum: f64 = norms.iter().zip(self.groups.weights()).map(|(sq_norm, weight)| weight * sq_norm.sqrt()).sum();
        (self.lambda * sum, 0.0)
    }

    fn prox(&self, eta: f64, u: &mut [f64]) {
        let norms = self.groups.sq_norms(u);
        let factors: Vec<f64> = norms
            .iter()
            .zip(self.groups.weights())
            .map(|(&sq_norm, weight)| shrinkage(sq_norm, eta * self.lambda * weight))
            .collect();
        for (u, &group) in u.iter_mut().zip(self.groups.of_column()) {
            *u *= factors[group as usize];
        }
    }

    fn conjugate(&self, v: &[f64], scale: f64) -> f64 {
        if scale <= self.largest_scale(v) * (1.0 + ROUNDING) { 0.0 } else { f64::INFINITY }
    }

    fn feasible_scale(&self, v: &[f64]) -> f64 {
        self.largest_scale(v).min(1.0)
    }
}

impl Listed for Group {
    fn lambda(&self) -> f64 {
        self.lambda
    }

    fn with_lambda(&self, lambda: f64) -> Self {
        Group { lambda, groups: self.groups.clone() }
    }

    fn structure(&self) -> Structure<'_> {
        Structure::Groups(self)
    }

    fn least_lambda(&self, v: &[f64]) -> Option<f64> {
        Some(self.lambda / self.largest_scale(v))
    }

    /// A group takes in all weights of its features.
    fn for_outputs(&self, outputs: usize) -> Self {
        Group { lambda: self.lambda, groups: self.groups.repeated(outputs) }
    }

    fn describe(&self, name: &str) -> String {
        format!("{name} penalty of {} groups, lambda = {}", self.groups.count(), self.lambda)
    }
}
