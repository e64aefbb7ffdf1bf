//! The parameters in which algorithms differ: those of a method, with what somebody has set in their place.
//!
//! A departure from a paper is one field of one recipe: `sbm` is ours, `sbm-as-published` the same function with the
//! fields of the paper. `docs/papers.md` lists them, with what each of them gains.
use super::Fit;
use super::method::{Algorithm, Method};
use crate::engine::{Centre, Partition, Selection, Variant};
use crate::indexed::Queries;
use crate::order::OrderName;

/// What a method does where nothing else is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Which row is visited next.
    pub order: OrderName,
    /// The part of the rows in memory that stays when new blocks come.
    pub cache_share: f64,
    /// How they are chosen.
    pub selection: Selection,
    /// Sweeps over the rows in memory before new blocks come; none is as long as they pay.
    pub rounds: Option<u32>,
    /// When the proximal centre moves.
    pub centre: Centre,
    /// Whether features are left out that stay 0.
    pub working_set: bool,
    /// Where a lower ceiling begins: losses are cut off at 1 + this first, if that is higher.
    pub first_truncate: Option<f64>,
    /// Blocks and queries of an index.
    pub queries: Queries,
    /// Blocks, stops and proximal steps.
    pub variant: Variant,
}

impl Parameters {
    /// Ours.
    pub const OURS: Parameters = Parameters {
        order: OrderName::Auto,
        cache_share: 0.5,
        selection: Selection::Gradient,
        rounds: None,
        centre: Centre::AfterPass,
        working_set: true,
        first_truncate: Some(1.0),
        queries: Queries::OURS,
        variant: Variant::OURS,
    };

    /// SBM, Algorithm 1 and section 7.1: blocks are split once, m = 12, half of memory is the cache, ten rounds of
    /// LIBLINEAR's dual coordinate descent.
    const SBM: Parameters = Parameters {
        order: OrderName::Shrinking,
        selection: Selection::SecondScore,
        rounds: Some(10),
        variant: Variant { partition: Partition::Fixed, blocks: Some(12), ..Variant::OURS },
        ..Parameters::OURS
    };

    /// AVSF, Algorithm 3, with LIBLINEAR's ε.
    const AVSF: Parameters = Parameters {
        order: OrderName::Adaptive,
        variant: Variant { violation: Some(PUBLISHED_VIOLATION), ..Variant::OURS },
        ..Parameters::OURS
    };

    /// DA-BCD, Algorithm 2 with sections 4.3 and 5: K = 10 blocks, one pass over them per proximal step, η = 1, the
    /// centre is w. T_max is not published; here it is ten sweeps over the dual variables of a block.
    const DA_BCD: Parameters = Parameters {
        order: OrderName::Permutation,
        cache_share: 0.0,
        rounds: Some(10),
        working_set: false,
        variant: Variant {
            partition: Partition::Fixed,
            blocks: Some(10),
            eta: Some(1.0),
            extrapolates: false,
            inner_passes: Some(1),
            ..Variant::OURS
        },
        ..Parameters::OURS
    };

    /// IBCD, Algorithm 1: blocks in turn, by rows in a random order (section 3.3), from the model of some rows at once.
    /// T of section 4.3 is not published; with 1, rows are looked at again that have a margin of up to 2.
    const IBCD: Parameters = Parameters {
        order: OrderName::Permutation,
        first_truncate: None,
        queries: Queries { in_turn: true, far: 1.0, ..Queries::OURS },
        ..Parameters::OURS
    };
}

/// ε of LIBLINEAR's default and of AVSF's Table 2.
pub const PUBLISHED_VIOLATION: f64 = 0.01;

impl Method {
    /// What it does where nothing else is asked for.
    pub fn parameters(self) -> Parameters {
        match self {
            Method::Bmd | Method::DaBcd => Parameters { cache_share: 0.0, ..Parameters::OURS },
            Method::DBcd => Parameters {
                cache_share: 0.0,
                centre: Centre::UntilSolved,
                variant: Variant { partition: Partition::Fixed, ..Variant::OURS },
                ..Parameters::OURS
            },
            Method::AsPublished(algorithm) => match algorithm {
                Algorithm::Sbm => Parameters::SBM,
                Algorithm::Bmd => Parameters { cache_share: 0.0, ..Parameters::SBM },
                Algorithm::Avsf => Parameters::AVSF,
                Algorithm::DaBcd => Parameters::DA_BCD,
                Algorithm::IbcdL1Dual | Algorithm::IbcdL2Dual | Algorithm::IbcdL2Primal => Parameters::IBCD,
            },
            _ => Parameters::OURS,
        }
    }
}

impl Fit {
    /// Those of the method, with what was set in their place.
    pub(super) fn parameters(&self) -> Parameters {
        let of_method = self.method.parameters();
        let variant = of_method.variant;
        Parameters {
            order: self.order.unwrap_or(of_method.order),
            cache_share: self.cache_share.unwrap_or(of_method.cache_share),
            selection: self.selection.unwrap_or(of_method.selection),
            rounds: self.rounds.unwrap_or(match self.inner_tolerance {
                Some(_) => None,
                None => of_method.rounds,
            }),
            centre: of_method.centre,
            working_set: self.working_set.unwrap_or(of_method.working_set),
            first_truncate: self.first_truncate.unwrap_or(of_method.first_truncate),
            queries: Queries {
                in_turn: self.query_blocks.unwrap_or(of_method.queries.in_turn),
                far: self.query_margin.unwrap_or(of_method.queries.far),
                page_share: self.page_share.unwrap_or(of_method.queries.page_share),
            },
            variant: Variant {
                partition: self.partition.unwrap_or(variant.partition),
                blocks: self.blocks.unwrap_or(variant.blocks),
                inner_tolerance: self.inner_tolerance.or(variant.inner_tolerance),
                violation: match self.tolerance {
                    // A gap that is asked for takes the place of the method's violation.
                    Some(_) => self.violation,
                    None => self.violation.or(variant.violation),
                },
                eta: self.eta.unwrap_or(variant.eta),
                eta_growth: self.eta_growth.unwrap_or(variant.eta_growth),
                extrapolates: self.extrapolation.unwrap_or(variant.extrapolates),
                inner_passes: self.inner_passes.or(variant.inner_passes),
                block_steps: self.block_steps.or(variant.block_steps),
                is_guarded: variant.is_guarded,
            },
        }
    }
}
