//! System calls that fail, one at a time, in small runs of the verbs that write: what was there is there still, or what
//! was asked for is there whole.
//!
//! The long form, with kills, damaged and forged files, races, full disks and losses of power, is
//! `benchmarks/faults.py`. Needs `strace`; without it there is nothing to see here.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use crate::workbench::{Said, Workbench, forge, said};

/// Arguments, and what is written.
const VERBS: [(&str, &str); 6] = [
    ("pack more.svm -o new.tow -q", "new.tow"),
    ("pack more.svm -o a.tow --force -q", "a.tow"),
    ("pack more.svm -o a.tow --append -q", "a.tow"),
    ("train a.tow -o m.towm -q --restart -C 3", "m.towm"),
    ("predict m.towm more.svm -o p.txt", "p.txt"),
    ("export m.towm --to text -o m.txt", "m.txt"),
];
/// Calls that may fail, and how.
const CALLS: [(&str, &str); 7] = [
    ("write", "ENOSPC"),
    ("write", "EINTR"),
    ("fsync", "EIO"),
    ("openat", "EMFILE"),
    ("renameat2", "EIO"),
    ("renameat", "ENOSPC"),
    ("unlinkat", "EIO"),
];
/// One of so many points is tried: all of them take minutes.
const STEP: usize = 7;

fn bench() -> Workbench {
    let bench = Workbench::new();
    bench.file("first.svm", rows(150));
    bench.file("more.svm", rows(120));
    bench.ok("pack first.svm -o a.tow -q");
    bench.ok("train a.tow -o m.towm -q");
    bench
}

/// Two classes that overlap.
fn rows(rows: usize) -> String {
    let row = |i: usize| match i % 2 {
        0 => format!("1 {}:1 30:{}\n", 1 + i * 7 % 20, i % 5),
        _ => format!("-1 {}:1 30:{}\n", 9 + i * 5 % 20, i % 3),
    };
    (0..rows).map(row).collect()
}

/// Runs the program under strace; none without it.
fn traced(bench: &Workbench, options: &[&str], arguments: &str) -> Option<Said> {
    let program = bench.command("").get_program().to_os_string();
    let mut command = Command::new("strace");
    command.args(["-f", "-qq"]).args(options).arg(program).args(arguments.split_whitespace());
    Some(said(command.current_dir(bench.path(".")).stdin(Stdio::null()).output().ok()?))
}

/// How often each thread makes each call, at most.
fn counts(bench: &Workbench, arguments: &str) -> Option<BTreeMap<&'static str, usize>> {
    let log = bench.path("log");
    traced(bench, &["-o", log.to_str()?, "-e", "trace=write,fsync,openat,renameat,renameat2,unlinkat"], arguments)?;
    let text = String::from_utf8_lossy(&std::fs::read(log).ok()?).into_owned();
    let mut of_thread: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for line in text.lines() {
        let Some((thread, call)) = line.split_once('(').and_then(|(before, _)| before.split_once(' ')) else {
            continue;
        };
        if let Some((call, _)) = CALLS.iter().find(|(name, _)| *name == call.trim()) {
            *of_thread.entry((thread, call)).or_default() += 1;
        }
    }
    let mut most = BTreeMap::new();
    for ((_, name), count) in of_thread {
        let name = CALLS.iter().find(|(call, _)| *call == name)?.0;
        let known: &mut usize = most.entry(name).or_default();
        *known = (*known).max(count);
    }
    Some(most)
}

/// What an output says; none if there is none.
fn meaning(bench: &Workbench, name: &str) -> Option<String> {
    if !bench.path(name).exists() {
        return None;
    }
    Some(match name.rsplit_once('.')?.1 {
        "tow" => bench.ok(&format!("verify {name}")) + &bench.ok(&format!("cat {name}")),
        "towm" => bench.ok(&format!("predict {name} first.svm")),
        _ => std::fs::read_to_string(bench.path(name)).unwrap(),
    })
}

#[test]
fn a_call_that_fails_leaves_the_old_or_the_new() {
    let mut tried = 0;
    let mut points = 0;
    for (arguments, output) in VERBS {
        let whole = bench();
        let old = meaning(&whole, output);
        let Some(counts) = counts(&whole, arguments) else { return };
        let new = meaning(&whole, output);
        for (call, error) in CALLS {
            for when in 1..=counts.get(call).copied().unwrap_or(0) {
                points += 1;
                if points % STEP != 0 {
                    continue;
                }
                tried += 1;
                let bench = bench();
                let inject = format!("inject={call}:error={error}:when={when}");
                let Some(ended) = traced(&bench, &["-o", "/dev/null", "-e", &inject], arguments) else { return };
                let told = format!("towline {arguments}, {inject}: {:?} {}", ended.code, ended.stderr);
                // The first calls of a process are those of its loader, which has an end of its own.
                if ended.code == Some(127) {
                    continue;
                }
                assert!(matches!(ended.code, Some(0 | 1 | 3 | 4 | 5 | 6)), "{told}");
                let found = meaning(&bench, output);
                assert!(found == old || found == new, "neither old nor new: {told}");
                if matches!(ended.code, Some(0 | 5 | 6)) {
                    assert!(found == new, "not what was said: {told}");
                }
            }
        }
    }
    assert!(tried > 20, "{tried} of {points}");
}

/// What is written on the way is not what was asked for: without the model, nothing is done.
#[test]
fn a_sync_that_fails_on_the_way_is_a_failure() {
    for arguments in [
        "train more.svm -o n.towm -q",
        "train a.tow -o n.towm -q --trace t.jsonl",
        "cv a.tow -C 1 --refit -o n.towm -q",
    ] {
        let whole = bench();
        let Some(counts) = counts(&whole, arguments) else { return };
        for when in 1..=counts.get("fsync").copied().unwrap_or(0) {
            let bench = bench();
            let inject = format!("inject=fsync:error=EIO:when={when}");
            let Some(ended) = traced(&bench, &["-o", "/dev/null", "-e", &inject], arguments) else { return };
            let is_there = bench.path("n.towm").exists();
            assert!(ended.code != Some(6) || is_there, "towline {arguments}, {inject}: {}", ended.stderr);
        }
    }
}

#[test]
fn sizes_beyond_all_memory_are_refused_in_words() {
    let bench = bench();
    for bytes in [1 << 63, u64::MAX] {
        forge::manifest(&bench.path("a.tow"), |manifest| manifest["table"]["bytes"] = bytes.into());
        for verb in ["info a.tow", "verify a.tow", "plan a.tow", "train a.tow -o n.towm -q"] {
            let ended = bench.run(verb);
            assert!(matches!(ended.code, Some(1 | 3)), "{verb}: {:?} {}", ended.code, ended.stderr);
        }
    }
}
