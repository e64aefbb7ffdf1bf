//! A file that is packed beside itself, once.
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::bail;
use towline::budget::Budget;
use towline::input::{Input, Progress, ReadOptions, RowBatch};
use towline::pack::{PackOptions, source_of};
use towline::schema::{ImputeBy, Schema};
use towline::store::manifest::{Manifest, Source};

use crate::input::InputArguments;
use crate::pack::summary;
use crate::preparation::PreparationArguments;
use crate::progress::Bar;
use crate::show;

/// Packs a file beside itself, unless the store is there already and belongs to the file as it is now. Returns the
/// store.
pub fn pack_beside(
    file: &Path,
    (reading, preparation): (&InputArguments, &PreparationArguments),
    threads: usize,
    budget: &Budget,
    quiet: bool,
) -> anyhow::Result<PathBuf> {
    let mut name = file.file_name().unwrap_or_default().to_os_string();
    name.push(".tow");
    let store = file.with_file_name(name);
    let input = Input::File(file.to_path_buf());
    let options = preparation.options(reading, threads)?;
    if store.exists() {
        check_belongs(&store, &input, &options, budget)?;
        return Ok(store);
    }
    let progress = Progress::new(input.size_bytes());
    let begin = Instant::now();
    let bar = {
        let progress = progress.clone();
        Bar::follow(quiet, progress.total_bytes, move || progress.read_bytes())
    };
    let packed = towline::pack::pack(&[input], &store, &options, budget, &progress);
    drop(bar);
    let packed = packed?;
    if !quiet {
        show::say(&summary(&store, &packed, begin.elapsed().as_secs_f64()));
    }
    Ok(store)
}

/// Refuses a store of another file, of the file as it was before, or of the file read or prepared in another way.
fn check_belongs(store: &Path, input: &Input, options: &PackOptions, budget: &Budget) -> anyhow::Result<()> {
    let manifest = Manifest::read(store)?;
    let here = source_of(input, options, 1);
    let there = match &manifest.sources[..] {
        [there] if manifest.generation == 1 && is_same_file(there, &here) => there,
        _ => bail!(
            "{}: was packed from another file, or {} has changed since; pack it again with 'towline pack --force', or remove it",
            store.display(),
            here.name
        ),
    };
    let reads_alike = || reads_alike(manifest.schema.as_ref(), input, &options.read, budget);
    if there.preparation == here.preparation && (there.reading == here.reading || reads_alike()?) {
        return Ok(());
    }
    let said = |source: &Source| match format!("{} {}", source.reading, source.preparation).trim() {
        "" => "no options".into(),
        said => format!("'{said}'"),
    };
    bail!(
        "{}: was packed with {}, and now the file is to be read with {}; pack it again with 'towline pack --force', or remove it",
        store.display(),
        said(there),
        said(&here)
    );
}

/// Whether a file is the one that was packed beside itself: the way to it may be spelt differently.
fn is_same_file(there: &Source, here: &Source) -> bool {
    let name = |source: &Source| Path::new(&source.name).file_name().map(ToOwned::to_owned);
    name(there) == name(here) && (there.bytes, there.modified) == (here.bytes, here.modified)
}

/// Whether the beginning of a table, read with `options`, has the schema with which it was packed: then options that
/// are new, or not given any more, change nothing.
fn reads_alike(packed: Option<&Schema>, input: &Input, options: &ReadOptions, budget: &Budget) -> anyhow::Result<bool> {
    let Some(packed) = packed else { return Ok(false) };
    let inputs = [input.clone()];
    let mut source = towline::input::open(&inputs, options, budget, &Progress::default())?;
    source.next_batch(&mut RowBatch::default())?;
    let plain = |schema: &Schema| {
        let mut schema = schema.clone();
        // Known only after all rows.
        for column in &mut schema.columns {
            column.levels = None;
            column.impute = column.impute.filter(|_| column.impute_by == ImputeBy::Constant);
        }
        schema
    };
    Ok(source.schema().is_some_and(|schema| plain(&schema) == plain(packed)))
}
