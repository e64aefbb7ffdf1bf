//! How gap, objective and test score went along.
use maud::{Markup, html};

use super::chart::{Axis, Chart, Charts, Draw, Mark, Series, Unit};
use super::{hint, name, spoken};
use crate::engine::{Remark, RunRecord, StepRecord};
use crate::objective::Targets;
use crate::report::Report;
use crate::report::short::{bytes, count, seconds};

/// What runs are told by.
struct Told<'a> {
    name: &'a str,
    color: usize,
    run: &'a RunRecord,
}

/// An axis to choose.
struct Choice {
    id: &'static str,
    label: &'static str,
    unit: Unit,
    of: fn(&StepRecord) -> f64,
    of_remark: fn(&Remark) -> f64,
}

const CHOICES: [Choice; 3] = [
    Choice {
        id: "seconds",
        label: "seconds",
        unit: Unit::Seconds,
        of: |step| step.seconds,
        of_remark: |remark| remark.seconds,
    },
    Choice {
        id: "passes",
        label: "passes",
        unit: Unit::Plain,
        of: |step| step.passes as f64,
        of_remark: |remark| remark.passes as f64,
    },
    Choice {
        id: "bytes",
        label: "bytes read",
        unit: Unit::Bytes,
        of: |step| step.bytes_read as f64,
        of_remark: |remark| remark.bytes_read as f64,
    },
];

pub fn body(report: &Report, charts: &mut Charts) -> Option<Markup> {
    let models = report.models.iter().enumerate().filter_map(|(color, model)| {
        let run = model.header.run.as_deref().filter(|run| !run.steps.is_empty())?;
        Some(Told { name: &model.name, color, run })
    });
    let path = report.path.as_ref().filter(|path| !path.run.steps.is_empty());
    let path = path.map(|path| Told { name: "the path", color: report.models.len(), run: &path.run });
    let all: Vec<Told> = models.chain(path).collect();
    if all.is_empty() {
        let is_unknown = !report.models.is_empty();
        return is_unknown.then(|| {
            hint("The model does not say how its run went: it is a stream, or an older version has written it. Name its trace.")
        });
    }
    let has_tests = all.iter().any(|told| told.run.steps.iter().any(|step| step.test.is_some()));
    let numbers = report
        .models
        .iter()
        .any(|model| matches!(model.header.objective.targets, Targets::Numbers | Targets::Several { .. }));
    let score = if numbers { "test error (RMSE)" } else { "test accuracy" };
    let choices: Vec<&Choice> = CHOICES.iter().filter(|choice| is_worth(choice, &all)).collect();
    let chosen = choices.first().map_or("", |choice| choice.id);
    Some(html! {
        div.choices data-for="convergence" role="radiogroup" aria-label="horizontal axis" {
            @for choice in &choices {
                label {
                    input type="radio" name="axis" value=(choice.id) checked[choice.id == chosen];
                    " " (choice.label)
                }
            }
        }
        div.grid {
            figure { figcaption { "Relative gap: how far above the optimum at most" }
                @for choice in &choices { (charts.place("relative gap", choice.id, gap(&all, choice))) } }
            figure { figcaption { "Objective, and its lower bound" }
                @for choice in &choices { (charts.place("objective", choice.id, objective(&all, choice))) } }
            @if has_tests {
                figure { figcaption { (score) }
                    @for choice in &choices { (charts.place(score, choice.id, test(&all, choice, score))) } }
            }
        }
        @if !has_tests {
            (hint("Scores of test rows on the way are drawn where training was given test rows, and how often to score them."))
        }
        (remarks(&all))
    })
}

/// An axis on which something moves.
fn is_worth(choice: &Choice, all: &[Told]) -> bool {
    all.iter().any(|told| {
        let mut places = told.run.steps.iter().map(choice.of).filter(|&place| place > 0.0);
        let first = places.next();
        first.is_some_and(|first| choice.id == "seconds" || places.any(|place| place > first))
    })
}

/// A place on a logarithmic axis; what happened before anything was counted is at its beginning.
fn axis(choice: &Choice) -> Axis {
    Axis::new(choice.label, choice.unit).log()
}

fn points<'a>(
    told: &'a Told,
    choice: &'a Choice,
    value: impl Fn(&StepRecord) -> Option<f64> + 'a,
) -> impl Iterator<Item = (f64, f64)> + 'a {
    let steps = told.run.steps.iter().filter_map(move |step| Some(((choice.of)(step), value(step)?)));
    steps.filter(|(place, _)| *place > 0.0)
}

fn label(told: &Told, all: &[Told], what: &str) -> String {
    if all.len() > 1 { format!("{}: {what}", told.name) } else { what.to_string() }
}

fn marks(all: &[Told], choice: &Choice) -> Vec<Mark> {
    let mark = |remark: &Remark| Mark { x: (choice.of_remark)(remark), text: short(&remark.text) };
    all.iter().flat_map(|told| told.run.remarks.iter().map(mark)).filter(|mark| mark.x > 0.0).collect()
}

/// The last words of a change of solver.
fn short(text: &str) -> String {
    text.rsplit("going on with ").next().unwrap_or(text).chars().take(28).collect()
}

fn gap(all: &[Told], choice: &Choice) -> Chart {
    let line = |told: &Told| {
        let found = points(told, choice, |step| step.gap.filter(|gap| *gap > 0.0));
        Series::line(&label(told, all, "gap"), found).color(told.color).drawn(Draw::Dots)
    };
    let mut series: Vec<Series> = all.iter().map(line).collect();
    // What was asked for, where all asked for the same.
    let wanted: Vec<f64> = all.iter().filter_map(|told| told.run.tolerance).collect();
    let ends = series.iter().flat_map(|series| &series.x).fold((f64::MAX, f64::MIN), |(a, b), &x| (a.min(x), b.max(x)));
    if let Some(&tolerance) = wanted.first()
        && wanted.len() == all.len()
        && wanted.iter().all(|other| *other == tolerance)
        && ends.0 < ends.1
    {
        series.push(Series::line("tolerance", [(ends.0, tolerance), (ends.1, tolerance)]).color(7).dashed());
    }
    Chart {
        x: axis(choice),
        y: Axis::new("relative gap", Unit::Plain).log(),
        series,
        marks: marks(all, choice),
        ..Chart::default()
    }
}

fn objective(all: &[Told], choice: &Choice) -> Chart {
    let lines = |told: &Told| {
        let found = points(told, choice, |step| step.objective);
        let bound = points(told, choice, |step| step.dual_objective);
        [
            Series::line(&label(told, all, "objective"), found).color(told.color).drawn(Draw::Dots),
            Series::line(&label(told, all, "lower bound"), bound).color(told.color).dashed(),
        ]
    };
    let series: Vec<Series> = all.iter().flat_map(lines).filter(|series| !series.x.is_empty()).collect();
    let is_positive = series.iter().flat_map(|series| &series.y).flatten().all(|&y| y > 0.0);
    let y = Axis { log: is_positive, ..Axis::new("objective", Unit::Plain) };
    Chart { x: axis(choice), y, series, marks: marks(all, choice), ..Chart::default() }
}

fn test(all: &[Told], choice: &Choice, score: &str) -> Chart {
    let line = |told: &Told| {
        let found = points(told, choice, |step| step.test);
        Series::line(&label(told, all, "test"), found).color(told.color).drawn(Draw::Dots)
    };
    let unit = if score.contains("accuracy") { Unit::Share } else { Unit::Plain };
    Chart { x: axis(choice), y: Axis::new(score, unit), series: all.iter().map(line).collect(), ..Chart::default() }
}

/// What runs said, and when.
fn remarks(all: &[Told]) -> Markup {
    html! {
        @for told in all {
            @if let Some(solver) = &told.run.solver {
                p.note { @if all.len() > 1 { (name(told.name)) ": " } "The weights were found by the solver " strong { (solver) } "." }
            }
            @if !told.run.remarks.is_empty() {
                ul.remarks { @for remark in &told.run.remarks {
                    li { span.when { "after " (seconds(remark.seconds)) ", " (count(remark.passes)) " passes, " (bytes(remark.bytes_read)) } " " (spoken(&remark.text)) }
                } }
            }
        }
    }
}
