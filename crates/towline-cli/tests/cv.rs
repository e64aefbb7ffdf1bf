//! Cross-validation as a user sees it.

use crate::workbench::random::Random;
use std::path::Path;
use std::process::{Command, Output};

use crate::workbench::program_bytes;
use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use tempfile::TempDir;

fn towline(folder: &TempDir, line: &str) -> Output {
    Command::new(cargo_bin("towline")).args(line.split_whitespace()).current_dir(folder.path()).output().unwrap()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A folder with the a9a data packed.
fn packed() -> TempDir {
    let folder = TempDir::new().unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/a9a.zst");
    let line = format!("pack {} -o a9a.tow --block-size 100K -q", data.display());
    assert!(towline(&folder, &line).status.success());
    folder
}

#[test]
fn folds_in_memory_and_out_of_core_have_the_same_scores() {
    let folder = packed();
    let scores = |run: &Value| -> Vec<f64> {
        let points = run["points"].as_array().unwrap().iter();
        points.flat_map(|point| point["scores"].as_array().unwrap().clone()).map(|x| x.as_f64().unwrap()).collect()
    };
    let line = "cv a9a.tow -C 0.01,1 --folds 3 --loss squared-hinge --tolerance 1e-6 --json";
    let whole = json(&towline(&folder, line));
    let part = json(&towline(&folder, &format!("{line} --memory +4M")));
    assert_eq!(whole["cost"]["passes"].as_u64(), Some(4), "two values of C, each trained and scored");
    assert!(part["cost"]["passes"].as_u64().unwrap() > 4);
    assert!(part["peak_memory_bytes"].as_u64().unwrap() <= program_bytes() + (4 << 20), "{part}");
    let (a, b) = (scores(&whole), scores(&part));
    assert_eq!(a.len(), 6);
    // A row whose score is nearly 0 may fall on either side.
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 2e-4), "{a:?} {b:?}");
    assert!(a.iter().all(|score| (0.83..0.87).contains(score)), "{a:?}");
    assert!(!folder.path().join("a9a.cv").exists(), "nothing is left behind");
}

#[test]
fn a_fold_is_what_training_without_it_gives() {
    // Folds by group: the rows of one group are one fold's, so the others can be packed and trained by hand.
    let folder = TempDir::new().unwrap();
    let mut source = Random(3);
    let mut random = |n: u64| source.below(n);
    let rows: Vec<(u64, String)> = (0..600)
        .map(|_| {
            let (group, a, b, noise) = (random(2), random(20), random(20), random(10));
            let label = if (a + b > 20) ^ (noise == 0) { 1 } else { -1 };
            (group, format!("{label} qid:{group} 1:{a} 2:{b} 3:1"))
        })
        .collect();
    let write = |name: &str, keep: &dyn Fn(u64) -> bool| {
        let text: Vec<&str> = rows.iter().filter(|row| keep(row.0)).map(|row| row.1.as_str()).collect();
        std::fs::write(folder.path().join(name), text.join("\n") + "\n").unwrap();
    };
    write("all.svm", &|_| true);
    (0..2).for_each(|group| write(&format!("{group}.svm"), &|of| of == group));
    let mut seed = 0;
    let run = loop {
        // With two groups and two folds, both may fall into one of them.
        let run = towline(
            &folder,
            &format!("cv all.svm -C 0.1 --folds 2 --seed {seed} --tolerance 1e-9 --loss logistic --json"),
        );
        let run = json(&run);
        if run["points"][0]["scores"].as_array().unwrap().iter().all(Value::is_f64) {
            break run;
        }
        seed += 1;
    };
    let mut by_hand: Vec<f64> = (0..2)
        .map(|group| {
            let line =
                format!("train {}.svm -C 0.1 --tolerance 1e-9 --loss logistic --test {group}.svm --json", 1 - group);
            json(&towline(&folder, &line))["test"]["accuracy"].as_f64().unwrap()
        })
        .collect();
    let mut found: Vec<f64> =
        run["points"][0]["scores"].as_array().unwrap().iter().map(|score| score.as_f64().unwrap()).collect();
    by_hand.sort_by(f64::total_cmp);
    found.sort_by(f64::total_cmp);
    assert_eq!(found, by_hand);
}

#[test]
fn an_interrupted_run_goes_on_and_a_refit_trains_the_best() {
    let folder = packed();
    let mut child = Command::new(cargo_bin("towline"))
        .args("cv a9a.tow -C 1,10 --folds 3 --tolerance 1e-12 --memory +4M -q".split(' '))
        .current_dir(folder.path())
        .spawn()
        .unwrap();
    let begin = std::time::Instant::now();
    let unfinished = folder.path().join("a9a.cv");
    let has_duals = || unfinished.join("models.duals").metadata().is_ok_and(|file| file.len() > 1000);
    while !has_duals() && begin.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(has_duals());
    let run = json(&towline(&folder, "cv a9a.tow -C 1,10 --folds 3 --memory +4M --refit -o best.towm --json"));
    assert!(!unfinished.exists());
    assert_eq!(run["refit"]["objective"]["c"], run["best_c"]);
    assert!(folder.path().join("best.towm").exists());
    let text = String::from_utf8(towline(&folder, "cv a9a.tow -C 1,10 --folds 3").stdout).unwrap();
    assert!(text.contains("best") && text.contains('●'), "{text}");
}

#[test]
fn mistakes_are_named() {
    let folder = packed();
    for (line, word) in [
        ("cv a9a.tow -C 0", "not a number above 0"),
        ("cv a9a.tow --folds 1", "2..=1000"),
        ("cv a9a.tow --loss hinge,squared", "no score in common"),
        ("cv a9a.tow -o x.towm", "--refit"),
        ("cv none.tow", "none.tow"),
    ] {
        let output = towline(&folder, line);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && message.contains(word), "{line}: {message}");
    }
    let output = towline(&folder, "cv a9a.tow --memory 100K");
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!folder.path().join("a9a.cv").exists(), "nothing is left of a run that could not begin");
    // A folder of somebody else is left alone.
    std::fs::create_dir(folder.path().join("a9a.cv")).unwrap();
    std::fs::write(folder.path().join("a9a.cv/letter.txt"), "dear").unwrap();
    let output = towline(&folder, "cv a9a.tow -C 1");
    assert!(String::from_utf8_lossy(&output.stderr).contains("not from towline cv"));
    assert!(folder.path().join("a9a.cv/letter.txt").exists());
}
