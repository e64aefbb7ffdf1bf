//! Two runs at a time, and what is looked at before a long one.
use std::process::Stdio;

use super::{bench, made_up, wait_for};
use crate::workbench::said;

const ENDLESS: &str = "--tolerance 1e-300 --max-passes 1000000000";

#[test]
fn the_second_of_two_trainings_to_one_model_is_told() {
    let bench = bench();
    let mut first = bench.command(&format!("train a.tow -o m2.towm -q --restart {ENDLESS}")).spawn().unwrap();
    wait_for(&bench, &mut first, "towline-lock");
    let second = bench.run("train a.tow -o m2.towm -q");
    assert_eq!(second.code, Some(1));
    let message = "towline: m2.towm: another run is writing it; wait for it to end, or choose another name\n";
    assert_eq!(second.stderr, message);
    assert_eq!(bench.run("train a.tow -o m.towm --trace m.towm").code, Some(1), "nor is a name taken twice");
    first.kill().unwrap();
    first.wait().unwrap();
    bench.ok("train a.tow -o m2.towm -q");
    assert_eq!(made_up(&bench), [""; 0]);
}

#[test]
fn a_store_that_is_replaced_is_read_to_the_end_as_it_was() {
    let bench = bench();
    bench.file("b.svm", super::rows(300));
    let expected = bench.ok("train a.tow -o m.towm --json --restart --tolerance 1e-9");
    let objective = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap()["objective"].clone();
    for round in 0..12 {
        let mut command = bench.command("train a.tow -o m2.towm --json --restart --tolerance 1e-9");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        if round % 3 == 0 {
            wait_for(&bench, &mut child, "towline-lock");
        }
        bench.ok("pack b.svm -o a.tow --force -q");
        let ended = said(child.wait_with_output().unwrap());
        assert_eq!(ended.code, Some(0), "round {round}: {}", ended.stderr);
        bench.ok("pack a.svm -o a.tow --force -q");
        let found = objective(&ended.stdout).as_f64().unwrap();
        let whole = [objective(&expected).as_f64().unwrap(), found_on_b(&bench)];
        assert!(whole.iter().any(|value| (value - found).abs() < 1e-6 * value), "round {round}: {found} {whole:?}");
    }
}

fn found_on_b(bench: &crate::workbench::Workbench) -> f64 {
    let text = bench.ok("train b.svm -o b.towm --json --restart --tolerance 1e-9");
    serde_json::from_str::<serde_json::Value>(&text).unwrap()["objective"].as_f64().unwrap()
}

#[test]
fn what_cannot_work_in_the_end_is_found_at_the_beginning() {
    let bench = bench();
    bench.file("not-a-table.bin", [0u8; 100]);
    let before = bench.contents();
    for (command, named) in [
        ("--test missing.svm", "missing.svm"),
        ("--test not-a-table.bin", "not-a-table.bin"),
        ("--test .", "."),
        ("-o missing/m.towm", "missing/m.towm"),
        ("-o a.svm/m.towm", "a.svm/m.towm"),
        ("--trace missing/run.jsonl", "missing/run.jsonl"),
    ] {
        let started = std::time::Instant::now();
        let ended = bench.run(&format!("train a.tow {command} {ENDLESS}"));
        assert_eq!(ended.code, Some(if command.ends_with("bin") { 4 } else { 1 }), "{command}: {}", ended.stderr);
        assert!(ended.stderr.starts_with(&format!("towline: {named}")), "{command}: {}", ended.stderr);
        assert!(started.elapsed().as_secs() < 20, "{command}");
        assert!(bench.contents() == before, "{command}");
    }
}

#[test]
fn test_rows_leave_nothing_when_a_run_is_killed() {
    let bench = bench();
    let scratch = bench.path("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let command = format!("train a.tow -o m2.towm -q --restart --test a.svm --trace t.jsonl --test-every 0 {ENDLESS}");
    let mut child = bench.command(&command).env("TMPDIR", &scratch).spawn().unwrap();
    while std::fs::metadata(bench.path("t.jsonl")).map_or(0, |known| known.len()) == 0 {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
}
