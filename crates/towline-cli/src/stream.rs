//! `towline train --stream`: a model from rows as they come, each seen once.
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use towline::Fit;
use towline::fit::StreamFit;
use towline::input::Input;
use towline::input::libsvm::Precision;
use towline::model::{Model, ModelError};
use towline::output::{Kind, OutputFile};
use towline::stop::Stop;
use towline::stream::{Progressive, StreamReport, Watch};

use crate::eval::{Question, judge};
use crate::memory;
use crate::pack::stop_on_signal;
use crate::train::{Arguments, check_inputs, inputs};
use crate::{quality, report, show, size};

/// Arguments of streams.
#[derive(clap::Args)]
#[command(next_help_heading = "Streams")]
pub struct StreamArguments {
    /// Learn from the rows as they come, in one pass; '-' is standard input
    #[arg(long)]
    pub stream: bool,
    /// How often to write the model: after this many rows (100000), seconds (60s) or minutes (5m)
    #[arg(long, requires = "stream", value_name = "ROWS|TIME", value_parser = save_every)]
    save_every: Option<SaveEvery>,
    /// At the end of the file, wait for more
    #[arg(long, requires = "stream")]
    follow: bool,
    /// Whether the model is a mean of the weights after each block with the last ones (on), or the last ones alone (off),
    /// as in the paper [default: on]
    #[arg(long, requires = "stream", value_name = "on|off", value_parser = ["on", "off"])]
    averaging: Option<String>,
    /// Score each block before it is learnt, and say how well it was predicted
    #[arg(long, requires = "stream")]
    progressive: bool,
    /// Give features 2^B columns by a hash of their names, so that weights never grow
    #[arg(long, requires = "stream", value_name = "B", value_parser = clap::value_parser!(u32).range(1..=31))]
    hash_bits: Option<u32>,
    /// Rows that pegasos and sgd expect in all; without it as many as have come
    #[arg(long, requires = "stream", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rows: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum SaveEvery {
    Rows(u64),
    Time(Duration),
}

fn save_every(text: &str) -> Result<SaveEvery, String> {
    let wrong = || "write a number of rows like 100000, or a time like 60s or 5m".to_string();
    let (number, seconds) = match text.strip_suffix('s') {
        Some(number) => (number, Some(1)),
        None => match text.strip_suffix('m') {
            Some(number) => (number, Some(60)),
            None => (text, None),
        },
    };
    match (number.parse::<u64>(), seconds) {
        (Ok(number @ 1..), None) => Ok(SaveEvery::Rows(number)),
        (Ok(number @ 1..), Some(seconds)) => Ok(SaveEvery::Time(Duration::from_secs(number.saturating_mul(seconds)))),
        _ => Err(wrong()),
    }
}

/// Options of `train` that have no meaning for a stream, and that are none of the library's.
const NOT_FOR_STREAMS: [(&str, &str); 2] = [("trace", "--trace"), ("test_every", "--test-every")];

/// Learns and says what came of it.
pub fn run(arguments: &Arguments, typed: &[String]) -> anyhow::Result<ExitCode> {
    let begin = Instant::now();
    if let Some((_, option)) = NOT_FOR_STREAMS.iter().find(|(id, _)| typed.iter().any(|typed| typed == id)) {
        bail!("{option} has no meaning for a stream, which is seen once; leave it out, or train without --stream");
    }
    let goes_on = arguments.warm_start.is_some();
    arguments.streams.set(arguments.fit(typed)?).options(goes_on)?;
    let name = arguments.data.to_string_lossy().into_owned();
    let Some(output) =
        arguments.output.clone().or_else(|| (name != "-").then(|| arguments.data.with_extension("towm")))
    else {
        bail!("name the model to write with -o MODEL");
    };
    let budget = memory::budget(arguments.memory);
    let threads = arguments.threads.map_or_else(towline::machine::threads, usize::from);
    let stop = Stop::default();
    stop_on_signal(&stop)?;
    let start = arguments.warm_start.as_deref().map(|path| Model::load_within(path, &budget)).transpose()?;
    let (start, _start_paid) = start.unzip();
    let input = match arguments.streams.follow {
        true if name == "-" => {
            bail!("--follow waits at the end of a file, and standard input ends when its writer does; name a file")
        }
        true => Input::Follow(arguments.data.clone()),
        false => Input::new(&name),
    };
    let reading = arguments.reading.options(Precision::F32, threads, true)?;
    check_inputs(arguments, &reading)?;
    let place = OutputFile::open(&output, Kind::Model, &inputs(arguments))?;
    let mut page = report::open(arguments.report.as_deref(), &inputs(arguments))?;
    let talk = !arguments.quiet && !arguments.json;
    let folder = output.parent().filter(|folder| folder.is_dir()).unwrap_or(Path::new("."));
    let fit = arguments.fit(typed)?.threads(threads).stop(stop.clone());
    let fit = arguments.streams.set(fit).reading(reading.clone()).folder(folder);
    let classes = fit.options(goes_on)?.loss.is_classification();
    let mut watcher = Watcher::new(place, classes, arguments.streams.progressive, talk);
    let (model, learnt) = fit.run_input(input, start.as_ref(), &budget, &mut watcher)?;
    watcher.finish();
    if talk && learnt.sorted_by_class {
        show::say(
            "note: the rows come sorted by class, so that the last classes have the last word; shuffle them, or pack them and train without --stream\n",
        );
    }
    model.save_to(&mut watcher.place)?;
    let tested =
        arguments.test.as_ref().map(|test| judge(&model, test, &reading, Question::default(), &budget)).transpose()?;
    if arguments.json {
        let test = tested.as_ref().map(|tested| quality::json(tested, None)).transpose()?;
        let seconds = begin.elapsed().as_secs_f64();
        show::print(&format!("{}\n", json(&learnt, &model, seconds, test)))?;
    } else if !arguments.quiet {
        let mut lines = summary(&learnt, &model, &output);
        if let Some(tested) = tested {
            lines.push(("test".into(), quality::line(&tested)));
        }
        show::print(&show::table(&lines))?;
    }
    if let Some(page) = &mut page {
        let found = report::of_training(&output, None, (arguments.test.as_deref(), &reading), &budget)?;
        report::write(&found, page, talk)?;
    }
    Ok(if stop.is_requested() { ExitCode::from(130) } else { ExitCode::SUCCESS })
}

impl StreamArguments {
    /// A stream with what was typed of these.
    fn set(&self, fit: Fit) -> StreamFit {
        let mut stream = fit.stream().progressive(self.progressive).averaging(self.averaging.as_deref() != Some("off"));
        if let Some(bits) = self.hash_bits {
            stream = stream.hash_bits(bits);
        }
        if let Some(rows) = self.rows {
            stream = stream.rows(rows);
        }
        match self.save_every {
            Some(SaveEvery::Rows(rows)) => stream.save_rows(rows),
            Some(SaveEvery::Time(time)) => stream.save_time(time),
            None => stream,
        }
    }
}

/// Saves models and shows how far the stream is.
struct Watcher {
    place: OutputFile,
    classes: bool,
    progressive: bool,
    talk: bool,
    bar: Option<ProgressBar>,
}

impl Watcher {
    fn new(place: OutputFile, classes: bool, progressive: bool, talk: bool) -> Self {
        let bar = (talk && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed_precise} {wide_msg}") {
                bar.set_style(style);
            }
            bar
        });
        Watcher { place, classes, progressive, talk, bar }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn score(&self, found: &Progressive) -> String {
        let rows = found.rows.max(1) as f64;
        match self.classes {
            true => format!("{:.3} % right", 100.0 * found.right as f64 / rows),
            false => format!("root mean square error {:.6}", (found.squared / rows).sqrt()),
        }
    }
}

impl Watch for Watcher {
    fn step(&mut self, report: &StreamReport) {
        let rate = report.rows as f64 / report.seconds.max(1e-9);
        if self.progressive && self.talk {
            let line = format!(
                "{:>12} rows  {} of the last {}, {} of all",
                show::count(report.rows),
                self.score(&report.last),
                show::count(report.last.rows),
                self.score(&report.all)
            );
            match &self.bar {
                Some(bar) => bar.println(line),
                None => show::say(&format!("{line}\n")),
            }
        }
        if let Some(bar) = &self.bar {
            let (rows, features) = (show::count(report.rows), show::count(report.features));
            bar.set_message(format!("{rows} rows  {features} features  {} classes  {rate:.0} rows/s", report.classes));
            bar.tick();
        }
    }

    fn save(&mut self, model: &Model) -> Result<(), ModelError> {
        model.save_to(&mut self.place)
    }
}

fn summary(report: &StreamReport, model: &Model, output: &Path) -> Vec<(String, String)> {
    let line = |name: &str, value: String| (name.to_string(), value);
    let mut lines = vec![
        line("status", "one pass over a stream: no certificate".to_string()),
        line("rows", show::count(report.rows)),
        line(
            "features",
            format!(
                "{}, of which {} have a weight",
                show::count(report.features),
                show::count(model.features.len() as u64)
            ),
        ),
    ];
    let names = model.header.objective.targets.names();
    if !names.is_empty() {
        lines.push(line("classes", show::count(names.len() as u64)));
    }
    if report.all.rows > 0 {
        let rows = report.all.rows as f64;
        let value = match names.is_empty() {
            true => format!("root mean square error {:.6}", (report.all.squared / rows).sqrt()),
            false => format!("{:.3} % right before they were learnt", 100.0 * report.all.right as f64 / rows),
        };
        lines.push(line("progressive", value));
    }
    lines.extend([
        line("peak memory", size::show(towline::machine::peak_memory_bytes())),
        line("seconds", format!("{:.2} ({:.2} solving, {} steps)", report.seconds, report.solve_seconds, report.steps)),
        line("model", output.display().to_string()),
    ]);
    lines
}

fn json(report: &StreamReport, model: &Model, seconds: f64, test: Option<serde_json::Value>) -> serde_json::Value {
    serde_json::json!({
        "schema": 1,
        "status": model.header.status,
        "rows": report.rows,
        "features": report.features,
        "classes": model.header.objective.targets.names(),
        "steps": report.steps,
        "progressive": (report.all.rows > 0).then_some(report.all),
        "peak_memory_bytes": towline::machine::peak_memory_bytes(),
        "seconds": { "total": seconds, "stream": report.seconds, "solve": report.solve_seconds },
        "test": test,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_times_are_read() {
        assert_eq!(save_every("1000"), Ok(SaveEvery::Rows(1000)));
        assert_eq!(save_every("30s"), Ok(SaveEvery::Time(Duration::from_secs(30))));
        assert_eq!(save_every("2m"), Ok(SaveEvery::Time(Duration::from_secs(120))));
        for wrong in ["", "0", "x", "1h", "-5", "s"] {
            assert!(save_every(wrong).is_err(), "{wrong}");
        }
    }
}
