//! Everything that can be wrong with what a user hands in, with the exact words and the exit code that come of it.
//! Nothing may be left behind or changed by a command that fails.
mod stores;
mod text;
mod usage;

use std::io::Write;

use crate::workbench::{Said, Workbench};

const BAD_DATA: i32 = 4;

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(text: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).unwrap()
}

/// Runs a command that must fail and must not change anything, and adds to `wrong` what it says other than expected.
fn check(bench: &Workbench, arguments: &str, expected: Said, wrong: &mut Vec<String>) {
    let before = bench.contents();
    let said = bench.run(arguments);
    if said != expected {
        wrong.push(format!("towline {arguments}\n  expected {expected:?}\n  but      {said:?}"));
    }
    if bench.contents() != before {
        wrong.push(format!("towline {arguments}\n  has changed files"));
    }
}

fn none_wrong(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} of the messages differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn lines_that_are_wrong() {
    let mut wrong = Vec::new();
    let bench = Workbench::new();
    for &(options, text, message) in text::CASES {
        bench.file("in.svm", text);
        let stderr = format!("towline: in.svm{message}\n");
        let expected = Said { code: Some(BAD_DATA), stdout: String::new(), stderr };
        check(&bench, &format!("pack in.svm -o out.tow {options}"), expected, &mut wrong);
    }
    none_wrong(&wrong);
}

#[test]
fn inputs_and_arguments_that_cannot_work() {
    let mut wrong = Vec::new();
    for &(prepare, arguments, code, stderr) in usage::CASES {
        let bench = Workbench::new();
        prepare(&bench);
        let expected = Said { code: Some(code), stdout: String::new(), stderr: stderr.into() };
        check(&bench, arguments, expected, &mut wrong);
    }
    none_wrong(&wrong);
}

#[test]
fn stores_that_are_damaged_or_forged() {
    let mut wrong = Vec::new();
    for &(damage, arguments, code, stdout, stderr) in stores::CASES {
        let bench = Workbench::new();
        stores::make(&bench);
        bench.file("more.svm", "1 1:1\n");
        damage(&bench.path("in.tow"));
        let expected = Said { code: Some(code), stdout: stdout.into(), stderr: stderr.into() };
        check(&bench, arguments, expected, &mut wrong);
    }
    none_wrong(&wrong);
}

#[test]
fn there_are_at_least_sixty_of_them() {
    assert!(text::CASES.len() + usage::CASES.len() + stores::CASES.len() >= 60);
}
