//! Features that give the label away: with one of them alone, rows are told apart nearly without a mistake.
//!
//! The area under the ROC curve of a feature needs all of its values in order. A sample of the rows tells which features
//! are worth that; for those few, all rows are looked at again.
use serde::Serialize;

use super::class_count;
use super::columns::ColumnSums;
use crate::block::Row;
use crate::budget::{Budget, Reservation};
use crate::evaluate::ranking::{self, Ranked};
use crate::fit::FitError;
use crate::objective::Targets;
use crate::report::labelled::LabelledRows;

/// A feature with a larger area gives the label away.
pub const LARGEST_AUC: f64 = 0.99;
/// In a sample, a smaller one is worth a look at all rows.
const WORTH_A_LOOK: f64 = 0.975;
/// Rows and values of the sample.
const SAMPLE_ROWS: u64 = 50_000;
const SAMPLE_VALUES: u64 = 1 << 21;
/// A class with fewer rows shows nothing.
const FEWEST_ROWS: u64 = 10;
/// More classes than this are not told apart one by one.
const MOST_CLASSES: usize = 32;
/// Features that are looked at in all rows, and named.
const MOST: usize = 8;

/// A feature that gives the label away.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Leak {
    /// What it is called.
    pub feature: String,
    /// The area under its ROC curve, of at least one half, or its correlation with the number.
    pub value: f64,
    /// The class that it tells from all others; none for a number.
    pub class: Option<String>,
    /// Whether all rows were looked at, and not a sample.
    pub is_exact: bool,
}

impl Leak {
    /// In a sentence.
    pub fn describe(&self) -> String {
        let rows = if self.is_exact { "" } else { " in a sample of the rows" };
        match &self.class {
            Some(class) => format!("one feature alone tells {class} from the rest (AUC {:.4}{rows})", self.value),
            None => format!("one feature alone nearly is the number to predict (correlation {:.4}{rows})", self.value),
        }
    }
}

/// The same by its column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    pub column: usize,
    pub value: f64,
    pub class: Option<usize>,
    pub is_exact: bool,
}

impl Found {
    pub fn named(self, feature: String, targets: &Targets) -> Leak {
        let sides = targets.sides();
        let name = |class: usize| match targets {
            Targets::Classes { classes, .. } => classes.names[class].clone(),
            _ => sides[class].clone(),
        };
        Leak { feature, value: self.value, class: self.class.map(name), is_exact: self.is_exact }
    }
}

/// A value of a row of the sample.
#[derive(Clone, Copy)]
struct Cell {
    column: u32,
    class: u32,
    value: f64,
}

/// Some of the rows, spread evenly whatever their order.
pub(super) struct Sample {
    /// Rows with a smaller hash are taken.
    below: u64,
    cells: Vec<Cell>,
    /// Rows of each class.
    rows: Vec<u64>,
    has_all: bool,
    /// None where there are no classes, too many, or no memory.
    paid: Option<Reservation>,
}

impl Sample {
    pub fn new(rows: &LabelledRows, targets: &Targets, budget: &Budget) -> Sample {
        let classes = class_count(targets);
        let per_row = (rows.values() as f64 / rows.rows().max(1) as f64).max(1.0);
        let wanted = (SAMPLE_ROWS as f64).min(SAMPLE_VALUES as f64 / per_row).max(1.0);
        let share = wanted / rows.rows().max(1) as f64;
        let has_all = share >= 1.0;
        // Twice what is expected: the sample is a random number of rows.
        let cells = if has_all { rows.values() } else { (2.0 * wanted * per_row) as u64 + 1000 };
        let paid = match (2..=MOST_CLASSES).contains(&classes) {
            true => {
                budget.reserve("a sample of the rows", cells * (size_of::<Cell>() + size_of::<Ranked>()) as u64).ok()
            }
            false => None,
        };
        let below = if has_all { u64::MAX } else { (share * u64::MAX as f64) as u64 };
        Sample { below, cells: Vec::new(), rows: vec![0; classes], has_all, paid }
    }

    pub fn add(&mut self, id: u64, class: Option<usize>, row: &Row) {
        let Some(class) = class.filter(|_| self.paid.is_some()) else { return };
        let hash = xxhash_rust::xxh3::xxh3_64(&id.to_le_bytes());
        let room =
            self.paid.as_ref().map_or(0, Reservation::bytes) as usize / (size_of::<Cell>() + size_of::<Ranked>());
        if (!self.has_all && hash >= self.below) || self.cells.len() + row.len() > room {
            return;
        }
        self.rows[class] += 1;
        row.for_each(|column, value| {
            if value != 0.0 {
                self.cells.push(Cell { column, class: class as u32, value });
            }
        });
    }

    /// Features with a large area, the largest first.
    pub fn finish(
        mut self,
        rows: &LabelledRows,
        targets: &Targets,
        sums: &ColumnSums,
        budget: &Budget,
    ) -> Result<Vec<Found>, FitError> {
        self.cells.sort_unstable_by(|a, b| a.column.cmp(&b.column).then(b.value.total_cmp(&a.value)));
        let least = if self.has_all { LARGEST_AUC } else { WORTH_A_LOOK };
        let mut found = Vec::new();
        let mut ranked = Vec::new();
        for cells in self.cells.chunk_by(|a, b| a.column == b.column) {
            let values = cells.iter().map(|cell| (cell.value, cell.class as usize));
            let best = best_area(values, &self.rows, &mut ranked);
            if let Some((class, value)) = best.filter(|(_, area)| *area > least) {
                found.push(Found {
                    column: cells[0].column as usize,
                    value,
                    class: Some(class),
                    is_exact: self.has_all,
                });
            }
        }
        found.sort_by(|a, b| b.value.total_cmp(&a.value));
        found.truncate(MOST);
        if self.has_all || found.is_empty() {
            return Ok(found);
        }
        drop(std::mem::take(&mut self.cells));
        self.paid = None;
        look_at_all(rows, targets, sums, found, budget)
    }
}

/// The class that values tell from the rest best, and the area, of at least one half. `rows` of each class; those
/// without a value have 0.
fn best_area(
    values: impl Iterator<Item = (f64, usize)> + Clone,
    rows: &[u64],
    ranked: &mut Vec<Ranked>,
) -> Option<(usize, f64)> {
    let all: u64 = rows.iter().sum();
    let has_enough = |class: &usize| rows[*class] >= FEWEST_ROWS && all - rows[*class] >= FEWEST_ROWS;
    // Of two classes, what tells one tells the other.
    let classes = if rows.len() == 2 { 1..2 } else { 0..rows.len() };
    let area = |class: usize| {
        ranked.clear();
        let mut zeros = [all - rows[class], rows[class]];
        for (value, of) in values.clone() {
            ranked.push(Ranked::new(value, of == class, 1.0));
            zeros[usize::from(of == class)] -= 1;
        }
        for (side, &count) in zeros.iter().enumerate().filter(|(_, count)| **count > 0) {
            ranked.push(Ranked::new(0.0, side == 1, count as f64));
        }
        ranking::sort(ranked);
        let area = ranking::auc(ranked)?;
        Some((class, area.max(1.0 - area)))
    };
    classes.filter(has_enough).filter_map(area).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Looks at the values of these features in all rows, as many of them as there is memory for.
fn look_at_all(
    rows: &LabelledRows,
    targets: &Targets,
    sums: &ColumnSums,
    mut found: Vec<Found>,
    budget: &Budget,
) -> Result<Vec<Found>, FitError> {
    let mut places = std::collections::HashMap::new();
    let mut paid = Vec::new();
    for (place, leak) in found.iter().enumerate() {
        let bytes = sums.count(leak.column) * (16 + size_of::<Ranked>()) as u64;
        if let Ok(reserved) = budget.reserve("values of a feature", bytes) {
            paid.push(reserved);
            places.insert(leak.column as u32, place);
        }
    }
    let mut values: Vec<Vec<(f64, usize)>> = vec![Vec::new(); found.len()];
    let mut counts = vec![0u64; class_count(targets)];
    rows.scan(|info, row, _| {
        let Some(class) = rows.class_of(targets, info.label) else { return };
        counts[class] += 1;
        row.for_each(|column, value| {
            if let Some(&place) = places.get(&column)
                && value != 0.0
            {
                values[place].push((value, class));
            }
        });
    })?;
    let mut ranked = Vec::new();
    for (place, leak) in found.iter_mut().enumerate().filter(|(_, leak)| places.contains_key(&(leak.column as u32))) {
        if let Some((class, value)) = best_area(values[place].iter().copied(), &counts, &mut ranked) {
            *leak = Found { value, class: Some(class), is_exact: true, ..*leak };
        }
    }
    found.retain(|leak| leak.value > LARGEST_AUC);
    found.sort_by(|a, b| b.value.total_cmp(&a.value));
    Ok(found)
}
