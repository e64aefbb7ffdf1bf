//! What the rows are like, and what to do about it.
mod columns;
mod labels;
mod leaks;
#[cfg(test)]
mod tests;

pub use labels::{LabelCount, Labels, TargetRange};
pub use leaks::Leak;

use serde::Serialize;

use super::histogram::Histogram;
use super::labelled::LabelledRows;
use super::weights::{Weight, largest};
use crate::budget::Budget;
use crate::fit::FitError;
use crate::model::Model;
use crate::objective::Targets;
use columns::ColumnSums;
use labels::LabelSums;

/// Names that are shown of features that are alike.
const EXAMPLES: usize = 12;
/// Features whose effects are listed.
const LISTED: usize = 600;
/// Scales that are less far apart are not worth a word.
const FAR_APART: f64 = 1e3;
/// Columns with fewer values say little about their scale.
const FEWEST_VALUES: u64 = 10;
/// A class with a smaller share of the rows is rare.
const RARE: f64 = 0.05;

/// What rows are like.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DataReport {
    /// What they are called.
    pub name: String,
    /// Whether the model was trained on them.
    pub are_training: bool,
    /// How many there are.
    pub rows: u64,
    /// Columns that they have.
    pub features: u64,
    /// Values other than 0.
    pub values: u64,
    /// That as a share of all cells.
    pub density: f64,
    /// Bytes on disk, if they are there.
    pub stored_bytes: Option<u64>,
    /// What the labels are like.
    pub labels: Labels,
    /// How columns are spread by their scale: the decimal logarithm of the root of the mean of squares of what is not 0.
    pub scales: Histogram,
    /// The columns of the smallest and of the largest scale.
    pub extremes: Option<[(String, f64); 2]>,
    /// Features that are the same in all rows, and how many there are.
    pub constant: (Vec<String>, u64),
    /// Features that one row has, and no other.
    pub lonely: u64,
    /// Features that give the label away.
    pub leaks: Vec<Leak>,
    /// What to do.
    pub advice: Vec<Advice>,
}

/// A word of advice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// What was found.
    pub found: String,
    /// What to do about it.
    pub remedy: String,
    /// Features that it is about.
    pub features: Vec<String>,
}

/// What features do to the scores of these rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Effects {
    /// Those with the largest effects.
    pub largest: Vec<Weight>,
}

/// Which rows to look at, and for whom.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// The model.
    pub model: &'a Model,
    /// Whether it was trained on the rows.
    pub are_training: bool,
}

impl DataReport {
    /// Scans the rows once, and once more where a feature seems to give the label away.
    pub fn gather(rows: &LabelledRows, look: Look, budget: &Budget) -> Result<(DataReport, Effects), FitError> {
        let model = look.model;
        let targets = &model.header.objective.targets;
        let columns = rows.columns() as usize;
        let _paid = budget.reserve("sums of columns", ColumnSums::bytes(columns) + rows.scan_bytes())?;
        let mut sums = ColumnSums::new(columns);
        let mut labels = LabelSums::new(targets);
        let mut sample = leaks::Sample::new(rows, targets, budget);
        rows.scan(|info, row, further| {
            let class = if targets.are_numbers() { None } else { rows.class_of(targets, info.label) };
            labels.add(info.label, further);
            sums.add(row, info.label);
            sample.add(info.id, class, row);
        })?;
        let found = match targets.are_numbers() {
            true => sums.correlated(&labels),
            false => sample.finish(rows, targets, &sums, budget)?,
        };
        let effects = effects(model, rows, &sums, budget)?;
        let report = DataReport::of(rows, look, (&sums, &labels), found, budget)?;
        Ok((report, effects))
    }

    fn of(
        rows: &LabelledRows,
        look: Look,
        (sums, labels): (&ColumnSums, &LabelSums),
        found: Vec<leaks::Found>,
        budget: &Budget,
    ) -> Result<DataReport, FitError> {
        let (count, columns) = (rows.rows(), rows.columns());
        let constant: Vec<usize> = (0..columns as usize).filter(|&j| sums.is_constant(j)).collect();
        let scales: Vec<(usize, f64)> = (0..columns as usize)
            .filter(|&j| sums.count(j) >= FEWEST_VALUES.min(count))
            .map(|j| (j, sums.scale(j)))
            .filter(|(_, scale)| *scale > 0.0)
            .collect();
        let by_scale = |a: &&(usize, f64), b: &&(usize, f64)| a.1.total_cmp(&b.1);
        let extremes = scales.iter().min_by(by_scale).zip(scales.iter().max_by(by_scale));
        let wanted = constant.iter().take(EXAMPLES).copied().chain(found.iter().map(|leak| leak.column));
        let wanted = wanted.chain(extremes.iter().flat_map(|(least, most)| [least.0, most.0]));
        let mut names: std::collections::HashMap<usize, String> = wanted.map(|j| (j, String::new())).collect();
        rows.for_each_name(budget, |column, name, _| {
            if let Some(known) = names.get_mut(&column) {
                *known = name.to_string();
            }
        })?;
        let name = |column: usize| names.get(&column).cloned().unwrap_or_default();
        let mut report = DataReport {
            name: rows.name.clone(),
            are_training: look.are_training,
            rows: count,
            features: columns,
            values: sums.values(),
            density: sums.values() as f64 / (count as f64 * columns as f64).max(1.0),
            stored_bytes: rows.disk().map(|store| store.manifest().block_files.iter().map(|file| file.bytes).sum()),
            labels: labels.finish(rows, &look.model.header.objective.targets),
            scales: log_histogram(scales.iter().map(|scale| scale.1)),
            extremes: extremes.map(|(least, most)| [(name(least.0), least.1), (name(most.0), most.1)]),
            constant: (constant.iter().take(EXAMPLES).map(|&j| name(j)).collect(), constant.len() as u64),
            lonely: (0..columns as usize).filter(|&j| sums.count(j) == 1).count() as u64,
            leaks: found
                .into_iter()
                .map(|leak| leak.named(name(leak.column), &look.model.header.objective.targets))
                .collect(),
            advice: Vec::new(),
        };
        report.advice = report.advise(&look);
        Ok(report)
    }

    fn advise(&self, look: &Look) -> Vec<Advice> {
        let mut all = Vec::new();
        let mut say = |found: String, remedy: &str, features: Vec<String>| {
            all.push(Advice { found, remedy: remedy.to_string(), features });
        };
        for leak in &self.leaks {
            say(
                leak.describe(),
                "is it known when a prediction is asked for? If it follows from the label, leave it out with `ignore`",
                vec![leak.feature.clone()],
            );
        }
        if let Some([least, most]) = &self.extremes
            && self.are_training
            && most.1 / least.1 > FAR_APART
            && look.model.header.objective.penalty.lambda() > 0.0
        {
            say(
                format!(
                    "columns differ in scale by {:.0e}: the penalty hardly touches the weights of large ones",
                    most.1 / least.1
                ),
                "pack with `scale(standard)` to make them alike",
                vec![most.0.clone(), least.0.clone()],
            );
        }
        if self.constant.1 > 0 {
            let found = match self.constant.1 {
                1 => "a feature is the same in all rows: it says nothing".to_string(),
                count => format!("{count} features are the same in all rows: they say nothing"),
            };
            say(found, "leave them out with `ignore`, or find out why they do not change", self.constant.0.clone());
        }
        if self.are_training && self.lonely * 4 > self.features && self.lonely > 100 {
            say(
                format!("{} of {} features are those of one row each", self.lonely, self.features),
                "pack with `min_count(2)` for a smaller model that is as good, as a rule",
                Vec::new(),
            );
        }
        if let Labels::Classes { counts, .. } = &self.labels
            && let [.., least] = &counts[..]
            && counts.len() == 2
            && (least.rows as f64) < RARE * self.rows as f64
        {
            let share = 100.0 * least.rows as f64 / self.rows.max(1) as f64;
            say(
                format!("only {share:.2} % of the rows are {}: accuracy says little", least.name),
                "look at average precision, and choose a threshold by what mistakes cost",
                Vec::new(),
            );
        }
        all
    }
}

/// Columns by the logarithm of their scale.
fn log_histogram(scales: impl Iterator<Item = f64> + Clone) -> Histogram {
    let ends = scales.clone().map(f64::log10).fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(x), b.max(x)));
    let range = if ends.0 < ends.1 { [ends.0, ends.1] } else { [ends.0.min(1e9) - 0.5, ends.0.min(1e9) + 0.5] };
    let mut histogram = Histogram::new(if ends.0 > ends.1 { [0.0, 1.0] } else { range }, vec![String::new()]);
    scales.for_each(|scale| histogram.add(scale.log10(), 0));
    histogram
}

/// The features whose values change the scores of these rows most.
fn effects(model: &Model, rows: &LabelledRows, sums: &ColumnSums, budget: &Budget) -> Result<Effects, FitError> {
    let _paid = budget.reserve("weights by column", rows.weight_bytes(model))?;
    let weights = rows.weights(model, budget)?;
    let strongest = |column: usize| {
        let of = weights.of(column);
        (0..of.len()).fold(0, |best, m| if of[m].abs() > of[best].abs() { m } else { best })
    };
    let effect = |column: usize| weights.of(column)[strongest(column)] * sums.deviation(column);
    let order = largest(rows.columns() as usize, LISTED, |column| effect(column).abs());
    let order: Vec<usize> = order.into_iter().filter(|&column| effect(column) != 0.0).collect();
    let places: std::collections::HashMap<usize, usize> = order.iter().enumerate().map(|(at, &j)| (j, at)).collect();
    let weight = |&column: &usize| {
        let output = strongest(column);
        let (weight, effect) = (weights.of(column)[output], Some(effect(column)));
        Weight { feature: String::new(), output, weight, effect }
    };
    let mut largest: Vec<Weight> = order.iter().map(weight).collect();
    rows.for_each_name(budget, |column, name, scaling| {
        if let Some(&at) = places.get(&column) {
            // Weights of the model are for values as they come.
            let raw = largest[at].weight * if scaling.factor != 0.0 { scaling.factor } else { 1.0 };
            (largest[at].feature, largest[at].weight) = (name.to_string(), raw);
        }
    })?;
    Ok(Effects { largest })
}

/// How many classes are told from all others by single features.
fn class_count(targets: &Targets) -> usize {
    match targets {
        Targets::Binary { .. } | Targets::OneOf { .. } => 2,
        Targets::Classes { classes, .. } => classes.len(),
        _ => 0,
    }
}
