//! How inputs are read: the same arguments for every verb that reads them.
use std::path::Path;

use anyhow::{Context, bail};
use clap::ValueEnum;
use towline::input::libsvm::{Duplicates, IndexBase, LibsvmOptions, Precision};
use towline::input::table::{ColumnRef, TableOptions, Unlabelled};
use towline::input::{Format, Input, ReadOptions};
use towline::store::manifest::Manifest;

/// Arguments that say how to read.
#[derive(clap::Args)]
#[command(next_help_heading = "Reading")]
pub struct InputArguments {
    /// The format: libsvm, csv, parquet or arrow [default: by content and name]
    #[arg(long)]
    format: Option<Format>,
    /// Whether libsvm indices count from 0 or from 1
    #[arg(long, value_enum, default_value_t = IndexBaseName::Auto)]
    index_base: IndexBaseName,
    /// What to do when a libsvm row names a feature twice
    #[arg(long, value_enum, default_value_t = DuplicatesName::Error)]
    duplicates: DuplicatesName,
    /// Leave qid: out instead of keeping it as the row's group
    #[arg(long)]
    skip_groups: bool,
    /// The column of a table that holds the label, by name or number, or several with commas between them
    /// [default: label, target, y or class]
    #[arg(long, value_name = "COLUMN")]
    label: Option<ColumnRef>,
    /// The column of a table that holds the sample weight
    #[arg(long, value_name = "COLUMN")]
    weight: Option<ColumnRef>,
    /// The column of a table that says which rows belong together
    #[arg(long, value_name = "COLUMN")]
    group: Option<ColumnRef>,
    /// Columns of a table to leave out
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    ignore: Vec<ColumnRef>,
    /// Columns of a table that are text even if they look like numbers, such as codes
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    text: Vec<ColumnRef>,
    /// What an absent cell of a table looks like, besides an empty one, such as NA
    #[arg(long, value_name = "TOKEN", value_delimiter = ',', allow_hyphen_values = true)]
    missing: Vec<String>,
    /// What to do with rows of a table that have no label [default: error; predict keeps them]
    #[arg(long, value_enum)]
    unlabelled: Option<UnlabelledName>,
    /// Whether CSV files begin with column names [default: by content]
    #[arg(long, value_name = "yes|no", value_parser = yes_or_no)]
    header: Option<bool>,
    /// What separates the cells of CSV files [default: by content]
    #[arg(long, value_name = "CHARACTER", value_parser = one_byte)]
    delimiter: Option<u8>,
}

#[derive(Clone, Copy, ValueEnum)]
enum IndexBaseName {
    Auto,
    #[value(name = "0")]
    Zero,
    #[value(name = "1")]
    One,
}

#[derive(Clone, Copy, ValueEnum)]
enum DuplicatesName {
    Error,
    Sum,
    Last,
}

#[derive(Clone, Copy, ValueEnum)]
enum UnlabelledName {
    /// Refuse them
    Error,
    /// Leave them out
    Skip,
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("say yes or no".into()),
    }
}

fn one_byte(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        _ if text == "\\t" || text == "tab" => Ok(b'\t'),
        _ => Err("name one character, such as ';', or tab".into()),
    }
}

impl InputArguments {
    /// The options for reading training data; for prediction, rows without labels are welcome.
    pub fn options(&self, precision: Precision, threads: usize, labels_needed: bool) -> ReadOptions {
        let libsvm = LibsvmOptions {
            index_base: match self.index_base {
                IndexBaseName::Auto => IndexBase::Auto,
                IndexBaseName::Zero => IndexBase::Zero,
                IndexBaseName::One => IndexBase::One,
            },
            duplicates: match self.duplicates {
                DuplicatesName::Error => Duplicates::Error,
                DuplicatesName::Sum => Duplicates::Sum,
                DuplicatesName::Last => Duplicates::Last,
            },
            precision,
            skip_groups: self.skip_groups,
        };
        let unlabelled = match self.unlabelled {
            Some(UnlabelledName::Skip) => Unlabelled::Skip,
            Some(UnlabelledName::Error) => Unlabelled::Error,
            None if labels_needed => Unlabelled::Error,
            None => Unlabelled::Keep,
        };
        let table = TableOptions {
            label: self.label.clone(),
            unlabelled,
            weight: self.weight.clone(),
            group: self.group.clone(),
            ignore: self.ignore.clone(),
            text: self.text.clone(),
            missing: self.missing.clone(),
            header: self.header,
            delimiter: self.delimiter,
            precision,
        };
        ReadOptions { format: self.format, libsvm, table, threads, fourier: None }
    }
}

/// Looks whether a store or a file can be read, before anything else is done. What can be read only once is left alone.
pub fn check_readable(path: &Path, options: &ReadOptions) -> anyhow::Result<()> {
    if path.is_dir() {
        Manifest::read(path)?;
    } else if path.as_os_str() != "-" {
        towline::input::check(&Input::File(path.to_path_buf()), options)?;
    }
    Ok(())
}

/// Globs that the shell has not expanded; a name that exists is never taken for a pattern.
pub fn expand(names: &[String]) -> anyhow::Result<Vec<Input>> {
    if names.iter().filter(|name| *name == "-").count() > 1 {
        bail!("standard input is named twice; it can be read only once");
    }
    let mut inputs = Vec::new();
    for name in names {
        if name == "-" || Path::new(name).exists() || !name.contains(['*', '?', '[']) {
            inputs.push(Input::new(name));
            continue;
        }
        let paths = glob::glob(name).with_context(|| format!("'{name}' is not a pattern"))?;
        let before = inputs.len();
        for path in paths {
            inputs.push(Input::File(path.with_context(|| format!("cannot list '{name}'"))?));
        }
        if inputs.len() == before {
            bail!("no file matches '{name}'; check the folder and the pattern");
        }
    }
    Ok(inputs)
}
