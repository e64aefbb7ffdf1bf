//! The settings of a fit in which algorithms of papers differ from ours.
use super::Fit;
use crate::engine::Partition;

impl Fit {
    /// Which blocks are in memory together: others in each pass, or the same in all of them.
    pub fn partition(mut self, partition: Partition) -> Fit {
        self.partition = Some(partition);
        self
    }

    /// Rows in memory are at most one part of so many, as if memory were that small; `None` is as many as fit.
    pub fn blocks(mut self, blocks: Option<u32>) -> Fit {
        self.blocks = Some(blocks);
        self
    }

    /// Sweeps over the rows in memory until violations range over less than this, before new blocks come. As many sweeps
    /// as [`rounds`](Fit::rounds) says at most.
    pub fn inner_tolerance(mut self, bound: f64) -> Fit {
        self.inner_tolerance = Some(bound);
        self
    }

    /// Stops when the Karush-Kuhn-Tucker conditions are violated by less than this, as far as the visits of a sweep can
    /// tell: what LIBLINEAR's `-e` means for its dual solvers. The gap is computed at the end, and says how good that
    /// was.
    pub fn violation(mut self, bound: f64) -> Fit {
        self.violation = Some(bound);
        self
    }

    /// η of the proximal point method; `None` follows from the curvature of the data.
    pub fn eta(mut self, eta: Option<f64>) -> Fit {
        self.eta = Some(eta);
        self
    }

    /// What η is multiplied by after each proximal step: from 1 on.
    pub fn eta_growth(mut self, factor: f64) -> Fit {
        self.eta_growth = Some(factor);
        self
    }

    /// Whether the proximal centre goes beyond the weights.
    pub fn extrapolation(mut self, extrapolates: bool) -> Fit {
        self.extrapolation = Some(extrapolates);
        self
    }

    /// Passes over all blocks before the proximal centre moves.
    pub fn inner_passes(mut self, passes: u32) -> Fit {
        self.inner_passes = Some(passes);
        self
    }

    /// Steps of the column solver on the problem of a block, at most.
    pub fn block_steps(mut self, steps: u32) -> Fit {
        self.block_steps = Some(steps);
        self
    }

    /// Truncated losses are cut off at 1 + this at first, and lower from then on; `None` begins as low as it ends.
    pub fn first_truncate(mut self, s: Option<f64>) -> Fit {
        self.first_truncate = Some(s);
        self
    }

    /// Whether a query of the index is followed by a block of its rows and as many others in turn as it has looked at, as
    /// in the paper; or by all active rows while they are in memory.
    pub fn query_blocks(mut self, in_turn: bool) -> Fit {
        self.query_blocks = Some(in_turn);
        self
    }

    /// Rows with a margin of more than 1 and this are not looked at again until the rest is solved: T of IBCD.
    pub fn query_margin(mut self, beyond: f64) -> Fit {
        self.query_margin = Some(beyond);
        self
    }

    /// The part of the memory for rows that pages of the index keep at least: m_LRU of IBCD.
    pub fn page_share(mut self, share: f64) -> Fit {
        self.page_share = Some(share);
        self
    }
}
