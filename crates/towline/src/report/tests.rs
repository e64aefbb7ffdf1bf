//! Reports of models, paths and traces as a whole.
use std::io::Write;

use super::weights::largest;
use super::*;
use crate::{Fit, Regularizer, Rows, pack};

#[test]
fn the_largest_come_first_and_of_equal_ones_the_first() {
    let sizes = [1.0, 5.0, 0.0, 5.0, 3.0];
    assert_eq!(largest(5, 3, |i| sizes[i]), [1, 3, 4]);
    assert_eq!(largest(5, 9, |i| sizes[i]), [1, 3, 4, 0, 2]);
    assert!(largest(0, 3, |_| 0.0).is_empty());
}

#[test]
fn a_model_carries_how_it_came_about() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.svm");
    let rows: String =
        (0..400).map(|k| format!("{} 1:{} 2:{} {}:1\n", 1 - 2 * (k % 2), k % 7, (k * 31) % 11, 3 + k % 5)).collect();
    std::fs::write(&file, rows).unwrap();
    let store = pack(&file).to(folder.path().join("rows.tow")).unwrap();
    let saved = folder.path().join("m.towm");
    let fit = Fit::logistic().command("towline train rows.tow").seed(7).tolerance(1e-5).memory(64 << 20);
    fit.run_to(&store, &saved, &mut ()).unwrap();
    let model = Model::load(&saved).unwrap();
    let run = model.header.run.as_deref().unwrap();
    assert_eq!((run.command.as_deref(), run.seed, run.tolerance), (Some("towline train rows.tow"), 7, Some(1e-5)));
    assert!(run.data.ends_with("rows.svm") && run.solver.is_some() && run.peak_bytes > 0);
    assert_eq!(run.budget_bytes, Some(64 << 20));
    assert!(!run.steps.is_empty() && !run.held.is_empty());
    let last = run.steps.last().unwrap();
    assert!(last.gap.unwrap() <= 1e-5, "{last:?}");
    assert!((last.objective.unwrap() / model.objective_value() - 1.0).abs() < 1e-4);
    assert!(run.background_seconds.is_some_and(|seconds| seconds.iter().all(|part| *part > 0.0)));
    let rows = LabelledRows::of_store(store.shared());
    let budget = Budget::new(64 << 20);
    let mut report = Report::new("m");
    report.add(ModelReport::new("m", &model).judge(&model, &rows, Question::default(), &budget).unwrap());
    report.look_at(&rows, Look { model: &model, are_training: true }, &budget).unwrap();
    // 3 to 7 are never 0 and never anything else.
    let data = report.data.as_ref().unwrap();
    assert_eq!((data.rows, data.features), (400, 7));
    let page = report.to_html();
    assert!(page.contains("towline train rows.tow") && page.contains("It is proven that"), "no command or no sentence");
}

#[test]
fn groups_are_part_of_the_record() {
    let random = |k: u64| xxhash_rust::xxh3::xxh3_64(&k.to_le_bytes()) as f64 / u64::MAX as f64 - 0.5;
    let values: Vec<f64> = (0..600).map(random).collect();
    let labels: Vec<f64> = values.chunks(6).map(|row| 3.0 * row[0] - 2.0 * row[1]).collect();
    let rows = Rows::dense(values, 6, &labels).unwrap();
    // Two columns a group; the constant feature has its own.
    let groups = crate::penalty::GroupMap::new(vec![0, 0, 1, 1, 2, 2, 3], vec![1.0; 4]).unwrap();
    let fit = Fit::squared().penalty(Regularizer::Group).groups(groups).lambda(3.0);
    let model = fit.run(&rows).unwrap();
    let run = model.header.run.as_deref().unwrap();
    assert_eq!(run.groups_in_all, 3);
    assert_eq!((&run.groups[0].examples[..], run.groups[0].features), (&["0".to_string(), "1".to_string()][..], 2));
    let norm = model.weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
    let found = run.groups.iter().map(|group| group.norm * group.norm).sum::<f64>().sqrt();
    assert!((norm - found).abs() < 1e-9 && run.groups.is_sorted_by(|a, b| a.norm >= b.norm));
    let mut report = Report::new("groups");
    report.add(ModelReport::new("groups", &model));
    assert!(report.to_html().contains("of 3 groups have weights"));
}

#[test]
fn traces_are_read_and_others_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    let mut file = std::fs::File::create(&path).unwrap();
    for k in 1..=500 {
        let gap = 1.0 / f64::from(k);
        writeln!(
            file,
            "{{\"seconds\":{k},\"passes\":{k},\"bytes_read\":{k},\"dual_objective\":null,\"objective\":2.5,\
             \"relative_gap\":{gap},\"gap_estimate\":null,\"test\":{{\"accuracy\":0.5}}}}"
        )
        .unwrap();
    }
    let steps = read_trace(&path).unwrap();
    assert!(steps.len() <= 128 && steps.len() > 100);
    assert_eq!((steps[0].seconds, steps.last().unwrap().gap), (1.0, Some(1.0 / 500.0)));
    assert_eq!(steps[0].test, Some(0.5));
    std::fs::write(&path, "{\"seconds\":1,\"passes\":1,\"bytes_read\":1}\nno json\n").unwrap();
    let error = read_trace(&path).unwrap_err().to_string();
    assert!(error.contains("t.jsonl:2") && error.contains("no line of a trace"), "{error}");
    assert!(read_trace(&folder.path().join("none")).is_err());
}
