//! The columns of a table in a graph of ONNX: an input each, `[rows, 1]` doubles or strings, and what they add to the
//! scores.
use hashbrown::HashMap;

use super::columns::{Column, Columns, Part, Product};
use super::graph::{Graph, Type};
use super::onnx::MOST_NUMBERS;
use super::{ExportError, unknown};
use crate::model::Model;

/// Scores of the columns, to be added up.
pub fn scores<'a>(model: &'a Model, columns: &'a Columns<'a>, graph: &mut Graph) -> Result<Vec<String>, ExportError> {
    let all = &columns.columns;
    all.iter().for_each(|column| graph.keep(column.name));
    for column in all {
        let is_mixed = |(part, _): &(Part, usize)| matches!(part, Part::Level(_) | Part::Rare);
        if column.holds_numbers() && column.features.iter().any(is_mixed) {
            let name = column.name;
            return unknown(format!("the column '{name}' has numbers and text, and an ONNX input one of them"));
        }
    }
    if all.is_empty() {
        return unknown("a model without weights has no inputs");
    }
    let input = |column: &Column| {
        let of = if column.holds_numbers() { Type::Double } else { Type::Text };
        graph.input(column.name, of, 1)
    };
    let inputs: Vec<String> = all.iter().map(input).collect();
    let mut writer = Writer { model, all: columns, inputs, choices: HashMap::new(), graph };
    let mut terms = Vec::new();
    writer.numbers(&mut terms);
    for (place, column) in all.iter().enumerate() {
        let is_chosen = !column.holds_numbers() || !column.bins().is_empty();
        if is_chosen && !column.features.is_empty() {
            terms.push(writer.choice(place, column.features.iter().copied(), "score"));
        }
    }
    for product in &columns.products {
        terms.push(writer.product(product)?);
    }
    Ok(terms)
}

struct Writer<'a, 'g> {
    model: &'a Model,
    all: &'a Columns<'a>,
    inputs: Vec<String>,
    /// Of columns of text, and of numbers in bins: the value that has the place of each row's cell, and the parts in
    /// the order of places. A last place is for all other cells.
    choices: HashMap<usize, (String, HashMap<Part<'a>, usize>)>,
    graph: &'g mut Graph,
}

impl<'a> Writer<'a, '_> {
    fn outputs(&self) -> usize {
        self.model.outputs()
    }

    /// What numbers, their powers, and marks of their absence add.
    fn numbers(&mut self, terms: &mut Vec<String>) {
        let outputs = self.outputs() as i64;
        let is_plain = |column: &Column| column.holds_numbers() && column.bins().is_empty();
        let numbers = self.all.columns.iter().zip(&self.inputs).filter(|(column, _)| is_plain(column));
        let (columns, inputs): (Vec<&Column>, Vec<String>) = numbers.map(|(c, input)| (c, input.clone())).unzip();
        if columns.is_empty() {
            return;
        }
        let (mut weights, mut marks) = (Vec::new(), Vec::new());
        let (mut powers, mut exponents, mut of_powers) = (Vec::new(), Vec::new(), Vec::new());
        let none = vec![0.0; self.outputs()];
        for (place, column) in columns.iter().enumerate() {
            let of = |wanted: Part| column.features.iter().find(|(part, _)| *part == wanted);
            let weights_of = |wanted| of(wanted).map_or(&none[..], |&(_, i)| self.model.weights_of(i));
            weights.extend_from_slice(weights_of(Part::Power(1)));
            marks.extend_from_slice(weights_of(Part::Mark));
            for &(part, i) in &column.features {
                if let Part::Power(power @ 2..) = part {
                    powers.push(place as i64);
                    exponents.push(f64::from(power));
                    of_powers.extend_from_slice(self.model.weights_of(i));
                }
            }
        }
        let count = columns.len() as i64;
        let graph = &mut *self.graph;
        let raw = graph.node_with("Concat", &inputs, "numbers", |node| node.integer("axis", 1));
        let missing = graph.node("IsNaN", std::slice::from_ref(&raw), "numbers missing");
        let imputed: Vec<f64> = columns.iter().map(|column| column.impute()).collect();
        let imputed = graph.doubles("imputed", &[count], &imputed);
        let known = graph.node("Where", &[missing.clone(), imputed, raw], "numbers known");
        let weights = graph.doubles("weights", &[count, outputs], &weights);
        terms.push(graph.node("MatMul", &[known.clone(), weights], "of numbers"));
        if marks.iter().any(|&weight| weight != 0.0) {
            let missing = graph.node_with("Cast", &[missing], "marks", |node| node.integer("to", Type::Double as i64));
            let marks = graph.doubles("weights of marks", &[count, outputs], &marks);
            terms.push(graph.node("MatMul", &[missing, marks], "of marks"));
        }
        if !powers.is_empty() {
            let count = powers.len() as i64;
            let places = graph.integers("places of powers", &powers);
            let bases = graph.node_with("Gather", &[known, places], "bases", |node| node.integer("axis", 1));
            let exponents = graph.doubles("exponents", &[count], &exponents);
            let powers = graph.node("Pow", &[bases, exponents], "powers");
            let weights = graph.doubles("weights of powers", &[count, outputs], &of_powers);
            terms.push(graph.node("MatMul", &[powers, weights], "of powers"));
        }
    }

    /// The weights of the part that a row's cell is.
    fn choice(&mut self, place: usize, parts: impl Iterator<Item = (Part<'a>, usize)>, what: &str) -> String {
        let outputs = self.outputs();
        let (cell, count) = self.place_of(place);
        let mut weights = vec![0.0; count * outputs];
        for (part, i) in parts {
            let row = self.row_of(place, part);
            weights[row * outputs..][..outputs].copy_from_slice(self.model.weights_of(i));
        }
        let name = self.all.columns[place].name;
        let weights = self.graph.doubles(&format!("{name} weights"), &[count as i64, outputs as i64], &weights);
        self.graph.node("Gather", &[weights, cell], &format!("{name} {what}"))
    }

    /// The place of a part among all of its column.
    fn row_of(&self, place: usize, part: Part<'a>) -> usize {
        self.choices.get(&place).and_then(|(_, rows)| rows.get(&part)).copied().unwrap_or_default()
    }

    /// The value that has the place of each row's cell, and how many places there are.
    fn place_of(&mut self, place: usize) -> (String, usize) {
        if !self.choices.contains_key(&place) {
            let (input, has_bins) = (self.inputs[place].clone(), !self.all.columns[place].bins().is_empty());
            let found = if has_bins { self.bin_of(place, input) } else { self.level_of(place, input) };
            self.choices.insert(place, found);
        }
        let (cell, rows) = &self.choices[&place];
        // Rare levels are what no other part is, or nothing is.
        let has_rare = rows.contains_key(&Part::Rare);
        (cell.clone(), rows.len() + usize::from(!has_rare))
    }

    fn level_of(&mut self, place: usize, input: String) -> (String, HashMap<Part<'a>, usize>) {
        let column = &self.all.columns[place];
        let (mut rows, mut levels) = (HashMap::from([(Part::Mark, 0)]), vec![""]);
        let sides = [0, 1].into_iter().flat_map(|side| {
            let of_column = self.all.products.iter().filter(move |product| product.columns[side] == place);
            of_column.flat_map(move |product| product.features.iter().map(move |(parts, _)| parts[side]))
        });
        let common = column.common_levels().iter().map(|level| Part::Level(level));
        for part in column.features.iter().map(|&(part, _)| part).chain(sides).chain(common) {
            if let (Part::Level(level), None) = (part, rows.get(&part)) {
                rows.insert(part, levels.len());
                levels.push(level);
            }
        }
        let count = levels.len() as i64;
        if column.known.is_some_and(|known| known.rare.is_some()) {
            rows.insert(Part::Rare, levels.len());
        }
        let graph = &mut *self.graph;
        let found = graph.learning_node("LabelEncoder", &[input], &format!("{} level", column.name), |node| {
            node.texts("keys_strings", &levels).integers("values_int64s", 0..count).integer("default_int64", count)
        });
        let flat = graph.flat();
        (graph.node("Reshape", &[found, flat], &format!("{} place", column.name)), rows)
    }

    /// How many edges a number has reached.
    fn bin_of(&mut self, place: usize, input: String) -> (String, HashMap<Part<'a>, usize>) {
        let (name, edges) = (self.all.columns[place].name, self.all.columns[place].bins());
        let mut rows: HashMap<Part, usize> = (0..=edges.len()).map(|bin| (Part::Bin(bin), bin)).collect();
        rows.insert(Part::Mark, edges.len() + 1);
        let graph = &mut *self.graph;
        let whole = |node: super::graph::Attributes| node.integer("to", Type::Integer as i64);
        let all_edges = graph.doubles(&format!("{name} edges"), &[edges.len() as i64], edges);
        let reached = graph.node("GreaterOrEqual", &[input.clone(), all_edges], &format!("{name} reached"));
        let reached = graph.node_with("Cast", &[reached], &format!("{name} edges reached"), whole);
        let axis = graph.integers("columns", &[1]);
        let bin = graph.node("ReduceSum", &[reached, axis], &format!("{name} bin"));
        let missing = graph.node("IsNaN", &[input], &format!("{name} missing"));
        let absent = graph.integers(&format!("{name} absent"), &[edges.len() as i64 + 1]);
        let found = graph.node("Where", &[missing, absent, bin], &format!("{name} choice"));
        let flat = graph.flat();
        (graph.node("Reshape", &[found, flat], &format!("{name} place")), rows)
    }

    /// What the products of two columns add.
    fn product(&mut self, product: &Product<'a>) -> Result<String, ExportError> {
        let [a, b] = product.columns;
        let name = format!("{} by {}", self.all.columns[a].name, self.all.columns[b].name);
        let Some(&(first, i)) = product.features.first() else { return unknown("a product without features") };
        let is_number = first.map(|part| matches!(part, Part::Power(_)));
        let of_side = |side: usize| product.features.iter().map(move |&(parts, i)| (parts[side], i));
        let with_gaps = match is_number {
            [true, true] => {
                let (shape, weights) = ([1, self.outputs() as i64], self.model.weights_of(i));
                let weights = self.graph.doubles(&format!("{name} weights"), &shape, weights);
                let numbers = self.graph.node("Mul", &[self.inputs[a].clone(), self.inputs[b].clone()], &name);
                self.graph.node("Mul", &[numbers, weights], &format!("{name} score"))
            }
            [true, false] => {
                let chosen = self.choice(b, of_side(1), "factor");
                self.graph.node("Mul", &[self.inputs[a].clone(), chosen], &name)
            }
            [false, true] => {
                let chosen = self.choice(a, of_side(0), "factor");
                self.graph.node("Mul", &[self.inputs[b].clone(), chosen], &name)
            }
            [false, false] => return self.pairs(product, &name),
        };
        let missing = self.graph.node("IsNaN", std::slice::from_ref(&with_gaps), &format!("{name} missing"));
        let zero = self.graph.doubles("nothing", &[], &[0.0]);
        Ok(self.graph.node("Where", &[missing, zero, with_gaps], &format!("{name} known")))
    }

    /// The weights of the two parts that a row's cells are.
    fn pairs(&mut self, product: &Product<'a>, name: &str) -> Result<String, ExportError> {
        let ([a, b], outputs) = (product.columns, self.outputs());
        let ((first, rows), (second, columns)) = (self.place_of(a), self.place_of(b));
        if (rows * columns).saturating_mul(outputs) as u64 > MOST_NUMBERS {
            return unknown(format!("a matrix of ONNX cannot hold all products of {name}"));
        }
        let mut weights = vec![0.0; rows * columns * outputs];
        for &([left, right], i) in &product.features {
            let at = self.row_of(a, left) * columns + self.row_of(b, right);
            weights[at * outputs..][..outputs].copy_from_slice(self.model.weights_of(i));
        }
        let graph = &mut *self.graph;
        let width = graph.integers(&format!("{name} width"), &[columns as i64]);
        let row = graph.node("Mul", &[first, width], &format!("{name} row"));
        let place = graph.node("Add", &[row, second], &format!("{name} place"));
        let shape = [(rows * columns) as i64, outputs as i64];
        let weights = graph.doubles(&format!("{name} weights"), &shape, &weights);
        Ok(graph.node("Gather", &[weights, place], &format!("{name} score")))
    }
}
