//! Whatever ends a training run, the next one goes on from its last checkpoint and ends at the same optimum.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};

use crate::workbench::Workbench;
use crate::workbench::random::Random;
use serde_json::Value;
use towline::trainer::Checkpoint;

const ROWS: usize = 4000;
const FEATURES: usize = 400;

type Rows = Vec<(f64, Vec<(usize, f64)>)>;

/// Rows of two overlapping classes, and their store: in the order of the text, so that dual variables can be matched
/// with rows.
fn bench() -> (Workbench, Rows) {
    let bench = Workbench::new();
    let mut random = Random(51);
    let mut text = String::new();
    let mut rows = Rows::new();
    for _ in 0..ROWS {
        let mut row: Vec<(usize, f64)> = Vec::new();
        let mut feature = 0;
        while row.len() < 12 {
            feature += 1 + random.below(FEATURES as u64 / 13) as usize;
            row.push((feature, (1 + random.below(8)) as f64 / 8.0));
        }
        let signal: f64 = row.iter().map(|&(feature, value)| value * ((feature % 5) as f64 - 2.0)).sum();
        let label = if signal + 2.0 * (random.fraction() - 0.5) > 0.0 { 1.0 } else { -1.0 };
        text += &format!("{label}");
        row.iter().for_each(|(feature, value)| text += &format!(" {feature}:{value}"));
        text.push('\n');
        rows.push((label, row));
    }
    bench.file("rows.svm", text);
    bench.ok("pack rows.svm -o rows.tow -q --keep-order --block-size 16k");
    (bench, rows)
}

/// A run that cannot hold all rows, for tens of passes.
const OUT_OF_CORE: &str = "train rows.tow -o model.towm -C 10 --tolerance 1e-6 --memory +350k --json";

/// D, from its definition: hinge loss, C = 10.
fn dual_objective(rows: &Rows, duals: &[f64]) -> f64 {
    let mut v = vec![0.0; FEATURES + 1];
    for ((label, row), beta) in rows.iter().zip(duals) {
        assert!((0.0..=10.0).contains(&(label * beta)), "{beta}");
        row.iter().for_each(|&(feature, value)| v[feature] += beta * value);
    }
    duals.iter().map(|beta| beta.abs()).sum::<f64>() - 0.5 * v.iter().map(|v| v * v).sum::<f64>()
}

fn checkpoint(bench: &Workbench) -> Option<Vec<f64>> {
    let checkpoint = Checkpoint::open(&bench.path("model.towm.duals"), ROWS as u64 + u64::from(u32::MAX)).unwrap()?;
    let mut duals = vec![0.0; ROWS];
    checkpoint.duals().unwrap().next(&mut duals).unwrap();
    Some(duals)
}

/// Lets the program read this much before the call returns, or end. The moments are spread by work and not by the
/// clock.
fn wait_for_reading(child: &mut Child, bytes: u64) {
    let path = format!("/proc/{}/io", child.id());
    let read_bytes = || -> Option<u64> {
        std::fs::read_to_string(&path).ok()?.lines().next()?.strip_prefix("rchar: ")?.parse().ok()
    };
    while child.try_wait().unwrap().is_none() && read_bytes().is_some_and(|read| read < bytes) {
        std::thread::yield_now();
    }
}

fn summary(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap()
}

#[test]
fn a_run_that_is_killed_thirty_times_ends_at_the_same_optimum() {
    let (bench, rows) = bench();
    let plan: Value = summary(bench.ok("plan rows.tow --memory +350k --json").as_bytes());
    assert_eq!(plan["in_memory"], false);
    let pass_bytes = plan["pass_bytes"].as_u64().unwrap();
    let whole = summary(bench.ok(OUT_OF_CORE).as_bytes());
    let passes = whole["passes"].as_u64().unwrap();
    assert!(passes >= 15, "{passes} passes are too few to be interrupted");
    std::fs::remove_file(bench.path("model.towm.duals")).unwrap();
    std::fs::remove_file(bench.path("model.towm")).unwrap();

    let mut random = Random(52);
    let (mut killed, mut best, mut progress) = (0, f64::NEG_INFINITY, 0);
    for round in 0..30 {
        let mut child = bench.command(OUT_OF_CORE).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // What a process reads before its first block is little: its manifest, tables and checkpoint.
        wait_for_reading(&mut child, random.below(4 * pass_bytes));
        child.kill().unwrap();
        killed += usize::from(child.wait().unwrap().signal() == Some(9));
        if let Some(duals) = checkpoint(&bench) {
            let dual = dual_objective(&rows, &duals);
            assert!(dual >= best - 1e-9 * best.abs(), "round {round}: {dual} after {best}: something was lost");
            progress += usize::from(dual > best);
            best = best.max(dual);
        }
    }
    println!("{killed} of 30 killed in the middle, {progress} checkpoints with progress");
    assert!(killed >= 20, "only {killed} of 30 runs were killed in the middle");
    assert!(progress >= 3, "only {progress} checkpoints brought anything");

    let end = summary(bench.ok(OUT_OF_CORE).as_bytes());
    let (found, wanted) = (end["objective"].as_f64().unwrap(), whole["objective"].as_f64().unwrap());
    assert_eq!(end["status"], "converged");
    assert!(end["relative_gap"].as_f64().unwrap() <= 1e-6);
    assert!((found - wanted).abs() <= 1e-6 * wanted, "{found} {wanted}");
    assert!(dual_objective(&rows, &checkpoint(&bench).unwrap()) >= best);
    let left_over = bench.contents().into_keys().filter(|name| name.to_string_lossy().ends_with(".new"));
    assert_eq!(left_over.count(), 0, "half-written files are gone");
}

#[test]
fn signals_leave_a_model_that_says_it_was_interrupted() {
    let (bench, _) = bench();
    let endless = "--tolerance 1e-300 --max-passes 1000000000";
    let cases = [
        (format!("{endless} --memory +350k"), libc::SIGINT),
        (format!("{endless} --memory +350k"), libc::SIGTERM),
        (format!("{endless} --memory 1G"), libc::SIGINT),
        ("--method sgd --max-passes 1000000000".to_string(), libc::SIGTERM),
    ];
    for (options, signal) in cases {
        let command = format!("train rows.tow -o model.towm -C 10 {options} --json");
        let mut child = bench.command(&command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // The handler is there before the first block is read, and there are more than 64 KiB of them.
        wait_for_reading(&mut child, 64 << 10);
        // SAFETY: the process is our child and has not been waited for.
        unsafe { libc::kill(child.id() as libc::pid_t, signal) };
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(130), "{options}: {said}");
        let run = summary(&output.stdout);
        assert_eq!(run["status"], "interrupted", "{options}");
        let model = summary(bench.ok("info model.towm --json").as_bytes());
        assert_eq!(model["status"], "interrupted", "{options}");
        assert_eq!(model["certificate"]["objective"], run["objective"], "{options}");
        let objective = run["objective"].as_f64().unwrap();
        assert!(objective.is_finite() && objective >= run["dual_objective"].as_f64().unwrap(), "{options}");
        bench.ok("eval model.towm rows.svm");
    }
}
