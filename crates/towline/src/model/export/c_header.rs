//! A model as a header of C: tables of features and weights, and functions that score a row.
use std::io::Write;

use super::{ExportError, check_plain, columns};
use crate::loss::AnyLoss;
use crate::model::{Features, Model};
use crate::objective::Multiclass;
use crate::schema::RARE_LEVEL;

/// How the file begins.
pub const TITLE: &str = "/* a linear model by towline";

/// Weights that are written on a line.
const PER_LINE: usize = 4;

/// Writes the header.
pub fn write(model: &Model, out: &mut impl Write) -> Result<(), ExportError> {
    check_plain(model, "C")?;
    columns::check_hashes(model, "C")?;
    let (features, outputs) = (model.features.len(), model.outputs());
    writeln!(out, "{TITLE}: include it where a row is scored */")?;
    writeln!(
        out,
        "#ifndef TOWLINE_MODEL_H\n#define TOWLINE_MODEL_H\n#include <math.h>\n#include <stddef.h>\n#include \
         <string.h>\n"
    )?;
    writeln!(out, "#define TOWLINE_FEATURES {features}\n#define TOWLINE_OUTPUTS {outputs}\n")?;
    let names = model.header.objective.targets.names();
    if !names.is_empty() {
        writeln!(out, "/* What classes or targets are called. */")?;
        let names: Vec<String> = names.iter().map(|name| string(name)).collect();
        table(out, &format!("const char *const towline_names[{}]", names.len()), &names)?;
    }
    let intercepts: Vec<String> = model.header.intercepts.iter().map(|&number| literal(number)).collect();
    table(out, "const double towline_intercepts[TOWLINE_OUTPUTS]", &intercepts)?;
    // C has no arrays without elements.
    let or_none = |list: Vec<String>, none: &str| if list.is_empty() { vec![none.to_string()] } else { list };
    let weights: Vec<String> = model.weights.iter().map(|&weight| literal(weight)).collect();
    writeln!(out, "/* The weights of each feature, one per output, side by side. */")?;
    table(out, &format!("const double towline_weights[{}]", (features * outputs).max(1)), &or_none(weights, "0.0"))?;
    match &model.features {
        Features::Numbered(numbers) => {
            writeln!(out, "/* The numbers of features, ascending. */")?;
            let numbers = numbers.iter().map(|number| format!("{number}ull")).collect();
            let declaration = format!("const unsigned long long towline_numbers[{}]", features.max(1));
            table(out, &declaration, &or_none(numbers, "0ull"))?;
            out.write_all(BY_NUMBER.as_bytes())?;
        }
        Features::Named(names) => {
            writeln!(out, "/* The names of features: of a column of numbers, or column=level with value 1. */")?;
            let names = names.iter().map(|name| string(name)).collect();
            let declaration = format!("const char *const towline_features[{}]", features.max(1));
            table(out, &declaration, &or_none(names, "\"\""))?;
            write_absent(model, out)?;
            write_rules(model, out)?;
            out.write_all(BY_NAME.as_bytes())?;
        }
    }
    out.write_all(SCORE.as_bytes())?;
    if !model.header.objective.targets.are_numbers() {
        out.write_all(CLASS.as_bytes())?;
        let is_softmax = model.header.objective.targets.multiclass() == Some(Multiclass::Softmax);
        let is_calibrated = model.header.reporting.calibration.is_some();
        if matches!(model.header.objective.loss, AnyLoss::Logistic(_)) && !is_softmax && !is_calibrated {
            out.write_all(PROBABILITY.as_bytes())?;
        }
    }
    writeln!(out, "#endif")?;
    Ok(())
}

/// What features an absent number has.
fn write_absent(model: &Model, out: &mut impl Write) -> std::io::Result<()> {
    for column in model.header.schema.iter().flat_map(|schema| schema.features()) {
        if let (Some(number), Some(value)) = (column.number_feature(), column.impute) {
            let comment = |name: &str| string(name).replace("*/", "* /");
            let (number, mark) = (comment(&number), comment(&column.absent_feature()));
            writeln!(out, "/* {number} is {} where it is absent, and {mark} is 1. */", literal(value))?;
        }
    }
    Ok(())
}

/// What features there are besides numbers and levels.
fn write_rules(model: &Model, out: &mut impl Write) -> std::io::Result<()> {
    let Some(schema) = &model.header.schema else { return Ok(()) };
    let comment = |name: String| string(&name).replace("*/", "* /");
    for (number, column) in schema.features().enumerate() {
        let name = comment(column.name.clone());
        for (power, feature) in column.power_features() {
            writeln!(out, "/* {} is power {power} of {name}, also of what stands for it. */", comment(feature))?;
        }
        for place in (0..=column.bins.len()).filter(|_| !column.bins.is_empty()) {
            let bin = comment(format!("{}={}", column.name, column.bin_name(place)));
            let edge = |at: Option<usize>, side: &str| {
                at.and_then(|at| column.bins.get(at))
                    .map_or(String::new(), |&edge| format!(" {side} {}", literal(edge)))
            };
            let (from, below) = (edge(place.checked_sub(1), "from"), edge(Some(place), "below"));
            writeln!(out, "/* {bin} is 1 where {name} is{from}{below}. */")?;
        }
        if let Some(levels) = &column.levels {
            let rare = comment(format!("{}={RARE_LEVEL}", column.name));
            writeln!(out, "/* {rare} is 1 where {name} is there, and none of these. */")?;
            let levels: Vec<String> = levels.iter().map(|level| string(level)).chain(["NULL".into()]).collect();
            table(out, &format!("const char *const towline_levels_{}[{}]", number + 1, levels.len()), &levels)?;
        }
    }
    for [a, b] in &schema.interactions {
        let (product, a, b) = (comment(format!("{a}*{b}")), comment(a.clone()), comment(b.clone()));
        writeln!(
            out,
            "/* {product}: a feature of {a}, \"*\", and one of {b} name the product of both; none if one is absent. */"
        )?;
    }
    Ok(())
}

fn table(out: &mut impl Write, declaration: &str, items: &[String]) -> std::io::Result<()> {
    writeln!(out, "static {declaration} = {{")?;
    for line in items.chunks(PER_LINE) {
        writeln!(out, "    {},", line.join(", "))?;
    }
    writeln!(out, "}};\n")
}

fn literal(number: f64) -> String {
    format!("{number:e}")
}

/// Text as C has it; bytes beyond ASCII as octal numbers, which end after three digits.
fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'?' => out.extend(['\\', byte as char]),
            b' '..=b'~' => out.push(byte as char),
            _ => out += &format!("\\{byte:03o}"),
        }
    }
    out + "\""
}

const BY_NUMBER: &str = "\
/* The place of a feature number, or -1 if it has no weight. */
static inline long towline_feature(unsigned long long number) {
    size_t low = 0, high = TOWLINE_FEATURES;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (towline_numbers[middle] < number) low = middle + 1; else high = middle;
    }
    return low < TOWLINE_FEATURES && towline_numbers[low] == number ? (long)low : -1;
}

";

const BY_NAME: &str = "\
/* The place of a feature, or -1 if it has no weight; a search from the first on, to be done once per column. */
static inline long towline_feature(const char *name) {
    for (size_t i = 0; i < TOWLINE_FEATURES; i++)
        if (strcmp(towline_features[i], name) == 0) return (long)i;
    return -1;
}

";

const SCORE: &str = "\
/* The scores of a row that is given by places and values; places below 0 are left out. */
static inline void towline_score(const long *places, const double *values, size_t count, double *scores) {
    for (size_t k = 0; k < TOWLINE_OUTPUTS; k++) scores[k] = towline_intercepts[k];
    for (size_t i = 0; i < count; i++) {
        if (places[i] < 0) continue;
        const double *weights = towline_weights + (size_t)places[i] * TOWLINE_OUTPUTS;
        for (size_t k = 0; k < TOWLINE_OUTPUTS; k++) scores[k] += weights[k] * values[i];
    }
}

";

const CLASS: &str = "\
/* The place of the class in towline_names. */
static inline size_t towline_class(const double *scores) {
    size_t best = 0;
    if (TOWLINE_OUTPUTS == 1) return scores[0] > 0.0;
    for (size_t k = 1; k < TOWLINE_OUTPUTS; k++)
        if (scores[k] > scores[best]) best = k;
    return best;
}

";

const PROBABILITY: &str = "\
/* The probability that a score speaks of. */
static inline double towline_probability(double score) { return 1.0 / (1.0 + exp(-score)); }

";

#[cfg(test)]
mod tests {
    #[test]
    fn text_is_escaped() {
        assert_eq!(super::string("a\"b\\c"), r#""a\"b\\c""#);
        assert_eq!(super::string("Zürich?\n1"), r#""Z\303\274rich\?\0121""#);
    }
}
