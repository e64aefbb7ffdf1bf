//! What was trained on what, how it ended, and what the certificate means.
use maud::{Markup, html};

use super::{facts, name};
use crate::engine::Status;
use crate::model::Header;
use crate::objective::Targets;
use crate::report::short::{bytes, count, number, percent, seconds};
use crate::report::{Measure, ModelReport, Report};

pub fn body(report: &Report) -> Markup {
    html! {
        @match &report.models[..] {
            [] => {},
            [model] => { (one(model)) },
            models => {
                (comparison(models))
                @for model in models {
                    details { summary { (name(&model.name)) } (one(model)) }
                }
            }
        }
        @if let Some(path) = &report.path {
            p.lead { "A path of " (path.points.len()) " models, each from where the one before ended." }
            (facts(&[("Trained on", name(&path.run.data))]))
            (command(path.run.command.as_deref()))
        }
        @if let Some(validation) = &report.validation {
            p.lead {
                (validation.models) " models on " (name(&validation.data)) ", each judged by the fold that it has not seen."
            }
            (command(validation.command.as_deref()))
        }
    }
}

fn one(model: &ModelReport) -> Markup {
    let header = &model.header;
    let run = header.run.as_deref();
    let mut rows = vec![
        ("Task", html! { (task(header)) }),
        ("Objective", html! { (objective(header)) }),
        (
            "Trained on",
            html! {
                @if let Some(run) = run { (name(&run.data)) ", " }
                (count(header.rows)) " rows, " (count(header.features)) " features"
            },
        ),
    ];
    if let Some(certificate) = header.certificate {
        rows.push(("Objective value", html! { (number(certificate.objective)) }));
        rows.push(("Lower bound", html! { (number(certificate.dual_objective)) }));
        rows.push(("Relative gap", html! { (format!("{:.2e}", widest_gap(header))) }));
        rows.push(("Support vectors", html! { (count(certificate.support)) }));
    }
    if let Some(solver) = run.and_then(|run| run.solver.as_ref()) {
        rows.push(("Solver", html! { (solver) }));
    }
    if let Some(baseline) = header.baseline {
        rows.push(("Method", html! { (baseline.name()) }));
    }
    rows.push(("Cost", html! {
        (seconds(header.cost.seconds)) ", " (count(header.cost.passes)) @if header.cost.passes == 1 { " pass, " } @else { " passes, " } (bytes(header.cost.bytes_read)) " read"
    }));
    if let Some(calibration) = &header.reporting.calibration {
        rows.push(("Probabilities", html! { (calibration.method) " on " (calibration.folds) " folds" }));
    }
    if let Some(run) = run {
        rows.push(("Seed", html! { (run.seed) }));
    }
    rows.push(("Version", html! { (header.created_by) }));
    html! {
        p.lead { span class={ "status " (status_class(header.status)) } { (status(header)) } " " (sentence(header)) }
        @if let Some(rows) = &model.rows { (measures(&rows.measures)) }
        (facts(&rows))
        (command(run.and_then(|run| run.command.as_deref())))
    }
}

fn command(text: Option<&str>) -> Markup {
    html! { @if let Some(text) = text { pre.command { code { (text) } } } }
}

/// The most telling measures, large.
fn measures(all: &[Measure]) -> Markup {
    html! {
        ul.tiles {
            @for measure in all.iter().take(7) {
                li { strong { (value_of(measure)) } span { (measure.name) } }
            }
        }
    }
}

pub fn value_of(measure: &Measure) -> String {
    if measure.is_share { percent(measure.value) } else { number(measure.value) }
}

/// Several models side by side.
fn comparison(models: &[ModelReport]) -> Markup {
    let mut names: Vec<&str> = Vec::new();
    for measure in models.iter().filter_map(|model| model.rows.as_ref()).flat_map(|rows| &rows.measures) {
        if !names.contains(&measure.name.as_str()) {
            names.push(&measure.name);
        }
    }
    let of = |model: &ModelReport, wanted: &str| {
        let found = model.rows.as_ref()?.measures.iter().find(|measure| measure.name == wanted)?;
        Some(value_of(found))
    };
    html! {
        div.scroll { table {
            thead { tr {
                th { "Model" } th { "Status" } th.number { "Objective" } th.number { "Gap" } th.number { "Weights" }
                th.number { "Seconds" } th.number { "Read" }
                @for name in &names { th.number { (name) } }
            } }
            tbody { @for (place, model) in models.iter().enumerate() {
                tr {
                    th { span class={ "swatch color" (place % 8) } {} " " (name(&model.name)) }
                    td { (status(&model.header)) }
                    td.number { @if let Some(certificate) = model.header.certificate { (number(certificate.objective)) } }
                    td.number { @if model.header.certificate.is_some() { (format!("{:.1e}", widest_gap(&model.header))) } }
                    td.number { (count(model.weights.nonzero)) }
                    td.number { (number(model.header.cost.seconds)) }
                    td.number { (bytes(model.header.cost.bytes_read)) }
                    @for name in &names { td.number { (of(model, name).unwrap_or_default()) } }
                }
            } }
        } }
    }
}

/// The relative gap; of several models in one file, the widest.
fn widest_gap(header: &Header) -> f64 {
    let all = header.certificates.iter().chain(&header.certificate);
    all.map(|certificate| certificate.relative_gap()).fold(0.0, f64::max)
}

pub fn status(header: &Header) -> &'static str {
    match header.status {
        Status::Converged => "converged",
        Status::OutOfPasses if header.baseline.is_some() => "all passes made",
        Status::OutOfPasses => "not converged: out of passes",
        Status::OutOfTime | Status::OutOfPatience => "not converged: out of time",
        Status::Interrupted => "interrupted",
        Status::Streamed => "one pass over a stream",
    }
}

fn status_class(status: Status) -> &'static str {
    match status {
        Status::Converged => "good",
        Status::Streamed => "plain",
        _ => "warn",
    }
}

/// What the certificate says, for someone who has never heard of duality.
pub fn sentence(header: &Header) -> String {
    let Some(certificate) = header.certificate else {
        return "A stream can be read only once, so nothing proves how far these weights are from the best possible ones."
            .into();
    };
    let gap = widest_gap(header);
    let [value, bound] = apart(certificate.objective, certificate.dual_objective);
    let outliers = if header.objective.truncate.is_some() { ", outliers aside" } else { "" };
    let several = if header.certificates.len() > 1 { " of any class" } else { "" };
    match gap {
        gap if gap < 1e-9 => format!(
            "It is proven that no weights whatever do better{outliers}: the objective is {value}, which is the least possible \
             value up to rounding."
        ),
        gap if gap < 1.0 => format!(
            "It is proven that no weights whatever do much better{outliers}: the objective is {value}, and nothing can bring it \
             below {bound}. The model{several} is at most {} above the optimum.",
            percent(gap)
        ),
        _ => format!(
            "Little is proven of these weights{outliers}: the objective is {value}, and all that is known is that nothing can bring \
             it below {bound}. Train longer, or with more memory."
        ),
    }
}

/// Two numbers with as many digits as it takes to see that they differ.
fn apart(a: f64, b: f64) -> [String; 2] {
    let plain = [a, b].map(number);
    let exact = |digits: usize| [a, b].map(|x| format!("{x:.digits$}"));
    match plain[0] == plain[1] && a != b && a.abs() >= 1e-3 {
        true => (1..=9).map(exact).find(|pair| pair[0] != pair[1]).unwrap_or(plain),
        false => plain,
    }
}

fn task(header: &Header) -> String {
    match &header.objective.targets {
        Targets::Binary { names, .. } => format!("two classes: {} and {}", names[0], names[1]),
        Targets::Classes { classes, multiclass } => format!("{} classes, {}", classes.len(), multiclass.name()),
        Targets::OneOf { class, classes } => format!("{} against all others", classes.names[*class as usize]),
        Targets::Numbers => "a number".into(),
        Targets::Several { names } => format!("{} numbers: {}", names.len(), names.join(", ")),
    }
}

pub fn objective(header: &Header) -> String {
    let objective = &header.objective;
    let cut = objective.truncate.map_or(String::new(), |s| format!(" cut off at {}", 1.0 + s));
    let constant = match (objective.intercept, objective.bias) {
        (true, _) => "free intercept".to_string(),
        (false, 0.0) => "no intercept".to_string(),
        (false, bias) => format!("constant feature {bias}"),
    };
    let (loss, penalty) = (objective.loss.name(), objective.penalty.describe());
    format!("{loss} loss{cut}, C = {}, {penalty}, {constant}", number(objective.c))
}
