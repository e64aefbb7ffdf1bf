//! One row per record of `apt-cache dumpavail`: words and word pairs of the description and the dependencies.
//!
//! The label is the archive section as a class from 1 on, or the decimal logarithm of the installed size.
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use crate::Outcome;
use crate::options::Options;
use crate::output::{Output, log_counts};

pub fn generate(dump: &Path, out: &mut Output, options: &mut Options) -> Outcome {
    let by_size = options.choice("label", ["section", "size"])?;
    options.finish()?;
    let text = String::from_utf8_lossy(&crate::read(dump)?).into_owned();
    let records: Vec<&str> = text.split("\n\n").collect();
    let sections = sections(&records);
    let mut words: HashMap<String, u32> = HashMap::new();
    for record in &records {
        let (name, section) = (field(record, "Package:"), field(record, "Section:"));
        let size: f64 = field(record, "Installed-Size:").parse().unwrap_or(0.0);
        if name.is_empty() || section.is_empty() || size <= 0.0 {
            continue;
        }
        let label = if by_size { format!("{:.5}", size.log10()) } else { sections[&section].to_string() };
        let body = format!("{} {}", field(record, "Description:"), field(record, "Depends:"));
        let is_word = |c: char| c.is_alphanumeric() || c == '-';
        let tokens: Vec<&str> = body.split(|c| !is_word(c)).filter(|token| token.len() > 1).collect();
        let mut number = |word: String| {
            let next = words.len() as u32 + 1;
            *words.entry(word).or_insert(next)
        };
        let mut keys: Vec<u32> = tokens.iter().map(|token| number(token.to_string())).collect();
        keys.extend(tokens.windows(2).map(|pair| number(format!("{} {}", pair[0], pair[1]))));
        out.row(&name, &label, &log_counts(keys))?;
    }
    Ok(())
}

/// Sections, numbered from 1 in alphabetical order.
fn sections(records: &[&str]) -> BTreeMap<String, usize> {
    let names = records.iter().map(|record| field(record, "Section:")).filter(|name| !name.is_empty());
    let mut sections: BTreeMap<String, usize> = names.map(|name| (name, 0)).collect();
    sections.values_mut().zip(1..).for_each(|(section, number)| *section = number);
    sections
}

/// The text of a field with its continuation lines, in lower case.
fn field(record: &str, name: &str) -> String {
    let mut inside = false;
    let mut text = String::new();
    for line in record.lines() {
        if let Some(rest) = line.strip_prefix(name) {
            inside = true;
            text.push_str(rest);
        } else if inside && line.starts_with(' ') {
            text.push_str(line);
        } else {
            inside = false;
        }
    }
    text.trim().to_lowercase()
}
