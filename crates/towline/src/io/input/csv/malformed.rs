//! What is wrong with a CSV file is said with its place and a remedy.
use super::tests::read;
use super::{HEAD_BYTES, LARGEST_QUOTED_BYTES};
use crate::input::table::testing::{Files, options};

/// Options, file, message.
const MALFORMED: &[(&str, &str, &str)] = &[
    (
        "",
        "a,b\n1,2\n",
        "t.csv: no column is named label, target, y or class; choose the label with `label(NAME)` or `label(N)`; the \
         columns are a, b",
    ),
    (
        "",
        "a,b,c,d,e,f,g,h,i,j\n1,2,3,4,5,6,7,8,9,10\n",
        "t.csv: no column is named label, target, y or class; choose the label with `label(NAME)` or `label(N)`; the \
         columns are a, b, c, d, e, f, g, h, … (10 in all)",
    ),
    ("", "Y,class,a\n1,2,3\n", "t.csv: columns 'Y' and 'class' could both be the label; choose one with `label(NAME)`"),
    ("label=z", "y,a\n1,2\n", "t.csv: there is no column 'z'; the columns are y, a"),
    ("label=3", "1,2\n", "t.csv: there is no column '3'; the columns are c1, c2"),
    ("ignore=z", "y,a\n1,2\n", "t.csv: there is no column 'z'; the columns are y, a"),
    (
        "label=a weight=1",
        "a,b\n1,2\n",
        "t.csv: column 'a' cannot be both the label and the weight; choose another column with `weight`",
    ),
    (
        "ignore=y",
        "y,b\n1,2\n",
        "t.csv: column 'y' cannot be both ignored and the label; choose another column with `label`",
    ),
    ("", "y,a,a\n1,2,3\n", "t.csv: columns 2 and 3 are both named 'a'; rename one of them"),
    ("", "y,c3,\n1,2,3\n", "t.csv: columns 2 and 3 are both named 'c3'; rename one of them"),
    (
        "",
        "y,a,a=x\n1,x,3\n",
        "t.csv: features of column 'a' can have the same name as column 'a=x'; rename one of the two columns",
    ),
    (
        "",
        "y,a,b\n1,2,3\n1,2\n",
        "t.csv:3:1: this record has 2 cells, but the header has 3; put quotes around cells that hold ',', or say what \
         separates cells with `delimiter`",
    ),
    (
        "",
        "y\ta\n1\t2\n1\t2\t3\n",
        "t.csv:3:1: this record has 3 cells, but the header has 2; put quotes around cells that hold '\\t', or say what \
         separates cells with `delimiter`",
    ),
    (
        "label=1",
        "1,2\n\n1\n",
        "t.csv:3:1: this record has 1 cell, but the first record has 2; put quotes around cells that hold ',', or say \
         what separates cells with `delimiter`",
    ),
    (
        "label=y",
        "a,b,y\n1,2,3\nNew York, NY,1,2\n",
        "t.csv:3:1: this record has 4 cells, but the header has 3; put quotes around cells that hold ',', or say what \
         separates cells with `delimiter`",
    ),
    ("", "y,a\n1,2\n1,\"3\n4,5\n", "t.csv:3:3: the quote that opens here is never closed; close it"),
    ("", "y,\"a\n1,2\n", "t.csv:1:3: the quote that opens here is never closed; close it"),
    (
        "",
        "y,a\n1,\"x\"y\n",
        "t.csv:2:6: expected ',' or the end of the record after a closing quote; write a quote within quotes twice",
    ),
    ("", "y,a\n,2\n", "t.csv:2:1: this row has no label in column 'y'; use `unlabelled(skip)` to leave such rows out"),
    (
        "missing=?",
        "y,a\n1,2\n?,2\n",
        "t.csv:3:1: this row has no label in column 'y'; use `unlabelled(skip)` to leave such rows out",
    ),
    (
        "",
        "y,a\nnan,2\n",
        "t.csv:2:1: the label in column 'y' is NaN, not a finite number; use `missing(nan)` or `missing(inf)`, and `unlabelled(skip)` to leave such rows out",
    ),
    (
        "",
        "y,a\n1e999,2\n",
        "t.csv:2:1: the label in column 'y' is inf, not a finite number; use `missing(nan)` or `missing(inf)`, and `unlabelled(skip)` to leave such rows out",
    ),
    (
        "",
        "y,a\n1,inf\n1,5\n",
        "t.csv:2:3: the value in column 'a' is inf, not a finite number; correct it, or use `missing(inf)`",
    ),
    (
        "",
        "y,a,b\n1,2,1\n1,-inf,1\n",
        "t.csv:3:3: the value in column 'a' is -inf, not a finite number; correct it, or use `missing(-inf)`",
    ),
    (
        "",
        "y,a,b\n1,1e39,1\n",
        "t.csv:2:3: the value 1e39 in column 'a' is too large for a 32-bit float; use `precision(f64)`, or scale the data",
    ),
    (
        "weight=w",
        "y,w\n1,1\n1,-2\n",
        "t.csv:3:3: the weight in column 'w' is -2, but it must be finite and not negative; correct it, or give the row \
         weight 0",
    ),
    ("weight=w", "y,w\n1,1\n1,\n", "t.csv:3:1: this row has no weight in column 'w'; give every row a weight"),
    (
        "weight=w",
        "y,w\n1,1\n1,much\n",
        "t.csv: the weight column 'w' holds text; weights are numbers; choose another column with `weight`, or name \
         absent cells with `missing(TOKEN)`",
    ),
    ("group=q", "y,q\n1,1\n1,\n", "t.csv:3:1: this row has no group in column 'q'; give every row a group"),
    (
        "group=q",
        "y,q\n1,1\n1,-1\n",
        "t.csv:3:3: the group in column 'q' is not a whole number from 0 on; use `category(q)` to take groups as text",
    ),
    (
        "group=q",
        "y,q\n1,1\n1,1.5\n",
        "t.csv:3:3: the group in column 'q' is not a whole number from 0 on; use `category(q)` to take groups as text",
    ),
    (
        "delimiter=.",
        "y,a\n1,2\n",
        "t.csv: '.' cannot separate cells; use `delimiter` with a comma, tab, semicolon or another character that is in \
         no number",
    ),
];

#[test]
fn malformed_files_are_refused_with_place_and_remedy() {
    for (words, text, message) in MALFORMED {
        assert_eq!(read(words, &[("t.csv", text)]), Err(message.to_string()), "{words} {text:?}");
    }
}

#[test]
fn bytes_that_are_not_text() {
    let message = |contents: &[u8]| Files::new(&[("t.csv", contents)]).read(&options("")).unwrap_err();
    assert_eq!(
        message(b"y,a\n1,\xe9t\xe9\n"),
        "t.csv:2:3: the text in column 'a' is not UTF-8; convert the file, for example with 'iconv -f latin1 -t utf-8'"
    );
    assert_eq!(
        message(b"y,\xe9t\xe9\n1,2\n"),
        "t.csv: the name of column 2 is not UTF-8; convert the file, for example with 'iconv -f latin1 -t utf-8'"
    );
    assert_eq!(
        message(b"\xff\xfey\0,\0"),
        "t.csv: the text is UTF-16, not UTF-8; convert it, for example with 'iconv -f utf-16 -t utf-8'"
    );
}

#[test]
fn trouble_far_from_the_head() {
    let good = "1,2\n".repeat(HEAD_BYTES / 4 + 1);
    let line = HEAD_BYTES / 4 + 3;
    assert_eq!(
        read("", &[("t.csv", &format!("y,a b\n{good}1,n/a\n"))]),
        Err(format!(
            "t.csv:{line}:3: expected a number in column 'a b', found 'n/a'; use `category('a b')` to take the column as \
             text, or `missing('n/a')` if that means an absent cell"
        ))
    );
    let stray = "x".repeat(LARGEST_QUOTED_BYTES + 1);
    assert_eq!(
        read("", &[("t.csv", &format!("y,a\n{good}1,\"{stray}\n{good}"))]),
        Err(format!(
            "t.csv:{line}:3: the quote that opens here is not closed within 4 MiB; close it, or shorten the cell"
        ))
    );
}

#[test]
fn later_files_must_fit() {
    let first = ("a.csv", "y,a\n1,2\n");
    assert_eq!(
        read("", &[first, ("b.csv", "a,z\n1,2\n")]),
        Err("b.csv: there is no column 'y', which is the label in a.csv; the columns are a, z".to_string())
    );
    assert_eq!(
        read("", &[first, ("b.csv", "y,a\n1,x\n")]),
        Err("b.csv:2:3: expected a number in column 'a', found 'x'; use `category(a)` to take the column as text, or \
             `missing('x')` if that means an absent cell"
            .to_string())
    );
    assert_eq!(
        read("", &[first, ("b.svm", "1 2:3\n")]),
        Err("b.svm: this looks like libsvm, but a.csv looks like csv; give files of one format, or say which it is with \
             `format`"
            .to_string())
    );
}
