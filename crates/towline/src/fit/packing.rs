//! Any table becomes a store.
use std::path::Path;

use super::data::Store;
use super::error::{FitError, refuse};
use crate::budget::Budget;
use crate::fourier::FourierMap;
use crate::input::libsvm::{Duplicates, IndexBase, Precision};
use crate::input::{ColumnPolicy, ColumnRef, Format, Input, Progress, ReadOptions, Unlabelled};
use crate::pack::{FourierKept, PackOptions};
use crate::schema::{Absent, Kind, Rules, Words};
use crate::stop::Stop;
use crate::store::manifest::Scale;
use crate::store::writer::Existing;

/// Packs a file (libsvm, CSV, JSON lines, Vowpal Wabbit's text, Parquet or Arrow; gzip, bzip2 or zstd) into a store of
/// blocks, once, inside a memory budget.
///
/// ```no_run
/// let store = towline::pack("train.svm.gz").memory(512 << 20).to("train.tow")?;
/// # Ok::<(), towline::FitError>(())
/// ```
pub fn pack(file: impl AsRef<Path>) -> Pack {
    let mut options = PackOptions::default();
    let threads = crate::machine::threads();
    (options.threads, options.read.threads) = (threads, threads);
    Pack {
        inputs: vec![Input::File(file.as_ref().to_path_buf())],
        options,
        budget: None,
        rff: None,
        gamma: None,
        rff_seed: 0,
    }
}

/// The settings of packing.
#[derive(Clone, Debug)]
pub struct Pack {
    inputs: Vec<Input>,
    options: PackOptions,
    budget: Option<Budget>,
    rff: Option<u32>,
    gamma: Option<f64>,
    rff_seed: u64,
}

impl Pack {
    /// Another file; all are one table.
    pub fn and(mut self, file: impl AsRef<Path>) -> Pack {
        self.inputs.push(Input::File(file.as_ref().to_path_buf()));
        self
    }

    /// Bytes that packing may hold at any time. Default: half of what is free, at most 4 GiB.
    pub fn memory(self, bytes: u64) -> Pack {
        self.budget(Budget::new(bytes))
    }

    /// A budget that other parts of the program share.
    pub fn budget(mut self, budget: Budget) -> Pack {
        self.budget = Some(budget);
        self
    }

    /// Replaces a store that is there.
    pub fn force(mut self) -> Pack {
        self.options.existing = Existing::Replace;
        self
    }

    /// Adds the rows to a store that is there.
    pub fn append(mut self) -> Pack {
        self.options.existing = Existing::Append;
        self
    }

    /// Adds a file even if the store has its rows already.
    pub fn repeat(mut self) -> Pack {
        self.options.repeat = true;
        self
    }

    /// The format, where contents and name do not say it.
    pub fn format(mut self, format: Format) -> Pack {
        self.options.read.format = Some(format);
        self
    }

    /// Whether libsvm indices count from 0 or from 1.
    pub fn index_base(mut self, base: IndexBase) -> Pack {
        self.options.read.libsvm.index_base = base;
        self
    }

    /// What to do when a libsvm row names a feature twice.
    pub fn duplicates(mut self, duplicates: Duplicates) -> Pack {
        self.options.read.libsvm.duplicates = duplicates;
        self
    }

    /// The column of a table that holds the label, by name or number, or several with commas between them.
    pub fn label(mut self, column: &str) -> Pack {
        self.options.read.table.label = Some(ColumnRef::new(column));
        self
    }

    /// The column of a table that holds the sample weight.
    pub fn weight(mut self, column: &str) -> Pack {
        self.options.read.table.weight = Some(ColumnRef::new(column));
        self
    }

    /// The column of a table that says which rows belong together.
    pub fn group(mut self, column: &str) -> Pack {
        self.options.read.table.group = Some(ColumnRef::new(column));
        self
    }

    /// A column of a table to leave out.
    pub fn ignore(mut self, column: &str) -> Pack {
        self.options.read.table.ignore.push(ColumnRef::new(column));
        self
    }

    /// A column of a table whose cells are categories even if they look like something else, such as codes.
    pub fn category(mut self, column: &str) -> Pack {
        self.options.read.table.kinds.push((ColumnRef::new(column), Kind::Category));
        self
    }

    /// A column of a table whose cells are text to read: their n-grams are features.
    pub fn text(mut self, column: &str, words: Words) -> Pack {
        self.options.read.table.kinds.push((ColumnRef::new(column), Kind::Text(words)));
        self
    }

    /// A column of a table whose cells are numbers even if they look like an identifier.
    pub fn number(mut self, column: &str) -> Pack {
        self.options.read.table.kinds.push((ColumnRef::new(column), Kind::Number));
        self
    }

    /// Rules of a column, or of all columns that they fit, `*`.
    pub fn column(mut self, column: &str, rules: Rules) -> Pack {
        self.options.read.table.rules.push((ColumnRef::new(column), rules));
        self
    }

    /// Two columns, of numbers or categories, whose features are multiplied.
    pub fn interact(mut self, a: &str, b: &str) -> Pack {
        self.options.read.table.interactions.push([ColumnRef::new(a), ColumnRef::new(b)]);
        self
    }

    /// How many n-grams of each column of text become features at most, the most frequent ones, where its own rule does
    /// not say.
    pub fn max_features(mut self, most: u32) -> Pack {
        self.options.read.table.max_features = Some(most);
        self
    }

    /// Features that fewer rows have get no column, but for numbers of tables.
    pub fn min_count(mut self, rows: u32) -> Pack {
        self.options.min_count = rows;
        self
    }

    /// What to do about a file that lacks columns of the store that it is added to.
    pub fn columns(mut self, policy: ColumnPolicy) -> Pack {
        self.options.read.table.columns = policy;
        self
    }

    /// What becomes of absent cells of a table.
    pub fn absent(mut self, absent: Absent) -> Pack {
        self.options.read.table.absent = Some(absent);
        self
    }

    /// What an absent cell of a table looks like, besides an empty one.
    pub fn missing(mut self, token: &str) -> Pack {
        self.options.read.table.missing.push(token.to_string());
        self
    }

    /// What separates the cells of CSV files.
    pub fn delimiter(mut self, byte: u8) -> Pack {
        self.options.read.table.delimiter = Some(byte);
        self
    }

    /// What to do with rows of a table that have no label.
    pub fn unlabelled(mut self, unlabelled: Unlabelled) -> Pack {
        self.options.read.table.unlabelled = unlabelled;
        self
    }

    /// How values are scaled.
    pub fn scale(mut self, scale: Scale) -> Pack {
        self.options.scale = scale;
        self
    }

    /// How values are kept: in 32 bits, or in 64.
    pub fn precision(mut self, precision: Precision) -> Pack {
        self.options.precision = precision;
        (self.options.read.libsvm.precision, self.options.read.table.precision) = (precision, precision);
        self
    }

    /// Maps rows to this many random Fourier features, whose products are close to the kernel exp(-γ|x - y|²).
    pub fn rff(mut self, features: u32) -> Pack {
        self.rff = Some(features);
        self
    }

    /// The γ of that kernel.
    pub fn gamma(mut self, gamma: f64) -> Pack {
        self.gamma = Some(gamma);
        self
    }

    /// The seed of that map.
    pub fn rff_seed(mut self, seed: u64) -> Pack {
        self.rff_seed = seed;
        self
    }

    /// Whether the store keeps those features, or the rows and makes the features whenever a block is read.
    pub fn rff_keep(mut self, kept: FourierKept) -> Pack {
        self.options.fourier_kept = kept;
        self
    }

    /// The seed by which rows are shuffled over blocks; `None` keeps their order.
    pub fn shuffle(mut self, seed: Option<u64>) -> Pack {
        self.options.shuffle_seed = seed;
        self
    }

    /// Bytes of a block in memory; 4 MiB, and less where the budget is small, if not given.
    pub fn block_bytes(mut self, bytes: u64) -> Pack {
        self.options.block_bytes = Some(bytes);
        self
    }

    /// Threads that parse and encode.
    pub fn threads(mut self, threads: usize) -> Pack {
        (self.options.threads, self.options.read.threads) = (threads.max(1), threads.max(1));
        self
    }

    /// Ends packing when somebody asks for it; nothing is left behind then.
    pub fn stop(mut self, stop: Stop) -> Pack {
        self.options.stop = stop;
        self
    }

    /// How to read, in place of all that was said of it.
    pub fn reading(mut self, read: ReadOptions) -> Pack {
        self.options.read = read;
        self
    }

    /// Packs into a store in this folder, which is there whole or not at all, and opens it.
    pub fn to(mut self, folder: impl AsRef<Path>) -> Result<Store, FitError> {
        let budget = self.budget.take().unwrap_or_else(|| Budget::new(crate::machine::default_memory_bytes()));
        self.options.fourier = match (self.rff, self.gamma) {
            (Some(features), Some(gamma)) => Some(FourierMap::new(features, gamma, self.rff_seed)?),
            (None, None) => None,
            _ => return refuse("`rff` and `gamma` go together; name both, or none"),
        };
        let progress = Progress::new(self.inputs.iter().map(Input::size_bytes).sum());
        crate::pack::pack(&self.inputs, folder.as_ref(), &self.options, &budget, &progress)?;
        Store::open_within(folder, &budget)
    }
}
