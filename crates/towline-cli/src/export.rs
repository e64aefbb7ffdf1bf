//! `towline export`: a model in other words.
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;
use towline::export::{ExportFormat, export};
use towline::model::Model;

/// Arguments of `towline export`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The model
    model: PathBuf,
    /// What to write
    #[arg(long, value_enum)]
    to: Target,
    /// The file to write [default: standard output]
    #[arg(long, short)]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Target {
    /// A model file of LIBLINEAR, which counts features from 1
    Liblinear,
    /// JSON with everything that is known of the model
    Json,
    /// A line per feature: name, tab, weight, and more of them for more classes
    Text,
}

/// Writes the model.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let model = Model::load(&arguments.model)?;
    let mut out: BufWriter<Box<dyn Write>> = BufWriter::new(match &arguments.output {
        Some(path) => Box::new(File::create(path).with_context(|| format!("cannot create {}", path.display()))?),
        None => Box::new(std::io::stdout().lock()),
    });
    let format = match arguments.to {
        Target::Liblinear => ExportFormat::Liblinear,
        Target::Json => ExportFormat::Json,
        Target::Text => ExportFormat::Text,
    };
    export(&model, format, &mut out)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
