//! How files are read.
use std::sync::Arc;

use pyo3::exceptions::PyFileNotFoundError;
use pyo3::prelude::*;
use towline::input::libsvm::{Duplicates, IndexBase, LibsvmOptions, Precision};
use towline::input::table::{ColumnPolicy, ColumnRef, Known, TableOptions, Unlabelled};
use towline::input::{Input, ReadOptions};
use towline::schema::{Absent, Kind, Rules, Schema, Words};

use crate::errors::bad_value;
use crate::schema;

/// How to read, as a dictionary with the words of `towline pack`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Reading {
    format: Option<String>,
    index_base: String,
    duplicates: String,
    label: Option<String>,
    weight: Option<String>,
    group: Option<String>,
    ignore: Vec<String>,
    category: Vec<String>,
    number: Vec<String>,
    text: Vec<(String, String)>,
    /// Rules of columns; those of the column `*` are for all that they fit.
    column: Vec<(String, String)>,
    /// Columns that are multiplied.
    interact: Vec<(String, String)>,
    max_features: Option<u32>,
    /// What all columns are, as JSON.
    schema: Option<String>,
    absent: Option<String>,
    columns: String,
    missing: Vec<String>,
    unlabelled: String,
    header: Option<bool>,
    delimiter: Option<String>,
    precision: String,
    threads: Option<usize>,
}

/// One of several words, or an error that lists them.
pub fn choose<T: Copy>(argument: &str, word: &str, choices: &[(&str, T)]) -> PyResult<T> {
    choices.iter().find(|(name, _)| *name == word).map(|&(_, choice)| choice).ok_or_else(|| {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        bad_value(format!("{argument} is '{word}'; use one of {}", names.join(", ")))
    })
}

impl Reading {
    /// How values are kept.
    pub fn precision(&self) -> PyResult<Precision> {
        choose("precision", &self.precision, &[("f32", Precision::F32), ("f64", Precision::F64)])
    }

    /// Threads that parse and encode.
    pub fn threads(&self) -> usize {
        self.threads.unwrap_or_else(towline::machine::threads)
    }

    fn kinds(&self) -> PyResult<Vec<(ColumnRef, Kind)>> {
        let of = |names: &[String], kind| names.iter().map(|name| (name.as_str().into(), kind)).collect::<Vec<_>>();
        let text = |(name, rule): &(String, String)| {
            let words = Words::parse(rule).map_err(|problem| bad_value(format!("{name}: {problem}")))?;
            Ok((name.as_str().into(), Kind::Text(words)))
        };
        let texts = self.text.iter().map(text).collect::<PyResult<Vec<_>>>()?;
        Ok([of(&self.category, Kind::Category), of(&self.number, Kind::Number), texts].concat())
    }

    fn rules(&self) -> PyResult<Vec<(ColumnRef, Rules)>> {
        let rule = |(name, rules): &(String, String)| {
            Ok((name.as_str().into(), Rules::parse(rules).map_err(|problem| bad_value(format!("{name}: {problem}")))?))
        };
        self.column.iter().map(rule).collect()
    }

    /// What was said of all columns. Further ones become features.
    fn known(&self, columns: ColumnPolicy) -> PyResult<Option<Known>> {
        let Some(json) = &self.schema else { return Ok(None) };
        Ok(Some(Known { schema: Arc::new(schema::parse(json)?), columns, extend: true }))
    }

    /// The options for a file whose columns are known already, if they are; nothing else may be said of them then.
    pub fn options_by(&self, schema: Option<&Schema>, labels_needed: bool, extend: bool) -> PyResult<ReadOptions> {
        let given = [
            ("category", !self.category.is_empty()),
            ("number", !self.number.is_empty()),
            ("text", !self.text.is_empty()),
            ("column", !self.column.is_empty()),
            ("interact", !self.interact.is_empty()),
            ("max_features", self.max_features.is_some()),
            ("schema", self.schema.is_some()),
            ("ignore", !self.ignore.is_empty()),
            ("absent", self.absent.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((name, _)) if schema.is_some() => {
                Err(bad_value(format!("{name}: columns are read as those that are known already; leave it out")))
            }
            _ => Ok(self.options(labels_needed)?.by_schema(schema, extend)),
        }
    }

    /// The library's options; where labels are not needed, rows without them are welcome.
    pub fn options(&self, labels_needed: bool) -> PyResult<ReadOptions> {
        let precision = self.precision()?;
        let bases = [("auto", IndexBase::Auto), ("0", IndexBase::Zero), ("1", IndexBase::One)];
        let duplicates = [("error", Duplicates::Error), ("sum", Duplicates::Sum), ("last", Duplicates::Last)];
        let unlabelled = [("error", Unlabelled::Error), ("skip", Unlabelled::Skip)];
        let absent = Absent::ALL.map(|absent| (absent.name(), absent));
        let policies = [("strict", ColumnPolicy::Strict), ("note", ColumnPolicy::Note)];
        let column_policy = choose("columns", &self.columns, &policies)?;
        let libsvm = LibsvmOptions {
            index_base: choose("index_base", &self.index_base, &bases)?,
            duplicates: choose("duplicates", &self.duplicates, &duplicates)?,
            precision,
            ..LibsvmOptions::default()
        };
        let column = |name: &Option<String>| name.as_deref().map(ColumnRef::from);
        let columns = |names: &[String]| names.iter().map(|name| ColumnRef::from(name.as_str())).collect();
        let delimiter = match self.delimiter.as_deref().map(str::as_bytes) {
            None => None,
            Some([byte]) => Some(*byte),
            Some(_) => return Err(bad_value("delimiter is one character, such as ';'")),
        };
        let table = TableOptions {
            label: column(&self.label),
            unlabelled: match labels_needed {
                true => choose("unlabelled", &self.unlabelled, &unlabelled)?,
                false => Unlabelled::Keep,
            },
            weight: column(&self.weight),
            group: column(&self.group),
            ignore: columns(&self.ignore),
            kinds: self.kinds()?,
            absent: self.absent.as_deref().map(|word| choose("absent", word, &absent)).transpose()?,
            rules: self.rules()?,
            interactions: self.interact.iter().map(|(a, b)| [a.as_str().into(), b.as_str().into()]).collect(),
            max_features: self.max_features,
            known: self.known(column_policy)?,
            columns: column_policy,
            missing: self.missing.clone(),
            header: self.header,
            delimiter,
            precision,
        };
        let format = self.format.as_deref().map(str::parse).transpose().map_err(bad_value)?;
        Ok(ReadOptions { format, libsvm, table, threads: self.threads(), fourier: None })
    }
}

/// The files that these names and patterns stand for; a name that exists is never taken for a pattern.
pub fn expand(names: &[String]) -> PyResult<Vec<Input>> {
    let mut inputs = Vec::new();
    for name in names {
        let before = inputs.len();
        if std::path::Path::new(name).exists() {
            inputs.push(Input::File(name.into()));
            continue;
        }
        for path in glob::glob(name).map_err(bad_value)? {
            inputs.push(Input::File(path.map_err(bad_value)?));
        }
        if inputs.len() == before {
            return Err(PyFileNotFoundError::new_err(format!(
                "no file matches '{name}'; check the folder and the name"
            )));
        }
    }
    Ok(inputs)
}
