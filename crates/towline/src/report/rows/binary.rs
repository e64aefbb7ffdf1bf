//! Curves and tables of two classes.
use serde::Serialize;

use super::Measure;
use crate::budget::{Budget, BudgetError, Reservation};
use crate::evaluate::confusion::{Confusion, ratio};
use crate::evaluate::ranking::{self, Ranked, by_score};
use crate::evaluate::{BinaryQuality, Threshold};
use crate::report::histogram::Histogram;
use crate::report::thin::{Curve, Thinner};

/// Bins of the calibration curve, with about as many rows each.
const CALIBRATION_BINS: usize = 12;
/// Shares of the rows that lift is told of.
const LIFT_SHARES: [f64; 6] = [0.01, 0.05, 0.1, 0.2, 0.3, 0.5];
/// Shares of the rows at which thresholds are shown where there are no probabilities.
const TAKEN_SHARES: [f64; 9] = [0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99];
/// z of an interval that holds the truth in 95 of 100 cases.
const Z95: f64 = 1.959964;

/// What there is to see of two classes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BinaryRows {
    /// The two classes, in the order of the model.
    pub classes: [String; 2],
    /// The one that precision and recall are about.
    pub positive: String,
    /// Rows by true class and predicted class, in that order.
    pub confusion: [[u64; 2]; 2],
    /// The share of positive rows.
    pub base_rate: f64,
    /// The share of positives that are found against the share of negatives that are taken with them.
    pub roc: Curve,
    /// The area under it.
    pub auc: Option<f64>,
    /// Precision against recall.
    pub precision_recall: Curve,
    /// Average precision, the area under it.
    pub pr_auc: Option<f64>,
    /// The share of positives that are found against the share of rows that are taken, the highest scores first.
    pub gains: Curve,
    /// How many times as many positives are found as by chance.
    pub lift: Vec<LiftRow>,
    /// How often rows are positive, against how probable the model calls that; none if it has no probabilities.
    pub calibration: Vec<CalibrationBin>,
    /// Scores of the rows of each class, negative ones first.
    pub margins: Histogram,
    /// What decisions are like at some thresholds, the highest first.
    pub thresholds: Vec<ThresholdRow>,
    /// Whether thresholds are probabilities.
    pub has_probabilities: bool,
    /// What mistakes cost: negative rows that are called positive, and positive ones that are called negative.
    pub costs: [f64; 2],
}

/// Rows with about the same probability.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CalibrationBin {
    /// The mean probability.
    pub predicted: f64,
    /// The share that is positive.
    pub observed: f64,
    /// Where that share lies in 95 of 100 cases, by Wilson's interval.
    pub interval: [f64; 2],
    /// How many rows.
    pub rows: u64,
}

/// What taking a share of the rows finds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiftRow {
    /// The share of rows that is taken.
    pub taken: f64,
    /// The share of positives that is found.
    pub found: f64,
    /// That as a multiple of what chance would find.
    pub lift: f64,
}

/// Decisions at a threshold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThresholdRow {
    /// Rows above it are called positive.
    pub threshold: f64,
    /// Why it is shown, if it is a special one.
    pub why: Option<String>,
    /// The share of rows that are called positive.
    pub taken: f64,
    /// The share of those that are positive.
    pub precision: f64,
    /// The share of positives that are called so.
    pub recall: f64,
    /// The harmonic mean of both.
    pub f1: f64,
    /// What the mistakes cost.
    pub cost: f64,
}

impl BinaryRows {
    /// The areas under the curves.
    pub fn areas(&self) -> impl Iterator<Item = Measure> {
        let area = |name: &str, value: Option<f64>| {
            value.map(|value| Measure { name: name.to_string(), value, is_share: false })
        };
        area("AUC", self.auc).into_iter().chain(area("average precision", self.pr_auc))
    }
}

/// All rows with their scores.
pub(super) struct Ranks {
    positive: usize,
    rows: Vec<Ranked>,
    _paid: Reservation,
}

impl Ranks {
    pub fn new(positive: usize, rows: u64, budget: &Budget) -> Result<Ranks, BudgetError> {
        let paid = budget.reserve("scores", rows * size_of::<Ranked>() as u64)?;
        Ok(Ranks { positive, rows: Vec::with_capacity(rows as usize), _paid: paid })
    }

    /// Adds a row with the score of the second class.
    pub fn add(&mut self, score: f64, class: usize) {
        let score = if self.positive == 1 { score } else { -score };
        self.rows.push(Ranked::new(score, class == self.positive, 1.0));
    }

    /// `chance` is the probability of the second class.
    pub fn finish(
        mut self,
        quality: &BinaryQuality,
        costs: [f64; 2],
        chance: Option<&dyn Fn(f64) -> f64>,
    ) -> BinaryRows {
        ranking::sort(&mut self.rows);
        let margins = margins(&self.rows, &quality.classes, self.positive);
        let (roc, precision_recall, gains) = curves(&self.rows);
        let (auc, pr_auc) = (ranking::auc(&self.rows), ranking::average_precision(&self.rows));
        let [positives, negatives] = ranking::weights(&self.rows);
        let lift = LIFT_SHARES.iter().filter_map(|&share| lift(&self.rows, share, positives)).collect();
        // A probability never falls where the score rises: the order stays, and no second list is needed.
        let of_positive = |score: f64| match (chance, self.positive) {
            (None, _) => score,
            (Some(chance), 1) => chance(score),
            (Some(chance), _) => 1.0 - chance(-score),
        };
        let at_zero = of_positive(0.0);
        self.rows.iter_mut().for_each(|row| row.score = of_positive(row.score));
        BinaryRows {
            classes: quality.classes.clone(),
            positive: quality.positive.clone(),
            confusion: quality.confusion,
            base_rate: ratio(positives, positives + negatives),
            roc,
            auc,
            precision_recall,
            pr_auc,
            gains,
            lift,
            calibration: if chance.is_some() { calibration(&self.rows) } else { Vec::new() },
            margins,
            thresholds: thresholds(&self.rows, at_zero, costs, chance.is_some()),
            has_probabilities: chance.is_some(),
            costs,
        }
    }
}

/// ROC, precision against recall, and gains, from the highest score to the lowest.
fn curves(sorted: &[Ranked]) -> (Curve, Curve, Curve) {
    let [positives, negatives] = ranking::weights(sorted);
    if positives <= 0.0 || negatives <= 0.0 {
        return Default::default();
    }
    let (mut roc, mut pr, mut gains) = (Thinner::new(0.0, 1.0), Thinner::new(0.0, 1.0), Thinner::new(0.0, 1.0));
    roc.add(0.0, 0.0);
    gains.add(0.0, 0.0);
    let (mut found, mut taken) = (0.0, 0.0);
    for (number, (_, [positive, negative])) in by_score(sorted).enumerate() {
        found += positive;
        taken += positive + negative;
        let (recall, precision) = (found / positives, found / taken);
        roc.add((taken - found) / negatives, recall);
        gains.add(taken / (positives + negatives), recall);
        if number == 0 {
            pr.add(0.0, precision);
        }
        pr.add(recall, precision);
    }
    (roc.finish(), pr.finish(), gains.finish())
}

/// What taking the first rows finds; ties share what there is to find.
fn lift(sorted: &[Ranked], share: f64, positives: f64) -> Option<LiftRow> {
    let wanted = share * sorted.len() as f64;
    if wanted < 1.0 || positives <= 0.0 {
        return None;
    }
    let (mut found, mut taken) = (0.0, 0.0);
    for (_, [positive, negative]) in by_score(sorted) {
        let part = ((wanted - taken) / (positive + negative)).min(1.0);
        found += part * positive;
        taken += part * (positive + negative);
        if part < 1.0 {
            break;
        }
    }
    let found = found / positives;
    Some(LiftRow { taken: share, found, lift: found / share })
}

/// Bins of about as many rows each, of equal probabilities never two; `sorted` has probabilities.
fn calibration(sorted: &[Ranked]) -> Vec<CalibrationBin> {
    let wanted = sorted.len().div_ceil(CALIBRATION_BINS).max(1);
    let mut bins: Vec<CalibrationBin> = Vec::new();
    let mut first = 0;
    while first < sorted.len() {
        let mut end = (first + wanted).min(sorted.len());
        while end < sorted.len() && sorted[end].score == sorted[end - 1].score {
            end += 1;
        }
        let rows = &sorted[first..end];
        let n = rows.len() as f64;
        let observed = rows.iter().filter(|row| row.is_positive()).count() as f64 / n;
        let predicted = rows.iter().map(|row| row.score).sum::<f64>() / n;
        bins.push(CalibrationBin { predicted, observed, interval: wilson(observed, n), rows: n as u64 });
        first = end;
    }
    bins.reverse();
    bins
}

/// Wilson's interval of a share of n (Wilson 1927, "Probable Inference").
fn wilson(share: f64, n: f64) -> [f64; 2] {
    let z2 = Z95 * Z95;
    let middle = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z95 / (1.0 + z2 / n) * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    [(middle - half).max(0.0), (middle + half).min(1.0)]
}

fn margins(sorted: &[Ranked], classes: &[String; 2], positive: usize) -> Histogram {
    let names = [classes[1 - positive].clone(), classes[positive].clone()];
    let range = Histogram::range(sorted.len(), |k| sorted[sorted.len() - 1 - k].score);
    let mut histogram = Histogram::new(range, names.to_vec());
    sorted.iter().for_each(|row| histogram.add(row.score, usize::from(row.is_positive())));
    histogram
}

fn thresholds(sorted: &[Ranked], at_zero: f64, costs: [f64; 2], has_probabilities: bool) -> Vec<ThresholdRow> {
    if sorted.is_empty() {
        return Vec::new();
    }
    let [false_positive, false_negative] = costs;
    let cost = Threshold::Cost { false_positive, false_negative };
    let mut at: Vec<(f64, Option<&str>)> = vec![
        (at_zero, Some("the model's own")),
        (Threshold::F1.find(sorted), Some("highest F1")),
        (Threshold::Mcc.find(sorted), Some("highest MCC")),
        (cost.find(sorted), Some("least cost")),
    ];
    match has_probabilities {
        true => at.extend((1..10).map(|tenth| (f64::from(tenth) / 10.0, None))),
        false => {
            let place = |share: f64| ((sorted.len() as f64 * share) as usize).min(sorted.len() - 1);
            at.extend(TAKEN_SHARES.map(|share| (sorted[place(share)].score, None)));
        }
    }
    at.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut rows: Vec<ThresholdRow> = Vec::new();
    for (threshold, why) in at {
        if let Some(last) = rows.last_mut().filter(|last| last.threshold == threshold) {
            let both = [last.why.take(), why.map(str::to_string)];
            last.why = both.into_iter().flatten().reduce(|all, one| format!("{all}, {one}"));
            continue;
        }
        // The highest scores come first: what is above the threshold is a beginning.
        let end = sorted.partition_point(|row| row.score > threshold);
        let ([found, taken], [missed, left]) = (ranking::weights(&sorted[..end]), ranking::weights(&sorted[end..]));
        let confusion = Confusion { negative: [left, taken], positive: [missed, found] };
        rows.push(ThresholdRow {
            threshold,
            why: why.map(str::to_string),
            taken: end as f64 / sorted.len() as f64,
            precision: confusion.precision(),
            recall: confusion.recall(),
            f1: confusion.f1(),
            cost: confusion.cost(false_positive, false_negative),
        });
    }
    rows
}
