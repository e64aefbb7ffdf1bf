//! Statistics of columns, constant features and features that give the label away.
use super::*;
use crate::{Fit, Rows};

fn report(values: Vec<f64>, columns: usize, labels: &[f64], fit: Fit) -> DataReport {
    let rows = Rows::dense(values, columns, labels).unwrap();
    let model = fit.run(&rows).unwrap();
    let names = (0..columns).map(|j| format!("column {j}")).collect();
    let seen = LabelledRows::of_rows("rows", &rows, Some(names));
    let look = Look { model: &model, are_training: true };
    DataReport::gather(&seen, look, &Budget::unlimited()).unwrap().0
}

fn noise(k: usize) -> f64 {
    xxhash_rust::xxh3::xxh3_64(&(k as u64).to_le_bytes()) as f64 / u64::MAX as f64 - 0.5
}

/// Noise, the label with a little noise, a constant, a large column, and the label turned round.
fn leaky(rows: usize) -> (Vec<f64>, Vec<f64>) {
    let label = |k: usize| if noise(7 * k) > 0.0 { 1.0 } else { -1.0 };
    let row = |k: usize| [noise(k), label(k) + noise(k + 1_000_000), 3.0, 1e5 * noise(k + 2_000_000), -label(k)];
    ((0..rows).flat_map(row).collect(), (0..rows).map(label).collect())
}

#[test]
fn leaks_constants_and_scales_are_named() {
    let (values, labels) = leaky(400);
    let found = report(values, 5, &labels, Fit::logistic());
    let leaks: Vec<&str> = found.leaks.iter().map(|leak| leak.feature.as_str()).collect();
    assert_eq!(leaks, ["column 1", "column 4"]);
    assert!(found.leaks.iter().all(|leak| leak.value == 1.0 && leak.is_exact));
    assert_eq!(found.constant, (vec!["column 2".to_string()], 1));
    let [least, most] = found.extremes.clone().unwrap();
    assert_eq!((&least.0[..], &most.0[..]), ("column 0", "column 3"));
    assert_eq!((found.rows, found.features, found.values), (400, 5, 2000));
    let Labels::Classes { counts, .. } = &found.labels else { panic!("{found:?}") };
    assert_eq!(counts.iter().map(|count| count.rows).sum::<u64>(), 400);
    let advice: Vec<&str> = found.advice.iter().map(|advice| advice.found.as_str()).collect();
    assert!(advice[0].contains("AUC 1.0000"), "{advice:?}");
    assert!(advice.iter().any(|text| text.contains("differ in scale")), "{advice:?}");
    assert!(advice.iter().any(|text| text.contains("same in all rows")), "{advice:?}");
}

#[test]
fn ordinary_rows_have_no_leaks() {
    let rows = 500;
    let values: Vec<f64> = (0..3 * rows).map(noise).collect();
    let labels: Vec<f64> = values.chunks(3).enumerate().map(|(k, row)| (row[0] + noise(k + 99)).signum()).collect();
    let found = report(values, 3, &labels, Fit::logistic());
    assert_eq!((found.leaks.len(), found.constant.1, found.advice.len()), (0, 0, 0), "{:?}", found.advice);
}

#[test]
fn a_feature_of_many_rows_is_looked_at_in_all_of_them() {
    // More rows than a sample has.
    let rows = 60_000;
    let label = |k: usize| if noise(7 * k) > 0.0 { 1.0 } else { -1.0 };
    // Every 500th row is wrong: an area of about 0.998 and not 1.
    let leak = |k: usize| if k.is_multiple_of(500) { -label(k) } else { label(k) };
    let values: Vec<f64> = (0..rows).flat_map(|k| [noise(k), leak(k)]).collect();
    let labels: Vec<f64> = (0..rows).map(label).collect();
    let found = report(values, 2, &labels, Fit::logistic().max_passes(1));
    assert_eq!(found.leaks.len(), 1);
    let leak = &found.leaks[0];
    assert!(leak.is_exact && (leak.value - 0.998).abs() < 3e-4, "{leak:?}");
}

#[test]
fn numbers_that_are_the_label_are_found_by_their_correlation() {
    let rows = 200;
    let values: Vec<f64> = (0..rows).flat_map(|k| [noise(k), 2.0 * noise(k + 500) + 0.01 * noise(k + 900)]).collect();
    let labels: Vec<f64> = (0..rows).map(|k| -noise(k + 500)).collect();
    let found = report(values, 2, &labels, Fit::squared());
    assert_eq!(found.leaks.len(), 1);
    assert_eq!((&found.leaks[0].feature[..], found.leaks[0].class.is_none()), ("column 1", true));
    assert!(found.leaks[0].value < -0.999);
}

#[test]
fn effects_are_weights_times_deviations() {
    let (values, labels) = leaky(300);
    let rows = Rows::dense(values.clone(), 5, &labels).unwrap();
    let model = Fit::logistic().run(&rows).unwrap();
    let seen = LabelledRows::of_rows("rows", &rows, None);
    let (_, effects) =
        DataReport::gather(&seen, Look { model: &model, are_training: true }, &Budget::unlimited()).unwrap();
    assert!(effects.largest.is_sorted_by(|a, b| a.effect.unwrap().abs() >= b.effect.unwrap().abs()));
    for weight in &effects.largest {
        let j: usize = weight.feature.parse().unwrap();
        let column: Vec<f64> = values.chunks(5).map(|row| row[j]).collect();
        let mean = column.iter().sum::<f64>() / 300.0;
        let deviation = (column.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 300.0).sqrt();
        assert!((weight.effect.unwrap() - weight.weight * deviation).abs() < 1e-9 * deviation.max(1.0), "{weight:?}");
    }
}
