//! A model as expressions of SQL: one for the score of each output.
//!
//! A column of numbers is multiplied by its weight, and a column of text, or of numbers in bins, is looked up in a CASE;
//! products are products of both. What is NULL counts as the model says of absent cells, a level that training has not
//! seen 0, or as the rare ones. Feature numbers are columns `f1`, `f2` and so on. Sums are nested in pairs: databases
//! limit how deep an expression may be (SQLite: 1,000), not how long.
use std::io::Write;

use hashbrown::HashMap;

use super::columns::{self, Column, Columns, Part, Product};
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
    let columns = columns::of(model);
    for output in 0..model.outputs() {
        let separator = if output == 0 { "" } else { ",\n" };
        let mut terms = match &columns {
            Some(columns) => Terms { columns, model, output }.all(),
            None => of_numbers(model, output),
        };
        terms.push(literal(header.intercepts[output]));
        write!(out, "{separator}{}", nested(&terms))?;
        if let (true, Some(name)) = (model.outputs() > 1, names.get(output)) {
            write!(out, " AS {}", quoted(&format!("score {name}")))?;
        }
    }
    writeln!(out)?;
    Ok(())
}

/// What is added up for an output of numbered features.
fn of_numbers(model: &Model, output: usize) -> Vec<String> {
    let Features::Numbered(numbers) = &model.features else { return Vec::new() };
    let weights = (0..numbers.len()).map(|i| model.weights_of(i)[output]);
    let used = numbers.iter().zip(weights).filter(|(_, weight)| *weight != 0.0);
    used.map(|(i, weight)| format!("COALESCE({}, 0) * {}", quoted(&format!("f{i}")), literal(weight))).collect()
}

/// What is added up for an output of the columns of a table.
struct Terms<'a> {
    columns: &'a Columns<'a>,
    model: &'a Model,
    output: usize,
}

impl Terms<'_> {
    fn all(&self) -> Vec<String> {
        let mut terms = Vec::new();
        self.columns.columns.iter().for_each(|column| self.of_column(column, &mut terms));
        terms.extend(self.columns.products.iter().flat_map(|product| self.of_product(product)));
        terms
    }

    /// The weight of a feature, if it has one.
    fn weight(&self, feature: usize) -> Option<f64> {
        Some(self.model.weights_of(feature)[self.output]).filter(|weight| *weight != 0.0)
    }

    fn of_column(&self, column: &Column, terms: &mut Vec<String>) {
        let used = column.features.iter().filter_map(|&(part, i)| Some((part, self.weight(i)?)));
        let mut choices = Vec::new();
        for (part, weight) in used {
            match part {
                Part::Power(power) => terms.push(format!("{} * {}", power_of(column, power), literal(weight))),
                Part::Mark if column.holds_numbers() && column.bins().is_empty() => {
                    let name = quoted(column.name);
                    terms.push(format!("CASE WHEN {name} IS NULL THEN {} ELSE 0e0 END", literal(weight)));
                }
                choice => choices.push((choice, literal(weight))),
            }
        }
        if !choices.is_empty() {
            terms.push(choose(column, &choices));
        }
    }

    /// One expression for all products of two columns.
    fn of_product(&self, product: &Product) -> Option<String> {
        let [a, b] = product.columns.map(|place| &self.columns.columns[place]);
        let used = product.features.iter().filter_map(|&(parts, i)| Some((parts, literal(self.weight(i)?))));
        let used: Vec<([Part; 2], String)> = used.collect();
        let (number, choices): (&Column, Vec<(Part, String)>) = match used.first()?.0 {
            [Part::Power(_), Part::Power(_)] => {
                let weight = &used.first()?.1;
                return Some(format!("COALESCE({} * {}, 0e0) * {weight}", given(a), given(b)));
            }
            [Part::Power(_), _] => (a, used.into_iter().map(|([_, part], weight)| (part, weight)).collect()),
            [_, Part::Power(_)] => (b, used.into_iter().map(|([part, _], weight)| (part, weight)).collect()),
            _ => {
                let (mut firsts, mut places) = (Vec::new(), HashMap::new());
                for ([first, second], weight) in used {
                    let place = *places.entry(first).or_insert(firsts.len());
                    if place == firsts.len() {
                        firsts.push((first, Vec::new()));
                    }
                    firsts[place].1.push((second, weight));
                }
                let arms = firsts.into_iter().map(|(first, seconds)| (first, choose(b, &seconds)));
                let arms: Vec<(Part, String)> = arms.collect();
                return Some(choose(a, &arms));
            }
        };
        let levels = if std::ptr::eq(number, a) { b } else { a };
        Some(format!("COALESCE({} * {}, 0e0)", given(number), choose(levels, &choices)))
    }
}

/// A number, NULL where it is absent.
fn given(column: &Column) -> String {
    let name = quoted(column.name);
    match column.is_boolean() {
        true => format!("CASE WHEN {name} IS NULL THEN NULL {} END", truth(&name)),
        false => name,
    }
}

/// The rest of a CASE for truth values.
fn truth(name: &str) -> String {
    format!("WHEN LOWER(CAST({name} AS TEXT)) IN ('true', 'yes', 't', 'y', '1') THEN 1e0 ELSE 0e0")
}

/// A number of a column or a power of it, with what stands for an absent one.
fn power_of(column: &Column, power: u8) -> String {
    let (name, impute) = (quoted(column.name), literal(column.impute()));
    let number = match column.is_boolean() {
        true => format!("CASE WHEN {name} IS NULL THEN {impute} {} END", truth(&name)),
        false => format!("COALESCE({name}, {impute})"),
    };
    vec![number; usize::from(power)].join(" * ")
}

/// What a column says where its cell is one thing or another; 0 where it is nothing of that.
fn choose(column: &Column, choices: &[(Part, String)]) -> String {
    let all: HashMap<Part, &str> = choices.iter().map(|(part, said)| (*part, said.as_str())).collect();
    let of = |wanted: Part| all.get(&wanted).copied().unwrap_or("0e0");
    let name = quoted(column.name);
    let edges = column.bins();
    if !edges.is_empty() {
        let below = edges.iter().enumerate();
        let arms = below.map(|(bin, &edge)| format!(" WHEN {name} < {} THEN {}", literal(edge), of(Part::Bin(bin))));
        let (arms, last, mark) = (arms.collect::<String>(), of(Part::Bin(edges.len())), of(Part::Mark));
        return format!("CASE WHEN {name} IS NULL THEN {mark}{arms} ELSE {last} END");
    }
    let arm = |level: &str, said: &str| format!(" WHEN '{}' THEN {said}", level.replace('\'', "''"));
    let mut arms: String = choices
        .iter()
        .filter_map(|(part, said)| match part {
            Part::Level(level) => Some(arm(level, said)),
            _ => None,
        })
        .collect();
    let has_rare = all.contains_key(&Part::Rare);
    if has_rare {
        // What is neither rare nor a choice.
        let common = column.common_levels().iter().filter(|level| !all.contains_key(&Part::Level(level)));
        arms.extend(common.map(|level| arm(level, "0e0")));
    }
    if has_rare || all.contains_key(&Part::Mark) {
        return format!("CASE COALESCE({name}, ''){}{arms} ELSE {} END", arm("", of(Part::Mark)), of(Part::Rare));
    }
    format!("CASE {name}{arms} ELSE 0e0 END")
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
