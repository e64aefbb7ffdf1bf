//! The solvers by name.
use serde::{Deserialize, Serialize};

/// How the objective is minimised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Solver {
    /// Whichever suits the data: by its shape, by the budget, and by how fast the gap falls.
    #[default]
    Auto,
    /// Dual coordinate descent on rows, for any loss and penalty.
    Dual,
    /// Primal coordinate descent on columns ([`crate::columns`]).
    Columns,
    /// Normal equations from one scan, for the squared loss ([`crate::second_order`]).
    Gram,
    /// Newton's method, for losses with a continuous slope: with the exact Hessian where it fits, else by conjugate
    /// gradients.
    Newton,
    /// The method of multipliers with Newton steps, for the losses hinge and epsilon-insensitive.
    Multipliers,
}

impl Solver {
    /// All of them.
    pub const ALL: [Solver; 6] =
        [Solver::Auto, Solver::Dual, Solver::Columns, Solver::Gram, Solver::Newton, Solver::Multipliers];

    /// The name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Solver::Auto => "auto",
            Solver::Dual => "dual",
            Solver::Columns => "columns",
            Solver::Gram => "gram",
            Solver::Newton => "newton",
            Solver::Multipliers => "multipliers",
        }
    }

    /// In a line what it does.
    pub const fn describe(self) -> &'static str {
        match self {
            Solver::Auto => "Whichever suits the data: by its shape, the memory, and how fast the gap falls",
            Solver::Dual => "Dual coordinate descent, for any loss and penalty",
            Solver::Columns => {
                "Coordinate descent on columns, for the penalties l1, elastic-net and group; losses with kinks need \
                 all rows in memory"
            }
            Solver::Gram => {
                "Normal equations from one read, for the squared loss with l2, l1, elastic-net or no penalty"
            }
            Solver::Newton => {
                "Newton's method, for losses with a continuous slope and l2 or no penalty: with the exact Hessian \
                 where it fits, else by conjugate gradients"
            }
            Solver::Multipliers => {
                "The method of multipliers with Newton steps, for hinge and epsilon-insensitive with l2 or no penalty"
            }
        }
    }

    /// Whether it solves equations of features by features or of rows by rows.
    pub const fn is_second_order(self) -> bool {
        matches!(self, Solver::Gram | Solver::Newton | Solver::Multipliers)
    }
}
