//! Nobody may be reading: messages that cannot be written never end a run, and never panic.

use std::fs::File;
use std::process::{Command, Stdio};

use crate::workbench::{Workbench, said};

const VERBS: [&str; 14] = [
    "pack a.svm -o b.tow --force",
    "pack a.svm -o b.tow --force --json",
    "train a.tow -o m.towm --restart",
    "train a.tow -o m.towm --restart --json",
    "train a.svm --stream -o s.towm --progressive",
    "train a.svm --stream -o s.towm --json",
    "cv a.tow --folds 2 -C 1,2",
    "path a.tow --penalty l1 --points 3 -o p.path",
    "predict m.towm a.svm",
    "eval m.towm a.svm",
    "plan a.tow",
    "info a.tow",
    "info m.towm",
    "verify a.tow",
];

fn bench() -> Workbench {
    let bench = Workbench::new();
    let row =
        |i: usize| format!("{} {}:1 9:{}\n", if i.is_multiple_of(2) { 1 } else { -1 }, 1 + i % 2 + 2 * (i % 3), i % 5);
    bench.file("a.svm", (0..200).map(row).collect::<String>());
    bench.ok("pack a.svm -o a.tow -q");
    bench.ok("train a.tow -o m.towm -q");
    bench
}

/// Runs a verb with standard output and standard error closed, or on a full disk, or on a pipe that nobody reads.
fn run(bench: &Workbench, verb: &str, redirection: &str) -> Option<i32> {
    let program = bench.command("").get_program().to_os_string();
    let script = format!("exec \"$0\" {verb} {redirection}");
    let mut command = Command::new("bash");
    command.args(["-c", &script]).arg(program).current_dir(bench.path(".")).stdin(Stdio::null());
    let ended = said(command.output().unwrap());
    assert!(!ended.stderr.contains("panicked"), "{verb} {redirection}: {}", ended.stderr);
    ended.code
}

#[test]
fn closed_and_full_outputs_never_panic() {
    let bench = bench();
    for verb in VERBS {
        for redirection in ["2>/dev/full", "2>&-", ">&-", ">&- 2>&-"] {
            let code = run(&bench, verb, redirection);
            assert_eq!(code, Some(0), "{verb} {redirection}");
        }
        // What was asked for on standard output has not come: that is an error, said once and after the work.
        let code = run(&bench, verb, ">/dev/full");
        assert!(matches!(code, Some(0 | 1)), "{verb}: {code:?}");
        assert_ne!(run(&bench, verb, ">/dev/full 2>/dev/full"), Some(101), "{verb}");
    }
    bench.ok("info m.towm");
    bench.ok("info s.towm");
}

#[test]
fn a_pipe_that_nobody_reads_ends_quietly() {
    let bench = bench();
    for verb in VERBS {
        for both in [false, true] {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            let mut command = bench.command(verb);
            command.stdout(writer.try_clone().unwrap());
            command.stderr(if both { Stdio::from(writer) } else { Stdio::piped() });
            let ended = said(command.output().unwrap());
            assert_eq!(ended.code, Some(0), "{verb}: {}", ended.stderr);
            assert!(
                !ended.stderr.contains("panicked") && !ended.stderr.contains("towline:"),
                "{verb}: {}",
                ended.stderr
            );
        }
    }
}

#[test]
fn errors_keep_their_codes_where_nobody_reads_them() {
    let bench = bench();
    bench.file("bad.svm", "1 x:y\n");
    for (verb, code) in
        [("info missing.tow", 1), ("pack bad.svm -o c.tow", 4), ("train a.tow --memory 1k", 3), ("pack", 2)]
    {
        for redirection in ["2>/dev/full", "2>&-"] {
            assert_eq!(run(&bench, verb, redirection), Some(code), "{verb} {redirection}");
        }
    }
    assert!(File::open(bench.path("m.towm")).is_ok());
}
