//! Features by the column of a table that they come from.
use hashbrown::HashMap;

use super::{ExportError, unknown};
use crate::model::{Features, Model};
use crate::schema::{ColumnSchema, Kind, RARE_LEVEL, Schema};

/// What a feature is of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part<'a> {
    /// The number itself, or a power of it.
    Power(u8),
    /// 1 where the cell is absent.
    Mark,
    /// 1 where the text is this one.
    Level(&'a str),
    /// 1 where the text is none of those that are known.
    Rare,
    /// 1 where the number is in the bin with this place.
    Bin(usize),
}

/// A column of a table, and the features that are made of its cells alone.
#[derive(Debug, PartialEq)]
pub struct Column<'a> {
    /// What it is called.
    pub name: &'a str,
    /// What is known of it.
    pub known: Option<&'a ColumnSchema>,
    /// What each of its features is, and which one of the model that is.
    pub features: Vec<(Part<'a>, usize)>,
}

/// Two columns whose features are multiplied; a cell that is absent has no products.
#[derive(Debug, PartialEq)]
pub struct Product<'a> {
    /// Their places.
    pub columns: [usize; 2],
    /// What each product is of both, and which feature of the model that is.
    pub features: Vec<([Part<'a>; 2], usize)>,
}

/// What the named features of a model are made of.
#[derive(Debug, Default, PartialEq)]
pub struct Columns<'a> {
    /// The columns of which there are features.
    pub columns: Vec<Column<'a>>,
    /// Those that are multiplied.
    pub products: Vec<Product<'a>>,
}

impl<'a> Column<'a> {
    /// The number that stands for an absent one.
    pub fn impute(&self) -> f64 {
        self.known.and_then(|known| known.impute).unwrap_or(0.0)
    }

    /// Whether its numbers are truth values.
    pub fn is_boolean(&self) -> bool {
        self.known.is_some_and(|known| known.kind == Kind::Boolean)
    }

    /// Edges of the bins that its numbers are cut into.
    pub fn bins(&self) -> &'a [f64] {
        self.known.map_or(&[], |known| &known.bins)
    }

    /// Whether its cells are numbers, in bins or not.
    pub fn holds_numbers(&self) -> bool {
        match self.known.filter(|known| known.kind != Kind::Empty) {
            Some(known) => known.kind.is_number(),
            None => self.features.iter().any(|(part, _)| matches!(part, Part::Power(_))),
        }
    }

    /// Levels that are not rare, where others are put together.
    pub fn common_levels(&self) -> &'a [String] {
        self.known.and_then(|known| known.levels.as_deref()).unwrap_or_default()
    }
}

/// The columns of a model with named features: without a schema, a feature `column=level` belongs to text, and any other
/// name is a number. None for numbered features.
pub fn of(model: &Model) -> Option<Columns<'_>> {
    let Features::Named(names) = &model.features else { return None };
    let mut found = Finder { schema: model.header.schema.as_ref(), places: HashMap::new(), all: Columns::default() };
    names.iter().enumerate().for_each(|(i, name)| found.add(name, i));
    Some(found.all)
}

/// Finds out what features are made of.
struct Finder<'a> {
    schema: Option<&'a Schema>,
    places: HashMap<&'a str, usize>,
    all: Columns<'a>,
}

impl<'a> Finder<'a> {
    fn add(&mut self, name: &'a str, i: usize) {
        if let Some((pair, parts)) = self.schema.and_then(|schema| product(schema, name)) {
            let columns = pair.map(|column| self.place(column));
            let same = self.all.products.iter_mut().find(|product| product.columns == columns);
            match same {
                Some(product) => product.features.push((parts, i)),
                None => self.all.products.push(Product { columns, features: vec![(parts, i)] }),
            }
            return;
        }
        let (column, part) = self.schema.and_then(|schema| single(schema, name)).unwrap_or_else(|| split(name));
        let place = self.place(column);
        self.all.columns[place].features.push((part, i));
    }

    fn place(&mut self, name: &'a str) -> usize {
        let Finder { schema, places, all } = self;
        *places.entry(name).or_insert_with(|| {
            let known = schema.and_then(|schema| schema.column(name));
            all.columns.push(Column { name, known, features: Vec::new() });
            all.columns.len() - 1
        })
    }
}

/// A name of which no schema tells.
fn split(name: &str) -> (&str, Part<'_>) {
    match name.split_once('=') {
        Some((column, "")) => (column, Part::Mark),
        Some((column, level)) => (column, Part::Level(level)),
        None => (name, Part::Power(1)),
    }
}

/// The column and the part of it that a feature is.
fn single<'a>(schema: &'a Schema, name: &'a str) -> Option<(&'a str, Part<'a>)> {
    let ends = name.match_indices(['=', '^']).map(|(end, _)| end).chain([name.len()]);
    let found = ends.filter_map(|end| Some((&name[..end], part(schema.column(&name[..end])?, &name[end..])?)));
    { found }.next()
}

/// What `rest`, which stands behind the name of `column`, makes of its cells.
fn part<'a>(column: &ColumnSchema, rest: &'a str) -> Option<Part<'a>> {
    let is_plain = column.bins.is_empty() && (column.kind.is_number() || column.kind == Kind::Empty);
    if let Some(power) = rest.strip_prefix('^') {
        return power.parse().ok().filter(|_| is_plain).map(Part::Power);
    }
    match rest.strip_prefix('=') {
        None => (rest.is_empty() && is_plain).then_some(Part::Power(1)),
        Some("") => Some(Part::Mark),
        Some(RARE_LEVEL) if column.rare.is_some() => Some(Part::Rare),
        Some(bin) if !column.bins.is_empty() => {
            (0..=column.bins.len()).find(|&place| column.bin_name(place) == bin).map(Part::Bin)
        }
        Some(level) => (!column.kind.is_number()).then_some(Part::Level(level)),
    }
}

/// The two columns and the parts of both that a product is of.
fn product<'a>(schema: &'a Schema, name: &'a str) -> Option<([&'a str; 2], [Part<'a>; 2])> {
    for [a, b] in &schema.interactions {
        let (Some(left), Some(right)) = (schema.column(a), schema.column(b)) else { continue };
        for (at, _) in name.match_indices('*') {
            let (first, second) = (name[..at].strip_prefix(a.as_str()), name[at + 1..].strip_prefix(b.as_str()));
            let parts = first.and_then(|rest| part(left, rest)).zip(second.and_then(|rest| part(right, rest)));
            if let Some((first, second)) = parts {
                return Some(([a, b], [first, second]));
            }
        }
    }
    None
}

/// Refuses models of columns that `format` would have to take apart first.
pub fn check(model: &Model, format: &str) -> Result<(), ExportError> {
    check_hashes(model, format)?;
    for column in model.header.schema.iter().flat_map(|schema| schema.features()) {
        if matches!(column.kind, Kind::Date(_) | Kind::Text(_) | Kind::List) {
            let (name, what) = (&column.name, column.kind.noun());
            return unknown(format!("{format} does not take {what} apart, as those of column '{name}'"));
        }
    }
    Ok(())
}

/// Refuses models of columns whose levels or words are known by their hashes.
pub fn check_hashes(model: &Model, format: &str) -> Result<(), ExportError> {
    let columns = model.header.schema.iter().flat_map(|schema| schema.features());
    match { columns }.find(|column| column.hash_bits.is_some()) {
        Some(column) => unknown(format!("{format} has no hash function for column '{}'", column.name)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_features_say_what_they_are_made_of() {
        let mut age = ColumnSchema::new("age", Kind::Number);
        age.powers = Some(3);
        let mut size = ColumnSchema::new("size", Kind::Number);
        size.bins = vec![1.5, 20.0];
        let mut town = ColumnSchema::new("a=b", Kind::Category);
        town.rare = Some(2);
        let columns = vec![age, size, town, ColumnSchema::new("x", Kind::Category)];
        let interactions = vec![["age".to_string(), "a=b".into()], ["a=b".into(), "x".into()]];
        let schema = Schema { columns, interactions, ..Schema::default() };
        let single = |name| single(&schema, name);
        assert_eq!(single("age"), Some(("age", Part::Power(1))));
        assert_eq!(single("age^3"), Some(("age", Part::Power(3))));
        assert_eq!(single("age="), Some(("age", Part::Mark)));
        assert_eq!(single("size=..1.5"), Some(("size", Part::Bin(0))));
        assert_eq!(single("size=1.5..20"), Some(("size", Part::Bin(1))));
        assert_eq!(single("size=20.."), Some(("size", Part::Bin(2))));
        assert_eq!(single("a=b=Rome=Roma"), Some(("a=b", Part::Level("Rome=Roma"))));
        assert_eq!(single("a=b=(rare)"), Some(("a=b", Part::Rare)));
        assert_eq!(single("other"), None);
        let product = |name| product(&schema, name);
        assert_eq!(product("age*a=b=5*x=7"), Some((["age", "a=b"], [Part::Power(1), Part::Level("5*x=7")])));
        assert_eq!(product("a=b=u*v*x=w"), Some((["a=b", "x"], [Part::Level("u*v"), Part::Level("w")])));
        assert_eq!(product("age"), None);
    }
}
