use proptest::prelude::*;

use super::*;
use crate::evaluate::ranking::sort;

fn rows(list: &[(f64, bool)]) -> Vec<Ranked> {
    let mut rows: Vec<Ranked> = list.iter().map(|&(score, is)| Ranked::new(score, is, 1.0)).collect();
    sort(&mut rows);
    rows
}

const ROWS: [(f64, bool); 12] = [
    (-2.0, false),
    (-1.5, false),
    (-1.0, true),
    (-0.75, false),
    (-0.5, false),
    (-0.25, true),
    (0.0, false),
    (0.25, true),
    (0.5, false),
    (1.0, true),
    (1.5, true),
    (2.5, true),
];

#[test]
fn platt_as_scikit_learn_has_it() {
    let Curve::Sigmoid { slope, offset } = CalibrationMethod::Platt.fit(&rows(&ROWS)) else { panic!() };
    // sklearn.calibration._sigmoid_calibration, which minimises the same by L-BFGS: -A and -B.
    assert!(
        (slope - 0.8253159759991245).abs() < 1e-9 && (offset - 0.04132851179056144).abs() < 1e-9,
        "{slope} {offset}"
    );
}

#[test]
fn isotonic_as_scikit_learn_has_it() {
    let curve = CalibrationMethod::Isotonic.fit(&rows(&ROWS));
    // IsotonicRegression(out_of_bounds="clip") at these scores, kept 1/14 from 0 and 1.
    for (score, chance) in [
        (-3.0, 0.07142857142857142),
        (-1.75, 0.07142857142857142),
        (-1.0, 0.3333333333333333),
        (-0.3, 0.4666666666666667),
        (0.1, 0.5),
        (0.6, 0.5857142857142857),
        (1.2, 0.9285714285714286),
        (9.0, 0.9285714285714286),
    ] {
        assert!((curve.chance(score) - chance).abs() < 1e-12, "{score}: {}", curve.chance(score));
    }
}

#[test]
fn scores_that_say_nothing_leave_the_share() {
    let turned: Vec<(f64, bool)> = ROWS.iter().map(|&(score, is)| (-score, is)).collect();
    for rows in [rows(&turned), rows(&[(1.0, true), (1.0, false), (1.0, true)]), rows(&[(3.0, false)]), Vec::new()] {
        for method in CalibrationMethod::ALL {
            let curve = method.fit(&rows);
            assert!(curve.is_whole(), "{curve:?}");
            assert!([-1e300, -1.0, 0.0, 7.0, 1e300].map(|score| curve.chance(score)).is_sorted(), "{curve:?}");
        }
    }
    assert!((CalibrationMethod::Platt.fit(&rows(&turned)).chance(5.0) - 0.5).abs() < 1e-12);
}

proptest! {
    #[test]
    fn platt_is_the_minimum(list in proptest::collection::vec((-40i32..40, any::<bool>(), 1u32..4), 2..60)) {
        let mut rows: Vec<Ranked> =
            list.into_iter().map(|(score, is, weight)| Ranked::new(f64::from(score) / 8.0, is, weight.into())).collect();
        sort(&mut rows);
        let Curve::Sigmoid { slope, offset } = CalibrationMethod::Platt.fit(&rows) else { panic!() };
        let [positive, negative] = crate::evaluate::ranking::weights(&rows);
        let value = |slope: f64, offset: f64| -> f64 {
            rows.iter().map(|row| {
                let p = crate::predict::probability(slope * row.score + offset);
                let t = if row.is_positive() { (positive + 1.0) / (positive + 2.0) } else { 1.0 / (negative + 2.0) };
                -row.weight() * (t * p.max(1e-300).ln() + (1.0 - t) * (1.0 - p).max(1e-300).ln())
            }).sum()
        };
        let found = value(slope, offset);
        for (da, db) in [(0.01, 0.0), (-0.01, 0.0), (0.0, 0.01), (0.0, -0.01), (0.01, -0.01)] {
            // A slope below 0 is not allowed.
            if slope + da >= 0.0 && slope > 0.0 {
                prop_assert!(value(slope + da, offset + db) >= found - 1e-9);
            }
        }
    }

    #[test]
    fn isotonic_is_the_nearest_curve_that_never_falls(list in proptest::collection::vec((-6i32..6, any::<bool>()), 1..25)) {
        let list: Vec<(f64, bool)> = list.into_iter().map(|(score, is)| (f64::from(score), is)).collect();
        let rows = rows(&list);
        let curve = CalibrationMethod::Isotonic.fit(&rows);
        prop_assert!(curve.is_whole());
        // By the min-max formula: max over scores from below of the min over scores from above of the mean between
        // them.
        let least = 1.0 / (list.len() as f64 + 2.0);
        for &(score, _) in &list {
            let mean = |from: f64, to: f64| {
                let between = list.iter().filter(|row| row.0 >= from && row.0 <= to);
                between.clone().filter(|row| row.1).count() as f64 / between.count() as f64
            };
            let lower = list.iter().filter(|row| row.0 <= score).map(|row| row.0);
            let best = lower
                .map(|from| {
                    let upper = list.iter().filter(|row| row.0 >= score).map(|row| mean(from, row.0));
                    upper.fold(f64::INFINITY, f64::min)
                })
                .fold(0.0, f64::max);
            prop_assert!((curve.chance(score) - best.clamp(least, 1.0 - least)).abs() < 1e-12);
        }
    }
}

#[test]
fn curves_are_thin_and_damage_is_noticed() {
    let many: Vec<(f64, bool)> = (0..4000).map(|i| (f64::from(i), i * i % 4001 < i)).collect();
    let Curve::Knots { scores, chances } = CalibrationMethod::Isotonic.fit(&rows(&many)) else { panic!() };
    assert!(scores.len() <= 256 && scores.len() == chances.len());
    for (scores, chances) in
        [(vec![], vec![]), (vec![1.0], vec![2.0]), (vec![2.0, 1.0], vec![0.1, 0.2]), (vec![1.0], vec![])]
    {
        assert!(!Curve::Knots { scores, chances }.is_whole());
    }
    assert!(!Curve::Sigmoid { slope: -1.0, offset: 0.0 }.is_whole());
}
