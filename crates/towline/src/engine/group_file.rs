//! Which features form groups, as a person writes it down.
//!
//! ```text
//! # one group per line: feature numbers and ranges, or names; a weight if it is not 1
//! 1-10 15
//! 11-14 weight=2
//! ```
//! Words are separated by spaces, or by tabs where the line has one, so that names may contain spaces. A feature that
//! no line names is a group of its own, of weight 1.
use rustc_hash::FxHashMap;

use crate::penalty::{GroupMap, PenaltyError};
use crate::store::features::{FeatureMap, FeatureName};

/// Reads groups for the columns of a store.
pub fn read_groups(text: &str, features: &FeatureMap, named: bool) -> Result<GroupMap, PenaltyError> {
    let mut weights = Vec::new();
    let (mut ranges, mut names): (Vec<Range>, FxHashMap<&str, u32>) = Default::default();
    for (number, content) in text.lines().enumerate() {
        let fail = |problem: String| Err(PenaltyError::GroupFile { line: number + 1, problem });
        let content = content.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let group = weights.len() as u32;
        let mut weight = 1.0;
        for word in words(content) {
            if let Some(given) = word.strip_prefix("weight=") {
                match given.parse::<f64>() {
                    Ok(number) if number.is_finite() && number > 0.0 => weight = number,
                    _ => return fail(format!("'{given}' is not a weight; write a number above 0")),
                }
            } else if named {
                if names.insert(word, group).is_some() {
                    return fail(format!("the feature '{word}' is in a group already; groups must not overlap"));
                }
            } else {
                match range(word) {
                    Some((first, last)) => ranges.push(Range { first, last, group, line: number + 1 }),
                    None => return fail(format!("'{word}' is no feature number and no range such as 3-17")),
                }
            }
        }
        weights.push(weight);
    }
    ranges.sort_unstable_by_key(|range| range.first);
    if let Some(pair) = ranges.windows(2).find(|pair| pair[1].first <= pair[0].last) {
        let problem = format!("feature {} is also in line {}; groups must not overlap", pair[1].first, pair[0].line);
        return Err(PenaltyError::GroupFile { line: pair[1].line, problem });
    }
    let mut of_column = Vec::with_capacity(features.len() + 1);
    for column in 0..features.len() as u32 {
        let found = match features.name(column) {
            FeatureName::Name(name) => names.get(name).copied(),
            FeatureName::Number(number) => {
                let before = ranges.partition_point(|range| range.first <= number);
                before
                    .checked_sub(1)
                    .map(|at| &ranges[at])
                    .filter(|range| number <= range.last)
                    .map(|range| range.group)
            }
        };
        of_column.push(found.unwrap_or_else(|| own_group(&mut weights)));
    }
    // The constant feature.
    of_column.push(own_group(&mut weights));
    GroupMap::new(of_column, weights)
}

struct Range {
    first: u64,
    last: u64,
    group: u32,
    line: usize,
}

fn own_group(weights: &mut Vec<f64>) -> u32 {
    weights.push(1.0);
    weights.len() as u32 - 1
}

fn words(line: &str) -> Box<dyn Iterator<Item = &str> + '_> {
    if line.contains('\t') {
        Box::new(line.split('\t').map(str::trim).filter(|word| !word.is_empty()))
    } else {
        Box::new(line.split_whitespace())
    }
}

fn range(word: &str) -> Option<(u64, u64)> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some((first, last))
}
