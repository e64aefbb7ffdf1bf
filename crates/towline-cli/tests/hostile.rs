//! Small files that ask for much: what they ask for is refused before it is taken.
mod parquet;

use std::ffi::CString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use crate::workbench::{Said, Workbench, forge, said};

/// Runs the program where no more than `megabytes` can be taken from the system.
fn limited(bench: &Workbench, megabytes: u64, arguments: &str) -> Said {
    let program = bench.command("").get_program().to_os_string();
    let script = format!("ulimit -v {}; exec \"$0\" {arguments}", megabytes << 10);
    let mut command = Command::new("bash");
    said(command.args(["-c", &script]).arg(program).current_dir(bench.path(".")).output().unwrap())
}

fn store() -> Workbench {
    let bench = Workbench::new();
    let row = |i: usize| format!("{} {}:1\n", if i.is_multiple_of(2) { 1 } else { -1 }, 1 + i % 9);
    bench.file("a.svm", (0..300).map(row).collect::<String>());
    bench.ok("pack a.svm -o a.tow -q");
    bench.ok("index a.tow -q");
    bench
}

#[test]
fn a_manifest_of_thirty_megabytes_is_paid_for() {
    let bench = store();
    forge::manifest(&bench.path("a.tow"), |manifest| {
        manifest["labels"]["names"] = vec!["a"; 7_000_000].into();
    });
    for verb in ["info", "verify", "cat", "plan"] {
        let memory = if verb == "info" { "" } else { "--memory 64M" };
        let ended = bench.run(&format!("{verb} a.tow {memory}"));
        if verb != "info" {
            assert_eq!(ended.code, Some(3), "{verb}: {}", ended.stderr);
        }
        assert!(!ended.stderr.contains("panicked"), "{verb}: {}", ended.stderr);
    }
    assert_eq!(bench.run("train a.tow -o m.towm --memory 64M").code, Some(3));
}

#[test]
fn a_table_of_any_size_is_refused() {
    let bench = store();
    let table = bench.path("a.tow/blocks.1.tab");
    for bytes in [40u64 << 20, 10 << 40] {
        forge::manifest(&bench.path("a.tow"), |manifest| manifest["table"]["bytes"] = bytes.into());
        std::fs::File::options().write(true).open(&table).unwrap().set_len(bytes).unwrap();
        for verb in ["verify a.tow", "cat a.tow", "plan a.tow", "train a.tow -o m.towm", "index a.tow", "info a.tow"] {
            let ended = bench.run(&format!("{verb} --memory 64M"));
            assert_eq!(ended.code, Some(3), "{verb}: {}", ended.stderr);
        }
        // Of the memory that there is, too, if that is less; else the table is no table.
        let ended = limited(&bench, 4096, "info a.tow");
        assert!(matches!(ended.code, Some(1 | 3)), "{}", ended.stderr);
    }
}

#[test]
fn a_pipe_in_a_store_is_not_waited_for() {
    let bench = store();
    for name in
        ["manifest.json", "blocks.1.tab", "features.1.map", "blocks/00000.blk", "index/index.json", "index/pages.dat"]
    {
        let path = bench.path("a.tow").join(name);
        let kept = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let fifo = CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: the string ends with NUL and lives until the call returns.
        assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
        for verb in ["info a.tow", "verify a.tow", "train a.tow -o m.towm -q", "pack a.svm -o a.tow --append -q"] {
            let child =
                bench.command(verb).stderr(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).spawn();
            let ended = within_seconds(child.unwrap(), 60, &format!("{verb} with a pipe at {name}"));
            assert_ne!(ended.code, Some(101), "{verb} {name}: {}", ended.stderr);
        }
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, kept).unwrap();
    }
    bench.ok("verify a.tow");
}

fn within_seconds(mut child: std::process::Child, seconds: u64, what: &str) -> Said {
    let begin = std::time::Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed().as_secs() > seconds {
            child.kill().unwrap();
            panic!("{what} hangs");
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    said(child.wait_with_output().unwrap())
}

#[test]
fn a_long_window_is_read_where_there_is_memory_and_refused_where_not() {
    let bench = Workbench::new();
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(31).unwrap();
    encoder.long_distance_matching(true).unwrap();
    encoder.write_all("1 1:1\n-1 2:1\n".repeat(1000).as_bytes()).unwrap();
    bench.file("long.svm.zst", encoder.finish().unwrap());
    let refused = bench.run("pack long.svm.zst -o long.tow -q --memory 64M");
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(refused.stderr.contains("the window of Zstandard data"), "{}", refused.stderr);
    bench.ok("pack long.svm.zst -o long.tow -q --memory 3G");
    assert_eq!(bench.ok("cat long.tow").lines().count(), 2000);
    // A later part of a file may ask for more than the first.
    let small = zstd::encode_all(&b"1 1:1\n"[..], 1).unwrap();
    let long = std::fs::read(bench.path("long.svm.zst")).unwrap();
    bench.file("two.svm.zst", [small, long].concat());
    let refused = bench.run("pack two.svm.zst -o two.tow -q --memory 64M");
    assert_eq!(refused.code, Some(4), "{}", refused.stderr);
    assert!(refused.stderr.contains("need a larger window"), "{}", refused.stderr);
}
