//! In what algorithms of papers differ from ours, apart from orders, caches and rounds: a departure is one field.
use serde::{Deserialize, Serialize};

/// How an algorithm goes about it. The default is ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variant {
    /// Which blocks are in memory together.
    pub partition: Partition,
    /// Rows in memory are at most one part of so many, however large the budget is: m of SBM and K of DA-BCD.
    pub blocks: Option<u32>,
    /// Sweeps over the rows in memory end when violations range over less than this (SBM, section 2.1), or after as many
    /// rounds as are asked for.
    pub inner_tolerance: Option<f64>,
    /// The run ends when the Karush-Kuhn-Tucker conditions are violated by less than this, as far as visits can tell, in
    /// place of the certificate: ε of LIBLINEAR and AVSF.
    pub violation: Option<f64>,
    /// η of the proximal point method; none follows from the curvature of the data.
    pub eta: Option<f64>,
    /// What η is multiplied by after each proximal step.
    pub eta_growth: f64,
    /// Whether the proximal centre goes beyond the weights.
    pub extrapolates: bool,
    /// Passes over all blocks before the proximal centre moves: S of DA-BCD's Algorithm 2. None is one; in memory, as many
    /// as the loss needs.
    pub inner_passes: Option<u32>,
    /// Steps of the column solver on the problem of a block, at most: T_max of DA-BCD, section 4.3.1.
    pub block_steps: Option<u32>,
    /// Whether dual variables of the column solver are taken only if the dual objective rises, and a sweep over the rows
    /// follows.
    pub is_guarded: bool,
}

impl Variant {
    /// Ours.
    pub const OURS: Variant = Variant {
        partition: Partition::Redrawn,
        blocks: None,
        inner_tolerance: None,
        violation: None,
        eta: None,
        eta_growth: 1.0,
        extrapolates: true,
        inner_passes: None,
        block_steps: None,
        is_guarded: true,
    };
}

impl Default for Variant {
    fn default() -> Self {
        Variant::OURS
    }
}

/// Which blocks are in memory together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Partition {
    /// Others in each pass: rows that meet others find ways out of corners.
    #[default]
    Redrawn,
    /// The same in all passes, in an order that is drawn anew (SBM and DA-BCD, Algorithms 1 and 2).
    Fixed,
}

impl Partition {
    /// Both, for tests and messages.
    pub const ALL: [Partition; 2] = [Partition::Redrawn, Partition::Fixed];

    /// The name that it is chosen by.
    pub const fn name(self) -> &'static str {
        match self {
            Partition::Redrawn => "redrawn",
            Partition::Fixed => "fixed",
        }
    }
}
