//! Learning from rows as they come, each seen once.
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Fit;
use super::error::{FitError, positive, refuse};
use super::method::Method;
use super::objective::Constant;
use super::regularizer::Regularizer;
use super::settings::Setting;
use super::stream_needs;
use crate::baselines::Baseline;
use crate::budget::Budget;
use crate::input::{self, Input, Progress, ReadOptions, RowSource, unpacking_bytes};
use crate::model::{Model, ModelError};
use crate::schema::Kind;
use crate::stream::{StreamOptions, StreamReport, Watch, check_rule, row_bytes, stream};
use crate::task::Task;

/// A fit on a stream; made by [`Fit::stream`].
///
/// There is no certificate: a stream cannot be looked at twice.
#[derive(Clone, Debug)]
pub struct StreamFit {
    fit: Fit,
    hash_bits: Option<u32>,
    progressive: bool,
    averages: bool,
    save_rows: Option<u64>,
    save_time: Option<Duration>,
    expected_rows: Option<u64>,
    reading: ReadOptions,
    follow: bool,
    folder: PathBuf,
}

/// Settings that have no meaning for a stream.
const NOT_FOR_STREAMS: [Setting; 22] = [
    Setting::FirstTruncate,
    Setting::QueryBlocks,
    Setting::QueryMargin,
    Setting::PageShare,
    Setting::Parts,
    Setting::Partition,
    Setting::Blocks,
    Setting::InnerTolerance,
    Setting::Violation,
    Setting::Eta,
    Setting::EtaGrowth,
    Setting::Extrapolation,
    Setting::InnerPasses,
    Setting::BlockSteps,
    Setting::Tolerance,
    Setting::Restart,
    Setting::Truncate,
    Setting::InitRows,
    Setting::QueryRows,
    Setting::Solver,
    Setting::WorkingSet,
    Setting::Calibrate,
];

impl Fit {
    /// The same from rows as they come, in one pass.
    pub fn stream(self) -> StreamFit {
        StreamFit {
            fit: self,
            hash_bits: None,
            progressive: false,
            averages: true,
            save_rows: None,
            save_time: None,
            expected_rows: None,
            reading: ReadOptions { threads: crate::machine::threads(), ..ReadOptions::default() },
            follow: false,
            folder: std::env::temp_dir(),
        }
    }
}

/// Sees nothing, and keeps no models.
struct Nobody;

impl Watch for Nobody {
    fn step(&mut self, _report: &StreamReport) {}

    fn save(&mut self, _model: &Model) -> Result<(), ModelError> {
        Ok(())
    }
}

impl StreamFit {
    /// Gives features 2^B columns by a hash of their names, so that weights never grow.
    pub fn hash_bits(mut self, bits: u32) -> StreamFit {
        self.hash_bits = Some(bits);
        self
    }

    /// Whether the model is a mean of the weights after each block with the last ones, or the last ones alone.
    pub fn averaging(mut self, averages: bool) -> StreamFit {
        self.averages = averages;
        self
    }

    /// Scores each block before it is learnt.
    pub fn progressive(mut self, scores: bool) -> StreamFit {
        self.progressive = scores;
        self
    }

    /// Hands a model to [`Watch::save`] after this many rows.
    pub fn save_rows(mut self, rows: u64) -> StreamFit {
        self.save_rows = Some(rows);
        self
    }

    /// Hands a model to [`Watch::save`], and learns rows that wait, after this time.
    pub fn save_time(mut self, time: Duration) -> StreamFit {
        self.save_time = Some(time);
        self
    }

    /// Rows that pegasos and sgd expect in all; without it as many as have come.
    pub fn rows(mut self, rows: u64) -> StreamFit {
        self.expected_rows = Some(rows);
        self
    }

    /// How to read files.
    pub fn reading(mut self, options: ReadOptions) -> StreamFit {
        self.reading = options;
        self
    }

    /// Waits for more at the end of the file.
    pub fn follow(mut self, waits: bool) -> StreamFit {
        self.follow = waits;
        self
    }

    /// Where names of features wait; the folder for temporary files if not given.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> StreamFit {
        self.folder = folder.into();
        self
    }

    /// How to learn, and whether that can be. `goes_on` says whether it starts from a model.
    pub fn options(&self, goes_on: bool) -> Result<StreamOptions, FitError> {
        let fit = &self.fit;
        let task = match fit.goal.task {
            Some(Task::Regression) => Task::Regression,
            _ => Task::Classification,
        };
        let loss = fit.goal.loss_for(task, "hinge")?;
        self.check(goes_on)?;
        let mut options = StreamOptions::new(loss, positive("c", fit.c.unwrap_or(1.0))?);
        fit.goal.check_regression(loss)?;
        options.bias = match fit.goal.constant {
            Some(Constant::Feature(bias)) => bias,
            _ => 0.0,
        };
        (options.positive, options.multiclass) = (fit.goal.positive.clone(), fit.goal.multiclass);
        for word in &fit.goal.class_weights {
            options.class_weights.push(class_weight(word)?);
        }
        options.rounds = fit.rounds.unwrap_or(options.rounds);
        options.cache_share = fit.cache_share.unwrap_or(options.cache_share);
        options.selection = fit.selection.unwrap_or(options.selection);
        options.order = fit.order.unwrap_or(options.order);
        options.seed = fit.seed;
        (options.hash_bits, options.progressive) = (self.hash_bits, self.progressive);
        options.averages = self.averages;
        (options.save_rows, options.save_time) = (self.save_rows, self.save_time);
        options.rule = self.rule(&options, goes_on)?;
        if let (Some(rule), Some(_)) = (options.rule, options.multiclass) {
            return refuse(format!(
                "`method({})` has its own way to tell many classes apart; leave `multiclass` out",
                rule.name()
            ));
        }
        options.rows = self.expected_rows;
        if options.rows.is_some() && !matches!(options.rule, Some(Baseline::Pegasos | Baseline::Sgd)) {
            return refuse("`rows` is for `method(pegasos)` and sgd, whose steps follow from it; leave it out");
        }
        options.threads = fit.threads.unwrap_or(options.threads);
        options.stop = fit.stop.clone();
        Ok(options)
    }

    /// Refuses settings that a stream would have to ignore.
    fn check(&self, goes_on: bool) -> Result<(), FitError> {
        let fit = &self.fit;
        fit.check()?;
        let others = [
            (fit.max_passes.is_some(), "max_passes"),
            (fit.max_time.is_some(), "max_time"),
            (fit.goal.penalty.regularizer != Regularizer::L2, "penalty"),
            (fit.goal.penalty.lambda.is_some_and(|lambda| lambda != 1.0), "lambda"),
            (fit.goal.constant == Some(Constant::Intercept), "intercept"),
            (fit.is_set(Setting::WarmStart) && !goes_on, "warm_start"),
        ];
        let is_counted =
            |kind: &Kind| matches!(kind, Kind::Text(words) if words.min_count > 1 || words.max_features.is_some());
        if let Some((column, _)) = self.reading.table.kinds.iter().find(|(_, kind)| is_counted(kind)) {
            return refuse(format!(
                "`text` of column {column} has min or max, which count words in all rows, and a stream is seen once; \
                 leave \
                 both out, or train without `stream`"
            ));
        }
        let other = others.into_iter().find(|(is_set, _)| *is_set).map(|(_, name)| name);
        match fit.first_set(&NOT_FOR_STREAMS).or(other) {
            Some(name) => refuse(format!(
                "`{name}` has no meaning for a stream, which is seen once; leave it out, or train without `stream`"
            )),
            None => Ok(()),
        }
    }

    /// The rule in place of blocks and cache, if the method is one.
    fn rule(&self, options: &StreamOptions, goes_on: bool) -> Result<Option<Baseline>, FitError> {
        let method = self.fit.method;
        let Some(rule) = method.baseline() else {
            if !matches!(method, Method::Auto | Method::Sbm) {
                return refuse(
                    "a stream is learnt by sbm, pegasos, sgd, perceptron, mira or cw; leave `method` out, or pack the \
                     rows first",
                );
            }
            return Ok(None);
        };
        match check_rule(rule, options.loss, goes_on) {
            Err(why) => refuse(format!("`method({})` {why}", rule.name())),
            Ok(()) => Ok(Some(rule)),
        }
    }

    /// Learns from the rows of a file.
    pub fn run(&self, file: impl AsRef<Path>) -> Result<Model, FitError> {
        let budget = self.budget();
        let path = file.as_ref().to_path_buf();
        let input = if self.follow { Input::Follow(path) } else { Input::File(path) };
        Ok(self.run_input(input, None, &budget, &mut Nobody)?.0)
    }

    /// Learns from an input, from the beginning or from where a model is, and tells `watch` of it.
    pub fn run_input(
        &self,
        input: Input,
        start: Option<&Model>,
        budget: &Budget,
        watch: &mut dyn Watch,
    ) -> Result<(Model, StreamReport), FitError> {
        let mut options = self.options(start.is_some())?;
        let progress = Progress::new(input.size_bytes());
        options.progress = Some(progress.clone());
        let known = start.and_then(|model| model.header.schema.as_ref());
        let reading = self.reading.by_schema(known, true);
        let reading = ReadOptions { threads: stream_needs::threads(reading.threads, budget), ..reading };
        stream_needs::check(&input, &reading, &options, budget)?;
        // Before anything else has taken its part, whenever that will be.
        let free_bytes = budget.free_bytes();
        options.row_bytes = Some(row_bytes(free_bytes - unpacking_bytes(&input, free_bytes)));
        let source = input::open(&[input], &reading, budget, &progress)?;
        Ok(stream(source, &options, start, &self.folder, budget, watch)?)
    }

    /// Learns from rows that a program makes.
    pub fn run_rows(
        &self,
        source: Box<dyn RowSource>,
        start: Option<&Model>,
        budget: &Budget,
        watch: &mut dyn Watch,
    ) -> Result<(Model, StreamReport), FitError> {
        Ok(stream(source, &self.options(start.is_some())?, start, &self.folder, budget, watch)?)
    }

    /// What learning may hold at any time.
    pub fn budget(&self) -> Budget {
        self.fit.budget.clone().unwrap_or_else(|| Budget::new(crate::machine::default_memory_bytes()))
    }
}

fn class_weight(word: &str) -> Result<(String, f64), FitError> {
    let weight = word.rsplit_once('=').and_then(|(name, weight)| Some((name, weight.parse::<f64>().ok()?)));
    match weight {
        Some((name, weight)) if weight.is_finite() && weight >= 0.0 => Ok((name.to_string(), weight)),
        _ => refuse(format!(
            "'{word}' is not a class weight for a stream; write LABEL=W with a number W that is 0 or more"
        )),
    }
}
