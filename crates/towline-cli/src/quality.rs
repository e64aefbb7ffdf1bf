//! How good a model is, for people and for programs.
use towline::evaluate::{BinaryQuality, ClassQuality, Metric, Quality, SeveralQuality, TargetQuality};
use towline::model::Header;
use towline::model::chances::Chances;

use crate::eval::Question;
use crate::show;

type Lines = Vec<(String, String)>;

/// As JSON; the measure that was asked for stands in `score`, too.
pub fn json(quality: &Quality, metric: Option<Metric>) -> anyhow::Result<serde_json::Value> {
    let mut value = match quality {
        Quality::Binary(quality) => serde_json::to_value(quality)?,
        Quality::Classes(quality) => serde_json::to_value(quality)?,
        Quality::Numbers(quality) => serde_json::to_value(quality)?,
        Quality::Several(quality) => serde_json::to_value(quality)?,
        other => anyhow::bail!("there is no JSON for {other:?}"),
    };
    if let Some(metric) = metric {
        value["metric"] = metric.name().into();
        value["score"] = quality.get(metric).into();
    }
    Ok(value)
}

/// The number that models are compared by: accuracy, or root mean square error.
pub fn score(quality: &Quality) -> f64 {
    quality.get(default_metric(quality)).unwrap_or(f64::NAN)
}

fn default_metric(quality: &Quality) -> Metric {
    match quality {
        Quality::Numbers(_) | Quality::Several(_) => Metric::Rmse,
        _ => Metric::Accuracy,
    }
}

/// In a line.
pub fn line(quality: &Quality) -> String {
    let rows = show::count(quality.rows());
    let share = |metric: Metric| 100.0 * quality.get(metric).unwrap_or(f64::NAN);
    match quality {
        Quality::Classes(q) => {
            format!("accuracy {:.2} % of {rows} rows, macro F1 {:.4}", share(Metric::Accuracy), q.macro_f1)
        }
        Quality::Several(q) => {
            format!("root mean square error {} of {rows} rows and {} targets", show::measure(q.rmse), q.targets.len())
        }
        Quality::Numbers(q) => format!("root mean square error {} of {rows} rows", show::measure(q.rmse)),
        _ => format!("accuracy {:.2} % of {rows} rows", share(Metric::Accuracy)),
    }
}

/// A measure as people read it.
pub fn shown(metric: Metric, value: Option<f64>) -> String {
    match (value, metric) {
        (Some(value), metric) if metric.is_share_of_rows() => format!("{:.4} %", 100.0 * value),
        (
            Some(value),
            Metric::Precision | Metric::Recall | Metric::F1 | Metric::Mcc | Metric::MacroF1 | Metric::MicroF1,
        ) => {
            format!("{value:.4}")
        }
        (Some(value), Metric::Rmse | Metric::Mae) => show::measure(value),
        (Some(value), _) => format!("{value:.6}"),
        (None, Metric::Auc | Metric::PrAuc) => "needs rows of both classes".into(),
        (None, Metric::R2) => "the labels are all the same".into(),
        (None, _) => "unknown".into(),
    }
}

/// For a person: the measure that was asked for, then all others.
pub fn text(header: &Header, quality: &Quality, question: Question) -> String {
    let mut lines: Lines = Vec::new();
    let title = |metric: Metric| match quality {
        Quality::Binary(q) if metric.has_positive_class() => format!("{} of {}", metric.title(), q.positive),
        Quality::Several(_) if metric == Metric::R2 => "mean R²".into(),
        _ => metric.title(),
    };
    let mut put = |metric: Metric| lines.push((title(metric), shown(metric, quality.get(metric))));
    question.metric.into_iter().for_each(&mut put);
    let all = Metric::ALL.into_iter().filter(|&metric| Some(metric) != question.metric);
    let has_chances = Chances::of(header).is_some();
    let fits = |metric: &Metric| metric.check(&header.objective.targets, has_chances).is_ok();
    let others: Vec<Metric> = all.filter(fits).filter(|&metric| is_worth_a_line(metric, quality)).collect();
    others.into_iter().for_each(&mut put);
    let rows = ("rows".to_string(), show::count(quality.rows()));
    lines.insert(usize::from(question.metric.is_some()), rows);
    match quality {
        Quality::Binary(q) => two_classes(q, question, has_chances, &mut lines),
        Quality::Classes(q) => many_classes(q, &mut lines),
        Quality::Several(q) => several(q, &mut lines),
        _ => {}
    }
    show::table(&lines)
}

/// Of few classes nearly every one is among the first five.
fn is_worth_a_line(metric: Metric, quality: &Quality) -> bool {
    match (metric, quality) {
        (Metric::Top(k), Quality::Classes(q)) => k == q.top && q.classes.len() > k as usize,
        _ => true,
    }
}

fn two_classes(q: &BinaryQuality, question: Question, has_chances: bool, lines: &mut Lines) {
    let mut line = |name: String, value: String| lines.push((name, value));
    if let (Some(threshold), Some(rule)) = (q.threshold, question.threshold) {
        let unit = if has_chances { "probability" } else { "score" };
        let found = match rule {
            towline::evaluate::Threshold::At(_) => String::new(),
            rule => format!(", the best by {rule}"),
        };
        line("threshold".into(), format!("{threshold:.6}, the {unit} of {}{found}", q.positive));
    }
    if q.unknown > 0 {
        line("unknown".into(), format!("{} rows of labels that the model does not know", show::count(q.unknown)));
    }
    for (name, row) in q.classes.iter().zip(&q.confusion) {
        let [first, second] = row.map(show::count);
        line(format!("true {name}"), format!("{first} as {}, {second} as {}", q.classes[0], q.classes[1]));
    }
}

fn many_classes(q: &ClassQuality, lines: &mut Lines) {
    if q.unknown > 0 {
        let text = format!("{} rows of classes that the model does not know", show::count(q.unknown));
        lines.push(("unknown".into(), text));
    }
    for (name, row) in q.classes.iter().zip(&q.confusion) {
        lines.push((format!("true {name}"), predicted(&q.classes, row)));
    }
}

fn several(q: &SeveralQuality, lines: &mut Lines) {
    for TargetQuality { name, quality: target } in &q.targets {
        let share = shown(Metric::R2, target.r2);
        lines.push((name.clone(), format!("RMSE {:.6}, MAE {:.6}, R² {share}", target.rmse, target.mae)));
    }
}

/// Where the rows of a class went, the most frequent class first.
fn predicted(classes: &[String], row: &[u64]) -> String {
    const SHOWN: usize = 6;
    let mut counts: Vec<(u64, &String)> = row.iter().copied().zip(classes).filter(|count| count.0 > 0).collect();
    counts.sort_by_key(|&(rows, _)| std::cmp::Reverse(rows));
    let rest: u64 = counts.iter().skip(SHOWN).map(|count| count.0).sum();
    let mut shown: Vec<String> =
        counts.iter().take(SHOWN).map(|(rows, name)| format!("{} as {name}", show::count(*rows))).collect();
    if rest > 0 {
        shown.push(format!("{} as others", show::count(rest)));
    }
    if shown.is_empty() { "no rows".into() } else { shown.join(", ") }
}
