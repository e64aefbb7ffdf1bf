//! How inputs are read: the same arguments for every verb that reads them.
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::ValueEnum;
use towline::input::libsvm::{Duplicates, IndexBase, LibsvmOptions, Precision};
use towline::input::table::{ColumnPolicy, ColumnRef, TableOptions, Unlabelled};
use towline::input::{Format, Input, ReadOptions};
use towline::schema::{Absent, ImputeBy, Kind, Rules, Schema, Words};
use towline::store::manifest::Manifest;

use crate::schema;

/// Arguments that say how to read.
#[derive(clap::Args)]
#[command(next_help_heading = "Reading")]
pub struct InputArguments {
    /// The format: libsvm, csv, json (an object a line), vw (Vowpal Wabbit's), parquet or arrow
    /// [default: by content and name]
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
    /// Columns of a table that are categories even if they look like numbers, such as codes
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    category: Vec<ColumnRef>,
    /// A column of text to read, whose words are features; with a rule after a colon such as words=1-2,min=5,max=100000
    /// or chars=3-5, and one of tf-idf, counts, binary; may be given several times
    #[arg(long, value_name = "COLUMN[:RULE]", value_parser = text_rule)]
    text: Vec<(ColumnRef, Words)>,
    /// Rules of a column, or of all that they fit ('*'): rare=N puts levels of a category together that fewer rows have;
    /// impute=mean, median, most-frequent, zero or a number stands for absent numbers; hash=BITS knows levels and words by
    /// a hash; powers=2 adds squares of numbers; bins=18/35/65 makes levels of them; stop=FILE leaves words of a text out; cyclic makes sine and cosine of
    /// months, weekdays and hours; may be given several times
    #[arg(long, value_name = "COLUMN:RULES", value_parser = column_rules)]
    column: Vec<(ColumnRef, Rules)>,
    /// Two columns, of numbers or categories, whose features are multiplied; may be given several times
    #[arg(long, value_name = "COLUMN*COLUMN", value_parser = two_columns)]
    interact: Vec<[ColumnRef; 2]>,
    /// How many words or n-grams of a column of text are features at most, the most frequent ones
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_features: Option<u32>,
    /// Columns of a table that are numbers even if they look like identifiers
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    number: Vec<ColumnRef>,
    /// A file that says what the columns of a table are; 'towline schema' prints one to begin with
    #[arg(long, value_name = "FILE", conflicts_with_all = ["category", "number", "text", "column", "interact", "max_features", "ignore", "absent"])]
    schema: Option<PathBuf>,
    /// What becomes of absent cells of a table [default: marked, but zero where most cells are absent]
    #[arg(long, value_enum)]
    absent: Option<AbsentName>,
    /// What to do about a table that lacks columns of the model or of the store
    #[arg(long, value_enum, default_value_t = ColumnsName::Strict)]
    columns: ColumnsName,
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

#[derive(Clone, Copy, ValueEnum)]
enum AbsentName {
    /// A feature of its own says that the cell is absent, and a number is the mean of those that are there
    Marked,
    /// They count as 0
    Zero,
}

#[derive(Clone, Copy, ValueEnum)]
enum ColumnsName {
    /// Refuse it
    Strict,
    /// Take their cells to be absent, and say so
    Note,
}

/// A column, and after a colon what becomes of its text.
fn text_rule(text: &str) -> Result<(ColumnRef, Words), String> {
    match text.rsplit_once(':') {
        Some((column, rule)) => Ok((column.into(), Words::parse(rule)?)),
        None => Ok((text.into(), Words::default())),
    }
}

/// A column, and after a colon its rules.
fn column_rules(text: &str) -> Result<(ColumnRef, Rules), String> {
    match text.rsplit_once(':') {
        Some((column, rules)) => Ok((column.into(), Rules::parse(rules)?)),
        None => Err("write a column and its rules, such as city:rare=5".into()),
    }
}

fn two_columns(text: &str) -> Result<[ColumnRef; 2], String> {
    match text.split('*').collect::<Vec<_>>()[..] {
        [a, b] if !a.is_empty() && !b.is_empty() => Ok([a.into(), b.into()]),
        _ => Err("name two columns, such as user*item".into()),
    }
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
    fn kinds(&self) -> Vec<(ColumnRef, Kind)> {
        let of = |columns: &[ColumnRef], kind| columns.iter().map(|c| (c.clone(), kind)).collect::<Vec<_>>();
        let texts = self.text.iter().map(|(column, words)| (column.clone(), Kind::Text(*words))).collect();
        [of(&self.category, Kind::Category), of(&self.number, Kind::Number), texts].concat()
    }

    /// Refuses options that say what columns are, where `schema` has decided that before.
    pub fn check_known(&self, schema: Option<&Schema>) -> anyhow::Result<()> {
        let given = [
            ("--category", !self.category.is_empty()),
            ("--number", !self.number.is_empty()),
            ("--text", !self.text.is_empty()),
            ("--column", !self.column.is_empty()),
            ("--interact", !self.interact.is_empty()),
            ("--max-features", self.max_features.is_some()),
            ("--ignore", !self.ignore.is_empty()),
            ("--absent", self.absent.is_some()),
            ("--schema", self.schema.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) if schema.is_some() => {
                bail!("{option}: columns are read as those that are known already; leave it out")
            }
            _ => Ok(()),
        }
    }

    /// Refuses rules that take all rows to be known, which those of a stream never are.
    pub fn check_stream(&self) -> anyhow::Result<()> {
        let takes_all = |rules: &Rules| {
            let counts = matches!(rules.impute, Some((ImputeBy::Median | ImputeBy::MostFrequent, _)));
            rules.rare.is_some() || counts
        };
        if let Some((column, rules)) = self.column.iter().find(|(_, rules)| takes_all(rules)) {
            bail!("--column {}:{rules} goes with packing, and a stream is not packed", column.as_str());
        }
        Ok(())
    }

    /// The options for reading training data; for prediction, rows without labels are welcome.
    pub fn options(&self, precision: Precision, threads: usize, labels_needed: bool) -> anyhow::Result<ReadOptions> {
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
        let columns = match self.columns {
            ColumnsName::Strict => ColumnPolicy::Strict,
            ColumnsName::Note => ColumnPolicy::Note,
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
            kinds: self.kinds(),
            rules: self.column.clone(),
            interactions: self.interact.clone(),
            max_features: self.max_features,
            absent: self.absent.map(|absent| match absent {
                AbsentName::Marked => Absent::Marked,
                AbsentName::Zero => Absent::Zero,
            }),
            known: self.schema.as_ref().map(|file| schema::read(file, columns)).transpose()?,
            columns,
            missing: self.missing.clone(),
            header: self.header,
            delimiter: self.delimiter,
            precision,
        };
        Ok(ReadOptions { format: self.format, libsvm, table, threads, fourier: None })
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
