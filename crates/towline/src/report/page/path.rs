//! Weights and scores along a path.
use maud::{Markup, html};

use super::chart::{Axis, Chart, Charts, Draw, Mark, Series, Unit};
use crate::report::short::{count, number, percent, seconds};
use crate::report::{PathReport, Report};

pub fn body(report: &Report, charts: &mut Charts) -> Option<Markup> {
    let path = report.path.as_ref()?;
    let label = if path.along_c { "C" } else { "λ" };
    let axis = || Axis::new(label, Unit::Plain).log();
    let marks: Vec<Mark> =
        path.best.map(|best| Mark { x: path.points[best].at, text: "best".into() }).into_iter().collect();
    let line = |(color, (name, weights)): (usize, &(String, Vec<f64>))| {
        let points = path.points.iter().zip(weights).map(|(point, &weight)| (point.at, weight));
        Series::line(name, sorted(points)).color(color)
    };
    let coefficients = Chart {
        x: axis(),
        y: Axis::new("weight", Unit::Plain),
        series: path.coefficients.iter().enumerate().map(line).collect(),
        marks: marks.clone(),
        ..Chart::default()
    };
    let scores = path.points.iter().filter_map(|point| Some((point.at, point.score?)));
    let unit = if path.is_share { Unit::Share } else { Unit::Plain };
    let metric = path.metric.as_deref().unwrap_or("");
    let score = Chart {
        x: axis(),
        y: Axis::new(metric, unit),
        series: vec![Series::line(metric, sorted(scores)).drawn(Draw::Dots)],
        marks,
        ..Chart::default()
    };
    let features = path.points.iter().map(|point| (point.at, point.nonzero as f64));
    let nonzero = Chart {
        x: axis(),
        y: Axis::new("features with a weight", Unit::Plain),
        series: vec![Series::line("features", sorted(features)).drawn(Draw::Dots)],
        ..Chart::default()
    };
    Some(html! {
        (charts.add(&format!("Weights along {label}: the {} largest", path.coefficients.len()), coefficients))
        div.grid {
            @if path.metric.is_some() { (charts.add(&format!("Test rows: {metric}"), score)) }
            (charts.add("Features with a weight", nonzero))
        }
        (table(path, label))
    })
}

/// Charts go from left to right.
fn sorted(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = points.collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

fn table(path: &PathReport, label: &str) -> Markup {
    let score = |score: f64| if path.is_share { percent(score) } else { number(score) };
    html! {
        div.tall.scroll { table {
            thead { tr {
                th.number { (label) } th.number { "Features" } th.number { "Objective" } th.number { "Gap" } th.number { "Time" }
                @if let Some(metric) = &path.metric { th.number { (metric) } }
            } }
            tbody { @for (place, point) in path.points.iter().enumerate() {
                tr class=[(path.best == Some(place)).then_some("best")] {
                    th.number { (number(point.at)) }
                    td.number { (count(point.nonzero)) }
                    td.number { @if let Some(objective) = point.objective { (number(objective)) } }
                    td.number { @if let Some(gap) = point.gap { (format!("{gap:.1e}")) } }
                    td.number { (seconds(point.seconds)) }
                    @if path.metric.is_some() { td.number { @if let Some(found) = point.score { (score(found)) } } }
                }
            } }
        } }
    }
}
