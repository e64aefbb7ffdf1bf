//! The pipeline: rows are gathered on this thread while the learner works on a thread of its own.
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::gather::push;
use super::learner::{self, Room, StreamLearner};
use super::report::{Progressive, StreamError, StreamReport, Watch};
use super::start::begin_with;
use super::{Columns, StreamClasses, StreamOptions};
use crate::block::{Block, Layout};
use crate::budget::{Budget, BudgetError};
use crate::input::{InputError, RowBatch, RowSource};
use crate::model::{Header, Model, VERSION};
use crate::objective::{Objective, Targets};
use crate::residents::Residents;
use crate::trainer::{Cost, Status};

/// What the learner is asked to do.
enum Work {
    Learn { rows: Box<Block>, columns: usize, classes: Option<Box<StreamClasses>> },
    Weights,
}

/// What it answers.
enum Answer {
    Learnt { rows: Box<Block>, progressive: Progressive, seconds: f64 },
    Weights(Vec<Vec<f64>>),
    Refused(BudgetError),
}

/// Learns from all rows of `source`; `start` is a model to go on from. Names of features wait in `folder`.
pub fn stream(
    source: Box<dyn RowSource>,
    options: &StreamOptions,
    start: Option<&Model>,
    folder: &Path,
    budget: &Budget,
    watch: &mut dyn Watch,
) -> Result<(Model, StreamReport), StreamError> {
    let named = source.features_are_named();
    let mut columns = Columns::new(named, options.hash_bits, folder, budget)?;
    // Three eighths of what is left are for rows; features, weights and models to save grow into the rest.
    let row_bytes = budget.free_bytes() / 8 * 3;
    let _paid = budget.reserve("rows of a stream", row_bytes)?;
    let (room, new) = divide(row_bytes, options.cache_share);
    let mut learner = learner::make(options, room, budget)?;
    let mut classes = StreamClasses::default();
    let mut begun = 0;
    if let Some(model) = start {
        (classes, begun) = begin_with(model, options, &mut columns, &mut *learner, budget)?;
    }
    let (work, asked) = bounded::<Work>(1);
    let (answers, done) = bounded::<Answer>(1);
    let (batches, spare, batch_reader) = read_ahead(source);
    let progressive = options.progressive;
    let result = std::thread::scope(|scope| {
        scope.spawn(move || serve(&mut *learner, progressive, &asked, &answers));
        let mut gather = Gather {
            options,
            budget,
            watch,
            columns,
            known_classes: if start.is_some() { classes.len() } else { usize::MAX },
            classes,
            named,
            work,
            done,
            filling: Block::with_capacity(Layout::SPARSE_F32, 0, new.0, new.1),
            spare: Some(Block::with_capacity(Layout::SPARSE_F32, 0, new.0, new.1)),
            room: new,
            report: StreamReport { rows: begun, ..StreamReport::default() },
            busy: false,
            begin: Instant::now(),
            saved: (begun, Instant::now()),
        };
        gather.run(&batches, &spare)
    });
    drop((batches, spare));
    // The reader may sleep in a read that never ends; it goes with the process.
    drop(batch_reader);
    result
}

/// Room for the learner, and rows and values of a block of new rows, of which there are two besides.
fn divide(bytes: u64, cache_share: f64) -> (Room, (usize, usize)) {
    // What a row takes in its block, and in the models of a few classes; and values of 4 bytes with columns of 4.
    const MODELS: u64 = 8;
    let row_bytes = Residents::bytes(Layout::SPARSE_F32, 1, 0) + 80 * MODELS;
    let whole = bytes as f64 / (1.0 + 2.0 * (1.0 - cache_share));
    let split = |bytes: f64| {
        let rows = (bytes / 3.0) as u64 / row_bytes;
        (rows.max(16), ((bytes * 2.0 / 3.0) as u64 / 8).max(1024))
    };
    let (cache, all, new) = (split(whole * cache_share), split(whole), split(whole * (1.0 - cache_share)));
    (Room { cache, all }, (new.0 as usize, new.1 as usize))
}

/// Batches come from a thread of their own, so that waiting for them can end.
fn read_ahead(
    mut source: Box<dyn RowSource>,
) -> (Receiver<Result<RowBatch, InputError>>, Sender<RowBatch>, std::thread::JoinHandle<()>) {
    let (send, receive) = bounded(1);
    let (spare, spares) = bounded::<RowBatch>(3);
    let thread = std::thread::spawn(move || {
        loop {
            let mut batch = spares.try_recv().unwrap_or_default();
            match source.next_batch(&mut batch) {
                Ok(true) if send.send(Ok(batch)).is_ok() => {}
                Ok(_) => return,
                Err(error) => {
                    let _ = send.send(Err(error));
                    return;
                }
            }
        }
    });
    (receive, spare, thread)
}

fn serve(learner: &mut dyn StreamLearner, progressive: bool, asked: &Receiver<Work>, answers: &Sender<Answer>) {
    let mut predicted = Vec::new();
    for work in asked {
        let answer = match work {
            Work::Weights => Answer::Weights(learner.weights()),
            Work::Learn { rows, columns, classes } => {
                let begin = Instant::now();
                let grown =
                    learner.grow(columns).and_then(|()| classes.map_or(Ok(()), |classes| learner.know(&classes)));
                match grown {
                    Err(refused) => Answer::Refused(refused),
                    Ok(()) => {
                        let mut found = Progressive::default();
                        if progressive {
                            learner.predict(&rows, &mut predicted);
                            for (&label, &predicted) in rows.labels().iter().zip(&predicted) {
                                found.rows += 1;
                                found.right += u64::from(label == predicted);
                                found.squared += (label - predicted) * (label - predicted);
                            }
                        }
                        learner.learn(&rows);
                        Answer::Learnt { rows, progressive: found, seconds: begin.elapsed().as_secs_f64() }
                    }
                }
            }
        };
        if answers.send(answer).is_err() {
            return;
        }
    }
}

/// Gathers rows and hands them over.
struct Gather<'a> {
    options: &'a StreamOptions,
    budget: &'a Budget,
    watch: &'a mut dyn Watch,
    columns: Columns,
    classes: StreamClasses,
    /// How many of them the learner knows of.
    known_classes: usize,
    named: bool,
    work: Sender<Work>,
    done: Receiver<Answer>,
    filling: Block,
    /// The other block, while the learner does not have it.
    spare: Option<Block>,
    /// Rows and values of a block.
    room: (usize, usize),
    report: StreamReport,
    /// Whether the learner is at work.
    busy: bool,
    begin: Instant,
    saved: (u64, Instant),
}

impl Gather<'_> {
    fn run(
        &mut self,
        batches: &Receiver<Result<RowBatch, InputError>>,
        spare: &Sender<RowBatch>,
    ) -> Result<(Model, StreamReport), StreamError> {
        let mut row_classes = Vec::new();
        loop {
            // Short enough to notice a signal, and when a model is due.
            match batches.recv_timeout(Duration::from_millis(100)) {
                Ok(batch) => {
                    let mut batch = batch?;
                    self.take(&mut batch, &mut row_classes)?;
                    let _ = spare.try_send(batch);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.options.stop.load(Ordering::Relaxed) {
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
                remedy: "name one column with --label, or pack the rows and train without --stream".into(),
            });
        }
        self.columns.resolve(batch, self.budget)?;
        let is_classification = self.options.loss.is_classification();
        if is_classification {
            self.classes.resolve(batch, row_classes);
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
                    let (wanted_bytes, free_bytes) = (needed, self.budget.free_bytes());
                    let limit_bytes = self.budget.limit_bytes();
                    let least_bytes = limit_bytes + needed;
                    return Err(BudgetError {
                        purpose: "a long row",
                        wanted_bytes,
                        free_bytes,
                        limit_bytes,
                        least_bytes,
                    }
                    .into());
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
        let Some(mut next) = self.spare.take() else { return Ok(()) };
        next.clear();
        let rows = std::mem::replace(&mut self.filling, next);
        self.report.rows += rows.rows() as u64;
        let changed = self.classes.len() != self.known_classes;
        self.known_classes = self.classes.len();
        let classes = changed.then(|| Box::new(self.classes.clone()));
        self.busy = self.work.send(Work::Learn { rows: Box::new(rows), columns: self.columns.len(), classes }).is_ok();
        Ok(())
    }

    /// Waits until the learner has done what it was given.
    fn wait(&mut self) -> Result<(), StreamError> {
        if !std::mem::take(&mut self.busy) {
            return Ok(());
        }
        match self.done.recv() {
            Ok(Answer::Learnt { rows, progressive, seconds }) => {
                self.spare = Some(*rows);
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
                Ok(())
            }
            Ok(Answer::Refused(refused)) => Err(refused.into()),
            Ok(Answer::Weights(_)) | Err(_) => Ok(()),
        }
    }

    /// The model as it stands; none while there are too few classes for one.
    fn model(&mut self) -> Result<Option<Model>, StreamError> {
        self.wait()?;
        let options = self.options;
        let (targets, outputs) = match options.loss.is_classification() {
            false if self.report.rows == 0 => return Ok(None),
            false => (Targets::Numbers, vec![0]),
            true => match self.classes.finished(options.positive.as_deref(), &options.class_weights) {
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
        let is_turned = options.loss.is_classification() && options.positive.is_none() && outputs == [0];
        let signed = |model: usize, column: usize| weights[model].get(column).copied().unwrap_or(0.0);
        let weight = |output: usize, column: usize| match weights.len() {
            // One score speaks for the second class that came.
            1 if is_turned => -signed(0, column),
            1 => signed(0, column),
            _ => signed(outputs[output], column),
        };
        let constant = weights[0].len() - 1;
        let intercepts: Vec<f64> = (0..outputs.len()).map(|output| weight(output, constant) * options.bias).collect();
        let columns = self.columns.len().min(constant);
        let (features, weights) = Model::collect(self.columns.names()?, columns, intercepts.len(), weight);
        let header = Header {
            version: VERSION,
            created_by: format!("towline {}", env!("CARGO_PKG_VERSION")),
            objective: Objective { bias: options.bias, ..Objective::new(options.loss, options.c, targets) },
            status: Status::Streamed,
            certificate: None,
            certificates: Vec::new(),
            cost: Cost {
                passes: 1,
                seconds: self.report.seconds,
                solve_seconds: self.report.solve_seconds,
                ..Cost::default()
            },
            baseline: options.rule,
            rows: self.report.rows,
            features: features.len() as u64,
            intercepts,
            fourier: None,
            unit_rows: false,
            named_features: self.named && options.hash_bits.is_none(),
            hash_bits: options.hash_bits,
        };
        Ok(Some(Model { header, features, weights }))
    }
}
