//! `towline export`: a model in other words.
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::ValueEnum;
use towline::export::{ExportFormat, export, liblinear_names};
use towline::model::Model;
use towline::output::{Inputs, Kind, OutputFile};

use crate::destination::Destination;
use crate::memory::{self, Memory};

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
    /// Memory for the whole process, such as 512M, or +512M for data beside the program itself
    /// [default: half of what is free, at most 4G]
    #[arg(long, value_parser = memory::parse)]
    memory: Option<Memory>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Target {
    /// A model file of LIBLINEAR, which counts features from 1; names are in a table beside it, FILE.names
    Liblinear,
    /// JSON with everything that is known of the model
    Json,
    /// A line per feature: name, tab, weight, and more of them for more classes
    Text,
    /// An expression that scores a row of a table in a database
    Sql,
    /// A header of C with functions that score a row
    C,
    /// A graph of ONNX, with an input for each column of a table
    Onnx,
}

/// Writes the model.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (model, _paid) = Model::load_within(&arguments.model, &memory::budget(arguments.memory))?;
    let format = match arguments.to {
        Target::Liblinear => ExportFormat::Liblinear,
        Target::Json => ExportFormat::Json,
        Target::Text => ExportFormat::Text,
        Target::Sql => ExportFormat::Sql,
        Target::C => ExportFormat::C,
        Target::Onnx => ExportFormat::Onnx,
    };
    let names = if format == ExportFormat::Liblinear { liblinear_names(&model) } else { None };
    let beside = match (&names, &arguments.output) {
        (None, _) => None,
        (Some(_), Some(output)) => Some(PathBuf::from(format!("{}.names", output.display()))),
        (Some(_), None) => bail!(
            "LIBLINEAR knows whole numbers only, and this model has names; name a file with -o, and their table is written \
             beside it"
        ),
    };
    let inputs = Inputs::none().and(&arguments.model);
    let mut destination = Destination::open(arguments.output.as_deref(), format.kind(), &inputs)?;
    let mut out = destination.begin()?;
    export(&model, format, &mut out)?;
    out.finish()?;
    if let (Some(names), Some(beside)) = (names, beside) {
        let mut table = OutputFile::open(&beside, Kind::Names, &inputs)?;
        table.write(|out| out.write_all(names.as_bytes()))?;
    }
    Ok(ExitCode::SUCCESS)
}
