//! Predictions as a table: chosen columns of the input beside what the model says.
use std::path::Path;
use std::sync::Arc;

use anyhow::{bail, ensure};
use towline::budget::Budget;
use towline::fit::Scored;
use towline::input::table::{ColumnPolicy, ColumnRef, Known, Unlabelled};
use towline::input::{self, Input, Progress, ReadOptions, RowBatch, RowSource};
use towline::model::Header;
use towline::model::chances::Chances;
use towline::schema::{Absent, ColumnSchema, Kind, Schema};
use towline::table_out::{Cell, OutColumn};

/// The cells of chosen columns, row by row. They come from a second reading of the input, as text.
pub struct Kept {
    columns: Vec<String>,
    source: Box<dyn RowSource>,
    batch: RowBatch,
    /// For each name of the batch, the column that it is a cell of, and where the cell begins.
    cells: Vec<Option<(usize, usize)>>,
    next: usize,
    /// Whether a column has had a cell.
    seen: Vec<bool>,
}

impl Kept {
    /// Opens the input once more.
    pub fn open(name: &str, columns: &[ColumnRef], options: &ReadOptions, budget: &Budget) -> anyhow::Result<Kept> {
        if name == "-" {
            bail!("--keep reads the input a second time, and standard input can be read only once; name a file");
        }
        if Path::new(name).is_dir() {
            bail!("{name}: a store has no columns to keep; name the file that it was packed from");
        }
        let mut options = options.clone();
        options.fourier = None;
        // These columns and no others, whatever the model does with them.
        let kept = columns.iter().map(|column| ColumnSchema::new(column.as_str(), Kind::Category));
        let kept = kept.map(|column| ColumnSchema { absent: Absent::Zero, ..column });
        let schema = Arc::new(Schema { columns: kept.collect(), ..Schema::default() });
        options.table.known = Some(Known { schema, columns: ColumnPolicy::Strict, extend: false });
        (options.table.label, options.table.weight, options.table.group) = (None, None, None);
        options.table.unlabelled = Unlabelled::Keep;
        let source = input::open(&[Input::new(name)], &options, budget, &Progress::default())?;
        ensure!(source.features_are_named(), "{name}: --keep is for tables, and these rows have no columns");
        let columns: Vec<String> = columns.iter().map(|column| column.as_str().to_string()).collect();
        let seen = vec![false; columns.len()];
        Ok(Kept { columns, source, batch: RowBatch::default(), cells: Vec::new(), next: 0, seen })
    }

    /// The columns of the table.
    pub fn columns(&self) -> impl Iterator<Item = OutColumn> + '_ {
        self.columns.iter().map(|name| OutColumn::Text(name.clone()))
    }

    /// Replaces `row` by the cells of the next row; absent ones are none.
    pub fn next_row(&mut self, row: &mut Vec<Option<String>>) -> anyhow::Result<()> {
        while self.next == self.batch.rows() {
            ensure!(self.source.next_batch(&mut self.batch)?, "the input has become shorter while it was read");
            self.next = 0;
            self.cells = self.batch.names.iter().map(|name| place(&self.columns, name)).collect();
        }
        row.clear();
        row.resize(self.columns.len(), None);
        for &key in &self.batch.keys[self.batch.range(self.next)] {
            if let Some((column, begin)) = self.cells[key as usize] {
                let cell = &self.batch.names.get(key as usize)[begin..];
                self.seen[column] = true;
                row[column] = Some(String::from_utf8_lossy(cell).into_owned());
            }
        }
        self.next += 1;
        Ok(())
    }

    /// Refuses a column of which no row has a cell: it is named otherwise, or is the label.
    pub fn finish(&self) -> anyhow::Result<()> {
        let empty = self.columns.iter().zip(&self.seen).find(|(_, seen)| !**seen);
        match empty {
            Some((name, _)) if self.next > 0 => bail!(
                "--keep {name}: no row has a cell in this column; write its name as the table has it, and name another column \
                 with --label if it is taken for the label"
            ),
            _ => Ok(()),
        }
    }
}

/// The column that a feature `column=cell` is of, and where the cell begins.
fn place(columns: &[String], name: &[u8]) -> Option<(usize, usize)> {
    let begins = |column: &String| name.strip_prefix(column.as_bytes()).is_some_and(|rest| rest.starts_with(b"="));
    let column = columns.iter().position(begins)?;
    Some((column, columns[column].len() + 1))
}

/// What is written of a prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Said {
    /// The label, or the number.
    Label,
    /// The scores.
    Scores,
    /// Probabilities.
    Probabilities,
}

/// The columns of predictions.
pub fn columns(header: &Header, said: Said) -> Vec<OutColumn> {
    let targets = &header.objective.targets;
    let (names, outputs) = (targets.names(), header.intercepts.len());
    let each = |what: &str| names.iter().map(|name| OutColumn::Number(format!("{what} {name}"))).collect();
    match said {
        Said::Probabilities if outputs == 1 => vec![OutColumn::Number(format!("probability {}", targets.sides()[1]))],
        Said::Probabilities => each("probability"),
        Said::Scores if outputs == 1 => vec![OutColumn::Number("score".into())],
        Said::Scores => each("score"),
        Said::Label if outputs > 1 && targets.are_numbers() => each("prediction"),
        Said::Label if targets.are_numbers() => vec![OutColumn::Number("prediction".into())],
        Said::Label => vec![OutColumn::Text("prediction".into())],
    }
}

/// The numbers of a prediction, if it is one of numbers.
pub fn numbers<'a>(said: Said, row: &Scored<'a>, chances: Option<Chances>, out: &mut Vec<f64>) {
    out.clear();
    match (said, chances) {
        (Said::Probabilities, Some(chances)) => {
            chances.write(row.scores, out);
            // Of two classes, the second says it all.
            if row.scores.len() == 1 {
                out.remove(0);
            }
        }
        _ => out.extend_from_slice(row.scores),
    }
}

/// Kept cells as cells of the output.
pub fn cells(row: &[Option<String>]) -> impl Iterator<Item = Cell<'_>> {
    row.iter().map(|cell| cell.as_deref().map_or(Cell::Absent, Cell::Text))
}
