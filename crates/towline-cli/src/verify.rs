//! `towline verify`: every checksum of a store.
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use towline::budget::Budget;
use towline::store::{BlockStore, DiskStore, Fault, StoreError, verify};

use crate::progress::Bar;
use crate::{show, size};

/// Arguments of `towline verify`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The store to check
    store: PathBuf,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    /// Memory to use, such as 512M [default: half of what is free, at most 4G]
    #[arg(long, value_parser = size::parse, allow_hyphen_values = true)]
    memory: Option<u64>,
}

/// Exit code 0 if everything is whole, 1 and a list otherwise.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let store = match DiskStore::open(&arguments.store) {
        Ok(store) => store,
        Err(error @ StoreError::Damaged { .. }) => return broken(arguments, &[Fault { error }]),
        Err(error) => return Err(error.into()),
    };
    let budget = Budget::new(arguments.memory.unwrap_or_else(towline::machine::default_memory_bytes));
    let total = store.blocks().iter().map(|b| b.stored_bytes).sum();
    let done = Arc::new(AtomicU64::new(0));
    let bar = {
        let done = done.clone();
        Bar::follow(arguments.quiet, Some(total), move || done.load(Ordering::Relaxed))
    };
    let faults = verify(&store, &budget, |bytes| _ = done.fetch_add(bytes, Ordering::Relaxed))?;
    drop(bar);
    if faults.is_empty() {
        let blocks = store.blocks().len() as u64;
        let name = arguments.store.display();
        show::print(&format!("{name}: whole ({} blocks, {})\n", show::count(blocks), size::show(total)))?;
        return Ok(ExitCode::SUCCESS);
    }
    broken(arguments, &faults)
}

fn broken(arguments: &Arguments, faults: &[Fault]) -> anyhow::Result<ExitCode> {
    show::print(&faults.iter().map(|fault| format!("{fault}\n")).collect::<String>())?;
    let count = if faults.len() == 1 { "1 fault".to_string() } else { format!("{} faults", faults.len()) };
    eprintln!("towline: {}: the store is damaged ({count}); pack it again from the source", arguments.store.display());
    Ok(ExitCode::FAILURE)
}
