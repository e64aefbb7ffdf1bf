//! One row per DNA sequence: a feature with value 1 per position and k-mer, tens of millions of binary features.
//!
//! The label stands behind `label=` in the header of a sequence.
use std::path::Path;

use crate::Outcome;
use crate::options::Options;
use crate::output::Output;

pub fn generate(fasta: &Path, out: &mut Output, options: &mut Options) -> Outcome {
    let k: usize = options.take("k", 8)?;
    options.finish()?;
    if !(1..=11).contains(&k) {
        return Err("--k is 1 to 11".into());
    }
    let text = String::from_utf8_lossy(&crate::read(fasta)?).into_owned();
    let span = 1u32 << (2 * k);
    for record in text.split('>').skip(1) {
        let (header, body) = record.split_once('\n').unwrap_or((record, ""));
        let bases: Vec<u8> = body.bytes().filter(u8::is_ascii_alphabetic).collect();
        let kmers = bases.windows(k).map(|window| window.iter().fold(0, |code, &base| code * 4 + digit(base)));
        let row: Vec<(u32, f32)> = (0..).zip(kmers).map(|(at, kmer)| (at * span + kmer + 1, 1.0)).collect();
        out.whole_row(header, label(header), &row)?;
    }
    Ok(())
}

fn digit(base: u8) -> u32 {
    match base {
        b'A' | b'a' => 0,
        b'C' | b'c' => 1,
        b'G' | b'g' => 2,
        _ => 3,
    }
}

fn label(header: &str) -> &str {
    let after = header.split("label=").nth(1).unwrap_or("0");
    after.split(|c: char| c == ',' || c.is_whitespace()).next().unwrap_or("0")
}
