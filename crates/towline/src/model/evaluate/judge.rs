//! Judges predictions of any kind, a row at a time.
use super::binary::BinaryRows;
use super::{
    BinaryQuality, ClassCounts, ClassQuality, ClassRow, Metric, MetricError, NumberQuality, SeveralQuality,
    SeveralSums, Threshold,
};
use crate::budget::{Budget, BudgetError, Reservation};
use crate::model::chances::Chances;
use crate::objective::Targets;
use crate::predict;

/// How good a model is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Quality {
    /// Of two classes.
    Binary(BinaryQuality),
    /// Of many classes.
    Classes(ClassQuality),
    /// Of numbers.
    Numbers(NumberQuality),
    /// Of several numbers a row.
    Several(SeveralQuality),
}

impl Quality {
    /// One of the measures; none where the rows do not say.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        match self {
            Quality::Binary(quality) => quality.get(metric),
            Quality::Classes(quality) => quality.get(metric),
            Quality::Numbers(quality) => quality.get(metric),
            Quality::Several(quality) => quality.get(metric),
        }
    }

    /// Rows looked at.
    pub fn rows(&self) -> u64 {
        match self {
            Quality::Binary(quality) => quality.rows,
            Quality::Classes(quality) => quality.rows,
            Quality::Numbers(quality) => quality.rows,
            Quality::Several(quality) => quality.rows,
        }
    }
}

/// A row with its scores and what is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// One score, or one for each class or target.
    pub scores: &'a [f64],
    /// The class, as the targets number them, if it is one of them.
    pub class: Option<usize>,
    /// The first target.
    pub label: f64,
    /// Further ones.
    pub further: &'a [f64],
    /// What the row weighs.
    pub weight: f64,
}

/// Judges rows as they come.
#[derive(Debug)]
pub struct Judge<'a> {
    targets: &'a Targets,
    chances: Option<Chances<'a>>,
    threshold: Option<Threshold>,
    seen: Seen,
    /// Probabilities of the row at hand.
    now: Vec<f64>,
    paid: Reservation,
}

#[derive(Debug)]
enum Seen {
    Binary(BinaryRows),
    Classes(ClassCounts),
    Numbers(SeveralSums),
}

/// What each row of two classes takes: growing by doubling holds the old and the new list for a moment, and where
/// probabilities are ranked they are a copy.
const ROW_BYTES: u64 = 48;

/// Classes that the own one has to be among, unless somebody says otherwise.
const TOP: u32 = 5;

impl<'a> Judge<'a> {
    /// No rows yet. Of two classes `positive` is the one that is reported, by its place among the names; a table of all
    /// pairs of many classes is kept if wanted.
    pub fn new(
        targets: &'a Targets,
        chances: Option<Chances<'a>>,
        positive: usize,
        table: bool,
        budget: &Budget,
    ) -> Result<Judge<'a>, BudgetError> {
        let mut paid = budget.reserve("scores", 0)?;
        let seen = match targets {
            Targets::Binary { .. } | Targets::OneOf { .. } => {
                Seen::Binary(BinaryRows::new(positive, chances.is_some()))
            }
            Targets::Classes { classes, .. } => {
                paid.grow_to(ClassCounts::bytes(classes.len(), table))?;
                Seen::Classes(ClassCounts::new(classes.len(), chances.is_some(), TOP, table))
            }
            Targets::Several { names } => Seen::Numbers(SeveralSums::new(names)),
            Targets::Numbers => Seen::Numbers(SeveralSums::new(&[String::new()])),
        };
        Ok(Judge { targets, chances, threshold: None, seen, now: Vec::new(), paid })
    }

    /// The most that is kept of a row, whatever the targets.
    pub const MOST_ROW_BYTES: u64 = ROW_BYTES;

    /// What is kept of each row of such targets.
    pub fn row_bytes(targets: &Targets) -> u64 {
        if matches!(targets, Targets::Binary { .. } | Targets::OneOf { .. }) { ROW_BYTES } else { 0 }
    }

    /// The same without keeping rows, for what needs no ranks and no threshold.
    pub fn without_ranks(mut self) -> Judge<'a> {
        if let Seen::Binary(rows) = &mut self.seen {
            rows.ranks = false;
        }
        self
    }

    /// The same, so that this metric will be known; refuses one that is not for such targets.
    pub fn for_metric(mut self, metric: Metric) -> Result<Judge<'a>, MetricError> {
        metric.check(self.targets, self.chances.is_some())?;
        if let (Seen::Classes(counts), Metric::Top(k)) = (&mut self.seen, metric) {
            counts.set_top(k);
        }
        Ok(self)
    }

    /// The same with decisions by another threshold, which only two classes have.
    pub fn at(mut self, threshold: Option<Threshold>) -> Judge<'a> {
        self.threshold = threshold;
        self
    }

    /// Adds a row.
    pub fn add(&mut self, row: Judged) -> Result<(), BudgetError> {
        if let Some(chances) = self.chances.filter(|_| !row.scores.is_empty()) {
            chances.write(row.scores, &mut self.now);
        }
        match &mut self.seen {
            Seen::Binary(rows) => {
                if rows.ranks {
                    self.paid.grow_to((rows.rows.len() as u64 + 1) * ROW_BYTES)?;
                }
                let class = match self.targets {
                    Targets::OneOf { class, .. } => row.class.map(|found| usize::from(found == *class as usize)),
                    _ => row.class,
                };
                rows.add(row.scores[0], class, &self.now, row.weight);
            }
            Seen::Classes(counts) => {
                let (truth, predicted) = (row.class, predict::class(row.scores));
                let (scores, chances, weight) = (row.scores, &self.now[..], row.weight);
                counts.add(&ClassRow { truth, predicted, scores, chances, weight });
            }
            Seen::Numbers(sums) => sums.add(row.scores, std::iter::once(&row.label).chain(row.further), row.weight),
        }
        Ok(())
    }

    /// What came of it.
    pub fn finish(self) -> Quality {
        let chance = self.chances.map(|chances| move |score: f64| chances.of_second(score));
        let chance = chance.as_ref().map(|chance| chance as &dyn Fn(f64) -> f64);
        match (self.seen, self.targets) {
            (Seen::Binary(rows), targets) => Quality::Binary(rows.finish(&targets.sides(), self.threshold, chance)),
            (Seen::Classes(counts), targets) => Quality::Classes(counts.finish(targets.names())),
            (Seen::Numbers(sums), Targets::Several { .. }) => Quality::Several(sums.finish()),
            (Seen::Numbers(sums), _) => {
                let several = sums.finish();
                let (rows, rmse, mae, r2) = (several.rows, several.rmse, several.mae, several.r2);
                Quality::Numbers(NumberQuality { rows, rmse, mae, r2 })
            }
        }
    }
}
