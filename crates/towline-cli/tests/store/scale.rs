//! Scaling against the plainest computation of it.
use std::collections::{BTreeMap, BTreeSet};

use crate::workbench::Workbench;
use crate::workbench::random::Random;

type Rows = Vec<BTreeMap<u64, f64>>;

/// Rows with negative values, a feature that is always there, one that is constant, one that is rare, and an empty row.
fn rows() -> Rows {
    let mut random = Random(11);
    let mut rows: Rows = Vec::new();
    for i in 0..200u64 {
        let mut row = BTreeMap::from([(1, random.fraction() * 4.0 - 3.0), (2, 5.0), (3, 2.0 + random.fraction())]);
        for feature in 4..12 {
            if random.below(3) > 0 {
                row.insert(feature, (random.fraction() - 0.2) * feature as f64);
            }
        }
        if i == 17 {
            row.insert(99, -7.5);
        }
        row.values_mut().for_each(|value| *value = f64::from(*value as f32));
        rows.push(row);
    }
    rows
}

fn text(rows: &Rows) -> String {
    let line = |row: &BTreeMap<u64, f64>| {
        "1".to_string() + &row.iter().map(|(k, v)| format!(" {k}:{v}")).collect::<String>() + "\n"
    };
    rows.iter().map(line).collect()
}

fn parse(text: &str) -> Rows {
    let entry = |token: &str| {
        let (key, value) = token.split_once(':').unwrap();
        (key.parse().unwrap(), value.parse().unwrap())
    };
    text.lines().map(|line| line.split(' ').skip(1).map(entry).collect()).collect()
}

/// Values of a feature in all rows, the absent ones as 0.
fn column(rows: &Rows, feature: u64) -> Vec<f64> {
    rows.iter().map(|row| row.get(&feature).copied().unwrap_or(0.0)).collect()
}

fn check(scale: &str, rows: &Rows, expected: impl Fn(&Rows, usize, u64) -> f64) {
    let features: BTreeSet<u64> = rows.iter().flat_map(|row| row.keys().copied()).collect();
    for (precision, tolerance) in [("f32", 1e-6), ("f64", 1e-12)] {
        let bench = Workbench::new();
        bench.file("in.svm", text(rows));
        bench.ok(&format!("pack in.svm -o out.tow --quiet --keep-order --scale {scale} --precision {precision}"));
        let scaled = parse(&bench.ok("cat out.tow"));
        assert_eq!(scaled.len(), rows.len());
        for (i, row) in scaled.iter().enumerate() {
            assert!(row.values().all(|&value| value != 0.0), "zeros are not stored");
            for &feature in &features {
                let (found, wanted) = (row.get(&feature).copied().unwrap_or(0.0), expected(rows, i, feature));
                assert!(
                    (found - wanted).abs() <= tolerance * wanted.abs().max(1.0),
                    "{scale} {precision} row {i}, feature {feature}: {found} instead of {wanted}"
                );
            }
        }
    }
}

#[test]
fn rows_have_unit_length() {
    let mut rows = rows();
    rows.push(BTreeMap::new());
    check("rows", &rows, |rows, i, feature| {
        let length = rows[i].values().map(|v| v * v).sum::<f64>().sqrt();
        rows[i].get(&feature).map_or(0.0, |v| v / length)
    });
}

#[test]
fn features_lie_between_0_and_1() {
    check("minmax", &rows(), |rows, i, feature| {
        let values = column(rows, feature);
        let (min, max) = values.iter().fold((f64::MAX, f64::MIN), |(a, b), &v| (a.min(v), b.max(v)));
        if max > min { (values[i] - min) / (max - min) } else { 0.0 }
    });
}

#[test]
fn features_have_a_deviation_of_1() {
    check("standard", &rows(), |rows, i, feature| {
        let values = column(rows, feature);
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let deviation = (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n).sqrt();
        // A constant feature stays as it is.
        if deviation > 1e-9 { values[i] / deviation } else { values[i] }
    });
}

#[test]
fn the_scale_of_the_first_generation_holds_for_the_next() {
    let bench = Workbench::new();
    bench.file("a.svm", "1 1:0.5 2:4\n1 1:4 2:2\n");
    bench.file("b.svm", "1 1:8 3:7\n");
    bench.ok("pack a.svm -o out.tow --quiet --keep-order --scale minmax");
    bench.ok("pack b.svm -o out.tow --quiet --keep-order --scale minmax --append");
    // 1 was in [0.5, 4]; 2 was always there and in [2, 4], so that its absence is -1 now; 3 is new and stays as it is.
    let rows = parse(&bench.ok("cat out.tow"));
    assert_eq!(rows[..2], [BTreeMap::from([(2, 1.0)]), BTreeMap::from([(1, 1.0)])]);
    let close = |feature: u64, value: f64| (rows[2][&feature] - value).abs() < 1e-6;
    assert!(close(1, 7.5 / 3.5) && close(2, -1.0) && close(3, 7.0), "{rows:?}");
}
