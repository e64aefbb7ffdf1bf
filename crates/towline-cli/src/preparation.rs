//! What becomes of rows on their way into a store: the same arguments for `pack` and for verbs that pack a file.
use std::path::Path;

use anyhow::bail;
use clap::ValueEnum;
use towline::fourier::FourierMap;
use towline::input::libsvm::Precision;
use towline::pack::{FourierKept, PackOptions};
use towline::store::manifest::Scale;

use crate::input::InputArguments;
use crate::size;

/// Arguments that say how rows are prepared.
#[derive(clap::Args)]
#[command(next_help_heading = "Preparation")]
pub struct PreparationArguments {
    /// Scale numbers of tables by mean and standard deviation (auto), rows to unit length, features to [0, 1], or
    /// features by their standard deviation [default: auto]
    #[arg(long, value_enum)]
    scale: Option<ScaleName>,
    /// Leave out features that fewer rows have, but for numbers of tables
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u32).range(1..))]
    min_count: Option<u32>,
    /// Map rows to this many random Fourier features, whose products are close to the kernel exp(-gamma |x - y|^2)
    #[arg(long, value_name = "FEATURES", requires = "gamma", conflicts_with_all = ["scale", "min_count"])]
    rff: Option<u32>,
    /// The gamma of that kernel
    #[arg(long, requires = "rff")]
    gamma: Option<f64>,
    /// The seed of that map
    #[arg(long, default_value_t = 0, requires = "rff")]
    rff_seed: u64,
    /// Keep the features of that map, or the rows and make the features whenever a block is read; auto does what takes
    /// less time
    #[arg(long, value_enum, default_value_t = KeepName::Auto, requires = "rff")]
    rff_keep: KeepName,
    /// How values are kept [default: f32]
    #[arg(long, value_enum)]
    precision: Option<PrecisionName>,
    /// Size of a block in memory, such as 4M [default: 4M, less where the budget is small]
    #[arg(long, value_parser = block_size, allow_hyphen_values = true)]
    block_size: Option<u64>,
}

/// Below this every block is little more than its header.
const LEAST_BLOCK_BYTES: u64 = 1 << 10;

fn block_size(text: &str) -> Result<u64, String> {
    let bytes = size::parse(text)?;
    if bytes < LEAST_BLOCK_BYTES {
        return Err(format!("blocks have at least {}", size::show(LEAST_BLOCK_BYTES)));
    }
    Ok(bytes)
}

#[derive(Clone, Copy, ValueEnum)]
enum ScaleName {
    Auto,
    None,
    Rows,
    Minmax,
    Standard,
}

#[derive(Clone, Copy, ValueEnum)]
enum PrecisionName {
    F32,
    F64,
}

#[derive(Clone, Copy, ValueEnum)]
enum KeepName {
    Auto,
    Seed,
    Values,
}

impl From<KeepName> for FourierKept {
    fn from(name: KeepName) -> FourierKept {
        match name {
            KeepName::Auto => FourierKept::Auto,
            KeepName::Seed => FourierKept::Seed,
            KeepName::Values => FourierKept::Values,
        }
    }
}

impl From<ScaleName> for Scale {
    fn from(name: ScaleName) -> Scale {
        match name {
            ScaleName::Auto => Scale::Auto,
            ScaleName::None => Scale::None,
            ScaleName::Rows => Scale::Rows,
            ScaleName::Minmax => Scale::Minmax,
            ScaleName::Standard => Scale::Standard,
        }
    }
}

impl PreparationArguments {
    fn precision(&self) -> Precision {
        match self.precision {
            None | Some(PrecisionName::F32) => Precision::F32,
            Some(PrecisionName::F64) => Precision::F64,
        }
    }

    /// How to pack what is read by `reading`.
    pub fn options(&self, reading: &InputArguments, threads: usize) -> anyhow::Result<PackOptions> {
        let map = self.rff.zip(self.gamma).map(|(rff, gamma)| FourierMap::new(rff, gamma, self.rff_seed));
        Ok(PackOptions {
            read: reading.options(self.precision(), threads, true)?,
            fourier: map.transpose()?,
            fourier_kept: self.rff_keep.into(),
            scale: self.scale.map_or(Scale::Auto, Scale::from),
            min_count: self.min_count.unwrap_or(1),
            precision: self.precision(),
            block_bytes: self.block_size,
            threads,
            ..PackOptions::default()
        })
    }

    /// Refuses what comes too late for a store.
    pub fn check_data(&self, data: &Path) -> anyhow::Result<()> {
        match self.given() {
            Some(option) if data.is_dir() => {
                bail!("{option}: {} is packed already; say it to towline pack", data.display())
            }
            _ => Ok(()),
        }
    }

    /// Refuses what a stream cannot do: its rows are learnt as they come.
    pub fn check_stream(&self) -> anyhow::Result<()> {
        match self.given() {
            Some(option) => bail!("{option} goes with packing, and a stream is not packed; leave it or --stream out"),
            None => Ok(()),
        }
    }

    fn given(&self) -> Option<&'static str> {
        let given = [
            ("--scale", self.scale.is_some()),
            ("--min-count", self.min_count.is_some()),
            ("--rff", self.rff.is_some()),
            ("--precision", self.precision.is_some()),
            ("--block-size", self.block_size.is_some()),
        ];
        given.iter().find(|(_, is_given)| *is_given).map(|&(option, _)| option)
    }
}
