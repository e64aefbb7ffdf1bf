//! `towline export`: a model in other words.
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use towline::export::{ExportFormat, export};
use towline::model::Model;
use towline::output::Inputs;

use crate::destination::Destination;

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
    let format = match arguments.to {
        Target::Liblinear => ExportFormat::Liblinear,
        Target::Json => ExportFormat::Json,
        Target::Text => ExportFormat::Text,
    };
    let inputs = Inputs::none().and(&arguments.model);
    let mut destination = Destination::open(arguments.output.as_deref(), format.kind(), &inputs)?;
    let mut out = destination.begin()?;
    export(&model, format, &mut out)?;
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
