//! What was typed, as it could be typed again.

/// The command of this run, with quotes where a shell needs them.
pub fn typed() -> String {
    let words = std::env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy()));
    std::iter::once("towline".to_string()).chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%^".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        let shown = ["--memory=64M", "my data.svm", "it's", "", "$HOME"].map(quoted);
        assert_eq!(shown, ["--memory=64M", "'my data.svm'", r"'it'\''s'", "''", "'$HOME'"]);
    }
}
