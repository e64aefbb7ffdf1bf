//! Sums over the values of each column.
use super::labels::LabelSums;
use super::leaks::Found;
use crate::block::Row;

/// Features with a correlation of at least this with the label give it away.
const LARGEST_CORRELATION: f64 = 0.99;
/// Fewer rows than this show nothing.
const FEWEST_ROWS: u64 = 10;
/// Features that are named.
const MOST: usize = 8;

/// What is known of a column.
#[derive(Clone, Copy)]
struct Sums {
    /// Values other than 0.
    count: u64,
    sum: f64,
    squares: f64,
    /// Of the values other than 0.
    least: f64,
    most: f64,
    /// Σ value · label.
    with_label: f64,
}

/// What is known of all columns.
pub(super) struct ColumnSums {
    columns: Vec<Sums>,
    rows: u64,
}

impl ColumnSums {
    pub fn bytes(columns: usize) -> u64 {
        (columns * size_of::<Sums>()) as u64
    }

    pub fn new(columns: usize) -> Self {
        let none = Sums { count: 0, sum: 0.0, squares: 0.0, least: f64::MAX, most: f64::MIN, with_label: 0.0 };
        ColumnSums { columns: vec![none; columns], rows: 0 }
    }

    pub fn add(&mut self, row: &Row, label: f64) {
        self.rows += 1;
        row.for_each(|column, value| {
            if value != 0.0 {
                let sums = &mut self.columns[column as usize];
                sums.count += 1;
                sums.sum += value;
                sums.squares += value * value;
                (sums.least, sums.most) = (sums.least.min(value), sums.most.max(value));
                sums.with_label += value * label;
            }
        });
    }

    /// Values other than 0.
    pub fn count(&self, column: usize) -> u64 {
        self.columns[column].count
    }

    /// The same of all columns.
    pub fn values(&self) -> u64 {
        self.columns.iter().map(|sums| sums.count).sum()
    }

    /// Whether all rows have the same value.
    pub fn is_constant(&self, column: usize) -> bool {
        let Sums { count, least, most, .. } = self.columns[column];
        count == 0 || (count == self.rows && least == most)
    }

    /// The root of the mean of squares of what is not 0.
    pub fn scale(&self, column: usize) -> f64 {
        let Sums { count, squares, .. } = self.columns[column];
        (squares / count.max(1) as f64).sqrt()
    }

    /// The standard deviation.
    pub fn deviation(&self, column: usize) -> f64 {
        let Sums { sum, squares, .. } = self.columns[column];
        let n = self.rows.max(1) as f64;
        (squares / n - (sum / n) * (sum / n)).max(0.0).sqrt()
    }

    /// Columns from which the label follows nearly by a straight line.
    pub fn correlated(&self, labels: &LabelSums) -> Vec<Found> {
        let n = self.rows as f64;
        let (label_sum, label_squares) = labels.first_sums();
        let label_deviation = (label_squares / n - (label_sum / n) * (label_sum / n)).max(0.0).sqrt();
        if self.rows < FEWEST_ROWS || label_deviation <= 0.0 {
            return Vec::new();
        }
        let correlation = |column: usize| {
            let Sums { sum, with_label, .. } = self.columns[column];
            let covariance = with_label / n - sum / n * (label_sum / n);
            covariance / (self.deviation(column) * label_deviation)
        };
        let all = (0..self.columns.len()).map(|column| (column, correlation(column)));
        let mut found: Vec<(usize, f64)> =
            all.filter(|(_, r)| r.is_finite() && r.abs() > LARGEST_CORRELATION).collect();
        found.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        found.truncate(MOST);
        found.into_iter().map(|(column, value)| Found { column, value, class: None, is_exact: true }).collect()
    }
}
