//! What columns cannot be.
use std::collections::HashMap;

use super::{Column, Evidence, Role};
use crate::input::InputError;
use crate::input::table::parts::Parts;
use crate::schema::{ColumnSchema, Kind};

/// Whether cells of the second kind, which a file is sure of, can be read as those of the first.
pub(super) fn agree(known: Kind, found: Kind) -> bool {
    match (known, found) {
        (Kind::Empty | Kind::Ignored, _) | (_, Kind::Empty) => true,
        // Whatever it is can be written as text.
        (Kind::Category | Kind::Text(_), Kind::Number | Kind::Date(_) | Kind::Category) => true,
        // So can these be read, which were strings in the first place.
        (Kind::Amount(_) | Kind::Boolean | Kind::Date(_), Kind::Category) => true,
        _ if known.is_number() => found.is_number(),
        _ => std::mem::discriminant(&known) == std::mem::discriminant(&found),
    }
}

/// What a column is in its part.
pub(super) fn check_role(
    file: &str,
    role: Role,
    parts: &Parts,
    column: ColumnSchema,
    evidence: Evidence,
) -> Result<ColumnSchema, InputError> {
    let name = &column.name;
    let kind = match (role, column.kind) {
        (Role::Feature | Role::Ignored, kind) | (_, kind @ Kind::Other) => kind,
        (_, Kind::List) => {
            return Err(InputError::file(
                file,
                format!("column '{name}' holds lists, which can only be features"),
                "choose a column of numbers or text",
            ));
        }
        (_, Kind::Empty | Kind::Number) => Kind::Number,
        (Role::Label(_) | Role::Weight, kind @ Kind::Amount(_)) => kind,
        // A day as a number, as its format has it.
        (_, Kind::Date(_)) if evidence == Evidence::Schema => Kind::Number,
        _ => Kind::Category,
    };
    if kind == Kind::Category && role == Role::Weight {
        return Err(InputError::file(
            file,
            format!("the weight column '{name}' holds text"),
            "weights are numbers; choose another column with `weight`, or name absent cells with `missing(TOKEN)`",
        ));
    }
    if kind == Kind::Category && matches!(role, Role::Label(_)) && parts.labels.len() > 1 {
        return Err(InputError::file(
            file,
            format!("the column of targets '{name}' holds text"),
            "several targets are numbers; name one column with `label`, or absent cells with `missing(TOKEN)`",
        ));
    }
    Ok(ColumnSchema { kind, ..column })
}

/// One name, or some of them, after a noun.
pub(super) fn plural(noun: &str, names: &[String]) -> String {
    const SHOWN: usize = 5;
    let listed: Vec<String> = names.iter().take(SHOWN).map(|name| format!("'{name}'")).collect();
    let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
    format!("{noun}{} {}{more}", if names.len() > 1 { "s" } else { "" }, listed.join(", "))
}

/// Refuses names of which one row could hold two that read the same, such as column `city=Rome` beside `city` with cell
/// `Rome`.
pub(crate) fn check_clashes(file: &str, columns: &[Column]) -> Result<(), InputError> {
    let features = || columns.iter().filter(|column| column.role == Role::Feature);
    let by_name: HashMap<&str, Kind> = features().map(|column| (column.name.as_str(), column.kind)).collect();
    for name in features().map(|column| column.name.as_str()) {
        for (at, byte) in name.bytes().enumerate().filter(|&(_, byte)| matches!(byte, b'=' | b'[' | b'.' | b':')) {
            let clashes = match (by_name.get(&name[..at]), byte) {
                (Some(Kind::List), b'[' | b'=') | (Some(Kind::Category | Kind::Empty), b'=') => true,
                (Some(Kind::Date(_)), b'.') | (Some(Kind::Text(_)), b':') => true,
                (Some(_), b'=') => at + 1 == name.len(),
                _ => false,
            };
            if clashes {
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
