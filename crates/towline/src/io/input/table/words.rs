//! Text becomes n-grams: of words, or of characters.
//!
//! A word is a run of letters, digits and underscores, in lower case unless it is asked otherwise; a single one of the
//! ASCII letters and digits is no word. Scripts without blanks are cut into words as Unicode says (UAX 29).
use std::collections::HashSet;

use unicode_segmentation::UnicodeSegmentation;

use crate::schema::{Kind, TextUnit, Words};

/// What is kept between cells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buffers {
    /// The text with one blank between its units.
    clean: String,
    /// Where units begin and end in it.
    units: Vec<(u32, u32)>,
}

/// Calls `each` with all n-grams of `text`, as often as they occur.
/// Words in `stop` are left out before n-grams are made.
pub(crate) fn each_gram(
    text: &str,
    (rule, stop): (Words, Option<&HashSet<String>>),
    buffers: &mut Buffers,
    mut each: impl FnMut(&str),
) {
    let Buffers { clean, units } = buffers;
    clean.clear();
    units.clear();
    match rule.unit {
        TextUnit::Words => take_words(text, (rule.keep_case, stop), clean, units),
        TextUnit::Characters => take_characters(text, rule.keep_case, clean, units),
    }
    for n in usize::from(rule.least)..=usize::from(rule.most) {
        for gram in units.windows(n) {
            if let (Some(&(start, _)), Some(&(_, end))) = (gram.first(), gram.last()) {
                each(&clean[start as usize..end as usize]);
            }
        }
    }
}

/// Words that are left out of a text of this kind: those of the text have no capitals as a rule.
pub(crate) fn left_out(words: Vec<String>, kind: Kind) -> HashSet<String> {
    let keeps_case = matches!(kind, Kind::Text(rule) if rule.keep_case);
    words.into_iter().map(|word| if keeps_case { word } else { word.to_lowercase() }).collect()
}

/// Whether capitals stay, and which words do not.
type Taking<'a> = (bool, Option<&'a HashSet<String>>);

fn take_words(text: &str, how: Taking<'_>, clean: &mut String, units: &mut Vec<(u32, u32)>) {
    let is_inside = |c: char| c.is_alphanumeric() || c == '_';
    for run in text.split(|c: char| !is_inside(c)).filter(|run| !run.is_empty()) {
        if run.is_ascii() {
            if run.len() > 1 {
                take(run, how, clean, units);
            }
        } else {
            run.unicode_words().for_each(|word| take(word, how, clean, units));
        }
    }
}

/// Appends a word behind a blank.
fn take(word: &str, (keep_case, stop): Taking<'_>, clean: &mut String, units: &mut Vec<(u32, u32)>) {
    let before = clean.len();
    if !clean.is_empty() {
        clean.push(' ');
    }
    let start = clean.len() as u32;
    push(word, keep_case, clean);
    if stop.is_some_and(|stop| stop.contains(&clean[start as usize..])) {
        clean.truncate(before);
        return;
    }
    units.push((start, clean.len() as u32));
}

fn push(text: &str, keep_case: bool, clean: &mut String) {
    match (keep_case, text.is_ascii()) {
        (true, _) => clean.push_str(text),
        (false, true) => clean.extend(text.bytes().map(|byte| char::from(byte.to_ascii_lowercase()))),
        (false, false) => clean.extend(text.chars().flat_map(char::to_lowercase)),
    }
}

fn take_characters(text: &str, keep_case: bool, clean: &mut String, units: &mut Vec<(u32, u32)>) {
    for word in text.split_whitespace() {
        if !clean.is_empty() {
            clean.push(' ');
        }
        push(word, keep_case, clean);
    }
    let ends = clean.char_indices().map(|(at, c)| (at as u32, (at + c.len_utf8()) as u32));
    units.extend(ends);
}

/// Bytes that the n-grams of a text take as rows at most, for each of its bytes; `name` is that of its column.
pub(crate) fn bytes_per_byte(rule: Words, name: &str) -> u64 {
    let sizes = u64::from(rule.least)..=u64::from(rule.most);
    // A word has two letters and a blank. Key, value, a place to sort it, and its name in the list of names.
    let each = 16 + 4 + 13 + name.len() as u64 + 1;
    let letters = match rule.unit {
        TextUnit::Words => 3,
        TextUnit::Characters => 1,
    };
    sizes.map(|n| each.div_ceil(letters) + n).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grams(text: &str, rule: Words) -> Vec<String> {
        let mut found = Vec::new();
        each_gram(text, (rule, None), &mut Buffers::default(), |gram| found.push(gram.to_string()));
        found
    }

    fn words(least: u8, most: u8) -> Words {
        Words { least, most, ..Words::default() }
    }

    #[test]
    fn words_and_pairs_of_them() {
        let text = "The cat, a CAT; isn't 42 x_1 — Ärger!";
        assert_eq!(grams(text, words(1, 1)), ["the", "cat", "cat", "isn", "42", "x_1", "ärger"]);
        assert_eq!(grams("one two  three", words(1, 2)), ["one", "two", "three", "one two", "two three"]);
        assert_eq!(grams("One", Words { keep_case: true, ..words(1, 2) }), ["One"]);
        assert!(grams("", words(1, 3)).is_empty() && grams("a . !", words(1, 1)).is_empty());
        assert!(grams("日本語", words(1, 1)).len() > 1, "a script without blanks");
    }

    #[test]
    fn words_that_are_left_out() {
        let (stop, mut found) = (left_out(vec!["The".to_string()], Kind::Text(words(1, 2))), Vec::new());
        let how = (words(1, 2), Some(&stop));
        each_gram("The cat the THE dog", how, &mut Buffers::default(), |gram| found.push(gram.to_string()));
        assert_eq!(found, ["cat", "dog", "cat dog"]);
    }

    #[test]
    fn characters() {
        let rule = Words { unit: TextUnit::Characters, ..words(2, 3) };
        assert_eq!(grams("Ab  ä", rule), ["ab", "b ", " ä", "ab ", "b ä"]);
    }

    #[test]
    fn what_n_grams_take_is_bounded() {
        let text = "ab cd ef gh ".repeat(50);
        for rule in [words(1, 1), words(1, 3), Words { unit: TextUnit::Characters, ..words(3, 5) }] {
            let grams = grams(&text, rule);
            let bytes: usize = grams.iter().map(|gram| 16 + 4 + 13 + "body:".len() + gram.len()).sum();
            assert!(bytes as u64 <= bytes_per_byte(rule, "body") * text.len() as u64, "{rule:?}");
        }
    }
}
