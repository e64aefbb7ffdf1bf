//! Which column is the label, the weight, the group; found in the first file and matched by name in all others.
use std::collections::{HashMap, HashSet};

use super::looks::Found;
use super::plan::Role;
use super::{ColumnRef, TableOptions, Unlabelled};
use crate::input::InputError;
use crate::schema::{ColumnSchema, Kind, Rules, Schema};

/// The parts by name, found in the first file.
#[derive(Clone, Default)]
pub(super) struct Parts {
    first_file: String,
    /// The label, or several targets.
    pub(super) labels: Vec<String>,
    label_optional: bool,
    pub(super) weight: Option<String>,
    pub(super) group: Option<String>,
    ignore: HashSet<String>,
    /// What was said of columns.
    pub(super) kinds: HashMap<String, Kind>,
    /// Rules of columns; none is all of them.
    pub(super) rules: Vec<(Option<String>, Rules)>,
    /// Columns that are multiplied.
    pub(super) interactions: Vec<[String; 2]>,
}

/// Names by which a label is recognised.
const LABEL_NAMES: [&str; 4] = ["label", "target", "y", "class"];

impl Parts {
    /// Finds them in the names of the first file.
    pub(super) fn find(options: &TableOptions, file: &str, names: &[String]) -> Result<Self, InputError> {
        let find = |reference: &ColumnRef| match reference.find(names) {
            Some(at) => Ok(names[at].clone()),
            None => Err(no_column(file, reference, names)),
        };
        let rule = |(column, rules): &(ColumnRef, Rules)| match column.as_str() {
            "*" if column.find(names).is_none() => Ok((None, rules.clone())),
            _ => Ok((Some(find(column)?), rules.clone())),
        };
        let pair = |[a, b]: &[ColumnRef; 2]| Ok([find(a)?, find(b)?]);
        let all = |references: &[ColumnRef]| references.iter().map(find).collect::<Result<HashSet<_>, _>>();
        let label_optional = options.unlabelled == Unlabelled::Keep;
        let labels = match &options.label {
            Some(reference) if label_optional && reference.split(names).iter().all(|one| one.find(names).is_none()) => {
                Vec::new()
            }
            Some(reference) => reference.split(names).iter().map(find).collect::<Result<_, _>>()?,
            None => usual_label(file, names, label_optional)?.into_iter().collect(),
        };
        let parts = Parts {
            first_file: file.to_string(),
            labels,
            label_optional,
            weight: options.weight.as_ref().map(find).transpose()?,
            group: options.group.as_ref().map(find).transpose()?,
            ignore: all(&options.ignore)?,
            kinds: options.kinds.iter().map(|(column, kind)| Ok((find(column)?, *kind))).collect::<Result<_, _>>()?,
            rules: options.rules.iter().map(rule).collect::<Result<_, _>>()?,
            interactions: options.interactions.iter().map(pair).collect::<Result<_, _>>()?,
        };
        parts.must_differ(file)?;
        Ok(parts)
    }

    /// Those of a schema, where options do not name others.
    pub(super) fn known(
        options: &TableOptions,
        schema: &Schema,
        file: &str,
        names: &[String],
    ) -> Result<Self, InputError> {
        let label_optional = options.unlabelled == Unlabelled::Keep;
        let find = |reference: &ColumnRef| reference.find(names).map(|at| names[at].clone());
        let or = |given: &Option<ColumnRef>, known: &Option<String>| match given {
            Some(given) => find(given).map(Some).ok_or_else(|| no_column(file, given, names)),
            None => Ok(known.clone()),
        };
        let labels = match &options.label {
            Some(given) => given.split(names).iter().map(find).collect::<Option<Vec<_>>>().unwrap_or_default(),
            None => schema.label.clone(),
        };
        if labels.is_empty() && !label_optional {
            return Err(InputError::file(file, "it has no column of labels", listing(names)));
        }
        Ok(Parts {
            first_file: "the data that it goes with".into(),
            labels,
            label_optional,
            weight: or(&options.weight, &schema.weight)?,
            group: or(&options.group, &schema.group)?,
            ignore: HashSet::new(),
            kinds: HashMap::new(),
            rules: Vec::new(),
            interactions: schema.interactions.clone(),
        })
    }

    fn singles(&self) -> Vec<(&'static str, Option<&String>)> {
        let labels = self.labels.iter().map(|label| ("label", Some(label)));
        labels.chain([("weight", self.weight.as_ref()), ("group", self.group.as_ref())]).collect()
    }

    pub(super) fn role(&self, name: &str) -> Role {
        let is = |part: &Option<String>| part.as_deref() == Some(name);
        let label = self.labels.iter().position(|label| label == name);
        match name {
            _ if label.is_some() => Role::Label(label.unwrap_or(0)),
            _ if is(&self.weight) => Role::Weight,
            _ if is(&self.group) => Role::Group,
            _ if self.ignore.contains(name) => Role::Ignored,
            _ => Role::Feature,
        }
    }

    /// Makes what was said of a column its own.
    pub(super) fn apply_rules(&self, file: &str, column: &mut ColumnSchema) -> Result<(), InputError> {
        for (of, rules) in &self.rules {
            if of.as_ref().is_none_or(|name| *name == column.name) {
                let applied = rules.apply(column, of.is_none());
                applied.map_err(|problem| InputError::file(file, problem, "choose another rule with `column`"))?;
            }
        }
        Ok(())
    }

    fn must_differ(&self, file: &str) -> Result<(), InputError> {
        let singles = self.singles();
        for (at, (part, name)) in singles.iter().enumerate() {
            let Some(name) = name else { continue };
            let other =
                singles[..at].iter().find(|(_, other)| *other == Some(name)).map(|(other, _)| format!("the {other}"));
            let other = other.or_else(|| self.ignore.contains(*name).then(|| "ignored".to_string()));
            if let Some(other) = other {
                return Err(InputError::file(
                    file,
                    format!("column '{name}' cannot be both {other} and the {part}"),
                    format!("choose another column with `{part}`"),
                ));
            }
        }
        Ok(())
    }

    /// Label, weight and group must be in every file.
    pub(super) fn must_be_in(&self, file: &str, names: &[String]) -> Result<(), InputError> {
        let optional = if self.label_optional { self.labels.len() } else { 0 };
        for (part, name) in &self.singles()[optional..] {
            if let Some(name) = name.filter(|name| !names.contains(name)) {
                return Err(InputError::file(
                    file,
                    format!("there is no column '{name}', which is the {part} in {}", self.first_file),
                    listing(names),
                ));
            }
        }
        Ok(())
    }
}

/// Gives unnamed columns a name, and refuses names that appear twice.
pub(super) fn name_all(file: &str, found: &mut [Found]) -> Result<Vec<String>, InputError> {
    let mut seen = HashMap::new();
    for (at, found) in found.iter_mut().enumerate() {
        let name = &mut found.column.name;
        if name.is_empty() {
            *name = format!("c{}", at + 1);
        }
        if let Some(first) = seen.insert(name.clone(), at) {
            return Err(InputError::file(
                file,
                format!("columns {} and {} are both named '{name}'", first + 1, at + 1),
                "rename one of them",
            ));
        }
    }
    Ok(found.iter().map(|found| found.column.name.clone()).collect())
}

fn no_column(file: &str, reference: &ColumnRef, names: &[String]) -> InputError {
    InputError::file(file, format!("there is no column {reference}"), listing(names))
}

fn usual_label(file: &str, names: &[String], optional: bool) -> Result<Option<String>, InputError> {
    let usual: Vec<&String> = names.iter().filter(|name| is_usual_label(name)).collect();
    match usual[..] {
        [one] => Ok(Some(one.clone())),
        [] if optional => Ok(None),
        [] => Err(InputError::file(
            file,
            "no column is named label, target, y or class",
            format!("choose the label with `label(NAME)` or `label(N)`; {}", listing(names)),
        )),
        [first, second, ..] => Err(InputError::file(
            file,
            format!("columns '{first}' and '{second}' could both be the label"),
            "choose one with `label(NAME)`",
        )),
    }
}

fn is_usual_label(name: &str) -> bool {
    LABEL_NAMES.iter().any(|usual| name.trim().eq_ignore_ascii_case(usual))
}

/// The columns there are, for a remedy.
pub(super) fn listing(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    let more = if names.len() > SHOWN { format!(", … ({} in all)", names.len()) } else { String::new() };
    format!("the columns are {}{more}", shown.join(", "))
}
