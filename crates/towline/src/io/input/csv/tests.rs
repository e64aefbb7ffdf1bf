use proptest::prelude::*;

use crate::budget::Budget;
use crate::input::table::testing::{Files, PlainRow, options, row};
use crate::input::text::TextLimits;

pub(super) fn read(words: &str, files: &[(&str, &str)]) -> Result<Vec<PlainRow>, String> {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    Files::new(&files).read(&options(words))
}

#[test]
fn one_file_of_many_forms() {
    let expected = vec![row("1", &[("size", 0.5), ("city=Rome", 1.0)]), row("-1", &[("city=New York, NY", 1.0)])];
    for text in [
        "y,size,city\n1,0.5,Rome\n-1,0,\"New York, NY\"\n",
        "y,size,city\n1,0.5,Rome\n-1,0,\"New York, NY\"",
        "\u{feff}y,size,city\r\n1,.5,Rome\r\n\r\n-1,,\"New York, NY\"\r\n\r\n",
        "y;size;city\n1;0.5;Rome\n-1;0;New York, NY\n",
        "y\tsize\tcity\n1\t5e-1\tRome\n-1\t\tNew York, NY\n",
        "y|size|city\n1|0.5|Rome\n-1|0|New York, NY\n",
        "\n\n y , size , city \n  1 ,\"0.5\", \"Rome\" \n\" -1\",\" 0\",\"New York, NY\"\n",
    ] {
        assert_eq!(read("absent=zero", &[("a.csv", text)]).as_ref(), Ok(&expected), "{text:?}");
    }
}

#[test]
fn quotes_hold_anything() {
    let text = "y,a\n1,\"say \"\"hi\"\"\"\n2,\"two\nlines\"\n3,5\" disk\n4,\"\"\n";
    let expected = vec![
        row("1", &[("a=say \"hi\"", 1.0)]),
        row("2", &[("a=two\nlines", 1.0)]),
        row("3", &[("a=5\" disk", 1.0)]),
        row("4", &[("a=", 1.0)]),
    ];
    assert_eq!(read("", &[("a.csv", text)]), Ok(expected));
}

#[test]
fn without_a_header_columns_are_numbered() {
    let expected = vec![row("no", &[("c1", 5.0), ("c2=x", 1.0)]), row("yes", &[("c2=y", 1.0)])];
    assert_eq!(read("label=3", &[("a.csv", "5,x,no\n0,y,yes\n")]), Ok(expected.clone()));
    assert_eq!(read("label=c3", &[("a.csv", "5,x,no\n0,y,yes\n")]), Ok(expected));
    // names that are numbers, and data without any number
    assert_eq!(read("label=0 header=true", &[("a.csv", "1,0\n7,2\n")]), Ok(vec![row("2", &[("1", 7.0)])]));
    assert_eq!(read("label=a", &[("a.csv", "a,b\nx,z\n")]), Ok(vec![row("x", &[("b=z", 1.0)])]));
    assert_eq!(read("label=1", &[("a.csv", "a,b\n")]), Ok(vec![row("a", &[("c2=b", 1.0)])]));
}

#[test]
fn every_column_has_its_part() {
    let text = "id,Target,w,q,zip,note,n\n1,no,0.5,7,01234,a,NA\n2,yes,2,9,01234,b,-999.0\n";
    let words = "ignore=id weight=w group=q category=zip ignore=6 missing=NA missing=-999";
    let zip = vec![("zip=01234".to_string(), 1.0)];
    let expected = vec![
        PlainRow { label: "no".into(), entries: zip.clone(), weight: Some(0.5), group: Some(7) },
        PlainRow { label: "yes".into(), entries: zip, weight: Some(2.0), group: Some(9) },
    ];
    assert_eq!(read(words, &[("a.csv", text)]), Ok(expected));
    let hashed = read("group=q category=q", &[("a.csv", "y,q\n1,7\n")]).unwrap();
    assert_eq!(hashed[0].group, Some(xxhash_rust::xxh3::xxh3_64(b"7")));
    let large = read("group=q", &[("a.csv", "y,q\n1,18446744073709551615\n")]).unwrap();
    assert_eq!(large[0].group, Some(u64::MAX));
}

#[test]
fn rows_without_labels_can_be_asked_for() {
    assert_eq!(read("unlabelled=keep", &[("a.csv", "a,b\n1,2\n")]), Ok(vec![row("NaN", &[("a", 1.0), ("b", 2.0)])]));
    assert_eq!(read("unlabelled=keep", &[("a.csv", "a,y\n1,\n")]), Ok(vec![row("NaN", &[("a", 1.0)])]));
    let files = [("a.csv", "a,y\n1,2\n"), ("b.csv", "a\n3\n")];
    assert_eq!(read("unlabelled=keep label=y", &files), Ok(vec![row("2", &[("a", 1.0)]), row("NaN", &[("a", 3.0)])]));
    assert_eq!(read("unlabelled=keep label=y", &files[1..]), Ok(vec![row("NaN", &[("a", 3.0)])]));
    let files = Files::new(&[("a.csv", b"a,w,y\n1,1,\n2,2,1\n3,3,\n")]);
    let (rows, remarks) =
        files.read_within(&options("unlabelled=skip weight=w label=y"), &Budget::unlimited()).unwrap();
    assert_eq!(rows, [PlainRow { weight: Some(2.0), ..row("1", &[("a", 2.0)]) }]);
    assert_eq!(remarks, ["2 rows without a label were left out"]);
}

#[test]
fn files_are_matched_by_name_and_the_first_decides() {
    let files = [("a.csv", "y,a,b\n1,2,x\n"), ("b.tsv", "b\ty\tnew\n5\t0\t3\n"), ("c.csv", ""), ("d.csv", "a,y,b\n")];
    let expected = vec![row("1", &[("a", 2.0), ("b=x", 1.0)]), row("0", &[("b=5", 1.0), ("new", 3.0), ("a=", 1.0)])];
    assert_eq!(read("label=1", &files), Ok(expected));
}

#[test]
fn a_column_that_is_empty_at_first_takes_what_comes() {
    let empty = "1,,\n".repeat(super::HEAD_BYTES / 4 + 1);
    let text = format!("y,a,b\n{empty}2,3,x\n2,4,5\n");
    let (rows, remarks) =
        Files::new(&[("a.csv", text.as_bytes())]).read_within(&options(""), &Budget::unlimited()).unwrap();
    let expected = [row("2", &[("a", 3.0), ("b=x", 1.0)]), row("2", &[("a", 4.0), ("b", 5.0)])];
    assert_eq!(rows[rows.len() - 2..], expected);
    assert_eq!(
        remarks,
        [
            "the label is column 'y'",
            "column 'b' is empty at first and holds both numbers and text later; use `category(b)` to take all of it as text"
        ]
    );
}

#[test]
fn nearly_numeric_columns_are_mentioned() {
    let files = Files::new(&[("a.csv", b"label,a\n1,2\n1,off\n1,3\n1,4\n")]);
    let (_, remarks) = files.read_within(&options("label=label"), &Budget::unlimited()).unwrap();
    assert_eq!(
        remarks,
        [
            "column 'a' is taken as text because of cells such as 'off', though most are numbers; use `missing('off')` if \
          that means an absent cell"
        ]
    );
    let (_, remarks) = files.read_within(&options("label=label missing=off"), &Budget::unlimited()).unwrap();
    assert!(remarks.is_empty(), "{remarks:?}");
}

#[test]
fn wide_tables_and_long_records() {
    let names: Vec<String> = (0..200_000).map(|i| format!("column{i}")).collect();
    let cells = vec!["1"; names.len()];
    let text = format!("y,{}\n1,{}\n0,{}", names.join(","), cells.join(","), cells.join(","));
    assert!(text.len() > 2 * super::HEAD_BYTES);
    let files = Files::new(&[("a.csv", text.as_bytes())]);
    let (rows, _) = files.read_within(&options(""), &Budget::new(256 << 20)).unwrap();
    assert_eq!((rows.len(), rows[1].entries.len()), (2, names.len()));
    let refused = files.read_within(&options(""), &Budget::new(8 << 20)).unwrap_err();
    assert!(refused.starts_with("a.csv: the memory budget of 8388608 bytes is too small"), "{refused}");
}

#[test]
fn compressed_files_are_read_alike() {
    let packed = zstd::encode_all(&b"y\ta\n1\t2\n"[..], 1).unwrap();
    let rows = Files::new(&[("a.tsv.zst", &packed)]).read(&options(""));
    assert_eq!(rows, Ok(vec![row("1", &[("a", 2.0)])]));
}

#[test]
fn memory_stays_within_a_small_budget() {
    let text = format!("y,a,b\n{}", "1,2.5,red\n0,1,green\n".repeat(400_000));
    let files = Files::new(&[("a.csv", text.as_bytes())]);
    let budget = Budget::new(4 << 20);
    assert_eq!(files.read_within(&options(""), &budget).unwrap().0.len(), 800_000);
    assert!(budget.peak_bytes() <= 4 << 20);
    assert_eq!(budget.holders().iter().map(|(_, bytes)| bytes).sum::<u64>(), 0);
}

#[test]
fn pieces_of_any_size_give_the_same_rows() {
    let text =
        "y,a,b\n1,\"x\n\"\"y\",2\r\n\n0, \"z\" ,\n1,,\"4\"\n0,\"a much longer cell, with commas, than a piece\",-1";
    let files = Files::new(&[("a.csv", text.as_bytes()), ("b.csv", text.as_bytes())]);
    let expected = files.read(&options("")).unwrap();
    assert_eq!(expected.len(), 8);
    for piece_bytes in 1..40 {
        for threads in 1..=3 {
            let limits = TextLimits { threads, piece_bytes };
            assert_eq!(files.read_csv_pieces(&options(""), limits).as_ref(), Ok(&expected), "{limits:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn any_bytes_give_the_same_rows_or_the_same_error_in_any_pieces(
        text in "[ab1\\-.,;\"\r\n \t\u{e9}]{0,60}",
        piece_bytes in 1usize..30,
        threads in 1usize..=3,
        header: Option<bool>,
        delimiter in proptest::option::of(Just(b',')),
    ) {
        let mut table = options("label=1");
        (table.header, table.delimiter) = (header, delimiter);
        let files = Files::new(&[("t.csv", text.as_bytes())]);
        let whole = files.read_csv_pieces(&table, TextLimits { threads: 1, piece_bytes: 1 << 20 });
        let pieces = files.read_csv_pieces(&table, TextLimits { threads, piece_bytes });
        prop_assert_eq!(whole, pieces);
    }
}
