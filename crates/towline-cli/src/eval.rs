//! `towline eval`: how good a model is on labelled rows.
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use towline::budget::Budget;
use towline::evaluate::{Judge, Judged, Metric, Quality, Threshold};
use towline::fit::Scores;
use towline::input::ReadOptions;
use towline::input::libsvm::Precision;
use towline::model::Model;
use towline::model::chances::Chances;
use towline::objective::Targets;
use towline::store::StoreError;

use crate::input::InputArguments;
use crate::memory::{self, Memory};
use crate::positive::PositiveArgument;
use crate::{flags, quality, show};

/// Arguments of `towline eval`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  towline eval reviews.towm held-out.svm.gz
  towline eval fraud.towm test.csv --metric pr-auc --threshold cost=1:50")]
pub struct Arguments {
    /// The model
    model: PathBuf,
    /// Labelled rows in any format, a store, or - for standard input
    input: String,
    /// The measure to print first: accuracy, balanced-accuracy, precision, recall, f1, mcc, auc, pr-auc, log-loss, brier;
    /// of many classes macro-f1, micro-f1, top-K; of numbers rmse, mae, r2
    #[arg(long, value_name = "NAME")]
    metric: Option<Metric>,
    #[command(flatten)]
    positive: PositiveArgument,
    /// Call rows positive above this probability (a score, where the model has no probabilities), or find the best one on
    /// these rows: f1, mcc, or cost=FP:FN
    #[arg(long, value_name = "VALUE|RULE", allow_hyphen_values = true)]
    threshold: Option<Threshold>,
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
    /// Memory to use, such as 512M [default: half of what is free, at most 4G]
    #[arg(long, value_parser = memory::parse)]
    memory: Option<Memory>,
    /// Threads that parse [default: all processors]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=512))]
    threads: Option<u16>,
    #[command(flatten)]
    reading: InputArguments,
}

/// What is asked about a model.
#[derive(Clone, Copy, Default)]
pub struct Question {
    /// The measure that matters most.
    pub metric: Option<Metric>,
    /// Where rows become positive.
    pub threshold: Option<Threshold>,
    /// The class that is reported, by its place, if it is another one than the model's.
    pub positive: Option<usize>,
}

/// Judges `model` on the rows of `input`.
pub fn judge(
    model: &Model,
    input: &str,
    options: &ReadOptions,
    question: Question,
    budget: &Budget,
) -> anyhow::Result<Quality> {
    let header = &model.header;
    let targets = &header.objective.targets;
    let positive = question.positive.unwrap_or(header.reporting.positive());
    let mut judge = Judge::new(targets, Chances::of(header), positive, true, budget)
        .map_err(StoreError::from)?
        .at(question.threshold);
    if let Some(metric) = question.metric {
        judge = judge.for_metric(metric).map_err(|error| anyhow::anyhow!(flags::typed(&error.to_string())))?;
    }
    let (mut rows, mut known) = (0u64, 0u64);
    let mut scores = Scores::open_beside(model, input, options, Judge::row_bytes(targets), budget)?;
    scores.for_each(|row| {
        if let Targets::Several { names } = targets
            && row.further.len() + 1 != names.len()
        {
            let (found, wanted) = (row.further.len() + 1, names.len());
            bail!("{input}: rows have {found} targets, and the model predicts {wanted} ({})", names.join(","));
        }
        rows += 1;
        known += u64::from(row.class.is_some());
        let (scores, class, label, further) = (row.scores, row.class, row.label, row.further);
        judge.add(Judged { scores, class, label, further, weight: 1.0 }).map_err(StoreError::from)?;
        anyhow::Ok(())
    })?;
    show::notes(&scores.remarks());
    if rows == 0 {
        bail!("{input}: no rows to evaluate the model on");
    }
    if known == 0 && !targets.are_numbers() {
        let names: Vec<&str> = targets.names().iter().take(20).map(String::as_str).collect();
        bail!("{input}: no row has a label that the model knows ({}); is it the right column?", names.join(", "));
    }
    Ok(judge.finish())
}

/// Prints the quality.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let budget = memory::budget(arguments.memory);
    let threads = arguments.threads.map_or_else(towline::machine::threads, usize::from);
    let options = arguments.reading.options(Precision::F32, threads, true)?;
    let kept = Judge::MOST_ROW_BYTES;
    let coming = budget.expect(Scores::least_bytes(&arguments.model, &arguments.input, &options, kept, &budget));
    let (model, _paid) = Model::load_within(&arguments.model, &budget)?;
    drop(coming);
    let targets = &model.header.objective.targets;
    if arguments.threshold.is_some() && !matches!(targets, Targets::Binary { .. }) {
        bail!("--threshold is for models that tell two classes apart; leave it out");
    }
    let question = Question {
        metric: arguments.metric,
        threshold: arguments.threshold,
        positive: arguments.positive.place(targets)?,
    };
    arguments.reading.check_known(model.header.schema.as_ref())?;
    let found = judge(&model, &arguments.input, &options, question, &budget)?;
    if arguments.json {
        show::print(&format!("{}\n", quality::json(&found, arguments.metric)?))?;
    } else {
        show::print(&quality::text(&model.header, &found, question))?;
    }
    Ok(ExitCode::SUCCESS)
}
