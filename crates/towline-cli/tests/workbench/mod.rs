//! A folder of its own in which the program runs as a user would run it.
//!
//! Every test file is a crate and uses a part of this.
#![allow(dead_code)]
pub mod forge;
pub mod random;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// An empty folder, gone with the value.
pub struct Workbench {
    folder: TempDir,
}

/// What a run of the program said, and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Said {
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Workbench {
    pub fn new() -> Self {
        Workbench { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, contents).unwrap();
        path
    }

    /// The program with these arguments, separated by blanks, ready to run inside the folder.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("towline"));
        command.args(arguments.split_whitespace()).current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &str) -> Said {
        said(self.command(arguments).output().unwrap())
    }

    /// Runs the program, which must succeed, and returns what it printed.
    pub fn ok(&self, arguments: &str) -> String {
        let said = self.run(arguments);
        assert_eq!(said.code, Some(0), "towline {arguments}: {}", said.stderr);
        said.stdout
    }

    /// Runs the program to its end and watches the most memory that it has had, in bytes. What it takes in its last
    /// millisecond may be missed.
    pub fn watched(&self, arguments: &str) -> (Said, u64) {
        // A run may be over before it is looked at for the first time.
        let mut tries = std::iter::repeat_with(|| self.watched_once(arguments)).take(100);
        tries.find(|(_, peak)| *peak > 0).unwrap_or_else(|| panic!("{arguments} is over too soon, whenever it is run"))
    }

    fn watched_once(&self, arguments: &str) -> (Said, u64) {
        let mut child = self.command(arguments);
        let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let status = format!("/proc/{}/status", child.id());
        let watcher = std::thread::spawn(move || {
            let mut peak = 0;
            // A process that has ended has no such line.
            while let Some(now) = std::fs::read_to_string(&status).ok().and_then(|text| peak_of(&text)) {
                peak = now;
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            peak
        });
        let said = said(child.wait_with_output().unwrap());
        (said, watcher.join().unwrap())
    }

    /// Runs the program with `text` as standard input.
    pub fn run_with_input(&self, arguments: &str, text: &[u8]) -> Said {
        let input = self.file("standard-input", text);
        let said = said(self.command(arguments).stdin(std::fs::File::open(&input).unwrap()).output().unwrap());
        std::fs::remove_file(input).unwrap();
        said
    }

    /// Every file with its contents, every folder without.
    pub fn contents(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        contents(self.folder.path())
    }
}

/// The most memory that a process has had, by its status.
fn peak_of(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
}

/// What the program itself takes of a budget.
pub fn program_bytes() -> u64 {
    let bench = Workbench::new();
    bench.file("tiny.svm", "1 1:1\n-1 2:1\n");
    bench.ok("pack tiny.svm -o tiny.tow -q");
    let plan: serde_json::Value = serde_json::from_str(&bench.ok("plan tiny.tow --json")).unwrap();
    plan["program_bytes"].as_u64().unwrap()
}

pub fn said(output: Output) -> Said {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Said { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// A file of the project's data folder.
pub fn shipped(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name).display().to_string()
}

/// Everything below `folder`, by path within it.
pub fn contents(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(current) = folders.pop() {
        for entry in std::fs::read_dir(&current).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_path_buf();
            if path.is_dir() {
                found.insert(name, None);
                folders.push(path);
            } else {
                found.insert(name, Some(std::fs::read(&path).unwrap()));
            }
        }
    }
    found
}

/// Lines in an order of their own, to compare what is the same but for the order.
pub fn sorted_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}
