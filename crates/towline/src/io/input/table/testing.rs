//! What the tests of all formats of tables share.
use std::path::PathBuf;
use std::sync::Arc;

use super::{TableOptions, Unlabelled};
use crate::budget::Budget;
use crate::input::csv::Csv;
use crate::input::text::{TextLimits, TextSource};
use crate::input::{Input, InputError, Progress, ReadOptions, RowBatch, RowSource, open};
use crate::schema::{Absent, Kind};

/// A row with the names written out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlainRow {
    pub(crate) label: String,
    pub(crate) entries: Vec<(String, f64)>,
    pub(crate) weight: Option<f64>,
    pub(crate) group: Option<u64>,
}

/// A row with label and entries alone.
pub(crate) fn row(label: &str, entries: &[(&str, f64)]) -> PlainRow {
    let entries = entries.iter().map(|&(name, value)| (name.to_string(), value)).collect();
    PlainRow { label: label.to_string(), entries, weight: None, group: None }
}

fn plain_rows(batch: &RowBatch, rows: &mut Vec<PlainRow>) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    for i in 0..batch.rows() {
        let label = batch.labels[i];
        let class = || text(batch.classes.get(label as usize));
        let name = |k: usize| text(batch.names.get(batch.keys[k] as usize));
        rows.push(PlainRow {
            label: if batch.classes.is_empty() { label.to_string() } else { class() },
            entries: batch.range(i).map(|k| (name(k), batch.values[k])).collect(),
            weight: batch.weights.get(i).copied(),
            group: batch.groups.get(i).copied(),
        });
    }
}

/// All rows of a source.
pub(crate) fn read_all(source: &mut dyn RowSource) -> Result<Vec<PlainRow>, InputError> {
    let (mut rows, mut batch) = (Vec::new(), RowBatch::default());
    while source.next_batch(&mut batch)? {
        plain_rows(&batch, &mut rows);
    }
    Ok(rows)
}

/// Files in a folder of their own.
pub(crate) struct Files {
    folder: tempfile::TempDir,
    inputs: Vec<Input>,
}

impl Files {
    pub(crate) fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let write = |(name, contents): &(&str, &[u8])| {
            let path: PathBuf = folder.path().join(name);
            std::fs::write(&path, contents).unwrap();
            Input::File(path)
        };
        let inputs = files.iter().map(write).collect();
        Files { folder, inputs }
    }

    /// Reads the files as a user would; errors come as messages without the folder.
    pub(crate) fn read(&self, table: &TableOptions) -> Result<Vec<PlainRow>, String> {
        self.read_within(table, &Budget::unlimited()).map(|(rows, _)| rows)
    }

    /// Rows and remarks.
    pub(crate) fn read_within(
        &self,
        table: &TableOptions,
        budget: &Budget,
    ) -> Result<(Vec<PlainRow>, Vec<String>), String> {
        let options = ReadOptions { table: table.clone(), threads: 1, ..ReadOptions::default() };
        open(&self.inputs, &options, budget, &Progress::default())
            .and_then(|mut source| Ok((read_all(&mut *source)?, source.remarks())))
            .map_err(|error| self.message(&error))
    }

    /// Reads CSV in small pieces with several threads.
    pub(crate) fn read_csv_pieces(&self, table: &TableOptions, limits: TextLimits) -> Result<Vec<PlainRow>, String> {
        let (format, budget) = (Arc::new(Csv::new(table.clone())), Budget::unlimited());
        let mut source = TextSource::new(format, self.inputs.clone(), limits, &budget, &Progress::default()).unwrap();
        read_all(&mut source).map_err(|error| self.message(&error))
    }

    fn message(&self, error: &InputError) -> String {
        error.to_string().replace(&format!("{}/", self.folder.path().display()), "")
    }
}

/// Options from the words of a command line: `label=y category=zip missing=NA header=true`.
pub(crate) fn options(words: &str) -> TableOptions {
    let mut options = TableOptions::default();
    for (key, value) in words.split_whitespace().filter_map(|word| word.split_once('=')) {
        match key {
            "label" => options.label = Some(value.into()),
            "weight" => options.weight = Some(value.into()),
            "group" => options.group = Some(value.into()),
            "ignore" => options.ignore.push(value.into()),
            "category" => options.kinds.push((value.into(), Kind::Category)),
            "number" => options.kinds.push((value.into(), Kind::Number)),
            "absent" => options.absent = Absent::ALL.into_iter().find(|absent| absent.name() == value),
            "missing" => options.missing.push(value.into()),
            "header" => options.header = Some(value == "true"),
            "delimiter" => options.delimiter = Some(value.as_bytes()[0]),
            "precision" => options.precision = crate::input::libsvm::Precision::F64,
            "unlabelled" => options.unlabelled = if value == "keep" { Unlabelled::Keep } else { Unlabelled::Skip },
            _ => unreachable!("{key}"),
        }
    }
    options
}
