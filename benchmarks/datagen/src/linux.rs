//! One row per source file of a tree (or per chunk of it): hashed byte n-grams, log counts, rows of unit length.
//!
//! Much like the web-spam tri-gram data of the out-of-core papers. The label is +1 under drivers/ and -1 elsewhere, or
//! the top folder as a class from 1 on.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::options::Options;
use crate::output::{Output, hash, log_counts};

const ENDINGS: [&str; 11] = ["c", "h", "S", "rst", "txt", "dts", "dtsi", "yaml", "py", "sh", "rs"];

pub fn generate(tree: &Path, out: &mut Output, options: &mut Options) -> Outcome {
    let ngram: usize = options.take("ngram", 4)?;
    let bits: u32 = options.take("bits", 24)?;
    let limit: usize = options.take("limit", 0)?;
    let chunk: usize = options.take("chunk", 0)?;
    let by_subsystem = options.choice("label", ["drivers", "subsystem"])?;
    options.finish()?;
    if ngram == 0 || !(1..=31).contains(&bits) {
        return Err("--ngram is at least 1 and --bits is 1 to 31".into());
    }
    let mut names = sources(tree)?;
    // A fixed order that does not depend on the file system, and mixes the folders.
    names.sort_by_cached_key(|name| hash(name.to_string_lossy().as_bytes()));
    let classes = classes(&names);
    if limit > 0 {
        names.truncate(limit);
    }
    let mask = (1u64 << bits) - 1;
    for name in &names {
        let Ok(text) = std::fs::read(tree.join(name)) else { continue };
        let folder = top(name);
        let label = match by_subsystem {
            true => classes[&folder].to_string(),
            false => if folder == "drivers" { "+1" } else { "-1" }.to_string(),
        };
        let size = if chunk > 0 { chunk } else { text.len().max(1) };
        for (k, part) in text.chunks(size).enumerate() {
            let keys = part.windows(ngram).map(|gram| (hash(gram) & mask) as u32 + 1).collect();
            out.row(&format!("{}#{k}", name.to_string_lossy()), &label, &log_counts(keys))?;
        }
    }
    Ok(())
}

/// Source files under `tree`, relative to it.
fn sources(tree: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut folders = vec![tree.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            let is_source = path.extension().is_some_and(|e| ENDINGS.iter().any(|ending| e == *ending));
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && is_source {
                found.extend(path.strip_prefix(tree).map(Path::to_path_buf));
            }
        }
    }
    Ok(found)
}

fn top(name: &Path) -> String {
    name.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned()).unwrap_or_default()
}

/// Top folders, numbered from 1 in alphabetical order.
fn classes(names: &[PathBuf]) -> BTreeMap<String, usize> {
    let mut classes: BTreeMap<String, usize> = names.iter().map(|name| (top(name), 0)).collect();
    classes.values_mut().zip(1..).for_each(|(class, number)| *class = number);
    classes
}
