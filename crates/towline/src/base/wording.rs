//! How messages name what a user can set.
//!
//! Errors and notes of this library name the settings of its builders in backticks, with a value in parentheses where
//! one is meant: "use `` `memory(4194304)` `` or more", "leave `` `truncate` `` out". A program with its own names for
//! them, such as options of a command line or arguments of Python, puts those in their place with [`reword`].
//!
//! ```
//! use towline::wording::reword;
//!
//! let flag = |name: &str, value: Option<&str>| format!("--{name}{}", value.map_or(String::new(), |value| format!(" {value}")));
//! assert_eq!(reword("use `loss(hinge)`, or leave `truncate` out", flag), "use --loss hinge, or leave --truncate out");
//! ```

/// The settings and actions that messages name: methods of `Fit`, of what it makes, of `Pack` and of `Store`.
#[rustfmt::skip]
pub const NAMES: &[&str] = &[
    "absent", "append", "bias", "block_steps", "blocks", "c", "cache_share", "calibrate", "category", "checkpoint", "class_weight", "column", "columns",
    "delimiter", "duplicates", "eta", "eta_growth", "extrapolation", "first_truncate", "folds", "force", "format", "gamma", "group", "groups", "hash_bits", "ignore", "index",
    "index_base", "init_rows", "inner_passes", "inner_tolerance", "interact", "intercept", "l1_ratio", "label", "lambda", "lambda_ratio", "lambdas", "loss",
    "max_passes", "max_time", "memory", "method", "metric", "min_count", "missing", "multiclass", "non_negative", "number", "order",
    "ordered",
    "pack", "partition", "parts", "path", "penalty", "points", "page_share", "positive", "precision", "query_blocks", "query_margin", "query_rows", "repeat", "repeats", "restart", "rff",
    "rff_keep", "rff_seed", "rounds", "rows", "scale", "selection",
    "solver", "split_groups", "stratify", "stream", "task", "text", "to", "tolerance", "truncate", "unlabelled",
    "verify", "violation", "warm_start", "weight", "working_set",
];

/// Replaces each setting that `message` names by what `say` calls it, given its name and value. What is in backticks
/// and is no setting, such as a name out of the user's data, stays.
pub fn reword(message: &str, mut say: impl FnMut(&str, Option<&str>) -> String) -> String {
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(open) = rest.find('`') {
        let (before, quoted) = rest.split_at(open);
        text += before;
        let setting = quoted[1..].split_once('`').and_then(|(inside, after)| Some((setting(inside)?, after)));
        match setting {
            Some(((name, value), after)) => {
                text += &say(name, value);
                rest = after;
            }
            None => {
                text.push('`');
                rest = &quoted[1..];
            }
        }
    }
    text + rest
}

/// Name and value of a setting, if that is what stands between two backticks.
fn setting(inside: &str) -> Option<(&str, Option<&str>)> {
    let (name, value) = match inside.strip_suffix(')').and_then(|inside| inside.split_once('(')) {
        Some((name, value)) => (name, Some(value)),
        None => (inside, None),
    };
    NAMES.contains(&name).then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shout(name: &str, value: Option<&str>) -> String {
        format!("<{name}|{}>", value.unwrap_or("-"))
    }

    #[test]
    fn settings_are_replaced_and_nothing_else() {
        let cases = [
            ("use `memory(12)` or more", "use <memory|12> or more"),
            ("`c`", "<c|->"),
            ("`text('a (b)')` or `missing(nan)`", "<text|'a (b)'> or <missing|nan>"),
            ("`pack(INPUT).to(STORE)`", "<pack|INPUT).to(STORE>"),
            ("column '`price`' of `x", "column '`price`' of `x"),
            ("a ` stands alone before `loss`", "a ` stands alone before <loss|->"),
            ("", ""),
        ];
        for (message, expected) in cases {
            assert_eq!(reword(message, shout), expected);
        }
    }
}
