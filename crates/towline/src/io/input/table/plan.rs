//! Which column has which part and what it holds, decided by the first file or known before, and kept for all files, so
//! that a feature never changes its meaning between files.
mod checks;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use checks::check_clashes;
use checks::{agree, check_role, plural};

use super::cells::word;
use super::looks::Found;
use super::parts::{self, Parts};
use super::{ColumnPolicy, Known, Missing, TableOptions, words};
use crate::input::InputError;
use crate::schema::{Absent, ColumnSchema, Kind, Schema};

/// The part of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Feature,
    /// The first target, or one behind it.
    Label(usize),
    Weight,
    Group,
    Ignored,
}

/// A column of one file with its part.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// Its place among all columns that any file has had.
    pub(crate) place: usize,
    pub(crate) role: Role,
    pub(crate) kind: Kind,
    /// What an absent cell looks like here alone.
    pub(crate) missing: Vec<String>,
    /// Whether an absent cell is a feature.
    pub(crate) is_marked: bool,
    /// The number that stands for an absent one.
    pub(crate) impute: Option<f64>,
    /// The levels of a category that are not rare, if that is known.
    pub(crate) levels: Option<Arc<HashSet<Vec<u8>>>>,
    /// Bits of the hash by which levels and n-grams are known.
    pub(crate) hash_bits: Option<u8>,
    /// Places of its square, cube and so on among the numbers.
    pub(crate) powers: Vec<usize>,
    /// Edges of the bins of a number that is cut into some, and the features of the bins.
    pub(crate) bins: Vec<f64>,
    pub(crate) bin_features: Vec<String>,
    /// Words of a text that are left out.
    pub(crate) stop: Option<Arc<HashSet<String>>>,
    /// Whether it matters how many rows have each of its features.
    pub(crate) is_counted: bool,
    /// Its place among the features that are numbers.
    pub(crate) slot: Option<usize>,
}

/// What the columns of a file become.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) columns: Vec<Column>,
    /// Features that are numbers, in all files so far.
    pub(crate) numbers: Vec<String>,
    /// Columns that other files have and this one lacks, where that is said of each row.
    pub(crate) lacking: Vec<Column>,
    pub(crate) interactions: Interactions,
}

/// Columns that are multiplied.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interactions {
    /// Their names.
    pub(crate) columns: Vec<String>,
    /// Places of two columns among them, and that of their product among the numbers, if both are.
    pub(crate) pairs: Vec<(usize, usize, Option<usize>)>,
}

/// How sure a file is of the kinds of its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// Guessed from some cells: what an earlier file decided goes before it.
    Cells,
    /// Said by the file: to contradict an earlier one is an error.
    Schema,
}

/// The tables of one call.
pub(crate) struct Tables {
    pub(crate) options: TableOptions,
    pub(crate) missing: Missing,
    /// Rows without a label that were left out.
    pub(crate) skipped_rows: AtomicU64,
    decided: Mutex<Decided>,
}

#[derive(Default)]
struct Decided {
    /// N-grams of a text at most.
    max_features: Option<u32>,
    parts: Option<Parts>,
    /// Columns in the order in which they came, and the file that each came with.
    columns: Vec<(ColumnSchema, String)>,
    places: HashMap<String, usize>,
    numbers: Vec<String>,
    slots: HashMap<String, usize>,
    remarks: Vec<String>,
}

impl Tables {
    pub(crate) fn new(options: TableOptions) -> Self {
        let known = options.known.as_ref().map(|known| known.schema.clone());
        let mut tokens = options.missing.clone();
        let mut decided = Decided { max_features: options.max_features, ..Decided::default() };
        if let Some(schema) = known {
            tokens.extend(schema.missing.iter().cloned());
            schema.columns.iter().for_each(|column| decided.add(column.clone(), "the data that it goes with"));
            for column in schema.features() {
                let names = column.number_feature().into_iter().chain(column.power_features().map(|(_, name)| name));
                names.for_each(|name| _ = decided.slot(name));
            }
        }
        Tables {
            missing: Missing::new(&tokens),
            options,
            skipped_rows: AtomicU64::new(0),
            decided: Mutex::new(decided),
        }
    }

    /// The parts of the columns of `file`.
    pub(crate) fn plan(&self, file: &str, mut found: Vec<Found>, evidence: Evidence) -> Result<Plan, InputError> {
        let names = parts::name_all(file, &mut found)?;
        let mut decided = self.lock();
        let parts = decided.parts(&self.options, file, &names)?;
        parts.must_be_in(file, &names)?;
        let (mut columns, mut unknown) = (Vec::with_capacity(names.len()), Vec::new());
        let is_closed = self.is_closed();
        for found in found {
            let name = found.column.name.clone();
            let role = parts.role(&name);
            if is_closed && role == Role::Feature && decided.find(&name).is_none() {
                unknown.push(name.clone());
                columns.push(Column::ignored(name));
                continue;
            }
            let column = decided.settle(file, self.said_of(found), role, &parts, evidence)?;
            columns.push(decided.place(column, role));
        }
        if !unknown.is_empty() {
            decided.remark(format!("{file}: {} left out, which the model does not know", plural("column", &unknown)));
        }
        let lacking = decided.lacking(self.options.known.as_ref(), &parts, file, &names)?;
        let interactions = decided.interactions(&parts, file)?;
        Ok(Plan { columns, numbers: decided.numbers.clone(), lacking, interactions })
    }

    /// What was said of absent cells goes before what they look like.
    fn said_of(&self, mut found: Found) -> Found {
        found.column.absent = self.options.absent.unwrap_or(found.column.absent);
        found
    }

    /// Whether a schema says what all columns are: those that it does not know are left out.
    pub(crate) fn is_closed(&self) -> bool {
        self.options.known.as_ref().is_some_and(|known| !known.extend)
    }

    /// Whether all of `cells` are names of columns that earlier files had: a header even if no row follows it.
    pub(crate) fn are_known_names(&self, cells: &[String]) -> bool {
        let decided = self.lock();
        !decided.columns.is_empty() && cells.iter().all(|cell| decided.find(cell).is_some())
    }

    /// Names of all columns that earlier files have had, or that are known.
    pub(crate) fn names(&self) -> Vec<String> {
        self.lock().columns.iter().map(|(column, _)| column.name.clone()).collect()
    }

    /// The names of several targets.
    pub(crate) fn target_names(&self) -> Vec<String> {
        self.lock()
            .parts
            .as_ref()
            .filter(|parts| parts.labels.len() > 1)
            .map_or_else(Vec::new, |parts| parts.labels.clone())
    }

    /// What all files have been read by.
    pub(crate) fn schema(&self) -> Option<Schema> {
        let decided = self.lock();
        let parts = decided.parts.as_ref()?;
        let known = self.options.known.as_ref().map(|known| known.schema.missing.clone()).unwrap_or_default();
        let missing = known.into_iter().chain(self.options.missing.iter().cloned()).collect();
        Some(Schema { missing, ..decided.schema(parts) })
    }

    /// Adds something to say at the end.
    pub(crate) fn remark(&self, remark: String) {
        self.lock().remark(remark);
    }

    /// What there is to say at the end.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let mut remarks = self.lock().remarks.clone();
        let skipped = self.skipped_rows.load(Ordering::Relaxed);
        if skipped > 0 {
            remarks.push(format!("{skipped} rows without a label were left out"));
        }
        remarks
    }

    fn lock(&self) -> MutexGuard<'_, Decided> {
        // An error ends all reading: nobody sees what it left half done.
        self.decided.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Column {
    /// What its n-grams take for each byte of text.
    pub(crate) fn gram_bytes(&self) -> u64 {
        match (self.role, self.kind) {
            (Role::Feature, Kind::Text(rule)) => words::bytes_per_byte(rule, &self.name),
            _ => 0,
        }
    }

    fn ignored(name: String) -> Column {
        let (role, kind, missing) = (Role::Ignored, Kind::Ignored, Vec::new());
        Column {
            name,
            place: 0,
            role,
            kind,
            missing,
            is_marked: false,
            impute: None,
            levels: None,
            hash_bits: None,
            powers: Vec::new(),
            bins: Vec::new(),
            bin_features: Vec::new(),
            stop: None,
            is_counted: false,
            slot: None,
        }
    }
}

impl Decided {
    fn find(&self, name: &str) -> Option<&(ColumnSchema, String)> {
        self.places.get(name).map(|&at| &self.columns[at])
    }

    fn add(&mut self, column: ColumnSchema, file: &str) {
        self.places.insert(column.name.clone(), self.columns.len());
        self.columns.push((column, file.to_string()));
    }

    /// The place of a number among all of them.
    fn slot(&mut self, number: String) -> usize {
        let next = self.numbers.len();
        let slot = *self.slots.entry(number.clone()).or_insert(next);
        if slot == next {
            self.numbers.push(number);
        }
        slot
    }

    fn remark(&mut self, remark: String) {
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    fn parts(&mut self, options: &TableOptions, file: &str, names: &[String]) -> Result<Parts, InputError> {
        if let Some(parts) = &self.parts {
            return Ok(parts.clone());
        }
        let parts = match &options.known {
            Some(known) => Parts::known(options, &known.schema, file, names)?,
            None => Parts::find(options, file, names)?,
        };
        if let (None, None, Some(label)) = (&options.label, &options.known, parts.labels.first()) {
            self.remark(format!("the label is column '{label}'"));
        }
        Ok(self.parts.insert(parts).clone())
    }

    /// What a column is in view of earlier files.
    fn settle(
        &mut self,
        file: &str,
        found: Found,
        role: Role,
        parts: &Parts,
        evidence: Evidence,
    ) -> Result<ColumnSchema, InputError> {
        let Found { mut column, note, identifies, is_looked } = found;
        let evidence = if is_looked { Evidence::Cells } else { evidence };
        if role == Role::Ignored {
            column = ColumnSchema::new(column.name, Kind::Ignored);
        } else if let Some((known, first)) = self.find(&column.name) {
            let is_replaced = known.kind == Kind::Empty && column.kind != Kind::Empty;
            if evidence == Evidence::Schema && !agree(known.kind, column.kind) {
                return Err(InputError::file(
                    file,
                    format!(
                        "column '{}' holds {}, but {} in {first}",
                        column.name,
                        column.kind.noun(),
                        known.kind.noun()
                    ),
                    format!("use `category({0})` or `ignore({0})`, or give the files one schema", word(&column.name)),
                ));
            }
            if !is_replaced {
                return check_role(file, role, parts, known.clone(), evidence);
            }
        } else if let Some(&kind) = parts.kinds.get(&column.name) {
            if !matches!(column.kind, Kind::List | Kind::Other) {
                column = ColumnSchema { kind, ..column };
            }
        } else if let (Role::Feature, Some(why)) = (role, identifies) {
            let name = word(&column.name);
            self.remark(format!(
                "column '{}' is left out: {why}; use `category({name})` or `number({name})` to keep it",
                column.name
            ));
            column = ColumnSchema::new(column.name, Kind::Ignored);
        } else if let (Role::Feature, Some(note)) = (role, note) {
            self.remark(note);
        }
        let mut column = check_role(file, role, parts, column, evidence)?;
        if let Kind::Text(words) = &mut column.kind {
            words.max_features = words.max_features.or(self.max_features);
        }
        if role == Role::Feature && column.kind != Kind::Ignored {
            parts.apply_rules(file, &mut column)?;
        }
        match self.places.get(&column.name) {
            Some(&at) => self.columns[at].0 = column.clone(),
            None => self.add(column.clone(), file),
        }
        Ok(column)
    }

    /// All of it, but for tokens of absent cells.
    fn schema(&self, parts: &Parts) -> Schema {
        Schema {
            label: parts.labels.clone(),
            weight: parts.weight.clone(),
            group: parts.group.clone(),
            missing: Vec::new(),
            interactions: parts.interactions.clone(),
            columns: self.columns.iter().map(|(column, _)| column.clone()).collect(),
        }
    }

    /// Which columns are multiplied. The product of two numbers is a number.
    fn interactions(&mut self, parts: &Parts, file: &str) -> Result<Interactions, InputError> {
        let checked = self.schema(parts).check_products();
        checked.map_err(|problem| InputError::file(file, problem, "choose other columns or rules, or rename some"))?;
        let mut interactions = Interactions::default();
        let columns = &mut interactions.columns;
        for [a, b] in &parts.interactions {
            let mut place = |name: &String| {
                columns.iter().position(|known| known == name).unwrap_or_else(|| {
                    columns.push(name.clone());
                    columns.len() - 1
                })
            };
            let places = (place(a), place(b));
            let is_number = |name: &str| {
                self.find(name).is_some_and(|(column, _)| column.kind.is_number() && column.bins.is_empty())
            };
            let are_numbers = is_number(a) && is_number(b);
            let slot = are_numbers.then(|| self.slot(format!("{a}*{b}")));
            interactions.pairs.push((places.0, places.1, slot));
        }
        Ok(interactions)
    }

    /// A column with its place among the numbers.
    fn place(&mut self, column: ColumnSchema, role: Role) -> Column {
        let role = if column.kind == Kind::Ignored { Role::Ignored } else { role };
        let number = (role == Role::Feature).then(|| column.number_feature()).flatten();
        let slot = number.map(|number| self.slot(number));
        let can_mark = slot.is_some() || column.kind == Kind::Category || !column.bins.is_empty();
        let is_marked = role == Role::Feature && can_mark && column.absent == Absent::Marked;
        let powers = column.power_features().filter(|_| role == Role::Feature);
        let powers: Vec<usize> = powers.map(|(_, name)| self.slot(name)).collect();
        let place = self.places.get(&column.name).copied().unwrap_or(self.columns.len());
        let bin_feature = |place: usize| format!("{}={}", column.name, column.bin_name(place));
        let bin_features =
            if column.bins.is_empty() { 0..0 } else { 0..column.bins.len() + 1 }.map(bin_feature).collect();
        let ColumnSchema { name, kind, missing, impute, levels, rare, hash_bits, bins, stop, .. } = column;
        let stop = (!stop.is_empty()).then(|| Arc::new(words::left_out(stop, kind)));
        let is_counted = match kind {
            Kind::Text(rule) => rule.needs_counts(),
            _ => rare.is_some() && levels.is_none(),
        };
        let levels = levels.map(|levels| Arc::new(levels.into_iter().map(String::into_bytes).collect()));
        Column {
            name,
            place,
            role,
            kind,
            missing,
            is_marked,
            impute,
            levels,
            hash_bits,
            powers,
            bins,
            bin_features,
            stop,
            is_counted,
            slot,
        }
    }

    /// Columns that are known and not in this file.
    fn lacking(
        &mut self,
        known: Option<&Known>,
        parts: &Parts,
        file: &str,
        names: &[String],
    ) -> Result<Vec<Column>, InputError> {
        let names: HashSet<&str> = names.iter().map(String::as_str).collect();
        let is_lacking = |column: &&ColumnSchema| {
            parts.role(&column.name) == Role::Feature
                && !matches!(column.kind, Kind::Ignored | Kind::Empty)
                && !names.contains(column.name.as_str())
        };
        let lacking: Vec<ColumnSchema> =
            self.columns.iter().map(|(column, _)| column).filter(is_lacking).cloned().collect();
        if lacking.is_empty() {
            return Ok(Vec::new());
        }
        let is_there = |(column, _): &(ColumnSchema, String)| {
            parts.role(&column.name) == Role::Feature
                && column.kind != Kind::Ignored
                && names.contains(column.name.as_str())
        };
        let which: Vec<String> = lacking.iter().map(|column| column.name.clone()).collect();
        if known.is_some() && !self.columns.iter().any(is_there) {
            return Err(InputError::file(
                file,
                format!("it has none of the known columns: no {}", plural("column", &which)),
                "name a table like those before it",
            ));
        }
        if known.is_some_and(|known| known.columns == ColumnPolicy::Strict) {
            return Err(InputError::file(
                file,
                format!("it has no {}", plural("column", &which)),
                "add what is missing, or use `columns(note)` to take all of its cells to be absent",
            ));
        }
        self.remark(format!("{file} lacks {}, whose cells are all absent", plural("column", &which)));
        let lacking = lacking.into_iter().map(|column| self.place(column, Role::Feature));
        Ok(lacking.filter(|column| column.is_marked).collect())
    }
}
