//! Which column has which part, decided by the first file and kept for all others, so that a feature never changes its
//! meaning between files.
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::cells::word;
use super::parts::{self, Parts};
use super::{Missing, TableOptions};
use crate::input::InputError;

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Text,
    /// Nothing was seen yet: each cell speaks for itself.
    Either,
    /// Numbers by position or index.
    List,
    /// What cannot be taken; only an error if it is not ignored.
    Other,
}

impl Kind {
    fn noun(self) -> &'static str {
        match self {
            Kind::Number => "numbers",
            Kind::Text => "text",
            Kind::Either => "nothing",
            Kind::List => "lists",
            Kind::Other => "nested values",
        }
    }
}

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) kind: Kind,
}

impl Column {
    pub(crate) fn is_text_feature(&self) -> bool {
        self.role == Role::Feature && self.kind == Kind::Text
    }
}

/// How sure a file is of the kinds of its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// Guessed from some cells: what an earlier file decided goes before it.
    Cells,
    /// Said by a schema: to contradict an earlier file is an error.
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
    parts: Option<Parts>,
    kinds: HashMap<String, (Kind, String)>,
    remarks: Vec<String>,
}

impl Tables {
    pub(crate) fn new(options: TableOptions) -> Self {
        let missing = Missing::new(&options.missing);
        Tables { options, missing, skipped_rows: AtomicU64::new(0), decided: Mutex::default() }
    }

    /// The parts of the columns of `file`, given as names and kinds.
    pub(crate) fn plan(
        &self,
        file: &str,
        found: Vec<(String, Kind)>,
        evidence: Evidence,
    ) -> Result<Vec<Column>, InputError> {
        let (names, kinds) = parts::name_all(file, found)?;
        let mut decided = self.lock();
        let parts = match &decided.parts {
            Some(parts) => parts.clone(),
            None => {
                let parts = Parts::find(&self.options, file, &names)?;
                if let (None, Some(label)) = (&self.options.label, parts.labels.first()) {
                    decided.remarks.push(format!("the label is column '{label}'"));
                }
                decided.parts.insert(parts).clone()
            }
        };
        parts.must_be_in(file, &names)?;
        let mut columns = Vec::with_capacity(names.len());
        for (name, kind) in names.into_iter().zip(kinds) {
            let role = parts.role(&name);
            let kind = match role {
                Role::Ignored => kind,
                _ if parts.text.contains(&name) && !matches!(kind, Kind::List | Kind::Other) => Kind::Text,
                _ => decided.settle(file, &name, kind, evidence)?,
            };
            if parts.labels.len() > 1 && matches!(role, Role::Label(_)) && kind == Kind::Text {
                return Err(InputError::file(
                    file,
                    format!("the column of targets '{name}' holds text"),
                    "several targets are numbers; name one column with `label`, or absent cells with `missing(TOKEN)`",
                ));
            }
            let kind = check_role(file, &name, role, kind)?;
            columns.push(Column { name, role, kind });
        }
        Ok(columns)
    }

    /// Whether all of `cells` are names of columns that earlier files had: a header even if no row follows it.
    pub(crate) fn are_known_names(&self, cells: &[String]) -> bool {
        self.lock().parts.as_ref().is_some_and(|parts| cells.iter().all(|cell| parts.columns.contains(cell)))
    }

    /// The names of several targets.
    pub(crate) fn target_names(&self) -> Vec<String> {
        self.lock()
            .parts
            .as_ref()
            .filter(|parts| parts.labels.len() > 1)
            .map_or_else(Vec::new, |parts| parts.labels.clone())
    }

    /// Adds something to say at the end.
    pub(crate) fn remark(&self, remark: String) {
        let mut decided = self.lock();
        if !decided.remarks.contains(&remark) {
            decided.remarks.push(remark);
        }
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
        // Nothing is changed before everything that can fail has succeeded.
        self.decided.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Decided {
    /// The kind of a column in view of earlier files.
    fn settle(&mut self, file: &str, name: &str, kind: Kind, evidence: Evidence) -> Result<Kind, InputError> {
        match self.kinds.get(name) {
            None if kind == Kind::Either => Ok(kind),
            None => {
                self.kinds.insert(name.to_string(), (kind, file.to_string()));
                Ok(kind)
            }
            Some((earlier, first)) if evidence == Evidence::Schema && *earlier != kind && kind != Kind::Either => {
                Err(InputError::file(
                    file,
                    format!("column '{name}' holds {}, but {} in {first}", kind.noun(), earlier.noun()),
                    format!("use `text({0})` or `ignore({0})`, or give the files one schema", word(name)),
                ))
            }
            Some((earlier, _)) => Ok(*earlier),
        }
    }
}

fn check_role(file: &str, name: &str, role: Role, kind: Kind) -> Result<Kind, InputError> {
    match (role, kind) {
        (Role::Feature | Role::Ignored, _) | (_, Kind::Other) => Ok(kind),
        (_, Kind::Either) => Ok(Kind::Number),
        (Role::Weight, Kind::Text) => Err(InputError::file(
            file,
            format!("the weight column '{name}' holds text"),
            "weights are numbers; choose another column with `weight`, or name absent cells with `missing(TOKEN)`",
        )),
        (_, Kind::List) => Err(InputError::file(
            file,
            format!("column '{name}' holds lists, which can only be features"),
            "choose a column of numbers or text",
        )),
        _ => Ok(kind),
    }
}

/// Refuses names of which one row could hold two that read the same, such as column `city=Rome` beside `city` with cell
/// `Rome`.
pub(crate) fn check_clashes(file: &str, columns: &[Column]) -> Result<(), InputError> {
    let features = || columns.iter().filter(|column| column.role == Role::Feature);
    let openers: HashMap<&str, u8> = features()
        .filter(|column| column.kind != Kind::Number)
        .map(|column| (column.name.as_str(), if column.kind == Kind::List { b'[' } else { b'=' }))
        .collect();
    for name in features().map(|column| column.name.as_str()) {
        for (at, byte) in name.bytes().enumerate().filter(|&(_, byte)| matches!(byte, b'=' | b'[')) {
            if openers.get(&name[..at]) == Some(&byte) {
                return Err(InputError::file(
                    file,
                    format!("features of column '{}' can have the same name as column '{name}'", &name[..at]),
                    "rename one of the two columns",
                ));
            }
        }
    }
    Ok(())
}
