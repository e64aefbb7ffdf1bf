//! Which budget would have been enough.
//!
//! A refused reservation knows what it needed itself, not what would have been asked for after it. A number that a user
//! types must do for all of the run, so it is worked out from everything that is known of the data by then.
use super::fourier::Mapping;
use super::look::Look;
use super::{PackError, PackOptions};
use crate::budget::{Budget, BudgetError};
use crate::input::{InputError, LONG_ROW};
use crate::store::StoreError;

/// What the data will ask for, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// Features that there will be.
    pub features: u64,
    /// Values of the longest row so far.
    pub longest: u64,
    /// What mapping them to random Fourier features takes.
    pub mapped_bytes: u64,
    /// What a run takes whatever the data.
    pub fixed_bytes: u64,
}

/// A part of the features, some 60 bytes for each of them, and lists of where their pieces lie.
const FEATURE_BYTES: u64 = 2;
/// A value of the longest row while it is written: where it waits, on its way, arranged, and encoded.
const LONGEST_ROW_BYTES: u64 = 110;
/// Feature numbers may be hashes; then there are fewer features than the largest of them.
const MOST_GUESSED_FEATURES: u64 = 1 << 24;
/// What a row takes while it is written, for each byte that it took as text and as rows while it was read.
const WRITING_OVER_READING: u64 = 5;

impl Needs {
    fn bytes(&self) -> u64 {
        self.features * FEATURE_BYTES + self.longest * LONGEST_ROW_BYTES + self.mapped_bytes
    }

    /// A budget for data of this kind.
    fn enough(&self, unpacking_bytes: u64) -> u64 {
        // Text being parsed takes a quarter of the budget, rows on their way to disk a tenth: 8/5 leaves the rest for
        // the data.
        self.bytes() / 5 * 8 + self.fixed_bytes + unpacking_bytes
    }
}

/// The least that packing takes, whatever the data: pieces of text, rows on their way to disk, and a block.
pub fn fixed_bytes(options: &PackOptions) -> u64 {
    let threads = options.threads.max(1) as u64;
    // Blocks of a size that was asked for are encoded one at a time at least, with a dictionary.
    let blocks = options.block_bytes.map_or(0, |bytes| 5 * bytes + (4 << 20));
    (1 << 20) + threads * (2 << 20) + blocks
}

/// Refuses a budget with which nothing can be packed, before anything is done. `look` tells what the inputs are like, so
/// that the budget that is named is enough for them.
pub fn check(
    options: &PackOptions,
    unpacking_bytes: u64,
    look: impl FnOnce() -> Look,
    budget: &Budget,
) -> Result<(), BudgetError> {
    let least = fixed_bytes(options) + unpacking_bytes;
    if least <= budget.data_bytes() {
        return Ok(());
    }
    let (Look { longest, largest }, map) = (look(), options.fourier.as_ref());
    let needs = Needs {
        features: largest.min(MOST_GUESSED_FEATURES),
        longest: longest.max(map.map_or(0, |map| u64::from(map.features()))),
        mapped_bytes: map
            .map_or(0, |map| Mapping::needed_bytes(map, largest.min(MOST_GUESSED_FEATURES), options.threads)),
        fixed_bytes: fixed_bytes(options),
    };
    let least = needs.enough(unpacking_bytes);
    // Only Zstandard has windows that are larger than all the rest.
    let what = if unpacking_bytes > least / 2 { "packing with the window of Zstandard data" } else { "packing" };
    Err(budget.refusal(what, least, budget.program_bytes()))
}

/// Puts a budget that is enough for all of the run into an error about memory.
pub fn state(mut error: PackError, needs: Needs, unpacking_bytes: u64) -> PackError {
    let (refused, row_bytes) = match &mut error {
        PackError::Input(InputError::Budget { source, .. }) if source.purpose == LONG_ROW => {
            let row_bytes = WRITING_OVER_READING * source.wanted_bytes;
            (source, row_bytes)
        }
        PackError::Input(InputError::Budget { source, .. }) => (source, 0),
        PackError::Budget(refused) | PackError::Store(StoreError::Budget(refused)) => (refused, 0),
        _ => return error,
    };
    let enough = needs.enough(unpacking_bytes) + row_bytes / 5 * 8 + refused.program_bytes;
    refused.least_bytes = refused.least_bytes.max(enough);
    error
}
