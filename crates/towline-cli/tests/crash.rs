//! Whatever ends a run, there is a whole store or none, and the next run leaves nothing of it.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};

use crate::workbench::random::{Random, Table, Values};
use crate::workbench::{Workbench, contents};

/// Enough rows for a run of some tenths of a second.
fn bench_with_rows() -> Workbench {
    let bench = Workbench::new();
    let table =
        Table { rows: 20_000, features: 3000, row_values: 60, values: Values::Counts, dense: false, groups: false };
    bench.file("old.svm", table.text(&mut Random(31)));
    let more = table.text(&mut Random(32));
    bench.file("more.svm", more.repeat(4));
    bench
}

fn start(bench: &Workbench, arguments: &str) -> Child {
    bench.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Lets the program do some of its work. How much is left to chance, and whatever it is the test must hold; the moments
/// are spread by what the program has written so far, not by the clock.
fn wait_for_work(bench: &Workbench, child: &mut Child, bytes: u64) {
    while child.try_wait().unwrap().is_none() && written_bytes(bench) < bytes {
        std::thread::yield_now();
    }
}

/// Bytes of everything that belongs to a store. Files come and go meanwhile.
fn written_bytes(bench: &Workbench) -> u64 {
    let entries = std::fs::read_dir(bench.path(".")).unwrap().flatten().map(|entry| entry.path());
    let mut folders: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    let mut bytes = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) => bytes += metadata.len(),
                Err(_) => {}
            }
        }
    }
    bytes
}

/// Names of everything that a finished store has no use for.
fn left_over(bench: &Workbench) -> Vec<String> {
    let manifest = std::fs::read_to_string(bench.path("out.tow/manifest.json")).unwrap_or_default();
    let names = contents(&bench.path(".")).into_iter().filter(|(_, bytes)| bytes.is_some()).map(|(name, _)| name);
    names
        .filter(|name| match name.strip_prefix("out.tow") {
            Ok(inside) => inside.to_str() != Some("manifest.json") && !manifest.contains(inside.to_str().unwrap()),
            Err(_) => name.extension().is_none_or(|ending| ending != "svm"),
        })
        .map(|name| name.display().to_string())
        .collect()
}

#[test]
fn a_killed_pack_leaves_no_store_or_a_whole_one() {
    let bench = bench_with_rows();
    bench.ok("pack more.svm -o out.tow --quiet --block-size 64k");
    let (whole, bytes) = (bench.ok("cat out.tow"), written_bytes(&bench));
    std::fs::remove_dir_all(bench.path("out.tow")).unwrap();
    let mut killed = 0;
    for round in 0..10 {
        let mut child = start(&bench, "pack more.svm -o out.tow --quiet --block-size 64k");
        wait_for_work(&bench, &mut child, bytes * round / 9);
        child.kill().unwrap();
        killed += usize::from(child.wait().unwrap().signal() == Some(9));
        if bench.path("out.tow").exists() {
            bench.ok("verify out.tow");
            assert!(bench.ok("cat out.tow") == whole);
            std::fs::remove_dir_all(bench.path("out.tow")).unwrap();
        } else {
            assert_eq!(bench.run("info out.tow").code, Some(1));
        }
    }
    assert!(killed >= 5, "only {killed} of 10 runs were killed in the middle");
    bench.ok("pack more.svm -o out.tow --quiet --block-size 64k");
    assert!(bench.ok("cat out.tow") == whole);
    assert_eq!(left_over(&bench), [""; 0]);
}

#[test]
fn a_killed_append_leaves_the_old_generation_or_the_new_one() {
    let bench = bench_with_rows();
    let pack_old = "pack old.svm -o out.tow --quiet --force --block-size 64k";
    let append = "pack more.svm -o out.tow --quiet --append --block-size 64k";
    bench.ok(pack_old);
    let (old, old_bytes) = (bench.ok("cat out.tow"), written_bytes(&bench));
    bench.ok(append);
    let (new, new_bytes) = (bench.ok("cat out.tow"), written_bytes(&bench));
    bench.ok(pack_old);
    let mut killed = 0;
    for round in 0..10 {
        let mut child = start(&bench, append);
        wait_for_work(&bench, &mut child, old_bytes + (new_bytes - old_bytes) * round / 9);
        child.kill().unwrap();
        killed += usize::from(child.wait().unwrap().signal() == Some(9));
        bench.ok("verify out.tow");
        let rows = bench.ok("cat out.tow");
        assert!(rows == old || rows == new, "round {round}");
        if rows == new {
            bench.ok(pack_old);
        }
    }
    assert!(killed >= 5, "only {killed} of 10 runs were killed in the middle");
    bench.ok(append);
    assert!(bench.ok("cat out.tow") == new);
    assert_eq!(left_over(&bench), [""; 0]);
}

#[test]
fn an_interrupted_run_says_so_and_leaves_nothing() {
    let bench = bench_with_rows();
    bench.ok("pack more.svm -o out.tow --quiet --block-size 64k");
    let bytes = written_bytes(&bench);
    for (arguments, store_stays) in [("", false), ("--force", true), ("--append --repeat", true)] {
        let before = store_stays.then(|| contents(&bench.path("out.tow")));
        if !store_stays {
            std::fs::remove_dir_all(bench.path("out.tow")).unwrap();
        }
        let command = format!("pack more.svm -o out.tow --block-size 64k {arguments}");
        let mut child = bench.command(&command).stderr(Stdio::piped()).spawn().unwrap();
        let goal = if store_stays { bytes + bytes / 4 } else { bytes / 4 };
        wait_for_work(&bench, &mut child, goal);
        // SAFETY: the process is our child and has not been waited for.
        unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) };
        let said = crate::workbench::said(child.wait_with_output().unwrap());
        assert_eq!(
            (said.code, &said.stderr[..]),
            (Some(130), "towline: interrupted; nothing was written\n"),
            "{arguments}"
        );
        match before {
            Some(before) => assert!(contents(&bench.path("out.tow")) == before, "{arguments}"),
            None => {
                assert!(!bench.path("out.tow").exists());
                bench.ok("pack more.svm -o out.tow --quiet --block-size 64k");
            }
        }
        assert_eq!(left_over(&bench), [""; 0], "{arguments}");
    }
}

#[test]
fn a_full_disk_is_an_error_that_leaves_nothing() {
    let bench = bench_with_rows();
    bench.ok("pack old.svm -o kept.tow --quiet");
    let binary = bench.command("").get_program().to_os_string();
    // Blocks of 1024 bytes: too little for the blocks, for the rows on their way, and for the map of the features.
    for (limit, options) in [(100, ""), (100, "--append"), (400, "--memory +8M"), (4, "--block-size 1k"), (0, "")] {
        let before = contents(&bench.path("."));
        let store = if options == "--append" { "kept.tow" } else { "out.tow" };
        let script = format!("ulimit -f {limit}; exec \"$0\" pack more.svm -o {store} --quiet {options}");
        let mut command = std::process::Command::new("bash");
        command.args(["-c", &script]).arg(&binary).current_dir(bench.path("."));
        let said = crate::workbench::said(command.output().unwrap());
        assert_eq!(said.code, Some(1), "{limit} {options}: {}", said.stderr);
        assert!(said.stderr.starts_with("towline: ") && said.stderr.contains(store), "{}", said.stderr);
        assert!(said.stderr.ends_with("File too large (os error 27)\n"), "{}", said.stderr);
        assert!(contents(&bench.path(".")) == before, "{limit} {options}");
    }
    bench.ok("verify kept.tow");
}

#[test]
fn two_writers_do_not_meet() {
    let bench = bench_with_rows();
    let mut first = start(&bench, "pack more.svm -o out.tow --quiet --block-size 64k");
    wait_for_work(&bench, &mut first, 1);
    if first.try_wait().unwrap().is_none() {
        // SAFETY: as above. It holds its lock while it stands still.
        unsafe { libc::kill(first.id() as libc::pid_t, libc::SIGSTOP) };
        let second = bench.run("pack old.svm -o out.tow --quiet");
        assert_eq!(second.code, Some(1));
        assert_eq!(second.stderr, "towline: out.tow: another process is writing this store; wait for it to end\n");
        unsafe { libc::kill(first.id() as libc::pid_t, libc::SIGCONT) };
    }
    assert!(first.wait().unwrap().success());
    bench.ok("verify out.tow");
}
