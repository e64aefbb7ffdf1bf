//! What a path has found, as a table: for people, for programs, and beside the models.
use std::path::Path;

use towline::model::Header;
use towline::output::{self, Kind};
use towline::trainer::Status;

use super::walk::Walk;
use crate::eval::Quality;
use crate::{show, size};

/// What the table begins with.
const TITLE: &str = "lambda,c,weights";

/// A model that is there, as far as the table goes.
pub struct Point {
    pub header: Header,
    /// Features with a weight that is not 0.
    weights: u64,
    pub quality: Option<Quality>,
}

impl Point {
    /// The objective and its relative gap; every model of a path has a certificate.
    fn value_and_gap(&self) -> (f64, f64) {
        self.header.certificate.map_or((f64::NAN, f64::NAN), |found| (found.objective, found.relative_gap()))
    }

    /// A model with so many features.
    pub fn new(header: Header, weights: u64) -> Point {
        Point { weights, header, quality: None }
    }

    fn lambda(&self) -> f64 {
        self.header.objective.penalty.lambda()
    }

    /// The intercept, where there is just one.
    fn intercept(&self) -> Option<f64> {
        match self.header.intercepts[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    fn c(&self) -> f64 {
        self.header.objective.c
    }
}

impl Walk {
    /// All points, for programs.
    pub fn json(&self) -> anyhow::Result<serde_json::Value> {
        let point = |(number, point): (usize, &Point)| {
            let header = &point.header;
            anyhow::Ok(serde_json::json!({
                "lambda": point.lambda(),
                "c": point.c(),
                "weights": point.weights,
                "intercept": point.intercept(),
                "intercepts": header.intercepts,
                "status": header.status,
                "objective": header.certificate.map(|certificate| certificate.objective),
                "relative_gap": header.certificate.map(|certificate| certificate.relative_gap()),
                "passes": header.cost.passes,
                "sweeps": header.cost.sweeps,
                "bytes_read": header.cost.bytes_read,
                "seconds": header.cost.seconds,
                "model": self.file(number),
                "test": point.quality.as_ref().map(Quality::json).transpose()?,
            }))
        };
        let points = self.done.iter().enumerate().map(point).collect::<anyhow::Result<Vec<_>>>()?;
        Ok(serde_json::json!({
            "schema": 1,
            "bytes_read": self.bytes_read,
            "peak_memory_bytes": towline::machine::peak_memory_bytes(),
            "points": points,
        }))
    }

    /// The table for other programs, beside the models.
    pub fn write_table(&self) -> anyhow::Result<()> {
        let mut text = format!("{TITLE},intercept,objective,relative_gap,passes,bytes_read,seconds,test,model\n");
        for (number, point) in self.done.iter().enumerate() {
            let header = &point.header;
            let (objective, gap) = point.value_and_gap();
            let cost = header.cost;
            let intercepts: Vec<String> = header.intercepts.iter().map(f64::to_string).collect();
            let test = point.quality.as_ref().map_or(String::new(), |quality| quality.score().to_string());
            let file = self.file(number);
            let file = file.file_name().map(Path::new).unwrap_or(&file).display();
            text += &format!(
                "{},{},{},{},{objective},{gap},{},{},{},{test},{file}\n",
                point.lambda(),
                point.c(),
                point.weights,
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
        let along_c = self.points.len() > 1 && self.points[0].c != self.points[1].c;
        let mut text = format!(
            "{:>12} {:>9} {:>16} {:>9} {:>7} {:>11}",
            if along_c { "C" } else { "lambda" },
            "weights",
            "objective",
            "gap",
            "passes",
            "read"
        );
        text += if self.done.iter().any(|point| point.quality.is_some()) { "  test\n" } else { "\n" };
        for point in &self.done {
            let header = &point.header;
            let (objective, gap) = point.value_and_gap();
            text += &format!(
                "{:>12} {:>9} {:>16.6} {:>9.2e} {:>7} {:>11}",
                if along_c { show::number(point.c()) } else { format!("{:.6}", point.lambda()) },
                show::count(point.weights),
                objective,
                gap,
                header.cost.passes,
                size::show(header.cost.bytes_read),
            );
            let test = point.quality.as_ref().map_or(String::new(), |quality| format!("  {:.6}", quality.score()));
            text += &(test + "\n");
        }
        if self.together {
            text += "points were trained together: what was read for one was read for others, too\n";
        }
        let ended = self.done.last().map(|point| point.header.status);
        if ended == Some(Status::Interrupted) {
            text += "interrupted; the same command goes on from the points before\n";
        }
        text += &format!(
            "{} of {} points, {} read, peak memory {}, models and path.csv in {}\n",
            self.done.len(),
            self.points.len(),
            size::show(self.bytes_read),
            size::show(towline::machine::peak_memory_bytes()),
            self.folder.display()
        );
        text
    }
}
