//! Packing.
use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use towline::budget::Budget;
use towline::fourier::FourierMap;
use towline::input::{InputError, Progress, RowSource};
use towline::pack::{FourierKept, PackError, PackOptions, Packed, pack as pack_files, pack_rows};
use towline::stop::Stop;
use towline::store::manifest::{Manifest, Scale};
use towline::store::writer::Existing;

use crate::batches::{self, Batches};
use crate::errors::{IntoException, bad_value, spoken};
use crate::reading::{Reading, choose, expand};

/// How to pack, as a dictionary with the words of `towline pack`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Arguments {
    reading: Reading,
    /// refuse, replace or append.
    existing: String,
    /// None keeps the order.
    seed: Option<u64>,
    renumber: bool,
    scale: String,
    min_count: u32,
    /// Features, gamma and seed.
    fourier: Option<(u32, f64, u64)>,
    rff_keep: String,
    block_size: Option<u64>,
    memory: Option<u64>,
}

impl Arguments {
    fn options(&self, stop: &Stop) -> PyResult<PackOptions> {
        let scales = [
            ("auto", Scale::Auto),
            ("none", Scale::None),
            ("rows", Scale::Rows),
            ("minmax", Scale::Minmax),
            ("standard", Scale::Standard),
        ];
        let kept = [("auto", FourierKept::Auto), ("seed", FourierKept::Seed), ("values", FourierKept::Values)];
        let map = self.fourier.map(|(features, gamma, seed)| FourierMap::new(features, gamma, seed)).transpose();
        let existing = [("refuse", Existing::Refuse), ("replace", Existing::Replace), ("append", Existing::Append)];
        Ok(PackOptions {
            read: self.reading.options(true)?,
            weights: None,
            // A program knows what it has added.
            repeat: true,
            existing: choose("existing", &self.existing, &existing)?,
            shuffle_seed: self.seed,
            renumber: self.renumber,
            min_count: self.min_count,
            scale: choose("scale", &self.scale, &scales)?,
            fourier: map.map_err(|error| bad_value(error.to_string()))?,
            fourier_kept: choose("rff_keep", &self.rff_keep, &kept)?,
            precision: self.reading.precision()?,
            block_bytes: self.block_size,
            threads: self.reading.threads(),
            stop: stop.clone(),
        })
    }
}

/// Packs files, an Arrow stream, or batches of rows into a store, and returns the reader's remarks.
///
/// `kind` says what `data` is: `files`, a list of names and patterns; `arrow`, an object with an Arrow stream, or
/// `frames`, an iterator of such objects; `batches`, an iterator of `Rows`.
#[pyfunction]
pub fn pack(
    py: Python<'_>,
    kind: &str,
    data: &Bound<'_, PyAny>,
    output: PathBuf,
    arguments: Arguments,
) -> PyResult<Vec<String>> {
    let stop = Stop::default();
    let mut options = arguments.options(&stop)?;
    if options.existing == Existing::Append && output.is_dir() {
        let old = Manifest::read(&output).map_err(IntoException::into_exception)?;
        options.read = arguments.reading.options_by(old.schema.as_ref(), true, true)?;
    }
    let budget = Budget::new(arguments.memory.unwrap_or_else(towline::machine::default_memory_bytes));
    let raised = batches::Raised::default();
    let refused = |source| InputError::Budget { file: kind.to_string(), source }.into_exception();
    let source: Option<Box<dyn RowSource>> = match kind {
        "files" => None,
        "batches" => Some(Box::new(Batches::new(data.try_iter()?.unbind(), Vec::new(), raised.clone()))),
        "arrow" => Some(Box::new(batches::arrow(data, &options.read.table, &budget)?.map_err(refused)?)),
        "frames" => {
            let frames = data.try_iter()?.unbind();
            Some(Box::new(batches::frames(py, frames, raised.clone(), &options.read.table, &budget)?.map_err(refused)?))
        }
        other => return Err(bad_value(format!("'{other}' is no kind of data"))),
    };
    let files: Vec<String> = if source.is_none() { data.extract()? } else { Vec::new() };
    let inputs = expand(&files)?;
    let work = || match source {
        Some(source) => pack_rows(kind, source, &output, &options, &budget),
        None => pack_files(&inputs, &output, &options, &budget, &Progress::default()),
    };
    let (packed, interrupted) = watched(py, &stop, work);
    if let Some(error) = raised.take().or(interrupted) {
        return Err(error);
    }
    packed
        .map(|packed| packed.remarks.iter().map(|remark| spoken(remark)).collect())
        .map_err(IntoException::into_exception)
}

/// Runs `work` on a thread of its own, while this one looks for Ctrl-C.
fn watched(
    py: Python<'_>,
    stop: &Stop,
    work: impl FnOnce() -> Result<Packed, PackError> + Send,
) -> (Result<Packed, PackError>, Option<PyErr>) {
    std::thread::scope(|scope| {
        let worker = scope.spawn(work);
        let mut interrupted = None;
        while !worker.is_finished() {
            py.detach(|| std::thread::sleep(Duration::from_millis(2)));
            if let Err(error) = py.check_signals() {
                stop.request();
                interrupted = Some(error);
            }
        }
        let packed = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (packed, interrupted)
    })
}
