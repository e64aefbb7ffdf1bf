//! `towline report`: a page to look at, and the reports of `train`, `cv` and `path`.
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::bail;
use towline::budget::Budget;
use towline::evaluate::Threshold;
use towline::input::ReadOptions;
use towline::input::libsvm::Precision;
use towline::model::Model;
use towline::output::{Inputs, Kind, OutputFile};
use towline::report::{LabelledRows, Look, ModelReport, Question, Report, read_trace};
use towline::store::DiskStore;

use crate::input::{InputArguments, check_readable};
use crate::memory::{self, Memory};
use crate::positive::PositiveArgument;
use crate::{flags, show};

/// Arguments of `towline report`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  towline report reviews.towm --test held-out.svm.gz
  towline report hinge.towm logistic.towm --test held-out.svm.gz -o compared.html
  towline report fraud.towm --test test.csv --costs 1:50 --data fraud.tow")]
pub struct Arguments {
    /// Models; several are laid over each other
    #[arg(required = true, value_name = "MODEL")]
    models: Vec<PathBuf>,
    /// Labelled rows to judge the models by: a file in any format, a store, or - for standard input
    #[arg(long, value_name = "FILE")]
    test: Option<String>,
    /// The rows that the first model was trained on, a store or a file: the page looks at them, and not at the test rows
    #[arg(long, value_name = "STORE_OR_FILE")]
    data: Option<String>,
    /// The page to write [default: the name of the first model with the ending .html]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The trace of a model that does not carry its own steps; one for each model, in their order
    #[arg(long, value_name = "FILE")]
    trace: Vec<PathBuf>,
    #[command(flatten)]
    positive: PositiveArgument,
    /// What mistakes cost: a negative row that is called positive, and a positive one that is called negative
    #[arg(long, value_name = "FP:FN", default_value = "1:1", value_parser = costs)]
    costs: Costs,
    /// Memory to use, such as 512M [default: half of what is free, at most 4G]
    #[arg(long, value_parser = memory::parse)]
    memory: Option<Memory>,
    /// Threads that parse [default: all processors]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=512))]
    threads: Option<u16>,
    #[command(flatten)]
    reading: InputArguments,
}

/// What mistakes cost.
#[derive(Clone, Copy)]
struct Costs([f64; 2]);

fn costs(text: &str) -> Result<Costs, String> {
    match format!("cost={text}").parse() {
        Ok(Threshold::Cost { false_positive, false_negative }) => Ok(Costs([false_positive, false_negative])),
        _ => Err("name both costs, such as 1:50".into()),
    }
}

/// Writes the page.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let budget = memory::budget(arguments.memory);
    let threads = arguments.threads.map_or_else(towline::machine::threads, usize::from);
    let options = arguments.reading.options(Precision::F32, threads, true)?;
    if arguments.trace.len() > arguments.models.len() {
        bail!("there are more traces than models; name one for each, in their order");
    }
    if arguments.test.as_deref() == Some("-") && arguments.models.len() > 1 {
        bail!(
            "several models read the test rows one after the other, and standard input can be read only once; name a file"
        );
    }
    let mut inputs =
        arguments.models.iter().chain(&arguments.trace).fold(Inputs::none(), |inputs, path| inputs.and(path));
    for name in arguments.test.iter().chain(&arguments.data).filter(|name| *name != "-") {
        check_readable(Path::new(name), &options)?;
        inputs = inputs.and(name);
    }
    let output = arguments.output.clone().unwrap_or_else(|| arguments.models[0].with_extension("html"));
    let mut place = OutputFile::open(&output, Kind::Report, &inputs)?;
    let mut report = Report::new(&title(&arguments.models));
    for (number, path) in arguments.models.iter().enumerate() {
        let (mut model, _paid) = Model::load_within(path, &budget)?;
        if let Some(trace) = arguments.trace.get(number) {
            let steps = read_trace(trace).map_err(|error| anyhow::anyhow!(flags::typed(&error.to_string())))?;
            model.header.run.get_or_insert_default().steps = steps;
        }
        let positive = arguments.positive.place(&model.header.objective.targets)?;
        let question = Question { positive, costs: arguments.costs.0 };
        let mut one = ModelReport::new(&short_name(path), &model);
        let looks = number == 0;
        if let Some(test) = &arguments.test {
            arguments.reading.check_known(model.header.schema.as_ref())?;
            let rows = LabelledRows::open(test, &model, &options, &budget)?;
            check_rows(&rows, &model)?;
            one = one.judge(&model, &rows, question, &budget)?;
            report.add(one);
            if looks && arguments.data.is_none() {
                report.look_at(&rows, Look { model: &model, are_training: false }, &budget)?;
            }
        } else {
            report.add(one);
        }
        if let Some(data) = arguments.data.as_ref().filter(|_| looks) {
            let rows = LabelledRows::open(data, &model, &options, &budget)?;
            report.look_at(&rows, Look { model: &model, are_training: true }, &budget)?;
        }
    }
    write(&report, &mut place, true)?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses rows of which none has a label that the model knows.
fn check_rows(rows: &LabelledRows, model: &Model) -> anyhow::Result<()> {
    if rows.rows() == 0 {
        bail!("{}: no rows to judge the model by", rows.name);
    }
    let targets = &model.header.objective.targets;
    if !targets.are_numbers() && !rows.has_known_label(targets)? {
        let names: Vec<&str> = targets.names().iter().take(20).map(String::as_str).collect();
        bail!("{}: no row has a label that the model knows ({}); is it the right column?", rows.name, names.join(", "));
    }
    Ok(())
}

fn title(models: &[PathBuf]) -> String {
    let names: Vec<String> = models.iter().map(|path| short_name(path)).collect();
    if names.len() <= 3 { names.join(", ") } else { format!("{} and {} others", names[0], names.len() - 1) }
}

/// The name of a file without its folder.
pub fn short_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The place of a page, if there is to be one.
pub fn open(path: Option<&Path>, inputs: &Inputs) -> anyhow::Result<Option<OutputFile>> {
    Ok(path.map(|path| OutputFile::open(path, Kind::Report, inputs)).transpose()?)
}

/// Writes the page, and says where it is.
pub fn write(report: &Report, place: &mut OutputFile, talk: bool) -> anyhow::Result<()> {
    let page = report.to_html();
    place.write(|out| out.write_all(page.as_bytes()))?;
    if talk {
        show::print(&format!("{}: a page for any browser\n", place.path().display()))?;
    }
    Ok(())
}

/// The page of a model that was just trained; a stream has no store to look at.
pub fn of_training(
    path: &Path,
    store: Option<&Arc<DiskStore>>,
    (test, options): (Option<&str>, &ReadOptions),
    budget: &Budget,
) -> anyhow::Result<Report> {
    let (model, _paid) = Model::load_within(path, budget)?;
    let mut report = Report::new(&short_name(path));
    let mut one = ModelReport::new(&short_name(path), &model);
    // Standard input has been read by the summary.
    if let Some(test) = test.filter(|test| *test != "-") {
        let rows = LabelledRows::open(test, &model, options, budget)?;
        one = one.judge(&model, &rows, Question::default(), budget)?;
    }
    report.add(one);
    if let Some(store) = store {
        report.look_at(&LabelledRows::of_store(store), Look { model: &model, are_training: true }, budget)?;
    }
    Ok(report)
}
