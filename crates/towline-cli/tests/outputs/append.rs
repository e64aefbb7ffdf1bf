//! Rows that are added, and what may go wrong on the way.
use super::{bench, rows};

#[test]
fn rows_that_are_there_already_are_not_added_again() {
    let bench = bench();
    bench.file("more.svm", rows(50));
    bench.ok("pack more.svm -o a.tow --append -q");
    let before = bench.contents();
    for again in ["more.svm", "a.svm", "./more.svm"] {
        let ended = bench.run(&format!("pack {again} -o a.tow --append -q"));
        assert_eq!(ended.code, Some(1), "{again}");
        assert!(ended.stderr.contains("its rows are in the store already, as generation"), "{}", ended.stderr);
        assert!(bench.contents() == before);
    }
    bench.ok("pack more.svm -o a.tow --append -q --repeat");
    assert!(bench.ok("info a.tow").contains("generation 3"));
}

#[test]
fn rows_are_not_added_to_damaged_ones() {
    let bench = bench();
    let path = bench.path("a.tow/blocks/00000.blk");
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.len() - 1;
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    bench.file("more.svm", rows(50));
    let before = bench.contents();
    let ended = bench.run("pack more.svm -o a.tow --append -q");
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("the store is damaged"), "{}", ended.stderr);
    assert!(bench.contents() == before);
}

/// Runs the program under strace, which makes system calls fail; none without strace.
fn injected(bench: &crate::workbench::Workbench, inject: &str, arguments: &str) -> Option<crate::workbench::Said> {
    let program = bench.command("").get_program().to_os_string();
    let mut command = std::process::Command::new("strace");
    command.args(["-f", "-o", "/dev/null", "-e", inject]).arg(program).args(arguments.split_whitespace());
    let output = command.current_dir(bench.path(".")).output().ok()?;
    Some(crate::workbench::said(output))
}

#[test]
fn a_sync_that_fails_after_the_rows_are_in_says_so() {
    let bench = bench();
    bench.file("more.svm", rows(50));
    // The last sync of an append is the one of the folder after the manifest: count them first.
    let log = bench.path("syncs");
    let program = bench.command("").get_program().to_os_string();
    let mut command = std::process::Command::new("strace");
    command.args(["-f", "-e", "trace=fsync", "-o"]).arg(&log).arg(program).current_dir(bench.path("."));
    command.args("pack more.svm -o copy.tow --append -q".split_whitespace());
    let copied =
        std::process::Command::new("cp").args(["-r", "a.tow", "copy.tow"]).current_dir(bench.path(".")).status();
    assert!(copied.unwrap().success());
    if command.status().is_err() {
        return;
    }
    let syncs = std::fs::read_to_string(&log).unwrap().matches("fsync(").count();
    let inject = format!("inject=fsync:error=EIO:when={syncs}");
    let Some(ended) = injected(&bench, &inject, "pack more.svm -o a.tow --append -q") else { return };
    assert_eq!(ended.code, Some(6), "{}", ended.stderr);
    assert!(ended.stderr.contains("the rows were added, but the disk does not confirm it"), "{}", ended.stderr);
    assert!(bench.ok("info a.tow").contains("generation 2"));
    assert_eq!(bench.run("pack more.svm -o a.tow --append -q").code, Some(1), "a retry does not double the rows");
    // Every earlier one leaves the store as it was.
    bench.file("third.svm", rows(60));
    let before = std::fs::read(bench.path("a.tow/manifest.json")).unwrap();
    for when in 1..syncs {
        let inject = format!("inject=fsync:error=EIO:when={when}");
        let ended = injected(&bench, &inject, "pack third.svm -o a.tow --append -q").unwrap();
        assert_eq!(ended.code, Some(1), "sync {when}: {}", ended.stderr);
        assert!(std::fs::read(bench.path("a.tow/manifest.json")).unwrap() == before, "sync {when}");
        bench.ok("verify a.tow");
    }
}

#[test]
fn blocks_are_synced_before_the_manifest_that_names_them() {
    let bench = bench();
    bench.file("more.svm", rows(50));
    let log = bench.path("calls");
    let program = bench.command("").get_program().to_os_string();
    let mut command = std::process::Command::new("strace");
    command.args(["-f", "-y", "-e", "trace=fsync,renameat,renameat2,rename", "-o"]).arg(&log).arg(program);
    command.args("pack more.svm -o a.tow --append -q".split_whitespace()).current_dir(bench.path("."));
    if command.status().is_err() {
        return;
    }
    let calls = std::fs::read_to_string(&log).unwrap();
    let at = |wanted: &str| {
        calls.lines().position(|line| line.contains(wanted)).unwrap_or_else(|| panic!("{wanted}: {calls}"))
    };
    assert!(at("a.tow/blocks>") < at("rename"), "{calls}");
    assert!(calls.lines().last().is_some_and(|line| line.contains("exited")));
    bench.ok("train a.tow -o n.towm -q");
}
