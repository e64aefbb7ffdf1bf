//! `towline verify`: every checksum of a store.
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use towline::index::IndexManifest;
use towline::store::{BlockStore, DiskStore, Fault, StoreError, verify};
use towline::trainer::StoreFingerprint;

use crate::memory::{self, Memory};
use crate::progress::Bar;
use crate::{flags, show, size};

/// Arguments of `towline verify`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The store to check
    store: PathBuf,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    /// Memory to use, such as 512M [default: half of what is free, at most 4G]
    #[arg(long, value_parser = memory::parse, allow_hyphen_values = true)]
    memory: Option<Memory>,
}

/// Exit code 0 if everything is whole, 1 and a list otherwise.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let budget = memory::budget(arguments.memory);
    let store = match DiskStore::open_within(&arguments.store, &budget) {
        Ok(store) => store,
        Err(error @ StoreError::Damaged { .. }) => return broken(arguments, &[Fault { error }]),
        Err(error) => return Err(error.into()),
    };
    let index = current_index(&store)?;
    let blocks_total: u64 = store.blocks().iter().map(|b| b.stored_bytes).sum();
    let total = blocks_total + index.unwrap_or(0);
    let done = Arc::new(AtomicU64::new(0));
    let bar = {
        let done = done.clone();
        Bar::follow(arguments.quiet, Some(total), move || done.load(Ordering::Relaxed))
    };
    let mut faults = verify(&store, &budget, |bytes| _ = done.fetch_add(bytes, Ordering::Relaxed))?;
    if index.is_some() {
        faults.extend(towline::index::verify(&store, &budget, |bytes| _ = done.fetch_add(bytes, Ordering::Relaxed))?);
    }
    drop(bar);
    if faults.is_empty() {
        let blocks = store.blocks().len() as u64;
        let name = arguments.store.display();
        let index = index.map_or(String::new(), |bytes| format!("; index, {}", size::show(bytes)));
        show::print(&format!("{name}: whole ({} blocks, {}{index})\n", show::count(blocks), size::show(blocks_total)))?;
        return Ok(ExitCode::SUCCESS);
    }
    broken(arguments, &faults)
}

/// Bytes of the pages of the store's index, if it has one that is not out of date. A damaged one counts: it will be
/// listed.
fn current_index(store: &DiskStore) -> anyhow::Result<Option<u64>> {
    match IndexManifest::read(store.path()) {
        Ok(Some(index)) if index.is_of(&StoreFingerprint::of(store.manifest())) => Ok(Some(index.pages.bytes)),
        Ok(_) => Ok(None),
        Err(StoreError::Index { .. }) => Ok(Some(0)),
        Err(error) => Err(error.into()),
    }
}

fn broken(arguments: &Arguments, faults: &[Fault]) -> anyhow::Result<ExitCode> {
    show::print(&faults.iter().map(|fault| flags::typed(&format!("{fault}\n"))).collect::<String>())?;
    let count = if faults.len() == 1 { "1 fault".to_string() } else { format!("{} faults", faults.len()) };
    let (what, remedy) = match faults.iter().all(|fault| matches!(fault.error, StoreError::Index { .. })) {
        true => ("its index is damaged, the rows are whole", "build it again with 'towline index'"),
        false => ("the store is damaged", "pack it again from the source"),
    };
    show::say(&format!("towline: {}: {what} ({count}); {remedy}\n", arguments.store.display()));
    Ok(ExitCode::FAILURE)
}
