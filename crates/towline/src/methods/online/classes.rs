//! Classes in the order in which a stream brings them.
use rustc_hash::FxHashMap;

use super::StreamOptions;
use crate::input::RowBatch;
use crate::objective::{Classes, Multiclass, Targets};

/// The classes seen so far.
#[derive(Clone, Debug, Default)]
pub struct StreamClasses {
    names: Vec<String>,
    /// The label of each class in the input, where labels are numbers.
    numbers: Option<Vec<f64>>,
    by_number: FxHashMap<u64, u32>,
    by_name: FxHashMap<String, u32>,
}

impl StreamClasses {
    /// The classes of an earlier model, as its targets list them.
    pub fn known(targets: &Targets) -> Self {
        let mut classes = StreamClasses::default();
        let are_numbers = targets.names().iter().all(|name| name.parse::<f64>().is_ok());
        for name in targets.names() {
            match (are_numbers, name.parse::<f64>()) {
                (true, Ok(number)) => _ = classes.number(number),
                _ => _ = classes.name(name),
            }
        }
        classes
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// What they are called.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The class that is called so.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| same(known, name))
    }

    /// The classes of the rows of a batch.
    pub fn resolve(&mut self, batch: &RowBatch, out: &mut Vec<u32>) {
        out.clear();
        if batch.classes.is_empty() {
            out.extend(batch.labels.iter().map(|&label| self.number(label)));
        } else {
            let known: Vec<u32> = batch.classes.iter().map(|name| self.name(&String::from_utf8_lossy(name))).collect();
            out.extend(batch.labels.iter().map(|&label| known[label as usize]));
        }
    }

    fn number(&mut self, label: f64) -> u32 {
        // 0 and -0 are one label.
        let label = label + 0.0;
        let next = self.names.len() as u32;
        let class = *self.by_number.entry(label.to_bits()).or_insert(next);
        if class == next {
            self.names.push(format!("{label}"));
            self.numbers.get_or_insert_default().push(label);
        }
        class
    }

    fn name(&mut self, name: &str) -> u32 {
        if let Some(&class) = self.by_name.get(name) {
            return class;
        }
        let class = self.names.len() as u32;
        self.by_name.insert(name.to_string(), class);
        self.names.push(name.to_string());
        class
    }

    /// How many scores tell them apart: one for two classes, else one for each.
    pub fn outputs(&self, options: &StreamOptions) -> usize {
        let single = !options.loss.is_classification() || options.positive.is_some();
        if single || self.len() <= 2 { 1 } else { self.len() }
    }

    /// How many of these scores a model has: all, or one.
    pub fn width(&self, options: &StreamOptions) -> usize {
        if options.multiclass() == Multiclass::OneVsRest { 1 } else { self.outputs(options) }
    }

    /// What labels mean to one of these models.
    pub fn targets(&self, model: usize, options: &StreamOptions) -> Targets {
        if !options.loss.is_classification() {
            return Targets::Numbers;
        }
        let classes = self.as_targets(&options.class_weights);
        if self.width(options) > 1 {
            return Targets::Classes { classes, multiclass: options.multiclass() };
        }
        let class = match &options.positive {
            Some(name) => classes.named(name).unwrap_or(usize::MAX),
            // The one score of two classes speaks for the second.
            None if self.len() <= 2 => 1,
            None => model,
        };
        Targets::OneOf { class: class as u32, classes }
    }

    /// The classes for a model in training: numbered as they came.
    pub fn as_targets(&self, weights: &[(String, f64)]) -> Classes {
        let weight =
            |name: &String| weights.iter().rev().find(|(known, _)| same(known, name)).map_or(1.0, |found| found.1);
        let labels = (0..self.len()).map(|class| class as f64).collect();
        Classes::new(labels, self.names.clone(), self.names.iter().map(weight).collect())
    }

    /// The targets of a finished model, and for each of its outputs the class in order of appearance: numbers
    /// ascending, names by the alphabet. With one output it is the class that is positive. `None` while fewer than two
    /// classes have come.
    pub fn finished(&self, options: &StreamOptions) -> Option<(Targets, Vec<usize>)> {
        let positive = options.positive.as_deref();
        let mut order: Vec<usize> = (0..self.len()).collect();
        match &self.numbers {
            Some(numbers) => order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b])),
            None => order.sort_by(|&a, &b| self.names[a].cmp(&self.names[b])),
        }
        let known = self.as_targets(&options.class_weights);
        let label = |class: usize| self.numbers.as_ref().map_or(class as f64, |numbers| numbers[class]);
        if self.len() < 2 {
            return None;
        }
        if positive.is_none() && self.len() > 2 {
            let pick = |values: &dyn Fn(usize) -> f64| order.iter().map(|&class| values(class)).collect::<Vec<f64>>();
            let names = order.iter().map(|&class| self.names[class].clone()).collect();
            let classes = Classes::new(pick(&label), names, pick(&|class| known.weights[class]));
            return Some((Targets::Classes { classes, multiclass: options.multiclass() }, order));
        }
        let second = match positive {
            Some(name) => (0..self.len()).find(|&class| same(&self.names[class], name))?,
            None => order[1],
        };
        let first = (self.len() == 2).then(|| 1 - second);
        let names = [
            first.map_or_else(|| format!("not {}", self.names[second]), |first| self.names[first].clone()),
            self.names[second].clone(),
        ];
        let weights = [first.map_or(1.0, |first| known.weights[first]), known.weights[second]];
        Some((Targets::Binary { positive: label(second), names, weights }, vec![second]))
    }
}

/// Whether two words name the same class; numbers may be written otherwise.
fn same(a: &str, b: &str) -> bool {
    a == b || matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(a), Ok(b)) if a == b)
}
