//! A model as expressions of SQL: one for the score of each output.
//!
//! A column of numbers is multiplied by its weight, a column of text is looked up in a CASE. What is NULL counts as the
//! model says of absent cells, a level that training has not seen 0. Feature numbers are columns `f1`, `f2` and so on.
//! Sums are nested in pairs: databases limit how deep an expression may be (SQLite: 1,000), not how long.
use std::io::Write;

use super::columns::{self, Column};
use super::{ExportError, check_plain};
use crate::model::{Features, Model};

/// How the file begins.
pub const TITLE: &str = "-- the score of a row by towline";

/// Writes the expressions, with names for more than one.
pub fn write(model: &Model, out: &mut impl Write) -> Result<(), ExportError> {
    check_plain(model, "SQL")?;
    columns::check(model, "SQL")?;
    let header = &model.header;
    let names = header.objective.targets.names();
    writeln!(out, "{TITLE}: SELECT ... FROM the table that has its columns")?;
    if let [first, second] = names
        && model.outputs() == 1
    {
        writeln!(out, "-- above 0 for {}, else {}", comment(second), comment(first))?;
    }
    for output in 0..model.outputs() {
        let separator = if output == 0 { "" } else { ",\n" };
        let mut terms = terms(model, output);
        terms.push(literal(header.intercepts[output]));
        write!(out, "{separator}{}", nested(&terms))?;
        if let (true, Some(name)) = (model.outputs() > 1, names.get(output)) {
            write!(out, " AS {}", quoted(&format!("score {name}")))?;
        }
    }
    writeln!(out)?;
    Ok(())
}

/// What is added up for an output.
fn terms(model: &Model, output: usize) -> Vec<String> {
    let weight = |i: usize| model.weights_of(i)[output];
    let number = |name: &str, weight: f64| format!("COALESCE({}, 0) * {}", quoted(name), literal(weight));
    let Some(columns) = columns::of(model) else {
        let Features::Numbered(numbers) = &model.features else { return Vec::new() };
        let used = numbers.iter().enumerate().filter(|&(i, _)| weight(i) != 0.0);
        return used.map(|(i, feature)| number(&format!("f{feature}"), weight(i))).collect();
    };
    let mut terms = Vec::new();
    for column @ Column { name, number: of_number, levels, .. } in &columns {
        terms.extend(of_number.filter(|&i| weight(i) != 0.0).map(|i| known_number(column, weight(i))));
        let mark = column.mark.filter(|&i| weight(i) != 0.0);
        terms.extend(
            mark.map(|i| format!("CASE WHEN {} IS NULL THEN {} ELSE 0e0 END", quoted(name), literal(weight(i)))),
        );
        let used: Vec<String> = levels
            .iter()
            .filter(|level| weight(level.1) != 0.0)
            .map(|&(level, i)| format!(" WHEN '{}' THEN {}", level.replace('\'', "''"), literal(weight(i))))
            .collect();
        if !used.is_empty() {
            let has_absent = levels.iter().any(|level| level.0.is_empty());
            let cell = if has_absent { format!("COALESCE({}, '')", quoted(name)) } else { quoted(name) };
            terms.push(format!("CASE {cell}{} ELSE 0e0 END", used.concat()));
        }
    }
    terms
}

/// A number of a column, with what stands for an absent one.
fn known_number(column: &Column, weight: f64) -> String {
    let (name, impute) = (quoted(column.name), literal(column.impute));
    let number = match column.is_boolean {
        true => format!(
            "CASE WHEN {name} IS NULL THEN {impute} \
             WHEN LOWER(CAST({name} AS TEXT)) IN ('true', 'yes', 't', 'y', '1') THEN 1e0 ELSE 0e0 END"
        ),
        false => format!("COALESCE({name}, {impute})"),
    };
    format!("{number} * {}", literal(weight))
}

/// Their sum, nested in pairs.
fn nested(terms: &[String]) -> String {
    match terms {
        [] => literal(0.0),
        [term] => term.clone(),
        _ => {
            let (left, right) = terms.split_at(terms.len() / 2);
            format!("({} + {})", nested(left), nested(right))
        }
    }
}

/// With an exponent it is a double everywhere, and no decimal.
fn literal(number: f64) -> String {
    if number < 0.0 { format!("({number:e})") } else { format!("{number:e}") }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn comment(name: &str) -> String {
    name.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_as_deep_as_their_logarithm() {
        let terms: Vec<String> = (0..4096).map(|i| i.to_string()).collect();
        let text = nested(&terms);
        let depth = text.bytes().scan(0i32, |depth, byte| {
            *depth += i32::from(byte == b'(') - i32::from(byte == b')');
            Some(*depth)
        });
        assert_eq!(depth.max(), Some(12));
        assert_eq!(nested(&["a".into(), "b".into(), "c".into()]), "(a + (b + c))");
        assert_eq!(
            (literal(-0.25), literal(1e-9), quoted("a\"b")),
            ("(-2.5e-1)".into(), "1e-9".into(), "\"a\"\"b\"".into())
        );
    }
}
