//! Measures by hand, by their definitions, and as scikit-learn 1.9 has them.
use proptest::prelude::*;

use super::ranking::Ranked;
use super::*;
use crate::budget::Budget;
use crate::loss::AnyLoss;
use crate::model::chances::Chances;
use crate::objective::{Classes, Multiclass, Objective, Targets};

fn binary_objective() -> Objective {
    let targets = Targets::Binary { positive: 1.0, names: ["no".into(), "yes".into()], weights: [1.0, 1.0] };
    Objective::new(AnyLoss::named("logistic").unwrap(), 1.0, targets)
}

fn class_objective(multiclass: Multiclass) -> Objective {
    let names = ["a", "b", "c"].map(String::from).to_vec();
    let classes = Classes::new(vec![0.0, 1.0, 2.0], names, vec![1.0; 3]);
    Objective::new(AnyLoss::named("logistic").unwrap(), 1.0, Targets::Classes { classes, multiclass })
}

fn judge<'a>(objective: &'a Objective, positive: usize) -> Judge<'a> {
    Judge::new(&objective.targets, Chances::of_loss(objective), positive, true, &Budget::unlimited()).unwrap()
}

fn row<'a>(scores: &'a [f64], class: Option<usize>, weight: f64) -> Judged<'a> {
    Judged { scores, class, label: 0.0, further: &[], weight }
}

fn binary(rows: &[(f64, usize, f64)], positive: usize, threshold: Option<Threshold>) -> BinaryQuality {
    let objective = binary_objective();
    let mut judge = judge(&objective, positive).at(threshold);
    rows.iter().for_each(|(score, class, weight)| judge.add(row(&[*score], Some(*class), *weight)).unwrap());
    match judge.finish() {
        Quality::Binary(quality) => quality,
        other => panic!("{other:?}"),
    }
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
}

/// Scores with ties, positive rows on both sides.
const SCORES: [(f64, usize); 10] =
    [(2.0, 1), (1.5, 1), (1.5, 0), (0.75, 1), (0.25, 0), (-0.25, 1), (-0.5, 0), (-0.5, 0), (-1.25, 0), (-3.0, 1)];

#[test]
fn two_classes_as_scikit_learn_has_them() {
    let rows: Vec<(f64, usize, f64)> = SCORES.iter().map(|&(score, class)| (score, class, 1.0)).collect();
    let q = binary(&rows, 1, None);
    assert_eq!((q.rows, q.confusion, q.positive.as_str()), (10, [[3, 2], [2, 3]], "yes"));
    // sklearn.metrics: accuracy_score, balanced_accuracy_score, precision_score, recall_score, f1_score,
    // matthews_corrcoef, roc_auc_score, average_precision_score, log_loss, brier_score_loss.
    near(q.accuracy, 0.6);
    near(q.balanced_accuracy, 0.6);
    near(q.precision, 0.6);
    near(q.recall, 0.6);
    near(q.f1, 0.6);
    near(q.mcc, 0.2);
    near(q.auc.unwrap(), 0.66);
    near(q.pr_auc.unwrap(), 0.7166666666666667);
    near(q.log_loss.unwrap(), 0.8317174814160392);
    near(q.brier.unwrap(), 0.26929943079545726);
    // Sample weights 1, 2, 3, 1, 2, 3, 1, 2, 3, 1.
    let weighted: Vec<(f64, usize, f64)> =
        SCORES.iter().enumerate().map(|(i, &(score, class))| (score, class, (i % 3 + 1) as f64)).collect();
    let q = binary(&weighted, 1, None);
    near(q.accuracy, 0.5263157894736842);
    near(q.balanced_accuracy, 0.5227272727272727);
    near(q.precision, 0.4444444444444444);
    near(q.recall, 0.5);
    near(q.f1, 0.47058823529411764);
    near(q.mcc, 0.044946657497549475);
    near(q.auc.unwrap(), 0.6363636363636364);
    near(q.pr_auc.unwrap(), 0.5928101503759398);
    near(q.log_loss.unwrap(), 0.8093246344534754);
    near(q.brier.unwrap(), 0.27647286013915745);
    // pos_label of the other class, whose scores are the negative ones.
    let q = binary(&rows, 0, None);
    assert_eq!((q.confusion, q.positive.as_str()), ([[3, 2], [2, 3]], "no"));
    near(q.accuracy, 0.6);
    near(q.balanced_accuracy, 0.6);
    near(q.precision, 0.6);
    near(q.recall, 0.6);
    near(q.f1, 0.6);
    near(q.mcc, 0.2);
    near(q.auc.unwrap(), 0.66);
    near(q.pr_auc.unwrap(), 0.6444444444444445);
    near(q.log_loss.unwrap(), 0.8317174814160392);
    near(q.brier.unwrap(), 0.26929943079545726);
}

#[test]
fn many_classes_as_scikit_learn_has_them() {
    let scores = [
        ([2.0, 1.0, 0.5], 0),
        ([0.1, 0.2, 0.3], 0),
        ([-1.0, 0.5, 0.25], 1),
        ([0.0, 3.0, 1.0], 1),
        ([1.0, -1.0, 0.75], 2),
        ([0.5, 0.25, 1.5], 2),
        ([0.25, 1.0, 0.5], 2),
    ];
    let objective = class_objective(Multiclass::Softmax);
    let mut judge = judge(&objective, 1).for_metric(Metric::Top(2)).unwrap();
    scores.iter().for_each(|(scores, class)| judge.add(row(scores, Some(*class), 1.0)).unwrap());
    let Quality::Classes(q) = judge.finish() else { panic!() };
    // The same functions, and f1_score(average="macro"), top_k_accuracy_score(k=2).
    near(q.accuracy, 0.5714285714285714);
    near(q.balanced_accuracy, 0.611111111111111);
    near(q.macro_f1, 0.5666666666666668);
    near(q.mcc, 0.375);
    near(q.top_accuracy, 0.8571428571428571);
    near(q.log_loss.unwrap(), 0.7378289519433554);
    near(q.brier.unwrap(), 0.43559382079579395);
    near(q.get(Metric::Top(2)).unwrap(), q.top_accuracy);
}

proptest! {
    #[test]
    fn many_classes_are_counted_as_pairs_are(rows in proptest::collection::vec((0usize..3, 0usize..3, 1u32..4), 1..40)) {
        let objective = class_objective(Multiclass::OneVsRest);
        let mut judge = judge(&objective, 1);
        for &(truth, predicted, weight) in &rows {
            let mut scores = [0.0; 3];
            scores[predicted] = 1.0;
            judge.add(row(&scores, Some(truth), weight.into())).unwrap();
        }
        let Quality::Classes(q) = judge.finish() else { panic!() };
        let weight = |keep: &dyn Fn(usize, usize) -> bool| -> f64 {
            rows.iter().filter(|row| keep(row.0, row.1)).map(|row| f64::from(row.2)).sum()
        };
        let present: Vec<usize> = (0..3).filter(|&m| weight(&|truth, _| truth == m) > 0.0).collect();
        let recall = |&m: &usize| weight(&|truth, predicted| truth == m && predicted == m) / weight(&|truth, _| truth == m);
        let balanced = present.iter().map(recall).sum::<f64>() / present.len() as f64;
        prop_assert!((q.balanced_accuracy - balanced).abs() < 1e-12);
        // R_K is the correlation of both, with classes as unit vectors (Gorodkin 2004, equations 1 to 3).
        let all = weight(&|_, _| true);
        let covariance = |a: &dyn Fn(&(usize, usize, u32)) -> usize, b: &dyn Fn(&(usize, usize, u32)) -> usize| -> f64 {
            (0..3).map(|m| {
                let of = |at: usize| if at == m { 1.0 } else { 0.0 };
                let mean = |side: &dyn Fn(&(usize, usize, u32)) -> usize| {
                    rows.iter().map(|row| f64::from(row.2) * of(side(row))).sum::<f64>() / all
                };
                let (x, y) = (mean(a), mean(b));
                rows.iter().map(|row| f64::from(row.2) * (of(a(row)) - x) * (of(b(row)) - y)).sum::<f64>()
            }).sum()
        };
        let (truth, predicted) = (|row: &(usize, usize, u32)| row.0, |row: &(usize, usize, u32)| row.1);
        let product = covariance(&truth, &truth) * covariance(&predicted, &predicted);
        let expected = if product > 1e-9 { covariance(&truth, &predicted) / product.sqrt() } else { 0.0 };
        prop_assert!((q.mcc - expected).abs() < 1e-9, "{} {expected}", q.mcc);
    }

    #[test]
    fn numbers_follow_their_definitions(rows in proptest::collection::vec((-9i32..9, -9i32..9, 1u32..4), 1..40)) {
        let mut judge = Judge::new(&Targets::Numbers, None, 1, true, &Budget::unlimited()).unwrap();
        for &(predicted, truth, weight) in &rows {
            let row = Judged { scores: &[predicted.into()], class: None, label: truth.into(), further: &[], weight: weight.into() };
            judge.add(row).unwrap();
        }
        let Quality::Numbers(q) = judge.finish() else { panic!() };
        let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            rows.iter().map(|&(p, y, weight)| f64::from(weight) * of(p.into(), y.into())).sum()
        };
        let n = sum(&|_, _| 1.0);
        let mean = sum(&|_, y| y) / n;
        let (squared, variance) = (sum(&|p, y| (p - y) * (p - y)), sum(&|_, y| (y - mean) * (y - mean)));
        prop_assert!((q.rmse - (squared / n).sqrt()).abs() < 1e-9);
        prop_assert!((q.mae - sum(&|p, y| (p - y).abs()) / n).abs() < 1e-9);
        match q.r2 {
            Some(r2) => prop_assert!((r2 - (1.0 - squared / variance)).abs() < 1e-9 * (1.0 + squared / variance)),
            None => prop_assert!(variance < 1e-9),
        }
    }
}

#[test]
fn a_threshold_is_a_probability_where_there_are_any() {
    let rows: Vec<(f64, usize, f64)> = SCORES.iter().map(|&(score, class)| (score, class, 1.0)).collect();
    // Above the probability of a score of -0.375.
    let at = 1.0 / (1.0 + 0.375f64.exp());
    let q = binary(&rows, 1, Some(Threshold::At(at)));
    assert_eq!((q.confusion, q.threshold), ([[3, 2], [1, 4]], Some(at)));
    let best = binary(&rows, 1, Some(Threshold::F1));
    let all: Vec<f64> = (0..1000).map(|k| binary(&rows, 1, Some(Threshold::At(f64::from(k) / 1000.0))).f1).collect();
    near(best.f1, all.into_iter().fold(0.0, f64::max));
    // The negative side has the rest of the probability.
    let other = binary(&rows, 0, Some(Threshold::At(1.0 - at)));
    assert_eq!(other.confusion, q.confusion);
    near(other.recall, 0.6);
}

#[test]
fn rows_of_unknown_labels_are_wrong_and_rank_nowhere() {
    let objective = binary_objective();
    let mut judge = judge(&objective, 1);
    for (score, class) in [(1.0, Some(1)), (-1.0, Some(0)), (5.0, None)] {
        judge.add(row(&[score], class, 1.0)).unwrap();
    }
    let Quality::Binary(q) = judge.finish() else { panic!() };
    assert_eq!((q.rows, q.unknown, q.auc), (3, 1, Some(1.0)));
    near(q.accuracy, 2.0 / 3.0);
}

#[test]
fn unknown_classes_by_hand() {
    let mut counts = ClassCounts::new(3, false, 1, true);
    for (truth, predicted) in [(Some(0), 0), (Some(0), 1), (Some(1), 1), (Some(1), 1), (None, 0)] {
        counts.add(&ClassRow { truth, predicted, scores: &[0.0; 3], chances: &[], weight: 1.0 });
    }
    let quality = counts.finish(&["a", "b", "c"].map(String::from));
    assert_eq!((quality.rows, quality.unknown, quality.accuracy), (5, 1, 0.6));
    // F1 of a: 2·1/(2 + 1), of b: 2·2/(2 + 3); c is nowhere.
    near(quality.macro_f1, (2.0 / 3.0 + 0.8) / 2.0);
    near(quality.micro_f1, 6.0 / 9.0);
    assert_eq!(quality.confusion, [[1, 1, 0], [0, 2, 0], [0, 0, 0]]);
}

#[test]
fn several_numbers_are_judged_one_by_one() {
    let rows = [([1.0, 7.0], [2.0, 7.0]), ([3.0, 8.0], [4.0, 9.0]), ([5.0, 9.5], [4.5, 10.0])];
    let mut sums = SeveralSums::new(&["a".to_string(), "b".to_string()]);
    rows.iter().for_each(|(predicted, truths)| sums.add(predicted, truths.iter(), 1.0));
    let quality = sums.finish();
    for (m, TargetQuality { quality: target, .. }) in quality.targets.iter().enumerate() {
        let mut alone = SeveralSums::new(&["one".to_string()]);
        rows.iter().for_each(|(predicted, truths)| alone.add(&predicted[m..=m], truths[m..].iter(), 1.0));
        let alone = alone.finish();
        near(target.rmse, alone.rmse);
        near(target.mae, alone.mae);
        near(target.r2.unwrap(), alone.r2.unwrap());
    }
    near(quality.r2.unwrap(), quality.targets.iter().map(|target| target.quality.r2.unwrap()).sum::<f64>() / 2.0);
}

#[test]
fn rows_that_are_kept_are_paid_for() {
    let objective = binary_objective();
    let budget = Budget::new(10 * Judge::row_bytes(&objective.targets));
    let mut judge = Judge::new(&objective.targets, None, 1, true, &budget).unwrap();
    let added = (0..20).take_while(|_| judge.add(row(&[1.0], Some(1), 1.0)).is_ok()).count();
    assert_eq!(added, 10);
    assert!(size_of::<Ranked>() as u64 * 3 <= Judge::row_bytes(&objective.targets));
}
