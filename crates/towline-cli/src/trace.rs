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
    /// The score of test rows that the step at hand has brought.
    test_score: Option<f64>,
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
            // A sweep of many rows takes long: the clock shows that something goes on.
            bar.enable_steady_tick(std::time::Duration::from_millis(200));
            bar
        });
        Ok(Watcher {
            trace,
            _place: place,
            held_out,
            failure: None,
            bar,
            show,
            tolerance,
            first_gap: None,
            test_score: None,
        })
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
        let cost = step.cost;
        let test = match &mut self.held_out {
            Some(held_out) => held_out.score_if_due(cost.seconds, weights)?,
            None => None,
        };
        self.test_score = test.as_ref().and_then(|test| test.as_object()?.values().next()?.as_f64());
        let Some(trace) = &mut self.trace else { return Ok(()) };
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
            "violation": step.violation,
            "solve_seconds": cost.solve_seconds,
            "certify_seconds": cost.certify_seconds,
        });
        if let Some(held_out) = &self.held_out {
            line["test"] = test.into();
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

    fn test_score(&mut self) -> Option<f64> {
        self.test_score.take()
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
            if let Some(bar) = &self.bar {
                bar.set_message(progress(step, newest, left));
                bar.tick();
            }
        }
    }
}

/// How far a run is: what is not known yet is left out.
fn progress(step: &Step, gap: Option<f64>, seconds_left: Option<f64>) -> String {
    let cost = step.cost;
    let gap = gap.map(|gap| format!("gap {gap:.1e}"));
    let objective = match (step.objective, step.dual_objective) {
        (Some(objective), _) => Some(format!("objective {}", show::measure(objective))),
        (None, Some(dual)) => Some(format!("dual objective {}", show::measure(dual))),
        (None, None) => None,
    };
    let rows = format!("{} rows/s", show::count((cost.visits as f64 / cost.solve_seconds.max(1e-9)) as u64));
    let rate = size::show((cost.bytes_read as f64 / cost.seconds.max(1e-9)) as u64);
    let eta = seconds_left.map(|left| format!("ETA {left:.0} s"));
    let parts = [Some(format!("pass {}", cost.passes)), gap, objective, Some(rows), Some(format!("{rate}/s")), eta];
    parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use towline::trainer::Cost;

    #[test]
    fn progress_shows_what_is_known() {
        let cost = Cost { seconds: 2.0, solve_seconds: 1.0, visits: 12_345, passes: 3, ..Cost::default() };
        let first = Step {
            cost,
            dual_objective: None,
            objective: None,
            gap_estimate: None,
            certificate: None,
            violation: None,
        };
        assert_eq!(progress(&first, None, None), "pass 3  12,345 rows/s  0 B/s");
        let later = Step { dual_objective: Some(4.5), objective: Some(5.0), ..first };
        let shown = progress(&later, Some(0.01), Some(7.2));
        assert_eq!(shown, "pass 3  gap 1.0e-2  objective 5.000000  12,345 rows/s  0 B/s  ETA 7 s");
        let dual = Step { objective: None, ..later };
        assert!(progress(&dual, None, None).contains("  dual objective 4.500000  "));
    }
}
