use super::*;

/// Rows as label, weight and entries by name.
type Row = (f64, f64, Vec<(String, f64)>);

fn parse(text: &str) -> Result<Vec<Row>, String> {
    let format = Vw::new(Precision::F32, Unlabelled::Error);
    let (parser, _) = format.parser("a.vw", text.as_bytes()).unwrap();
    let mut batch = RowBatch::default();
    let parsed = parser.parse(text.as_bytes(), &mut batch);
    parsed.map_err(|error| error.locate("a.vw", 1, text.as_bytes()).to_string())?;
    let entry =
        |at: usize| (String::from_utf8_lossy(batch.names.get(batch.keys[at] as usize)).into_owned(), batch.values[at]);
    let row =
        |i: usize| (batch.labels[i], batch.weights.get(i).copied().unwrap_or(1.0), batch.range(i).map(entry).collect());
    Ok((0..batch.rows()).map(row).collect())
}

fn entries(text: &str) -> Vec<(String, f64)> {
    parse(text).unwrap().remove(0).2
}

fn named(entries: &[(&str, f64)]) -> Vec<(String, f64)> {
    entries.iter().map(|&(name, value)| (name.to_string(), value)).collect()
}

#[test]
fn namespaces_values_and_weights() {
    assert_eq!(entries("1 | a b:2"), named(&[("a", 1.0), ("b", 2.0)]));
    assert_eq!(entries("1 |n a b:0.5|m:3 a c:2"), named(&[("n^a", 1.0), ("n^b", 0.5), ("m^a", 3.0), ("m^c", 6.0)]));
    assert_eq!(entries("1 |n a a:2 b a:-3 z:0"), named(&[("n^b", 1.0)]), "sums, without zeros");
    assert_eq!(entries("1 |n x b x"), named(&[("n^x", 2.0), ("n^b", 1.0)]), "in the order of the line");
    assert_eq!(entries("1 |"), []);
}

#[test]
fn labels_importances_and_tags() {
    let rows = parse("1 |a x\n\n-1 2.5 'second|a x\r\n0.5 3 third|a x\n2 |a x\n").unwrap();
    let heads: Vec<(f64, f64)> = rows.iter().map(|row| (row.0, row.1)).collect();
    assert_eq!(heads, [(1.0, 1.0), (-1.0, 2.5), (0.5, 3.0), (2.0, 1.0)]);
}

#[test]
fn mistakes_have_a_line_and_a_remedy() {
    for (text, message) in [
        ("1 |a x\n1 a x", "a.vw:2:1: this line has no '|'"),
        ("|a x", "a.vw:1:1: this row has no label; use `unlabelled(skip)`"),
        ("1:0.5 |a x", "a.vw:1:1: expected a number before the first '|', found '1:0.5'"),
        ("1 1 7 |a x", "a.vw:1:1: this row begins from a prediction of its own"),
        ("1 1 0 4 'tag |a x", "a.vw:1:1: 4 words before the first '|'"),
        ("1 -1 |a x", "a.vw:1:1: the importance is negative"),
        ("1 |a x:nan", "expected a number behind the colon of 'x:nan'"),
        ("1 |a x:1:2", "a.vw:1:8: expected a number behind the colon of 'x:1:2'"),
        ("1 |a :2", "a.vw:1:6: ':2' has no name before its value"),
        ("1 |a x:1e39", "the value of 'a^x' is too large"),
    ] {
        let found = parse(text).unwrap_err();
        assert!(found.contains(message), "{text}: {found}");
    }
    let long = format!("1 |{} x", "n".repeat(300));
    assert!(parse(&long).unwrap_err().contains("the name of this namespace has 300 bytes"));
}

#[test]
fn rows_without_labels_as_for_tables() {
    let text = b"|a x\n1 |a x\n'tag |a y\n";
    for (policy, labels) in [(Unlabelled::Skip, 1), (Unlabelled::Keep, 3)] {
        let format = Vw::new(Precision::F64, policy);
        let mut batch = RowBatch::default();
        format.parser("a.vw", text).unwrap().0.parse(text, &mut batch).unwrap();
        assert_eq!(batch.rows(), labels);
        assert_eq!(format.remarks().len(), usize::from(policy == Unlabelled::Skip));
    }
}
