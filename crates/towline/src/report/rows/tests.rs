//! Curves and tables against what their definitions say, row by row.
use proptest::prelude::*;

use super::binary::Ranks;
use super::numbers::Pairs;
use super::*;
use crate::evaluate::confusion::Confusion;
use crate::evaluate::{BinaryQuality, ClassQuality};
use crate::report::thin::Curve;
use crate::{Fit, Fitted, Rows};

fn quality() -> BinaryQuality {
    let targets = Targets::Binary { positive: 1.0, names: ["no".into(), "yes".into()], weights: [1.0; 2] };
    let judge = Judge::new(&targets, None, 1, true, &Budget::unlimited()).unwrap();
    match judge.finish() {
        Quality::Binary(quality) => quality,
        other => panic!("{other:?}"),
    }
}

fn binary(rows: &[(f64, bool)], positive: usize, chance: Option<&dyn Fn(f64) -> f64>) -> BinaryRows {
    let mut ranks = Ranks::new(positive, rows.len() as u64, &Budget::unlimited()).unwrap();
    rows.iter().for_each(|&(score, is_second)| ranks.add(score, usize::from(is_second)));
    ranks.finish(&quality(), [1.0, 5.0], chance)
}

/// The area under a curve, by trapezoids.
fn area(curve: &Curve) -> f64 {
    let points: Vec<(f64, f64)> = curve.x.iter().copied().zip(curve.y.iter().copied()).collect();
    points.windows(2).map(|pair| (pair[1].0 - pair[0].0) * (pair[0].1 + pair[1].1) / 2.0).sum()
}

fn logistic(score: f64) -> f64 {
    1.0 / (1.0 + (-score).exp())
}

fn some_rows() -> impl Strategy<Value = Vec<(f64, bool)>> {
    proptest::collection::vec((-12i32..12, any::<bool>()), 2..150)
        .prop_map(|rows| rows.into_iter().map(|(score, is)| (f64::from(score) / 4.0, is)).collect())
}

proptest! {
    #[test]
    fn every_corner_of_the_roc_curve_is_that_of_a_threshold(rows in some_rows(), positive in 0usize..2) {
        let found = binary(&rows, positive, None);
        let is_positive = |row: &(f64, bool)| usize::from(row.1) == positive;
        let of_positive = |row: &(f64, bool)| if positive == 1 { row.0 } else { -row.0 };
        let positives = rows.iter().filter(|row| is_positive(row)).count() as f64;
        let negatives = rows.len() as f64 - positives;
        if positives * negatives == 0.0 {
            prop_assert_eq!(found.roc.len(), 0);
            return Ok(());
        }
        let (mut ordered, mut pairs) = (0.0, 0.0);
        for a in rows.iter().filter(|row| is_positive(row)) {
            for b in rows.iter().filter(|row| !is_positive(row)) {
                pairs += 1.0;
                let (a, b) = (of_positive(a), of_positive(b));
                ordered += if a > b { 1.0 } else if a == b { 0.5 } else { 0.0 };
            }
        }
        prop_assert!((found.auc.unwrap() - ordered / pairs).abs() < 1e-12);
        // Few points are not thinned but for straight lines, so that the area stays.
        prop_assert!((area(&found.roc) - ordered / pairs).abs() < 1e-9);
        for (&x, &y) in found.roc.x.iter().zip(&found.roc.y).skip(1) {
            let mut thresholds = rows.iter().map(of_positive);
            let is_there = thresholds.any(|threshold| {
                let taken = |of: bool| rows.iter().filter(|row| is_positive(row) == of && of_positive(row) >= threshold).count();
                (taken(false) as f64 / negatives - x).abs() < 1e-12 && (taken(true) as f64 / positives - y).abs() < 1e-12
            });
            prop_assert!(is_there, "{x} {y}");
        }
        for (&recall, &precision) in found.precision_recall.x.iter().zip(&found.precision_recall.y).skip(1) {
            let is_there = rows.iter().map(of_positive).any(|threshold| {
                let taken = rows.iter().filter(|row| of_positive(row) >= threshold).count() as f64;
                let right = rows.iter().filter(|row| is_positive(row) && of_positive(row) >= threshold).count() as f64;
                (right / positives - recall).abs() < 1e-12 && (right / taken - precision).abs() < 1e-12
            });
            prop_assert!(is_there, "{recall} {precision}");
        }
    }

    #[test]
    fn thresholds_lift_and_calibration_follow_their_definitions(rows in some_rows(), positive in 0usize..2) {
        let found = binary(&rows, positive, Some(&logistic));
        let chance = |row: &(f64, bool)| if positive == 1 { logistic(row.0) } else { 1.0 - logistic(row.0) };
        let is_positive = |row: &(f64, bool)| usize::from(row.1) == positive;
        for row in &found.thresholds {
            let mut confusion = Confusion::default();
            rows.iter().for_each(|one| confusion.add(is_positive(one), chance(one) > row.threshold, 1.0));
            prop_assert!((row.precision - confusion.precision()).abs() < 1e-12);
            prop_assert!((row.recall - confusion.recall()).abs() < 1e-12);
            prop_assert!((row.f1 - confusion.f1()).abs() < 1e-12);
            prop_assert!((row.cost - confusion.cost(1.0, 5.0)).abs() < 1e-9);
        }
        prop_assert!(found.thresholds.is_sorted_by(|a, b| a.threshold > b.threshold));
        prop_assert!(found.thresholds.iter().any(|row| row.why.as_ref().is_some_and(|why| why.contains("model's own"))));
        prop_assert_eq!(found.calibration.iter().map(|bin| bin.rows).sum::<u64>(), rows.len() as u64);
        let mean = rows.iter().map(chance).sum::<f64>() / rows.len() as f64;
        let binned = found.calibration.iter().map(|bin| bin.predicted * bin.rows as f64).sum::<f64>() / rows.len() as f64;
        prop_assert!((mean - binned).abs() < 1e-9);
        let positives = found.calibration.iter().map(|bin| bin.observed * bin.rows as f64).sum::<f64>();
        prop_assert!((positives - rows.iter().filter(|row| is_positive(row)).count() as f64).abs() < 1e-9);
        for bin in &found.calibration {
            prop_assert!(bin.interval[0] <= bin.observed + 1e-12 && bin.observed <= bin.interval[1] + 1e-12);
        }
        prop_assert_eq!(found.margins.counts.iter().flatten().sum::<u64>(), rows.len() as u64);
        for row in &found.lift {
            prop_assert!((row.lift - row.found / row.taken).abs() < 1e-12 && row.found <= 1.0 + 1e-12);
        }
    }
}

#[test]
fn a_million_scores_become_a_small_curve_of_the_same_area() {
    let rows: Vec<(f64, bool)> = (0..1_000_000u64)
        .map(|k| {
            let random = xxhash_rust::xxh3::xxh3_64(&k.to_le_bytes()) as f64 / u64::MAX as f64;
            (random, xxhash_rust::xxh3::xxh3_64(&(k + (1 << 40)).to_le_bytes()) as f64 / u64::MAX as f64 <= random)
        })
        .collect();
    let found = binary(&rows, 1, None);
    assert!(found.roc.len() <= 1700 && found.precision_recall.len() <= 1700, "{}", found.roc.len());
    assert!((area(&found.roc) - found.auc.unwrap()).abs() < 1e-4);
    assert!((area(&found.precision_recall) - found.pr_auc.unwrap()).abs() < 1e-3);
}

#[test]
fn residuals_are_binned_by_prediction() {
    let mut pairs = Pairs::new("", 4800, &Budget::unlimited()).unwrap();
    // The residual is twice the prediction's place in its bin of 200.
    (0..4800u32).rev().for_each(|k| pairs.add(f64::from(k), f64::from(k) + f64::from(k % 200) - 100.0));
    let found = pairs.finish();
    assert_eq!(found.bins.len(), 24);
    for (number, bin) in found.bins.iter().enumerate() {
        assert_eq!((bin.rows, bin.predicted), (200, 200.0 * number as f64 + 100.0));
        assert_eq!(bin.residuals, [-80.0, 0.0, 79.0]);
    }
    assert_eq!((found.points.len(), found.has_all), (800, false));
    assert_eq!(found.residuals.counts[0].iter().sum::<u64>(), 4800);
}

#[test]
fn classes_are_summed_up() {
    let quality = ClassQuality {
        rows: 10,
        accuracy: 0.6,
        balanced_accuracy: 0.6,
        micro_f1: 0.6,
        macro_f1: 0.6,
        mcc: 0.5,
        top: 5,
        top_accuracy: 1.0,
        log_loss: None,
        brier: None,
        classes: vec!["a".into(), "b".into(), "c".into()],
        confusion: vec![vec![2, 0, 0], vec![1, 3, 2], vec![0, 1, 1]],
        unknown: 0,
    };
    let found = ClassRows::of(&quality);
    let b = &found.classes[0];
    assert_eq!((&b.name[..], b.rows, b.precision, b.recall, b.f1), ("b", 6, 0.75, 0.5, 0.6));
    let worst = &found.confused[0];
    assert_eq!((&worst.truth[..], &worst.predicted[..], worst.rows), ("b", "c", 2));
    assert_eq!(found.confusion.len(), 3);
}

/// Rows of three columns, the last of which is always the same, with a few labels that are wrong.
fn fitted() -> (Fitted, Rows) {
    let values: Vec<f64> = (0..300).map(|k| f64::from((k * 7919) % 101) / 50.0 - 1.0).collect();
    let values: Vec<f64> = values.chunks(3).flat_map(|row| [row[0], row[1], 1.0]).collect();
    let label = |(k, row): (usize, &[f64])| if (row[0] - row[1] > 0.0) == (k % 17 != 0) { 1.0 } else { -1.0 };
    let labels: Vec<f64> = values.chunks(3).enumerate().map(label).collect();
    let rows = Rows::dense(values, 3, &labels).unwrap();
    (Fit::logistic().tolerance(1e-6).run(&rows).unwrap(), rows)
}

#[test]
fn wrong_rows_are_the_worst_and_their_pulls_add_up() {
    let (model, rows) = fitted();
    let seen = LabelledRows::of_rows("rows", &rows, Some(vec!["a".into(), "b".into(), "same".into()]));
    let report = RowsReport::gather(&model, &seen, Question::default(), &Budget::unlimited()).unwrap();
    assert_eq!(report.rows, 100);
    let block = rows.block();
    let margin = |i: usize| {
        let x: Vec<(u64, f64)> = {
            let mut cells = Vec::new();
            block.row(i).for_each(|column, value| cells.push((u64::from(column), value)));
            cells
        };
        block.info(i).label * model.scores(&x).unwrap()[0]
    };
    let mut wrong: Vec<f64> = (0..100).map(margin).filter(|margin| *margin < 0.0).map(|margin| -margin).collect();
    wrong.sort_by(|a, b| b.total_cmp(a));
    wrong.truncate(20);
    let found: Vec<f64> = report.wrong.iter().map(|row| row.by).collect();
    assert_eq!(found.len(), wrong.len());
    assert!(found.iter().zip(&wrong).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?} {wrong:?}");
    for row in &report.wrong {
        assert!((margin(row.row as usize - 1) + row.by).abs() < 1e-9);
        // What is the same in all rows pulls nothing, and a pull goes to the wrong side.
        assert!(row.pulls.iter().all(|pull| pull.feature != "same" && pull.pull > 0.0), "{row:?}");
        assert!(row.pulls.is_sorted_by(|a, b| a.pull >= b.pull));
    }
    let Detail::Binary(binary) = &report.detail else { panic!("{report:?}") };
    assert_eq!(binary.confusion.iter().flatten().sum::<u64>(), 100);
    assert_eq!(binary.calibration.iter().map(|bin| bin.rows).sum::<u64>(), 100);
}

#[test]
fn rows_are_paid_for() {
    let (model, rows) = fitted();
    let seen = LabelledRows::of_rows("rows", &rows, None);
    let refused = RowsReport::gather(&model, &seen, Question::default(), &Budget::new(100)).unwrap_err();
    assert!(refused.to_string().contains("memory"), "{refused}");
}
