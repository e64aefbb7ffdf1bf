//! Charts as numbers: what to draw, for a script that draws any of them.
use maud::{Markup, html};
use serde::Serialize;

use crate::report::short::rounded;

/// All charts of a page.
#[derive(Default)]
pub struct Charts(Vec<Chart>);

/// A chart.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Chart {
    /// Given when it gets its place.
    pub id: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
    /// Pairs of series between which the chart is shaded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<[usize; 2]>,
    /// Vertical lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// Whether it is as high as wide, and lower where it is not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub square: bool,
}

/// An axis.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Axis {
    pub label: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub log: bool,
    #[serde(skip_serializing_if = "Unit::is_plain")]
    pub unit: Unit,
    /// From where to where; as the numbers are if it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
}

/// What numbers of an axis are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    #[default]
    Plain,
    Seconds,
    Bytes,
    Share,
    /// Powers of ten.
    Power,
}

impl Unit {
    fn is_plain(&self) -> bool {
        *self == Unit::Plain
    }
}

/// Numbers that are drawn.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Series {
    pub label: String,
    pub x: Vec<f64>,
    pub y: Vec<Option<f64>>,
    pub draw: Draw,
    /// Which of the colours.
    pub color: usize,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dash: bool,
    /// Thin and pale, without a place in the legend.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub faint: bool,
}

/// How numbers are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Draw {
    #[default]
    Line,
    /// A line with a point for each number.
    Dots,
    Points,
    Bars,
}

/// A vertical line with a word.
#[derive(Clone, Debug, Serialize)]
pub struct Mark {
    pub x: f64,
    pub text: String,
}

impl Axis {
    pub fn new(label: &str, unit: Unit) -> Axis {
        Axis { label: label.to_string(), unit, ..Axis::default() }
    }

    pub fn log(self) -> Axis {
        Axis { log: true, ..self }
    }

    pub fn between(self, low: f64, high: f64) -> Axis {
        Axis { range: Some([low, high]), ..self }
    }
}

impl Series {
    pub fn line(label: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
        let (x, y): (Vec<f64>, Vec<f64>) = points.into_iter().filter(|(x, y)| x.is_finite() && y.is_finite()).unzip();
        Series { label: label.to_string(), x, y: y.into_iter().map(Some).collect(), ..Series::default() }
    }

    pub fn color(self, color: usize) -> Series {
        Series { color, ..self }
    }

    pub fn drawn(self, draw: Draw) -> Series {
        Series { draw, ..self }
    }

    pub fn dashed(self) -> Series {
        Series { dash: true, ..self }
    }

    pub fn faint(self) -> Series {
        Series { faint: true, ..self }
    }
}

impl Charts {
    /// Adds a chart, and returns the place where it is drawn. Nothing where it has no numbers.
    pub fn add(&mut self, caption: &str, chart: Chart) -> Markup {
        let Some(id) = self.put(chart) else { return html! {} };
        html! { figure { figcaption { (caption) } div.chart id=(id) role="img" aria-label=(caption) {} } }
    }

    /// The same without a caption, as one of several that take turns.
    pub fn place(&mut self, label: &str, choice: &str, chart: Chart) -> Markup {
        let Some(id) = self.put(chart) else { return html! {} };
        html! { div.chart id=(id) role="img" aria-label=(label) data-choice=(choice) {} }
    }

    fn put(&mut self, mut chart: Chart) -> Option<String> {
        if chart.series.iter().all(|series| series.x.is_empty()) {
            return None;
        }
        for series in &mut chart.series {
            series.x.iter_mut().for_each(|x| *x = rounded(*x));
            series.y.iter_mut().flatten().for_each(|y| *y = rounded(*y));
        }
        chart.id = format!("chart{}", self.0.len());
        let id = chart.id.clone();
        self.0.push(chart);
        Some(id)
    }

    /// For the script, as the text of an element: nothing in it can end the element.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string(&self.0).unwrap_or_else(|_| "[]".to_string());
        text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
    }
}
