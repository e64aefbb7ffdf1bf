//! `towline path`: models along a series of penalties, from one under which all weights are 0 down, or along values of
//! C.
//!
//! Everything is as for `train`, whose options it has; each run starts from the one before. A folder holds a model per
//! point, the table, and the dual variables of the newest point, from which the same command goes on after an
//! interruption.
//!
//! A point has one model file. Where each class has a model of its own, all of them are in it, and each starts from
//! that of its class at the point before.
mod table;

use std::process::ExitCode;

use anyhow::{Context, bail};
use towline::fit::PathFit;
use towline::input::libsvm::Precision;
use towline::output::Claim;
use towline::stop::Stop;
use towline::trainer::{Recorder, RunRecord};
use towline::{Data, Fit};

use crate::memory;
use crate::pack::stop_on_signal;
use crate::trace::Watcher;
use crate::{command_line, report, show, train};
use table::Table;

/// Arguments of `towline path`.
#[derive(clap::Args)]
#[group(id = "path")]
#[command(
    mut_arg("output", |argument| argument.value_name("FOLDER").help("The folder for models and table [default: the name of the data with the ending .path]")),
    mut_arg("c", |argument| argument.help("Inverse regularization strength: one for a path of lambdas; a list like 0.1,1,10 or a range like 0.01..1000 is the path itself")),
    mut_arg("lambda", |argument| argument.hide(true)),
    mut_arg("warm_start", |argument| argument.hide(true)),
    mut_arg("test_every", |argument| argument.hide(true)),
    mut_arg("stream", |argument| argument.hide(true)),
    mut_arg("save_every", |argument| argument.hide(true)),
    mut_arg("follow", |argument| argument.hide(true)),
    mut_arg("progressive", |argument| argument.hide(true)),
    mut_arg("hash_bits", |argument| argument.hide(true)),
    mut_arg("truncate", |argument| argument.hide(true)),
    mut_arg("calibrate", |argument| argument.hide(true)),
    mut_arg("calibration", |argument| argument.hide(true)),
    mut_arg("averaging", |argument| argument.hide(true)),
    mut_arg("init_rows", |argument| argument.hide(true)),
    mut_arg("first_truncate", |argument| argument.hide(true)),
    mut_arg("query_blocks", |argument| argument.hide(true)),
    mut_arg("query_margin", |argument| argument.hide(true)),
    mut_arg("page_share", |argument| argument.hide(true)),
    mut_arg("query_rows", |argument| argument.hide(true)),
    mut_arg("max_time", |argument| argument.help("Stop after this many seconds, with the points that there was time for")),
    mut_arg("max_passes", |argument| argument.help("Stop each point after this many passes over the data [default: 1000]")),
    after_help = "Examples:
  towline path reviews.tow --penalty l1 --lambda-ratio 1e-3 --points 50
  towline path sizes.tow --loss squared --penalty elastic-net --intercept --test held-out.svm
  towline path reviews.tow --penalty l2 --lambdas 100,10,1,0.1
  towline path reviews.tow -C 0.01..1000
  towline path topics.tow -C 0.1,1,10 --multiclass ovr --test held-out.svm"
)]
pub struct Arguments {
    #[command(flatten)]
    train: train::Arguments,
    /// The last lambda as a part of the first, the least one under which all weights are 0
    #[arg(long, default_value_t = 1e-3, value_name = "PART")]
    lambda_ratio: f64,
    /// How many points the path has, evenly spaced on a logarithmic scale
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    points: u32,
    /// The lambdas themselves, in the order in which they are trained
    #[arg(long, value_name = "LAMBDA,...", value_delimiter = ',', conflicts_with_all = ["lambda_ratio", "points"])]
    lambdas: Vec<f64>,
}

/// Options of `train` that mean nothing here, by their names in the code, and what to do instead.
const REFUSED: [(&str, &str); 2] = [
    ("test_every", "--test judges the model of each point; leave --test-every out"),
    ("stream", "a path goes over its rows again and again; pack the stream first, and leave --stream out"),
];

impl Arguments {
    /// The path that was typed.
    fn path(&self, fit: Fit) -> PathFit {
        match &self.train.c.0[..] {
            // From the least C on, where weights are smallest.
            values @ [_, _, ..] => fit.path().cs(values),
            values => {
                let path = values.iter().fold(fit, |fit, &c| fit.c(c)).path();
                match self.lambdas.is_empty() {
                    true => path.lambda_ratio(self.lambda_ratio).points(self.points),
                    false => path.lambdas(&self.lambdas[..]),
                }
            }
        }
    }
}

/// Trains along the path and says what came of it.
pub fn run(arguments: &Arguments, typed: &[String]) -> anyhow::Result<ExitCode> {
    let train = &arguments.train;
    if let Some((_, remedy)) = REFUSED.iter().find(|(id, _)| typed.iter().any(|typed| typed == id)) {
        bail!("{remedy}");
    }
    let of_lambdas = ["lambda_ratio", "points", "lambdas"];
    if train.c.0.len() > 1 && typed.iter().any(|typed| of_lambdas.contains(&typed.as_str())) {
        bail!("a path is along values of C or along lambdas, not both; name one C, or leave the lambdas out");
    }
    let fit = train.fit_for_any_c(typed)?;
    arguments.path(fit.clone()).check()?;
    let budget = memory::budget(train.memory);
    let threads = train.threads.map_or_else(towline::machine::threads, usize::from);
    let reading = train.reading.options(Precision::F32, threads, true)?;
    train::check_inputs(train, &reading)?;
    let folder = train.output.clone().unwrap_or_else(|| train.data.with_extension("path"));
    let inputs = train::inputs(train);
    inputs.check(&folder)?;
    let trace = train::open_trace(train, &inputs)?;
    let mut page = report::open(train.report.as_deref(), &inputs)?;
    let store = train::open_store(train, threads, &budget)?;
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
    let claim = Claim::take(&folder)?;
    // `path` stands for its dual variables as well.
    ["path", "path.csv"].iter().for_each(|name| claim.covers(&folder.join(name)));
    let stop = Stop::default();
    stop_on_signal(&stop)?;
    let talk = !train.quiet && !train.json;
    let mut watcher = Watcher::new(trace, None, train.tolerance, talk)?;
    let path = arguments.path(fit.budget(budget.clone()).stop(stop));
    let mut recorder = Recorder::new(&mut watcher, &budget);
    let found = path.run_to(&store, &folder, &mut recorder)?;
    let record = recorder.record;
    watcher.finish()?;
    let mut table = Table::new(folder, found);
    if let Some(test) = &train.test {
        table.judge(test, &reading, &budget)?;
    }
    table.write()?;
    if train.json {
        show::print(&format!("{}\n", table.json()?))?;
    } else if talk {
        show::print(&table.summary())?;
    }
    if let Some(page) = &mut page {
        let (command, data) = (Some(command_line::typed()), Data::from(&store).describe());
        let peak_bytes = towline::machine::peak_memory_bytes();
        let record = RunRecord { command, data, peak_bytes, seed: train.seed, ..record };
        report::write(&table.report(record, &budget)?, page, talk)?;
    }
    Ok(table.exit_code())
}
