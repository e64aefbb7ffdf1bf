//! Any table becomes a block store, once, inside a memory budget.
//!
//! ```text
//! RowSource ─► features get ids, labels and features are counted ─► rows wait (in memory, else parted on disk)
//!           ─► sorted by their place in the store ─► renumbered, scaled, cut into blocks, encoded ─► StoreWriter
//! ```
//! Features are numbered by frequency, which is known before the first block is written.
//! The result depends on the input, the seed and the block size, and on nothing else.
mod arrange;
mod by_column;
mod cut;
mod enough;
mod eras;
mod fourier;
mod intern;
mod keys;
mod labels;
mod look;
mod numbers;
mod packer;
mod prepare;
mod quantiles;
mod range;
mod rows;
mod scale;
mod select;
mod several;
mod source;
mod spill;
mod streams;
mod weights;
mod write;

pub(crate) use intern::Features;
pub(crate) use labels::LARGEST_HISTOGRAM;
pub use source::source_of;
use std::path::Path;

use crate::budget::{Budget, BudgetError};
use crate::fourier::FourierMap;
use crate::input::libsvm::Precision;
use crate::input::{Input, InputError, Progress, ReadOptions, RowSource};
use crate::stop::Stop;
use crate::store::StoreError;
use crate::store::manifest::{Manifest, Scale, Source};
use crate::store::writer::{Existing, StoreWriter};
use packer::Packer;

/// How to pack.
#[derive(Clone, Debug)]
pub struct PackOptions {
    /// How to read the inputs.
    pub read: ReadOptions,
    /// Adds a file to a store that has it already.
    pub repeat: bool,
    /// One weight per line for the rows of all inputs in order.
    pub weights: Option<Input>,
    /// What to do if the store is there already.
    pub existing: Existing,
    /// Shuffles rows over blocks; `None` keeps the order of the input.
    pub shuffle_seed: Option<u64>,
    /// Numbers columns by frequency; else in the order of the feature numbers.
    pub renumber: bool,
    /// Features that fewer rows have get no column, but for numbers of tables.
    pub min_count: u32,
    /// How values are scaled.
    pub scale: Scale,
    /// The random Fourier features that rows become.
    pub fourier: Option<FourierMap>,
    /// What of them the store holds.
    pub fourier_kept: FourierKept,
    /// How values are kept.
    pub precision: Precision,
    /// Bytes of a block in memory; from the budget if not given.
    pub block_bytes: Option<u64>,
    /// Threads that parse and encode.
    pub threads: usize,
    /// Set from outside to stop; nothing is left behind then.
    pub stop: Stop,
}

impl Default for PackOptions {
    fn default() -> Self {
        PackOptions {
            read: ReadOptions::default(),
            repeat: false,
            weights: None,
            existing: Existing::default(),
            shuffle_seed: Some(0),
            renumber: true,
            min_count: 1,
            scale: Scale::Auto,
            fourier: None,
            fourier_kept: FourierKept::default(),
            precision: Precision::default(),
            block_bytes: None,
            threads: 2,
            stop: Stop::default(),
        }
    }
}

/// What a store of random Fourier features holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FourierKept {
    /// Whatever takes less time on every pass, or what the store holds already.
    #[default]
    Auto,
    /// The features.
    Values,
    /// The rows as they came: features are made from the seed whenever a block is read.
    Seed,
}

/// What packing did.
#[derive(Clone, Debug)]
pub struct Packed {
    /// The manifest of the finished store.
    pub manifest: Manifest,
    /// Blocks in the store.
    pub blocks: usize,
    /// Bytes of all its files.
    pub store_bytes: u64,
    /// Bytes read from the inputs, as they lie on disk.
    pub input_bytes: u64,
    /// What the reader wants to say: the index base that it saw, for example.
    pub remarks: Vec<String>,
}

/// Packing failed; nothing is left behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// The input is bad.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The store cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The budget is too small.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// There is nothing to pack.
    #[error("{input}: no rows; a store needs at least one")]
    NoRows {
        /// The first input.
        input: String,
    },
    /// The same file is in the store already.
    #[error(
        "{input}: its rows are in the store already, as generation {generation}; use `repeat` to add them once more"
    )]
    Repeated {
        /// The input.
        input: String,
        /// When it was added.
        generation: u64,
    },
    /// Rows do not fit to those that are there already, or to each other.
    #[error("{problem}; {remedy}")]
    Mismatch {
        /// What does not fit.
        problem: String,
        /// What to do.
        remedy: String,
    },
    /// Somebody asked to stop.
    #[error("interrupted; nothing was written")]
    Interrupted,
}

impl PackOptions {
    /// Bytes of a block in memory under this budget.
    fn block_bytes(&self, budget: &Budget) -> u64 {
        self.block_bytes.unwrap_or_else(|| BLOCK_BYTES.min(budget.data_bytes() / BLOCKS_IN_BUDGET))
    }
}

/// Blocks take this much in memory unless told otherwise: large enough for fast reads and good compression, small
/// enough that a training run can choose finely which ones to read, and to gather as many as its own budget allows.
const BLOCK_BYTES: u64 = 4 << 20;
/// Where the budget is small, a block is at most this part of it: several are in work at one time.
const BLOCKS_IN_BUDGET: u64 = 48;

/// Packs `inputs` into a store at `output`.
pub fn pack(
    inputs: &[Input],
    output: &Path,
    options: &PackOptions,
    budget: &Budget,
    progress: &Progress,
) -> Result<Packed, PackError> {
    let unpacking =
        inputs.iter().map(|input| crate::input::unpacking_bytes(input, budget.free_bytes())).max().unwrap_or(0);
    let open = |old: Option<&Manifest>| {
        let known = old.and_then(|manifest| manifest.schema.as_ref());
        crate::input::open(inputs, &options.read.by_schema(known, true), budget, progress)
    };
    let sources = inputs.iter().map(|input| source_of(input, options, 0)).collect();
    let seen = || look::look(inputs);
    pack_opened(sources, (open, seen), output, (options, unpacking), budget, progress)
}

/// Packs rows that a program makes into a store at `output`; `name` is what the store says of where they came from.
pub fn pack_rows(
    name: &str,
    source: Box<dyn RowSource>,
    output: &Path,
    options: &PackOptions,
    budget: &Budget,
) -> Result<Packed, PackError> {
    let sources = vec![Source {
        name: name.to_string(),
        bytes: 0,
        modified: 0,
        reading: String::new(),
        preparation: String::new(),
        generation: 0,
    }];
    let unseen = look::Look::default;
    pack_opened(
        sources,
        (|_: Option<&Manifest>| Ok(source), unseen),
        output,
        (options, 0),
        budget,
        &Progress::default(),
    )
}

fn pack_opened(
    sources: Vec<Source>,
    (open, look): (
        impl FnOnce(Option<&Manifest>) -> Result<Box<dyn RowSource>, InputError>,
        impl FnOnce() -> look::Look,
    ),
    output: &Path,
    (options, unpacking_bytes): (&PackOptions, u64),
    budget: &Budget,
    progress: &Progress,
) -> Result<Packed, PackError> {
    let writer = StoreWriter::create(output, options.existing, budget)?;
    enough::check(options, unpacking_bytes, look, budget)?;
    let mut packer = Packer::new(sources.clone(), open, &writer, options, budget, progress)?;
    if let Some(old) = writer.old() {
        check_not_repeated(&sources, old.manifest(), options)?;
        // Rows that are added to damaged ones would be lost with them.
        old.check_blocks(budget)?;
    }
    let remarks = packer.read_rows().map_err(|error| enough::state(error, packer.needs(), unpacking_bytes))?;
    let needs = packer.needs();
    let (manifest, blocks) =
        packer.write_store(writer).map_err(|error| enough::state(error, needs, unpacking_bytes))?;
    let files = manifest.block_files.iter().chain(&manifest.feature_maps).chain([&manifest.table]);
    let store_bytes = files.map(|file| file.bytes).sum();
    Ok(Packed { manifest, blocks, store_bytes, input_bytes: progress.read_bytes(), remarks })
}

/// An append that is made once more, because nobody knew whether it had succeeded, would double its rows.
fn check_not_repeated(sources: &[Source], old: &Manifest, options: &PackOptions) -> Result<(), PackError> {
    if options.repeat {
        return Ok(());
    }
    let name = |source: &Source| Path::new(&source.name).file_name().map(ToOwned::to_owned);
    let is_same = |a: &Source, b: &Source| {
        a.modified != 0 && (a.bytes, a.modified, &a.reading, name(a)) == (b.bytes, b.modified, &b.reading, name(b))
    };
    let found = sources.iter().find_map(|new| Some((new, old.sources.iter().find(|known| is_same(new, known))?)));
    match found {
        Some((new, known)) => Err(PackError::Repeated { input: new.name.clone(), generation: known.generation }),
        None => Ok(()),
    }
}
