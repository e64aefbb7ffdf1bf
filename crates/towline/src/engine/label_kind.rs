//! Classification or regression: what labels ask for where nobody says it.
use crate::store::manifest::LabelSummary;

/// Whole numbers with more distinct values than this are a quantity: ratings and digits have at most 32, ages do not.
const FEW_VALUES: usize = 32;
/// Classes have at least this many rows on average; values of a small table that hardly repeat are a quantity.
const ROWS_OF_A_CLASS: u64 = 5;
/// More classes than this are rarely meant, and are trained only where somebody asks for them.
pub const MOST_CLASSES: usize = 1000;

/// What a model predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Task {
    /// One of several classes.
    Classification,
    /// A number.
    Regression,
}

impl Task {
    /// What labels suggest. Text and two values are classes, fractions are numbers. Whole numbers are
    /// classes in libsvm rows, as for LIBLINEAR; in tables only if they have few values, each of many rows.
    pub fn suggested_by(labels: &LabelSummary, has_several_targets: bool, is_table: bool) -> Task {
        if labels.names.is_some() {
            return Task::Classification;
        }
        if has_several_targets {
            return Task::Regression;
        }
        of_numbers(labels, is_table)
    }
}

fn of_numbers(labels: &LabelSummary, is_table: bool) -> Task {
    let Some(values) = &labels.histogram else { return Task::Regression };
    let rows: u64 = values.iter().map(|(_, rows)| rows).sum();
    let are_whole = values.iter().all(|(label, _)| label.fract() == 0.0);
    let are_few = values.len() <= FEW_VALUES && rows >= ROWS_OF_A_CLASS * values.len() as u64;
    match values.len() {
        ..=2 => Task::Classification,
        _ if are_whole && (!is_table || are_few) => Task::Classification,
        _ => Task::Regression,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(values: impl IntoIterator<Item = f64>, rows: u64) -> LabelSummary {
        let histogram: Vec<(f64, u64)> = values.into_iter().map(|value| (value, rows)).collect();
        LabelSummary { names: None, histogram: Some(histogram), min: 0.0, max: 0.0, mean: 0.0 }
    }

    #[test]
    fn labels_suggest_what_their_values_look_like() {
        let whole = |count: u32| (0..count).map(f64::from);
        assert_eq!(of_numbers(&labels([0.5, 1.5], 1), true), Task::Classification, "two values are classes");
        assert_eq!(of_numbers(&labels(whole(10), 100), true), Task::Classification, "digits");
        assert_eq!(of_numbers(&labels(whole(33), 100), true), Task::Regression, "ages");
        assert_eq!(of_numbers(&labels(whole(33), 100), false), Task::Classification, "as for LIBLINEAR");
        assert_eq!(of_numbers(&labels(whole(20), 4), true), Task::Regression, "values that hardly repeat");
        assert_eq!(of_numbers(&labels([0.0, 0.5, 1.0], 100), true), Task::Regression, "fractions");
        assert_eq!(of_numbers(&labels([0.0, 0.5, 1.0], 100), false), Task::Regression, "fractions");
        let many = LabelSummary { histogram: None, ..labels([], 0) };
        assert_eq!(of_numbers(&many, false), Task::Regression);
    }
}
