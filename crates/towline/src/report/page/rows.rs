//! How models do on labelled rows: curves of all of them in one chart, then tables of each.
use maud::{Markup, html};

use super::chart::{Axis, Chart, Charts, Draw, Series, Unit};
use super::{hint, name, rows_tables};
use crate::report::short::{count, number};
use crate::report::{BinaryRows, Curve, Detail, Histogram, NumberRows, Report, RowsReport};

/// Rows of a model.
struct Judged<'a> {
    name: &'a str,
    color: usize,
    rows: &'a RowsReport,
}

pub fn body(report: &Report, charts: &mut Charts) -> Option<Markup> {
    if report.models.is_empty() {
        return None;
    }
    let judged = report.models.iter().enumerate();
    let judged: Vec<Judged> = judged
        .filter_map(|(color, model)| Some(Judged { name: &model.name, color, rows: model.rows.as_ref()? }))
        .collect();
    if judged.is_empty() {
        return Some(hint("No labelled rows were given. With test rows, this page shows where the model errs."));
    }
    let binary: Vec<(&Judged, &BinaryRows)> = judged
        .iter()
        .filter_map(|judged| match &judged.rows.detail {
            Detail::Binary(found) => Some((judged, &**found)),
            _ => None,
        })
        .collect();
    Some(html! {
        p { (count(judged[0].rows.rows)) " rows of " (name(&judged[0].rows.name)) "." }
        @if !binary.is_empty() { div.grid { (curves(&binary, charts)) } }
        @for one in &judged {
            @if judged.len() > 1 { h3.model { (name(one.name)) } }
            @if one.rows.unknown > 0 {
                p.note { (count(one.rows.unknown)) " rows have labels that the model does not know; they count as wrong." }
            }
            (rows_tables::measures(&one.rows.measures))
            @match &one.rows.detail {
                Detail::Binary(found) => {
                    (charts.add(&format!("Scores for {}, by class", found.positive), histogram(&found.margins, "score")))
                    (rows_tables::binary(found))
                }
                Detail::Classes(found) => (rows_tables::classes(found)),
                Detail::Numbers(found) => { @for target in found { (numbers(target, charts)) } }
            }
            (rows_tables::wrong(&one.rows.wrong))
        }
    })
}

/// The curves of all models, laid over each other.
fn curves(all: &[(&Judged, &BinaryRows)], charts: &mut Charts) -> Markup {
    let label = |judged: &Judged, area: Option<f64>| {
        let area = area.map_or(String::new(), |area| format!("area {area:.4}"));
        if all.len() > 1 { format!("{}: {area}", judged.name) } else { area }
    };
    let line = |label: String, curve: &Curve, color: usize| {
        Series::line(&label, curve.x.iter().copied().zip(curve.y.iter().copied())).color(color)
    };
    let each = |area: fn(&BinaryRows) -> Option<f64>, curve: fn(&BinaryRows) -> &Curve| {
        let series =
            |(judged, found): &(&Judged, &BinaryRows)| line(label(judged, area(found)), curve(found), judged.color);
        all.iter().map(series).collect::<Vec<_>>()
    };
    let share = |text: &str| Axis::new(text, Unit::Share).between(0.0, 1.0);
    let chance = |height: f64| Series::line("by chance", [(0.0, height), (1.0, height)]).color(7).dashed();
    let diagonal = |label: &str| Series::line(label, [(0.0, 0.0), (1.0, 1.0)]).color(7).dashed();
    let mut roc = each(|found| found.auc, |found| &found.roc);
    roc.push(diagonal("by chance"));
    let mut recall = each(|found| found.pr_auc, |found| &found.precision_recall);
    recall.push(chance(all[0].1.base_rate));
    let mut gains = each(|_| None, |found| &found.gains);
    gains.iter_mut().filter(|series| series.label.is_empty()).for_each(|series| series.label = "found".into());
    gains.push(diagonal("by chance"));
    let positive = &all[0].1.positive;
    let chart = |x: &str, y: &str, series| Chart { x: share(x), y: share(y), series, square: true, ..Chart::default() };
    html! {
        (charts.add("ROC: positives found against false alarms", chart("negatives taken", "positives found", roc)))
        (charts.add("Precision and recall", chart("recall", "precision", recall)))
        (charts.add("Lift: positives found among the rows with the highest scores", chart("rows taken", "positives found", gains)))
        @if all.iter().any(|(_, found)| !found.calibration.is_empty()) {
            (charts.add(&format!("Calibration: how often rows are {positive}"), calibration(all)))
        } @else {
            figure { figcaption { "Calibration" }
                (hint("The model has no probabilities: train with the logistic loss, or with `calibrate`.")) }
        }
    }
}

fn calibration(all: &[(&Judged, &BinaryRows)]) -> Chart {
    let mut series = Vec::new();
    let mut bands = Vec::new();
    for (judged, found) in all.iter().filter(|(_, found)| !found.calibration.is_empty()) {
        let of = |value: &dyn Fn(&crate::report::CalibrationBin) -> f64| {
            found.calibration.iter().map(|bin| (bin.predicted, value(bin))).collect::<Vec<_>>()
        };
        let label = if all.len() > 1 { judged.name } else { "observed" };
        bands.push([series.len() + 1, series.len() + 2]);
        series.push(Series::line(label, of(&|bin| bin.observed)).color(judged.color).drawn(Draw::Dots));
        series.push(Series::line("95 % above", of(&|bin| bin.interval[1])).color(judged.color).faint());
        series.push(Series::line("95 % below", of(&|bin| bin.interval[0])).color(judged.color).faint());
    }
    series.push(Series::line("as predicted", [(0.0, 0.0), (1.0, 1.0)]).color(7).dashed());
    let share = |text: &str| Axis::new(text, Unit::Share).between(0.0, 1.0);
    let (x, y) = (share("predicted probability"), share("share that is"));
    Chart { x, y, series, bands, square: true, ..Chart::default() }
}

/// Counts of numbers in bins.
pub fn histogram(found: &Histogram, label: &str) -> Chart {
    let middles = found.middles();
    let bars = |(group, counts): (usize, &Vec<u64>)| {
        let name = if found.groups[group].is_empty() { "rows" } else { &found.groups[group] };
        let points = middles.iter().copied().zip(counts.iter().map(|&count| count as f64));
        Series::line(name, points).color(group).drawn(Draw::Bars)
    };
    let series = found.counts.iter().enumerate().map(bars).collect();
    Chart { x: Axis::new(label, Unit::Plain), y: Axis::new("rows", Unit::Plain), series, ..Chart::default() }
}

fn numbers(found: &NumberRows, charts: &mut Charts) -> Markup {
    let title = if found.target.is_empty() { String::new() } else { format!(" of {}", found.target) };
    let points = found.points.iter().map(|point| (point[0], point[1]));
    let line = |place: usize| found.bins.iter().map(move |bin| (bin.predicted, bin.residuals[place]));
    let rows = if found.has_all { "rows" } else { "some of the rows" };
    let series = vec![
        Series::line(rows, points).drawn(Draw::Points),
        Series::line("median residual", line(1)).color(1).drawn(Draw::Dots),
        Series::line("nine tenths are below", line(2)).color(1).faint(),
        Series::line("a tenth is below", line(0)).color(1).faint(),
    ];
    let (x, y) = (Axis::new("prediction", Unit::Plain), Axis::new("truth − prediction", Unit::Plain));
    let chart = Chart { x, y, series, bands: vec![[2, 3]], ..Chart::default() };
    html! {
        div.grid {
            (charts.add(&format!("Residuals{title} against predictions"), chart))
            (charts.add(&format!("How residuals{title} are spread"), histogram(&found.residuals, "truth − prediction")))
        }
        @if let (Some(first), Some(last)) = (found.bins.first(), found.bins.last()) {
            p.note { "Predictions go from " (number(first.predicted)) " to " (number(last.predicted)) "." }
        }
    }
}
