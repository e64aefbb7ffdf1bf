//! What a training run shows while it goes on: a line on the terminal, JSON lines in a file.
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use towline::output::OutputFile;
use towline::trainer::{Observer, Step, WeightsNow};

use crate::held_out::HeldOut;
use crate::{exit, flags, show, size};

/// Watches a run.
pub struct Watcher {
    trace: Option<BufWriter<File>>,
    /// The place of the trace, claimed until the run ends.
    _place: Option<OutputFile>,
    held_out: Option<HeldOut>,
    failure: Option<anyhow::Error>,
    bar: Option<ProgressBar>,
    show: bool,
    tolerance: f64,
    first_gap: Option<(f64, f64)>,
}

impl Watcher {
    /// Writes steps to `trace`, if given, with scores of `held_out`, and shows notes, and progress on a terminal, if
    /// wanted.
    pub fn new(
        mut place: Option<OutputFile>,
        held_out: Option<HeldOut>,
        tolerance: f64,
        show: bool,
    ) -> anyhow::Result<Watcher> {
        // A trace is read while it grows.
        let open = |place: &mut OutputFile| anyhow::Ok(BufWriter::new(place.begin()?.publish_growing()?));
        let trace = place.as_mut().map(open).transpose().map_err(exit::on_the_way)?;
        let bar = (show && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed_precise} {wide_msg}") {
                bar.set_style(style);
            }
            bar
        });
        Ok(Watcher { trace, _place: place, held_out, failure: None, bar, show, tolerance, first_gap: None })
    }

    /// Everything has been written, or an error.
    pub fn finish(mut self) -> anyhow::Result<()> {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let flushed = self.trace.as_mut().map_or(Ok(()), Write::flush);
        // On a pipe there is nothing to sync.
        let _ = self.trace.as_ref().map(|trace| trace.get_ref().sync_all());
        self.failure.map_or_else(|| flushed.context("cannot write the trace"), Err)
    }

    fn write_line(&mut self, step: &Step, weights: &WeightsNow) -> anyhow::Result<()> {
        let Some(trace) = &mut self.trace else { return Ok(()) };
        let cost = step.cost;
        let mut line = serde_json::json!({
            "seconds": cost.seconds,
            "passes": cost.passes,
            "sweeps": cost.sweeps,
            "visits": cost.visits,
            "bytes_read": cost.bytes_read,
            "dual_objective": step.dual_objective,
            "objective": step.objective,
            "relative_gap": step.certificate.map(|certificate| certificate.relative_gap()),
            "gap_estimate": step.gap_estimate,
            "solve_seconds": cost.solve_seconds,
            "certify_seconds": cost.certify_seconds,
        });
        if let Some(held_out) = &mut self.held_out {
            line["test"] = held_out.score_if_due(cost.seconds, weights)?.into();
            line["test_seconds"] = held_out.spent_seconds.into();
        }
        writeln!(trace, "{line}").context("cannot write the trace")
    }

    /// Seconds left if the logarithm of the gap goes on falling as it did so far.
    fn seconds_left(&mut self, seconds: f64, gap: f64) -> Option<f64> {
        let (first_seconds, first_gap) = *self.first_gap.get_or_insert((seconds, gap));
        let fallen = (first_gap / gap).ln();
        (fallen > 0.0).then(|| (seconds - first_seconds) * (gap / self.tolerance).ln().max(0.0) / fallen)
    }
}

impl Observer for Watcher {
    fn note(&mut self, text: &str) {
        let print = || show::say(&format!("note: {}\n", flags::typed(text)));
        match &self.bar {
            _ if !self.show => {}
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    fn step(&mut self, step: &Step, weights: &WeightsNow) {
        if self.failure.is_none() {
            self.failure = self.write_line(step, weights).err();
        }
        let gap = step.certificate.map(|certificate| certificate.relative_gap());
        let newest = step.gap_estimate.or(gap);
        let cost = step.cost;
        if self.bar.is_some() {
            let left = newest.and_then(|gap| self.seconds_left(cost.seconds, gap));
            let gap = newest.map_or("-".to_string(), |gap| format!("{gap:.1e}"));
            let eta = left.map_or(String::new(), |left| format!("  ETA {left:.0} s"));
            let rows = cost.visits as f64 / cost.solve_seconds.max(1e-9);
            let rate = size::show((cost.bytes_read as f64 / cost.seconds.max(1e-9)) as u64);
            let dual = step.dual_objective.map_or(String::new(), |dual| format!("  dual {dual:.4}"));
            let message = format!("pass {}  gap {gap}{dual}  {rows:.0} rows/s  {rate}/s{eta}", cost.passes);
            if let Some(bar) = &self.bar {
                bar.set_message(message);
                bar.tick();
            }
        }
    }
}
