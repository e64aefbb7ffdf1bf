//! Which format an input has, and the source that reads it.
use super::bytes::Input;
use super::libsvm::LibsvmOptions;
use super::text::{TextLimits, TextSource};
use super::{InputError, Progress, RowSource, libsvm};
use crate::budget::Budget;

/// A format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `label index:value …` lines.
    Libsvm,
}

/// How to read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The format; recognised by content and name if not given.
    pub format: Option<Format>,
    /// Settings of libsvm text.
    pub libsvm: LibsvmOptions,
    /// Threads that parse.
    pub threads: usize,
}

/// Opens all `inputs` as one source of rows.
pub fn open(
    inputs: &[Input],
    options: &ReadOptions,
    budget: &Budget,
    progress: &Progress,
) -> Result<Box<dyn RowSource>, InputError> {
    let limits = TextLimits::for_budget(budget, options.threads);
    let format = std::sync::Arc::new(libsvm::Libsvm::new(options.libsvm));
    let source = TextSource::new(format, inputs.to_vec(), limits, budget, progress)
        .map_err(|source| InputError::Budget { file: inputs[0].name(), source })?;
    Ok(Box::new(source))
}
