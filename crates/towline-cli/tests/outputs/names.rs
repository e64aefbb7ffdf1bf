//! What appears at the target meanwhile, and what has a name that we could have made up.
use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::{ChildStdin, Stdio};

use super::{bench, made_up, rows, wait_for};
use crate::workbench::{Said, Workbench, said};

/// Packs standard input, lets `meanwhile` happen in the middle, and ends.
fn pack_while(bench: &Workbench, arguments: &str, meanwhile: impl FnOnce()) -> Said {
    let mut command = bench.command(&format!("pack - -q {arguments}"));
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input: ChildStdin = child.stdin.take().unwrap();
    input.write_all(rows(1000).as_bytes()).unwrap();
    // The unfinished store is there when the program has seen its target.
    wait_for(bench, &mut child, "blocks");
    meanwhile();
    drop(input);
    said(child.wait_with_output().unwrap())
}

#[test]
fn what_appears_while_a_store_is_packed_stays() {
    let bench = Workbench::new();
    let ended = pack_while(&bench, "-o out.tow", || drop(bench.file("out.tow/thesis.txt", "mine")));
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("what was to be written is in out.tow.1"), "{}", ended.stderr);
    assert_eq!(std::fs::read_to_string(bench.path("out.tow/thesis.txt")).unwrap(), "mine");
    bench.ok("verify out.tow.1");
    assert_eq!(made_up(&bench), [""; 0]);
}

#[test]
fn force_replaces_the_store_that_was_there_and_no_other() {
    let bench = bench();
    let swap = || {
        std::fs::rename(bench.path("a.tow"), bench.path("away.tow")).unwrap();
        bench.file("a.tow/thesis.txt", "mine");
    };
    let ended = pack_while(&bench, "-o a.tow --force", swap);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert_eq!(std::fs::read_to_string(bench.path("a.tow/thesis.txt")).unwrap(), "mine");
    bench.ok("verify away.tow");
    bench.ok("verify a.tow.1");
    assert_eq!(made_up(&bench), [""; 0]);
}

#[test]
fn force_does_not_lose_what_is_no_part_of_a_store() {
    let bench = bench();
    for foreign in ["a.tow/thesis.txt", "a.tow/blocks/thesis.txt", "a.tow/notes.new", "a.tow/city.map"] {
        let path = bench.file(foreign, "mine");
        let ended = bench.run("pack a.svm -o a.tow --force -q");
        assert_eq!(ended.code, Some(1), "{foreign}");
        assert!(ended.stderr.contains(path.file_name().unwrap().to_str().unwrap()), "{}", ended.stderr);
        bench.ok("pack a.svm -o a.tow --append --repeat -q");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine", "{foreign}");
        std::fs::remove_file(path).unwrap();
    }
    bench.ok("pack a.svm -o a.tow --force -q");
    bench.ok("index a.tow -q");
    let path = bench.file("a.tow/index/thesis.txt", "mine");
    assert_eq!(bench.run("index a.tow -q").code, Some(1));
    assert!(path.exists());
    bench.file("web/manifest.json", "{}");
    bench.file("web/index.html", "mine");
    assert_eq!(bench.run("pack a.svm -o web --force -q").code, Some(1));
    assert!(bench.path("web/index.html").exists());
}

#[test]
fn names_that_were_once_made_up_are_left_alone() {
    let bench = bench();
    bench.file("precious", "mine");
    bench.file("folder/thesis.txt", "mine");
    for link in ["out.tow.partial", "m.towm.new", "m.towm.duals.new"] {
        symlink("precious", bench.path(link)).unwrap();
    }
    bench.ok("pack a.svm -o out.tow -q");
    bench.ok("train a.tow -o m.towm -q --restart");
    std::fs::remove_file(bench.path("out.tow.partial")).unwrap();
    symlink("folder", bench.path("out.tow.partial")).unwrap();
    bench.ok("pack a.svm -o out.tow -q --force");
    bench.file("index.tow.partial/thesis.txt", "mine");
    symlink("../folder", bench.path("a.tow/index.partial")).unwrap();
    bench.ok("index a.tow -q");
    for kept in ["precious", "folder/thesis.txt", "index.tow.partial/thesis.txt"] {
        assert_eq!(std::fs::read_to_string(bench.path(kept)).unwrap(), "mine", "{kept}");
    }
}

#[test]
fn links_at_our_own_names_are_not_followed() {
    let bench = bench();
    bench.file("precious", "");
    symlink("precious", bench.path(".out.tow.towline-lock")).unwrap();
    let ended = bench.run("pack a.svm -o out.tow -q");
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.stderr, "towline: .out.tow.towline-lock: this is not a lock file of ours; move it away\n");
    std::fs::remove_file(bench.path(".out.tow.towline-lock")).unwrap();
    // Folders without our marker, and links, are not ours however they are called.
    let unfinished = ".out.tow.0123456789abcdef.towline-new";
    bench.file(&format!("{unfinished}/thesis.txt"), "mine");
    symlink("a.tow", bench.path(".out.tow.1123456789abcdef.towline-new")).unwrap();
    bench.ok("pack a.svm -o out.tow -q");
    assert!(bench.path(&format!("{unfinished}/thesis.txt")).exists());
    bench.ok("verify a.tow");
}

#[test]
fn rows_are_not_added_through_a_link_out_of_the_store() {
    let bench = bench();
    std::fs::rename(bench.path("a.tow/blocks"), bench.path("outside")).unwrap();
    bench.file("outside/00007.blk", "mine");
    symlink("../outside", bench.path("a.tow/blocks")).unwrap();
    let before = bench.contents();
    let ended = bench.run("pack a.svm -o a.tow --append --repeat -q");
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("a.tow/blocks"), "{}", ended.stderr);
    assert!(bench.contents() == before);
}

#[test]
fn what_a_killed_run_left_is_removed_by_the_next() {
    let bench = Workbench::new();
    bench.file("a.svm", rows(400));
    for _ in 0..3 {
        let mut child = bench.command("pack - -o out.tow -q").stdin(Stdio::piped()).spawn().unwrap();
        wait_for(&bench, &mut child, "blocks");
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(made_up(&bench).iter().filter(|name| name.ends_with("towline-new")).count() <= 1);
    bench.ok("pack a.svm -o out.tow -q");
    assert_eq!(made_up(&bench), [""; 0]);
}
