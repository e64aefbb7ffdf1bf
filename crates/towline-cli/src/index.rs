//! `towline index`: the index that finds the rows near a hyperplane.
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use towline::index::{Built, IndexOptions, build};
use towline::stop::Stop;
use towline::store::{BlockStore, DiskStore};

use crate::memory::{self, Memory};
use crate::pack::stop_on_signal;
use crate::progress::Bar;
use crate::{show, size};

/// Arguments of `towline index`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  towline index clicks.tow --memory 512M
  towline train clicks.tow --truncate 1        # uses the index")]
pub struct Arguments {
    /// The store to index
    store: PathBuf,
    /// Rows of a tree, at most [fewer if the memory holds fewer]
    #[arg(long, value_name = "N", default_value_t = IndexOptions::default().tree_rows, value_parser = clap::value_parser!(u64).range(1..))]
    tree_rows: u64,
    /// Children of a node, at most
    #[arg(long, value_name = "K", default_value_t = IndexOptions::default().fan_out, value_parser = clap::value_parser!(u64).range(2..=1024))]
    fan_out: u64,
    /// Seed of all random choices
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Memory for the whole process, such as 512M, or +512M for data beside the program itself
    /// [default: half of what is free, at most 4G]
    #[arg(long, value_parser = memory::parse)]
    memory: Option<Memory>,
    /// Show no progress and no summary
    #[arg(long, short)]
    quiet: bool,
    /// Print the summary as JSON on standard output
    #[arg(long)]
    json: bool,
}

/// Builds the index and says what it holds.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let begin = Instant::now();
    let budget = memory::budget(arguments.memory);
    let store = Arc::new(DiskStore::open_within(&arguments.store, &budget)?);
    let stop = Stop::default();
    stop_on_signal(&stop)?;
    let options = IndexOptions {
        tree_rows: arguments.tree_rows,
        fan_out: arguments.fan_out,
        seed: arguments.seed,
        stop,
        ..IndexOptions::default()
    };
    let done = Arc::new(AtomicU64::new(0));
    let bar = {
        let (done, total) = (done.clone(), store.blocks().iter().map(|block| block.stored_bytes).sum());
        Bar::follow(arguments.quiet || arguments.json, Some(total), move || done.load(Ordering::Relaxed))
    };
    let built = build(&store, &options, &budget, |bytes| _ = done.fetch_add(bytes, Ordering::Relaxed))?;
    drop(bar);
    let Some(built) = built else {
        show::say("towline: interrupted; nothing was written\n");
        return Ok(ExitCode::from(130));
    };
    let seconds = begin.elapsed().as_secs_f64();
    if arguments.json {
        show::print(&format!("{}\n", json(&built, seconds)?))?;
    } else if !arguments.quiet {
        show::print(&text(&store, &built, seconds))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn json(built: &Built, seconds: f64) -> anyhow::Result<serde_json::Value> {
    let mut value = serde_json::to_value(&built.manifest)?;
    value["schema"] = 1.into();
    value["bytes"] = built.bytes.into();
    value["seconds"] = seconds.into();
    value["peak_memory_bytes"] = towline::machine::peak_memory_bytes().into();
    Ok(value)
}

fn text(store: &DiskStore, built: &Built, seconds: f64) -> String {
    let manifest = &built.manifest;
    let store_bytes: u64 = store.blocks().iter().map(|block| block.stored_bytes).sum();
    format!(
        "{}: index of {} rows, {} in {} leaves\n{} stored ({:.2} of the blocks), {seconds:.2} s, peak memory {}\n",
        store.path().display(),
        show::count(manifest.store.rows),
        if manifest.trees == 1 { "1 tree".to_string() } else { format!("{} trees", show::count(manifest.trees)) },
        show::count(manifest.leaves),
        size::show(built.bytes),
        built.bytes as f64 / store_bytes.max(1) as f64,
        size::show(towline::machine::peak_memory_bytes()),
    )
}
