//! `--memory` is kept while training: in memory and out of core, with few blocks and many, whatever stays in memory.

use std::io::Write;

use crate::workbench::random::Random;
use crate::workbench::{Workbench, program_bytes};
use serde_json::Value;

const MIB: u64 = 1 << 20;

/// 48 MiB of rows in memory: 6 million values of 8 bytes, many more than the program itself.
fn bench() -> Workbench {
    let bench = Workbench::new();
    let mut random = Random(61);
    let mut text = Vec::new();
    for _ in 0..60_000 {
        let mut row = Vec::new();
        let (mut index, mut signal) = (0, 0.0);
        for _ in 0..100 {
            index += 1 + random.below(400);
            let value = random.below(10_000) as f32 / 10_000.0 + 0.0001;
            signal += f64::from(value) * ((index % 3) as f64 - 1.0);
            write!(row, " {index}:{value}").unwrap();
        }
        text.extend_from_slice(if signal > 0.0 { b"1" } else { b"-1" });
        text.extend_from_slice(&row);
        text.push(b'\n');
    }
    bench.file("rows.svm", text);
    bench
}

/// A run of a few passes, whose peak is held against the budget.
fn train(bench: &Workbench, store: &str, bytes: u64, options: &str) -> Value {
    let said = bench.run(&format!("train {store} --memory {bytes} --json -o model.towm --max-passes 2 {options}"));
    assert!(matches!(said.code, Some(0 | 5)), "{store} {options}: {}", said.stderr);
    let run: Value = serde_json::from_str(&said.stdout).unwrap();
    let peak = run["peak_memory_bytes"].as_u64().unwrap();
    println!("{store} {options}: a budget of {} MiB, a peak of {} MiB", bytes / MIB, peak / MIB);
    assert!(peak <= bytes, "{store} {options}: a peak of {peak} bytes with a budget of {bytes}");
    run
}

#[test]
fn every_way_to_train_keeps_its_budget() {
    let bench = bench();
    for (blocks, block_size) in [(3, "17M"), (20, "2600k")] {
        let store = format!("{blocks}.tow");
        bench.ok(&format!("pack rows.svm -o {store} -q --memory 256M --block-size {block_size}"));
        let plan = |memory: &str| -> Value {
            serde_json::from_str(&bench.ok(&format!("plan {store} --json --memory {memory}"))).unwrap()
        };
        let roomy = plan("1G");
        assert_eq!(roomy["in_memory"], true);
        let sum: u64 = ["program_bytes", "weight_bytes", "dual_bytes", "read_ahead_bytes", "resident_bytes"]
            .map(|part| roomy[part].as_u64().unwrap())
            .iter()
            .sum();
        let least = roomy["least_bytes"].as_u64().unwrap();
        assert_eq!(plan(&sum.to_string())["in_memory"], true);
        assert_eq!(plan(&least.to_string())["in_memory"], false, "{blocks} blocks");
        train(&bench, &store, sum, "--restart");
        for selection in ["gradient", "random", "gap"] {
            train(&bench, &store, least, &format!("--restart --selection {selection}"));
        }
        train(&bench, &store, least, "--restart --method bmd --loss logistic");
    }
    for method in ["pegasos", "perceptron", "mira", "cw", "sgd"] {
        let refused = bench.run(&format!("train 20.tow --method {method} --memory 1k"));
        assert_eq!(refused.code, Some(3), "{}", refused.stderr);
        // Two blocks of 2.6 MiB with the room to decode them, and vectors of 40,000 numbers.
        train(&bench, "20.tow", program_bytes() + 12 * MIB, &format!("--method {method}"));
    }
}
