//! `towline cat`: rows out again, as libsvm text in the user's own feature numbers.
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use towline::block::{Block, Row, RowInfo};
use towline::store::features::{FeatureMap, FeatureName};
use towline::store::manifest::Manifest;
use towline::store::{BlockId, BlockStore, DiskStore, ReadBuffers};

use crate::memory::{self, Memory};
use crate::show;

/// Arguments of `towline cat`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The store to read
    store: PathBuf,
    /// Stop after this many rows
    #[arg(long, value_name = "N")]
    rows: Option<u64>,
    /// Memory to use, such as 512M [default: half of what is free, at most 4G]
    #[arg(long, value_parser = memory::parse, allow_hyphen_values = true)]
    memory: Option<Memory>,
}

/// Writes rows in the order in which they lie in the store.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let budget = memory::budget(arguments.memory);
    let store = DiskStore::open_within(&arguments.store, &budget)?;
    let coming = budget.expect(store.one_block_bytes());
    let features = store.features(&budget)?;
    drop(coming);
    let shape = store.shape();
    let _paid = budget.reserve("a block", store.one_block_bytes()).map_err(towline::store::StoreError::from)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut block = Block::new(shape.layout, shape.columns as usize);
    let mut buffers = ReadBuffers::default();
    let mut line = RowWriter { manifest: store.manifest(), features: &features, entries: Vec::new() };
    let mut left = arguments.rows.unwrap_or(u64::MAX);
    for number in 0..store.blocks().len() as u32 {
        if left == 0 {
            break;
        }
        block.clear();
        store.read(BlockId(number), &mut buffers, &mut block)?;
        for i in 0..(block.rows() as u64).min(left) as usize {
            line.write(block.info(i), block.further(i), block.row(i), &mut out).map_err(where_to)?;
        }
        left = left.saturating_sub(block.rows() as u64);
    }
    out.flush().context(show::STDOUT)?;
    Ok(ExitCode::SUCCESS)
}

/// Says what could not be written to.
fn where_to(error: anyhow::Error) -> anyhow::Error {
    if error.is::<std::io::Error>() { error.context(show::STDOUT) } else { error }
}

struct RowWriter<'a> {
    manifest: &'a Manifest,
    features: &'a FeatureMap,
    entries: Vec<(u64, f64)>,
}

impl RowWriter<'_> {
    /// Label, group if the store has them, and entries sorted by the user's numbers. Named features appear as
    /// `name:value`.
    fn write(&mut self, info: RowInfo, further: &[f64], row: Row, out: &mut impl Write) -> anyhow::Result<()> {
        match self.manifest.labels.names.as_ref().map(|names| names.get(info.label as usize)) {
            Some(Some(name)) => write!(out, "{name}")?,
            Some(None) => bail!("row {} has a class that the manifest does not list; run 'towline verify'", info.id),
            None => write!(out, "{}", info.label)?,
        }
        further.iter().try_for_each(|target| write!(out, ",{target}"))?;
        if self.manifest.grouped {
            write!(out, " qid:{}", info.group)?;
        }
        if self.manifest.named_features {
            for (column, value) in row.iter() {
                write!(out, " {}:", self.features.name(column))?;
                self.write_value(value, out)?;
            }
        } else {
            self.entries.clear();
            self.entries.extend(row.iter().map(|(column, value)| match self.features.name(column) {
                FeatureName::Number(number) => (number, value),
                FeatureName::Name(_) => (u64::from(column), value),
            }));
            self.entries.sort_unstable_by_key(|&(number, _)| number);
            for &(number, value) in &self.entries {
                write!(out, " {number}:")?;
                self.write_value(value, out)?;
            }
        }
        writeln!(out)?;
        Ok(())
    }

    /// The shortest digits that read back as the stored value.
    fn write_value(&self, value: f64, out: &mut impl Write) -> std::io::Result<()> {
        let single = value as f32;
        if f64::from(single) == value && self.manifest.precision == towline::input::libsvm::Precision::F32 {
            write!(out, "{single}")
        } else {
            write!(out, "{value}")
        }
    }
}
