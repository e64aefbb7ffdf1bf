//! Rows become blocks, and blocks go to the learner.
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use super::class_order::ClassOrder;
use super::columns::push;
use super::finish::{Learnt, finish};
use super::report::{StreamError, StreamReport, Watch};
use super::run::Read;
use super::serve::{Answer, Work};
use super::{Columns, Outgrown, StreamClasses, StreamOptions};
use crate::block::{Block, Layout};
use crate::budget::{Budget, BudgetError, Reservation};
use crate::input::{InputError, LONG_ROW, RowBatch};
use crate::model::Model;
use crate::objective::Targets;
use crate::schema::Schema;
use crate::store::StoreError;

/// Gathers rows and hands them over.
pub struct Gather<'a> {
    pub options: &'a StreamOptions,
    pub budget: &'a Budget,
    pub watch: &'a mut dyn Watch,
    pub columns: Columns,
    pub classes: StreamClasses,
    /// How many of them the learner knows of.
    pub known_classes: usize,
    pub named: bool,
    pub work: Sender<Work>,
    pub done: Receiver<Answer>,
    pub filling: Block,
    /// Pays for the rows of both blocks.
    pub rows_paid: Reservation,
    /// Rows and values of a block.
    pub room: (usize, usize),
    pub report: StreamReport,
    /// Whether the learner is at work.
    pub busy: bool,
    pub begin: Instant,
    pub saved: (u64, Instant),
    pub class_order: ClassOrder,
    /// What the columns of the tables are.
    pub schema: Option<Schema>,
}

impl Gather<'_> {
    /// Takes batches until there are no more, and hands the spare ones back.
    pub fn run(
        &mut self,
        batches: &Receiver<Result<Read, InputError>>,
        spare: &Sender<RowBatch>,
    ) -> Result<(Model, StreamReport), StreamError> {
        self.take_all(batches, spare).map_err(|error| match error {
            // Refused because of itself, and not because of all that has come.
            StreamError::Budget(refused) if refused.purpose == LONG_ROW => StreamError::Budget(refused),
            StreamError::Budget(refused) | StreamError::Store(StoreError::Budget(refused)) => self.outgrown(refused),
            other => other,
        })
    }

    /// What a refusal means for the rest of the stream.
    fn outgrown(&self, refused: BudgetError) -> StreamError {
        let come = (self.report.rows + self.filling.rows() as u64, self.columns.len() as u64);
        let rows_bytes = self.rows_paid.bytes();
        StreamError::Outgrown(Box::new(Outgrown::new(refused, come, rows_bytes, &self.classes, self.options)))
    }

    fn take_all(
        &mut self,
        batches: &Receiver<Result<Read, InputError>>,
        spare: &Sender<RowBatch>,
    ) -> Result<(Model, StreamReport), StreamError> {
        let mut row_classes = Vec::new();
        loop {
            // Short enough to notice a signal, and when a model is due.
            match batches.recv_timeout(Duration::from_millis(100)) {
                Ok(read) => {
                    let Read { mut batch, schema } = read?;
                    self.schema = schema.or(self.schema.take());
                    self.take(&mut batch, &mut row_classes)?;
                    let _ = spare.try_send(batch);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.options.stop.is_requested() {
                break;
            }
            let rows_due = self.options.save_rows.is_some_and(|rows| self.report.rows >= self.saved.0 + rows);
            let time_due = self.options.save_time.is_some_and(|time| self.saved.1.elapsed() >= time);
            if rows_due || time_due {
                self.hand_over()?;
                if let Some(model) = self.model()? {
                    self.watch.save(&model)?;
                }
                self.saved = (self.report.rows, Instant::now());
            }
        }
        self.hand_over()?;
        self.wait()?;
        self.report.seconds = self.begin.elapsed().as_secs_f64();
        self.report.sorted_by_class = self.class_order.is_sorted();
        self.end()?;
        let model = self.model()?.ok_or_else(|| StreamError::Rows {
            problem: match self.classes.names() {
                [] => "the stream has no rows".to_string(),
                [only] => format!("all rows have the label '{only}'"),
                _ => format!("no row has the label '{}'", self.options.positive.as_deref().unwrap_or_default()),
            },
            remedy: "a classifier needs rows of two classes".to_string(),
        })?;
        Ok((model, self.report))
    }

    fn take(&mut self, batch: &mut RowBatch, row_classes: &mut Vec<u32>) -> Result<(), StreamError> {
        if !batch.further.is_empty() {
            return Err(StreamError::Rows {
                problem: format!("the rows have {} targets, and a stream is for one", batch.further_count() + 1),
                remedy: "name one column with `label`, or pack the rows and train without `stream`".into(),
            });
        }
        self.columns.resolve(batch, self.budget)?;
        let is_classification = self.options.loss.is_classification();
        if is_classification {
            self.classes.resolve(batch, row_classes);
            self.class_order.see(row_classes);
        } else if !batch.classes.is_empty() {
            return Err(StreamError::Rows {
                problem: format!("the labels are text, and the {} loss predicts numbers", self.options.loss.name()),
                remedy: "use a classification loss".into(),
            });
        }
        self.filling.widen(self.columns.len());
        // The class of a row, or the number that it has.
        let labels: Vec<f64> = match is_classification {
            true => row_classes.iter().map(|&class| f64::from(class)).collect(),
            false => batch.labels.clone(),
        };
        for (i, &label) in labels.iter().enumerate() {
            let values = batch.range(i).len();
            if self.filling.rows() >= self.room.0 || self.filling.values() + values > self.room.1 {
                if values > self.room.1 {
                    let needed = values as u64 * 8 * 12;
                    return Err(self.budget.refusal(LONG_ROW, needed, self.budget.limit_bytes()).into());
                }
                self.hand_over()?;
                self.filling.widen(self.columns.len());
            }
            let id = self.report.rows + self.filling.rows() as u64;
            push(&mut self.filling, batch, i, label, id);
        }
        Ok(())
    }

    /// Gives the learner what has been gathered.
    fn hand_over(&mut self) -> Result<(), StreamError> {
        if self.filling.rows() == 0 {
            return Ok(());
        }
        self.wait()?;
        let rows = std::mem::replace(&mut self.filling, Block::new(Layout::SPARSE_F32, 0));
        self.report.rows += rows.rows() as u64;
        let changed = self.classes.len() != self.known_classes;
        self.known_classes = self.classes.len();
        let classes = changed.then(|| Box::new(self.classes.clone()));
        let work = Work::Learn { rows: Box::new(rows), columns: self.columns.len(), classes };
        if self.work.send(work).is_err() {
            return Ok(());
        }
        match self.done.recv() {
            Ok(Answer::Room(empty)) => (self.filling, self.busy) = (*empty, true),
            Ok(Answer::Refused(refused)) => return Err(refused.into()),
            _ => {}
        }
        Ok(())
    }

    /// Rows make room for the model.
    fn end(&mut self) -> Result<(), StreamError> {
        self.filling = Block::new(Layout::SPARSE_F32, 0);
        if self.work.send(Work::End).is_ok() && matches!(self.done.recv(), Ok(Answer::Ended)) {
            self.rows_paid.resize(0)?;
        }
        Ok(())
    }

    /// Waits until the learner has done what it was given.
    fn wait(&mut self) -> Result<(), StreamError> {
        if !std::mem::take(&mut self.busy) {
            return Ok(());
        }
        if let Ok(Answer::Learnt { progressive, seconds }) = self.done.recv() {
            let report = &mut self.report;
            report.steps += 1;
            report.solve_seconds += seconds;
            report.last = progressive;
            report.all.rows += progressive.rows;
            report.all.right += progressive.right;
            report.all.squared += progressive.squared;
            report.seconds = self.begin.elapsed().as_secs_f64();
            (report.features, report.classes) = (self.columns.len() as u64, self.classes.len() as u64);
            self.watch.step(report);
        }
        Ok(())
    }

    /// The model as it stands; none while there are too few classes for one.
    fn model(&mut self) -> Result<Option<Model>, StreamError> {
        self.wait()?;
        let options = self.options;
        let (targets, outputs) = match options.loss.is_classification() {
            false if self.report.rows == 0 => return Ok(None),
            false => (Targets::Numbers, vec![0]),
            true => match self.classes.finished(options) {
                Some(finished) => finished,
                None => return Ok(None),
            },
        };
        // Weights, names and the finished model are all there at once for a moment.
        let numbers = 2 * outputs.len() as u64 + 3;
        let _paid = self.budget.reserve("a model of the stream", numbers * 8 * self.columns.len() as u64)?;
        let (Ok(()), Ok(Answer::Weights(weights))) = (self.work.send(Work::Weights), self.done.recv()) else {
            return Ok(None);
        };
        let features = self.columns.names()?;
        let (named, schema) = (self.named, self.schema.clone());
        Ok(Some(finish(options, self.report, Learnt { targets, outputs, weights, features, named, schema })))
    }
}
