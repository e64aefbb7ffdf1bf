//! Which options decide what rows are read from a file, as text: the same file read in another way is another table.
use super::ReadOptions;
use super::libsvm::Duplicates;
use super::table::{ColumnRef, Unlabelled};
use crate::schema::Kind;

impl ReadOptions {
    /// The options that differ from what every reader does on its own, as on a command line. Those that change how rows
    /// are read but not what they are, such as threads, are left out.
    pub fn choices(&self) -> String {
        let table = &self.table;
        let join = |columns: &[ColumnRef]| columns.iter().map(ColumnRef::as_str).collect::<Vec<_>>().join(",");
        let column = |column: &Option<ColumnRef>| column.iter().map(|c| c.as_str().to_string()).collect::<String>();
        let kind = |is: &dyn Fn(&Kind) -> bool| {
            let some = table.kinds.iter().filter(|(_, kind)| is(kind));
            some.map(|(column, _)| column.as_str()).collect::<Vec<_>>().join(",")
        };
        let texts = table.kinds.iter().filter_map(|(column, kind)| match kind {
            Kind::Text(words) => Some(format!("{}:{}", column.as_str(), words)),
            _ => None,
        });
        let texts: Vec<String> = texts.collect();
        let rules = table.rules.iter().map(|(column, rules)| format!("{}:{rules}", column.as_str()));
        let rules: Vec<String> = rules.collect();
        let products = table.interactions.iter().map(|[a, b]| format!("{}*{}", a.as_str(), b.as_str()));
        let products: Vec<String> = products.collect();
        let duplicates = match self.libsvm.duplicates {
            Duplicates::Error => "",
            Duplicates::Sum => "sum",
            Duplicates::Last => "last",
        };
        let header = table.header.map_or("", |header| if header { "yes" } else { "no" });
        let options = [
            ("format", self.format.map(|format| format.to_string()).unwrap_or_default()),
            ("duplicates", duplicates.to_string()),
            ("label", column(&table.label)),
            ("weight", column(&table.weight)),
            ("group", column(&table.group)),
            ("ignore", join(&table.ignore)),
            ("category", kind(&|kind| *kind == Kind::Category)),
            ("number", kind(&|kind| kind.is_number())),
            ("text", texts.join(" --text ")),
            ("schema", table.known.as_ref().map(|known| known.schema.digest()).unwrap_or_default()),
            ("column", rules.join(" --column ")),
            ("interact", products.join(" --interact ")),
            ("max-features", table.max_features.map(|most| most.to_string()).unwrap_or_default()),
            ("absent", table.absent.map(|absent| absent.name().to_string()).unwrap_or_default()),
            ("missing", table.missing.join(",")),
            ("unlabelled", if table.unlabelled == Unlabelled::Skip { "skip".into() } else { String::new() }),
            ("header", header.to_string()),
            ("delimiter", table.delimiter.map(|byte| char::from(byte).to_string()).unwrap_or_default()),
        ];
        let given = options.iter().filter(|(_, value)| !value.is_empty());
        let mut words: Vec<String> = given.map(|(name, value)| format!("--{name} {value}")).collect();
        if self.libsvm.skip_groups {
            words.push("--skip-groups".into());
        }
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_rows_is_said() {
        let mut options = ReadOptions { threads: 7, ..ReadOptions::default() };
        assert_eq!(options.choices(), "");
        options.table.label = Some("price".into());
        options.table.ignore = vec!["a".into(), "b".into()];
        options.libsvm.skip_groups = true;
        assert_eq!(options.choices(), "--label price --ignore a,b --skip-groups");
    }
}
