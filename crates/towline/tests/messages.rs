//! Messages of the library name its own settings, never the options of a program.
use std::path::{Path, PathBuf};

use towline::wording::NAMES;

fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => sources(&path, out),
            false => out.push(path),
        }
    }
}

/// Lines of code that are part of a message, with the file that they are in.
fn message_lines() -> Vec<(String, String)> {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let mut lines = Vec::new();
    for file in files {
        // What is kept of how rows were read is part of the store format, and looks like a command line.
        if file.ends_with("input/choices.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        lines.extend(code.map(|line| (file.display().to_string(), line.to_string())));
    }
    lines
}

#[test]
fn no_message_names_an_option_of_a_program() {
    for (file, line) in message_lines() {
        // The only program whose option is meant is zstd.
        let options = line.replace("--long", "");
        let named =
            options.match_indices("--").any(|(at, _)| options[at + 2..].starts_with(|c: char| c.is_ascii_lowercase()));
        assert!(!named, "{file}: {line}");
    }
}

#[test]
fn settings_that_messages_name_are_known() {
    let mut found = 0;
    for (file, line) in message_lines() {
        for quoted in line.split('`').skip(1).step_by(2) {
            let name = quoted.split_once('(').map_or(quoted, |(name, _)| name);
            let is_setting =
                !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit());
            if is_setting && !file.ends_with("wording.rs") {
                assert!(NAMES.contains(&name), "{file}: {line}");
                found += 1;
            }
        }
    }
    assert!(found > 50, "{found}");
}

#[test]
fn every_setting_that_messages_may_name_is_one() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/fit"), &mut files);
    let text: String = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    for name in NAMES {
        let is_there = text.contains(&format!("pub fn {name}("));
        assert!(is_there, "no method of the front door is called {name}");
    }
}
