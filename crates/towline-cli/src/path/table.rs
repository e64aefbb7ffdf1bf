//! What a path has found, as a table: for people, for programs, and beside the models.
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use towline::budget::Budget;
use towline::evaluate::Quality;
use towline::fit::{PathPoint, PathRun};
use towline::input::ReadOptions;
use towline::model::{Header, Model};
use towline::output::{self, Kind};
use towline::report::{PathReport, Report};
use towline::trainer::{RunRecord, Status};

use crate::eval::{Question, judge};
use crate::{exit, quality, report, show, size};

/// What the table begins with.
const TITLE: &str = "lambda,c,weights";

/// What came of a path.
pub struct Table {
    folder: PathBuf,
    found: PathRun,
    /// How good each model is, where there are test rows.
    qualities: Vec<Quality>,
}

/// The objective and its relative gap; every model of a path has a certificate.
fn value_and_gap(header: &Header) -> (f64, f64) {
    header.certificate.map_or((f64::NAN, f64::NAN), |found| (found.objective, found.relative_gap()))
}

fn lambda(header: &Header) -> f64 {
    header.objective.penalty.lambda()
}

/// The intercept, where there is just one.
fn intercept(header: &Header) -> Option<f64> {
    match header.intercepts[..] {
        [only] => Some(only),
        _ => None,
    }
}

impl Table {
    /// The points that are in `folder`.
    pub fn new(folder: PathBuf, found: PathRun) -> Table {
        Table { folder, found, qualities: Vec::new() }
    }

    /// Judges every model; only now, since while rows are in memory there is no room for scores.
    pub fn judge(&mut self, test: &str, reading: &ReadOptions, budget: &Budget) -> anyhow::Result<()> {
        for point in &self.found.points {
            let (model, _paid) = Model::load_within(&point.file, budget)?;
            self.qualities.push(judge(&model, test, reading, Question::default(), budget)?);
        }
        Ok(())
    }

    /// The page of the path.
    pub fn report(&self, run: RunRecord, budget: &Budget) -> anyhow::Result<Report> {
        let mut report = Report::new(&report::short_name(&self.folder));
        report.path = Some(PathReport::gather(&self.found, &self.qualities, run, budget)?);
        Ok(report)
    }

    /// Tells scripts how it ended.
    pub fn exit_code(&self) -> ExitCode {
        let statuses = || self.found.points.iter().map(|point| point.header.status);
        let stopped = statuses().find(|status| status.is_stop());
        exit::of_training(stopped.unwrap_or_else(|| Status::of_all(statuses())))
    }

    /// All points, for programs.
    pub fn json(&self) -> anyhow::Result<serde_json::Value> {
        let point = |(number, point): (usize, &PathPoint)| {
            let header = &point.header;
            anyhow::Ok(serde_json::json!({
                "lambda": lambda(header),
                "c": header.objective.c,
                "weights": point.features,
                "intercept": intercept(header),
                "intercepts": header.intercepts,
                "status": header.status,
                "objective": header.certificate.map(|certificate| certificate.objective),
                "relative_gap": header.certificate.map(|certificate| certificate.relative_gap()),
                "passes": header.cost.passes,
                "sweeps": header.cost.sweeps,
                "bytes_read": header.cost.bytes_read,
                "seconds": header.cost.seconds,
                "model": point.file,
                "test": self.qualities.get(number).map(|found| quality::json(found, None)).transpose()?,
            }))
        };
        let points = self.found.points.iter().enumerate().map(point).collect::<anyhow::Result<Vec<_>>>()?;
        Ok(serde_json::json!({
            "schema": 1,
            "bytes_read": self.found.bytes_read,
            "peak_memory_bytes": towline::machine::peak_memory_bytes(),
            "points": points,
        }))
    }

    /// The table for other programs, beside the models.
    pub fn write(&self) -> anyhow::Result<()> {
        let mut text = format!("{TITLE},intercept,objective,relative_gap,passes,bytes_read,seconds,test,model\n");
        for (number, point) in self.found.points.iter().enumerate() {
            let header = &point.header;
            let (objective, gap) = value_and_gap(header);
            let cost = header.cost;
            let intercepts: Vec<String> = header.intercepts.iter().map(f64::to_string).collect();
            let test = self.qualities.get(number).map_or(String::new(), |found| quality::score(found).to_string());
            let file = point.file.file_name().map(Path::new).unwrap_or(&point.file).display();
            text += &format!(
                "{},{},{},{},{objective},{gap},{},{},{},{test},{file}\n",
                lambda(header),
                header.objective.c,
                point.features,
                intercepts.join(" "),
                cost.passes,
                cost.bytes_read,
                cost.seconds
            );
        }
        let path = self.folder.join("path.csv");
        Ok(output::replace(&path, Kind::Table(TITLE), |out| out.write_all(text.as_bytes()))?)
    }

    /// All points, for people.
    pub fn summary(&self) -> String {
        let wanted = &self.found.objectives;
        let along_c = wanted.len() > 1 && wanted[0].c != wanted[1].c;
        let mut text = format!(
            "{:>12} {:>9} {:>16} {:>9} {:>7} {:>11}",
            if along_c { "C" } else { "lambda" },
            "weights",
            "objective",
            "gap",
            "passes",
            "read"
        );
        text += if !self.qualities.is_empty() { "  test\n" } else { "\n" };
        for (number, point) in self.found.points.iter().enumerate() {
            let header = &point.header;
            let (objective, gap) = value_and_gap(header);
            text += &format!(
                "{:>12} {:>9} {:>16.6} {:>9.2e} {:>7} {:>11}",
                if along_c { show::number(header.objective.c) } else { format!("{:.6}", lambda(header)) },
                show::count(point.features),
                objective,
                gap,
                header.cost.passes,
                size::show(header.cost.bytes_read),
            );
            let test =
                self.qualities.get(number).map_or(String::new(), |found| format!("  {:.6}", quality::score(found)));
            text += &(test + "\n");
        }
        if self.found.together {
            text += "points were trained together: what was read for one was read for others, too\n";
        }
        let ended = self.found.points.last().map(|point| point.header.status);
        if let Some(status) = ended.filter(|status| status.is_stop()) {
            let why = if status == Status::OutOfTime { "--max-time reached" } else { "interrupted" };
            text += &format!("{why}; the same command goes on from the points before\n");
        }
        text += &format!(
            "{} of {} points, {} read, peak memory {}, models and path.csv in {}\n",
            self.found.points.len(),
            wanted.len(),
            size::show(self.found.bytes_read),
            size::show(towline::machine::peak_memory_bytes()),
            self.folder.display()
        );
        text
    }
}
