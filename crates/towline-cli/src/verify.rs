//! `towline verify`: every checksum of a store.
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use towline::budget::Budget;
use towline::store::{BlockStore, DiskStore, verify};

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
    #[arg(long, value_parser = size::parse)]
    memory: Option<u64>,
}

/// Exit code 0 if everything is whole, 1 and a list otherwise.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let store = DiskStore::open(&arguments.store)?;
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
    show::print(&faults.iter().map(|fault| format!("{}\n", fault.error)).collect::<String>())?;
    eprintln!("towline: {}: {} of its parts are broken", arguments.store.display(), faults.len());
    Ok(ExitCode::FAILURE)
}
