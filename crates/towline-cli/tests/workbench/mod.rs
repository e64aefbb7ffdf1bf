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
