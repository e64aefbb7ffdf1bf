//! Scores of rows that were held out, by C.
use maud::{Markup, html};

use super::chart::{Axis, Chart, Charts, Draw, Mark, Series, Unit};
use crate::cv::Point;
use crate::report::short::{number, percent};
use crate::report::{Report, ValidationReport};

pub fn body(report: &Report, charts: &mut Charts) -> Option<Markup> {
    let found = report.validation.as_ref()?;
    let score = |score: f64| match found.is_share {
        _ if score.is_nan() => "–".to_string(),
        true => percent(score),
        false => number(score),
    };
    let losses: Vec<&[Point]> = found.points.chunk_by(|a, b| a.loss == b.loss).collect();
    let (best, simple) = (&found.points[found.best], &found.points[found.one_standard_error]);
    Some(html! {
        p.lead {
            "The best mean is " strong { (score(best.mean)) } " with C = " (number(best.c)) " (" (best.loss) " loss). "
            @if found.one_standard_error != found.best {
                "C = " strong { (number(simple.c)) } " is simpler and within one standard error of it (" (score(simple.mean)) ")."
            } @else { "No smaller C is within one standard error of it." }
        }
        @for points in &losses {
            (charts.add(&format!("{} by C, {} loss: one line for each fold", found.metric, points[0].loss), chart(found, points)))
        }
        div.tall.scroll { table {
            thead { tr {
                th { "Loss" } th.number { "C" } th.number { "Mean" } th.number { "Standard error" } th.number { "Gap" } th {}
            } }
            tbody { @for (place, point) in found.points.iter().enumerate() {
                tr class=[(place == found.best).then_some("best")] {
                    th { (point.loss) } td.number { (number(point.c)) } td.number { (score(point.mean)) }
                    td.number { (score(point.standard_error)) }
                    td.number { @if point.relative_gap.is_finite() { (format!("{:.1e}", point.relative_gap)) } }
                    td {
                        @if place == found.best { "best" }
                        @if place == found.best && place == found.one_standard_error { ", " }
                        @if place == found.one_standard_error { "least C within one standard error" }
                    }
                }
            } }
        } }
    })
}

fn chart(found: &ValidationReport, points: &[Point]) -> Chart {
    let line = |label: &str, of: &dyn Fn(&Point) -> f64| Series::line(label, sorted(points, of));
    let mut series = vec![
        line("mean", &|point| point.mean).drawn(Draw::Dots),
        line("mean + standard error", &|point| point.mean + point.standard_error).faint(),
        line("mean - standard error", &|point| point.mean - point.standard_error).faint(),
    ];
    let folds = points.iter().map(|point| point.scores.len()).max().unwrap_or(0);
    let fold = |fold: usize| {
        let of = |point: &Point| point.scores.get(fold).copied().unwrap_or(f64::NAN);
        line(&format!("fold {}", fold + 1), &of).color(1 + fold % 6).faint()
    };
    series.extend((0..folds).map(fold));
    let mut marks = Vec::new();
    for (place, text) in [(found.best, "best"), (found.one_standard_error, "one standard error")] {
        let point = &found.points[place];
        let is_known = marks.iter().any(|mark: &Mark| mark.x == point.c);
        if point.loss == points[0].loss && !is_known {
            marks.push(Mark { x: point.c, text: text.into() });
        }
    }
    let unit = if found.is_share { Unit::Share } else { Unit::Plain };
    let (x, y) = (Axis::new("C", Unit::Plain).log(), Axis::new(&found.metric, unit));
    Chart { x, y, series, bands: vec![[1, 2]], marks, ..Chart::default() }
}

fn sorted(points: &[Point], of: &dyn Fn(&Point) -> f64) -> Vec<(f64, f64)> {
    let mut found: Vec<(f64, f64)> = points.iter().map(|point| (point.c, of(point))).collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found
}
