//! `towline pack`: tables become a store.
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, bail};
use towline::input::{Input, Progress};
use towline::pack::{PackOptions, Packed};
use towline::stop::Stop;
use towline::store::manifest::Manifest;
use towline::store::writer::Existing;

use crate::input::{InputArguments, expand};
use crate::memory::{self, Memory};
use crate::preparation::PreparationArguments;
use crate::progress::Bar;
use crate::{flags, show, size};

/// Arguments of `towline pack`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  towline pack reviews.svm.gz -o reviews.tow
  towline pack 'logs/*.svm' -o logs.tow --memory 512M
  towline pack flights.csv.zst -o flights.tow --label ArrDel15 --unlabelled skip
  zcat huge.gz | towline pack - -o huge.tow")]
pub struct Arguments {
    /// Files to pack, as one table: paths, globs, or - for standard input
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<String>,
    /// The store to write, a folder
    #[arg(long, short, value_name = "STORE")]
    output: PathBuf,
    /// Replace the store if it exists
    #[arg(long, conflicts_with = "append")]
    force: bool,
    /// Add the rows to an existing store
    #[arg(long)]
    append: bool,
    /// With --append, add a file even if the store has its rows already
    #[arg(long, requires = "append")]
    repeat: bool,
    /// Memory for the whole process, such as 512M, or +512M for data beside the program itself
    /// [default: half of what is free, at most 4G]
    #[arg(long, value_parser = memory::parse, allow_hyphen_values = true)]
    memory: Option<Memory>,
    /// Threads that parse and encode [default: all processors]
    #[arg(long, value_parser = threads, allow_hyphen_values = true)]
    threads: Option<u16>,
    /// A file with one sample weight per line, for the rows of all inputs in order
    #[arg(long, value_name = "FILE")]
    weights: Option<String>,
    /// Keep the order of the rows; they are shuffled over blocks otherwise
    #[arg(long)]
    keep_order: bool,
    /// Seed of the shuffle
    #[arg(long, default_value_t = 0, conflicts_with = "keep_order", allow_negative_numbers = true)]
    seed: u64,
    /// Keep columns in the order of the features instead of numbering them by frequency
    #[arg(long)]
    no_renumber: bool,
    #[command(flatten)]
    preparation: PreparationArguments,
    #[command(flatten)]
    reading: InputArguments,
    /// Show no progress and no summary
    #[arg(long, short)]
    quiet: bool,
    /// Print the summary as JSON on standard output
    #[arg(long)]
    json: bool,
}

fn threads(text: &str) -> Result<u16, String> {
    const MOST: u16 = 512;
    text.parse()
        .ok()
        .filter(|threads| (1..=MOST).contains(threads))
        .ok_or_else(|| format!("'{text}' is not a whole number from 1 to {MOST}"))
}

impl Arguments {
    fn options(&self) -> anyhow::Result<PackOptions> {
        let threads = self.threads.map_or_else(towline::machine::threads, usize::from);
        let prepared = self.preparation.options(&self.reading, threads)?;
        Ok(PackOptions {
            repeat: self.repeat,
            weights: self.weights.as_deref().map(Input::new),
            existing: match (self.force, self.append) {
                (true, _) => Existing::Replace,
                (_, true) => Existing::Append,
                _ => Existing::Refuse,
            },
            shuffle_seed: (!self.keep_order).then_some(self.seed),
            renumber: !self.no_renumber,
            ..prepared
        })
    }
}

/// Packs and says what came of it.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let begin = Instant::now();
    let named = arguments.inputs.iter().chain(&arguments.weights).filter(|name| *name == "-").count();
    if named > 1 {
        bail!("standard input is named twice; it can be read only once");
    }
    let inputs = expand(&arguments.inputs)?;
    if arguments.append && arguments.output.is_dir() {
        arguments.reading.check_known(Manifest::read(&arguments.output)?.schema.as_ref())?;
    }
    let options = arguments.options()?;
    stop_on_signal(&options.stop)?;
    let budget = memory::budget(arguments.memory);
    let total = inputs.iter().map(Input::size_bytes).sum::<Option<u64>>();
    let progress = Progress::new(total);
    let bar = {
        let progress = progress.clone();
        Bar::follow(arguments.quiet || arguments.json, total, move || progress.read_bytes())
    };
    let packed = towline::pack::pack(&inputs, &arguments.output, &options, &budget, &progress);
    drop(bar);
    let packed = packed?;
    let seconds = begin.elapsed().as_secs_f64();
    if arguments.json {
        show::print(&format!("{}\n", json(&packed, seconds)))?;
    } else if !arguments.quiet {
        show::say(&summary(&arguments.output, &packed, seconds));
    }
    Ok(ExitCode::SUCCESS)
}

/// The first signal sets `stop`, which asks for an orderly end; a second one does not wait for it.
pub fn stop_on_signal(stop: &Stop) -> anyhow::Result<()> {
    let stop = stop.clone();
    let stop_once = move || {
        if stop.request() {
            std::process::exit(130);
        }
    };
    ctrlc::set_handler(stop_once).context("cannot watch for Ctrl-C")
}

fn json(packed: &Packed, seconds: f64) -> serde_json::Value {
    let manifest = &packed.manifest;
    serde_json::json!({
        "schema": 1,
        "rows": manifest.rows,
        "features": manifest.features,
        "values": manifest.values,
        "classes": manifest.labels.histogram.as_ref().map(Vec::len),
        "blocks": packed.blocks,
        "store_bytes": packed.store_bytes,
        "input_bytes": packed.input_bytes,
        "seconds": seconds,
        "peak_memory_bytes": towline::machine::peak_memory_bytes(),
        "remarks": remarks(packed),
    })
}

pub fn summary(output: &Path, packed: &Packed, seconds: f64) -> String {
    let manifest = &packed.manifest;
    let per_value = packed.store_bytes as f64 / manifest.values.max(1) as f64;
    let megabytes = packed.input_bytes as f64 / 1e6 / seconds.max(1e-9);
    let mut text = format!(
        "{}: {} rows, {} features, {} values in {} blocks\n",
        output.display(),
        show::count(manifest.rows),
        show::count(manifest.features),
        show::count(manifest.values),
        show::count(packed.blocks as u64),
    );
    text += &format!(
        "{} read, {} stored ({per_value:.2} bytes a value), {seconds:.2} s ({megabytes:.0} MB/s), peak memory {}\n",
        size::show(packed.input_bytes),
        size::show(packed.store_bytes),
        size::show(towline::machine::peak_memory_bytes()),
    );
    remarks(packed).iter().for_each(|remark| text += &format!("note: {remark}\n"));
    text
}

/// What the reader wants to say, with the names of options.
fn remarks(packed: &Packed) -> Vec<String> {
    packed.remarks.iter().map(|remark| flags::typed(remark)).collect()
}
