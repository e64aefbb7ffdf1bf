//! An output is no input, and replaces only what is of its kind.
use std::process::Stdio;

use super::{bench, made_up, wait_for};

#[test]
fn an_output_is_never_an_input() {
    let bench = bench();
    std::fs::hard_link(bench.path("a.svm"), bench.path("other-name.svm")).unwrap();
    std::os::unix::fs::symlink("m.towm", bench.path("link.towm")).unwrap();
    bench.file("groups.txt", "1-30\n");
    let cases = [
        "predict m.towm a.svm -o a.svm",
        "predict m.towm a.svm -o other-name.svm",
        "predict m.towm a.svm -o m.towm",
        "predict m.towm a.svm -o link.towm",
        "predict m.towm a.tow -o a.tow/manifest.json",
        "export m.towm --to json -o m.towm",
        "export m.towm --to text -o link.towm",
        "train a.svm -o a.svm",
        "train a.svm -o m2.towm --trace a.svm",
        "train a.svm -o m2.towm --trace other-name.svm",
        "train a.tow -o a.tow/manifest.json",
        "train a.tow -o a.tow/m2.towm",
        "train a.tow -o m2.towm --test a.svm --trace a.svm",
        "train a.tow -o groups.txt --penalty group --groups groups.txt",
        "train a.svm --stream -o a.svm",
        "path a.tow -o a.tow --penalty l1",
        "cv a.tow --refit -o a.tow/manifest.json",
    ];
    let before = bench.contents();
    for case in cases {
        let ended = bench.run(case);
        assert_eq!(ended.code, Some(1), "{case}: {}", ended.stderr);
        assert!(ended.stderr.contains("it is also read by this run"), "{case}: {}", ended.stderr);
        assert!(bench.contents() == before, "{case}");
    }
}

#[test]
fn files_of_another_kind_are_not_replaced() {
    let bench = bench();
    bench.file("b.svm", "1 1:2\n-1 3:4\n");
    bench.file("thesis.txt", "In the beginning\n");
    bench.file("table.csv", "a,b\n1,2\n");
    let writers = [
        "predict m.towm a.svm -o",
        "predict m.towm a.svm --scores -o",
        "export m.towm --to json -o",
        "export m.towm --to text -o",
        "export m.towm --to liblinear -o",
        "train a.tow -o",
        "train a.tow -o m2.towm --trace",
        "train a.svm --stream -o",
        "cv a.tow --refit -o",
    ];
    let before = bench.contents();
    for writer in writers {
        for target in ["b.svm", "thesis.txt", "table.csv", "a.tow", "a.tow/blocks.1.tab", "m.towm.duals"] {
            let ended = bench.run(&format!("{writer} {target}"));
            assert_eq!(ended.code, Some(1), "{writer} {target}: {}", ended.stderr);
            assert!(bench.contents() == before, "{writer} {target}");
        }
    }
}

#[test]
fn files_of_the_same_kind_are_replaced() {
    let bench = bench();
    for round in 0..2 {
        for command in [
            "predict m.towm a.svm -o labels",
            "predict m.towm a.svm --scores -o scores",
            "export m.towm --to json -o m.json",
            "export m.towm --to text -o m.txt",
            "export m.towm --to liblinear -o m.liblinear",
            "train a.tow -o m.towm -q --restart --trace run.jsonl",
            "path a.tow -o p.path -q --penalty l1 --points 3 --restart",
            "man pages",
        ] {
            let ended = bench.run(command);
            assert_eq!(ended.code, Some(0), "{command}, round {round}: {}", ended.stderr);
        }
        bench.file("labels", "");
    }
    assert_eq!(made_up(&bench), [""; 0]);
}

#[test]
fn pipes_are_written_as_they_are() {
    // No device is named here: whoever breaks this as root would replace it.
    let bench = bench();
    let lines = bench.ok("predict m.towm a.svm");
    assert_eq!(bench.ok("predict m.towm a.svm -o /dev/fd/1"), lines);
    let fifo = std::ffi::CString::new(bench.path("fifo").into_os_string().into_encoded_bytes()).unwrap();
    // SAFETY: the string ends with NUL and lives until the call returns.
    assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
    let path = bench.path("fifo");
    let reader = std::thread::spawn(move || std::fs::read_to_string(path).unwrap());
    bench.ok("predict m.towm a.svm -o fifo");
    assert_eq!(reader.join().unwrap(), lines);
    let refused = bench.run("train a.tow -o fifo -q");
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    let known = std::fs::symlink_metadata(bench.path("fifo")).unwrap();
    assert!(std::os::unix::fs::FileTypeExt::is_fifo(&known.file_type()));
}

#[test]
fn predictions_appear_whole_or_not_at_all() {
    let bench = bench();
    bench.ok("predict m.towm a.svm -o labels");
    let labels = std::fs::read(bench.path("labels")).unwrap();
    bench.file("bad.svm", format!("{}1 x:y\n", super::rows(300)));
    assert_eq!(bench.run("predict m.towm bad.svm -o labels").code, Some(4));
    assert!(std::fs::read(bench.path("labels")).unwrap() == labels);
    let mut child = bench.command("predict m.towm - --format libsvm -o labels").stdin(Stdio::piped()).spawn().unwrap();
    wait_for(&bench, &mut child, "towline-new");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(std::fs::read(bench.path("labels")).unwrap() == labels);
    bench.ok("predict m.towm a.svm -o labels");
    assert_eq!(made_up(&bench), [""; 0]);
}

#[test]
fn an_input_that_changes_while_it_is_read_is_an_error() {
    use std::io::Write;
    let bench = super::bench();
    let many = super::rows(2000).repeat(40);
    type Change = fn(&std::path::Path);
    let changes: [(&str, Change); 4] = [
        ("cut", |path| std::fs::File::options().write(true).open(path).unwrap().set_len(1 << 16).unwrap()),
        ("grown", |path| std::fs::File::options().append(true).open(path).unwrap().write_all(b"1 1:1\n").unwrap()),
        ("replaced", |path| {
            std::fs::copy(path, path.with_extension("copy")).unwrap();
            std::fs::rename(path.with_extension("copy"), path).unwrap();
        }),
        ("removed", |path| std::fs::remove_file(path).unwrap()),
    ];
    for (name, change) in changes {
        let path = bench.file("many.svm", &many);
        // The second input is waited for, so that the change comes while the first is read or after it.
        let mut command = bench.command("pack many.svm - -o many.tow -q --format libsvm");
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        wait_until_it_has_read(&mut child, 1 << 19);
        change(&path);
        drop(input);
        let ended = crate::workbench::said(child.wait_with_output().unwrap());
        let noticed = ended.code == Some(4) && ended.stderr.contains("while it was read");
        assert!(noticed, "{name}: {:?} {}", ended.code, ended.stderr);
        assert!(!bench.path("many.tow").exists(), "{name}");
    }
}

/// Waits until a program has read this many bytes, so that it has opened its first input for certain.
fn wait_until_it_has_read(child: &mut std::process::Child, bytes: u64) {
    loop {
        let counts = std::fs::read_to_string(format!("/proc/{}/io", child.id())).unwrap_or_default();
        let read = counts.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse::<u64>().ok());
        if read.is_some_and(|read| read >= bytes) || child.try_wait().unwrap().is_some() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
