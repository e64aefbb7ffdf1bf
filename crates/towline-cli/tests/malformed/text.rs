//! Lines that are wrong, and what is said about them.

/// Further options of `towline pack`, the text of `in.svm`, and what follows `towline: in.svm` on standard error.
pub const CASES: &[(&str, &str, &str)] = &[
    // labels
    (
        "",
        "abc 1:1\n",
        ":1:1: expected a number as label, found 'abc'; a libsvm line is 'label index:value index:value …'; for tables use --format csv",
    ),
    (
        "",
        "1 1:1\n1:1 2:1\n",
        ":2:1: a row must begin with a label, but this one begins with '1:1'; a libsvm line is 'label index:value index:value …'; for tables use --format csv",
    ),
    (
        "",
        "nan 1:1\n",
        ":1:1: the label 'nan' is not a finite number; a libsvm line is 'label index:value index:value …'; for tables use --format csv",
    ),
    (
        "",
        "-inf 1:1\n",
        ":1:1: the label '-inf' is not a finite number; a libsvm line is 'label index:value index:value …'; for tables use --format csv",
    ),
    (
        "",
        "1e400 1:1\n",
        ":1:1: the label '1e400' is not a finite number; a libsvm line is 'label index:value index:value …'; for tables use --format csv",
    ),
    (
        "",
        "1,x 1:1\n",
        ":1:1: expected a number as label, found '1,x'; a libsvm line is 'label index:value index:value …'; for tables use --format csv",
    ),
    ("", "1,2,3\n4,5,6\n", ": rows have 3 targets and no features; for tables use --format csv"),
    (
        "",
        "label,a,b\n1,2,3\n",
        ":1:1: expected a number as label, found 'label,a,b'; a libsvm line is 'label index:value index:value …'; for tables use --format csv",
    ),
    (
        "",
        "# fine\n\n\n  oops\n",
        ":4:3: expected a number as label, found 'oops'; a libsvm line is 'label index:value index:value …'; for tables use --format csv",
    ),
    (
        "",
        "-- 1:1\n",
        ":1:1: expected a number as label, found '--'; a libsvm line is 'label index:value index:value …'; for tables use --format csv",
    ),
    (
        "",
        "1 1:1\r\nzwei 1:1\r\n",
        ":2:1: expected a number as label, found 'zwei'; a libsvm line is 'label index:value index:value …'; for tables use --format csv",
    ),
    (
        "",
        "a-label-that-goes-on-and-on-and-on-for-much-too-long 1:1\n",
        ":1:1: expected a number as label, found 'a-label-that-goes-on-and-on-and-on-for-m…'; a libsvm line is 'label index:value index:value …'; for tables use --format csv",
    ),
    // indices
    ("", "1 -3:1\n", ":1:3: negative index in '-3:1'; feature indices are 0 or more"),
    (
        "",
        "1 1.5:1\n",
        ":1:3: expected index:value, found '1.5:1'; write entries as index:value with a whole number before the colon",
    ),
    (
        "",
        "1 1e3:1\n",
        ":1:3: expected index:value, found '1e3:1'; write entries as index:value with a whole number before the colon",
    ),
    (
        "",
        "1 x:1\n",
        ":1:3: expected index:value, found 'x:1'; write entries as index:value with a whole number before the colon",
    ),
    (
        "",
        "1 :1\n",
        ":1:3: expected index:value, found ':1'; write entries as index:value with a whole number before the colon",
    ),
    (
        "",
        "1 18446744073709551616:1\n",
        ":1:3: the index in '18446744073709551616:1' does not fit into 64 bits; use smaller feature numbers, or hash them",
    ),
    (
        "",
        "1 99999999999999999999999:1\n",
        ":1:3: the index in '99999999999999999999999:1' does not fit into 64 bits; use smaller feature numbers, or hash them",
    ),
    ("", "1 5\n", ":1:3: '5' has no ':value'; write entries as index:value with a whole number before the colon"),
    (
        "",
        "1 1:1 word\n",
        ":1:7: expected index:value, found 'word'; write entries as index:value with a whole number before the colon",
    ),
    ("", "1 1 :1\n", ":1:3: '1' has no ':value'; write entries as index:value with a whole number before the colon"),
    (
        "",
        "1\t2:1\t0x10:1\n",
        ":1:7: expected index:value, found '0x10:1'; write entries as index:value with a whole number before the colon",
    ),
    (
        "--index-base 1",
        "1 1:1\n1 0:1 1:1\n",
        ":2:3: index 0 in '0:1', but indices were said to count from 1; drop --index-base 1, or correct the file",
    ),
    // values
    ("", "1 1:\n", ":1:5: no value after the colon in '1:'; write values as 1, -0.5 or 2.5e-3"),
    ("", "1 1: 5\n", ":1:5: no value after the colon in '1:'; write values as 1, -0.5 or 2.5e-3"),
    ("", "1 1:one\n", ":1:5: expected a number after the colon in '1:one'; write values as 1, -0.5 or 2.5e-3"),
    ("", "1 1:1,5\n", ":1:5: expected a number after the colon in '1:1,5'; write values as 1, -0.5 or 2.5e-3"),
    ("", "1 1:2:3\n", ":1:5: expected a number after the colon in '1:2:3'; write values as 1, -0.5 or 2.5e-3"),
    ("", "1 1:1..5\n", ":1:5: expected a number after the colon in '1:1..5'; write values as 1, -0.5 or 2.5e-3"),
    ("", "1 1:--5\n", ":1:5: expected a number after the colon in '1:--5'; write values as 1, -0.5 or 2.5e-3"),
    ("", "1 1:5e\n", ":1:5: expected a number after the colon in '1:5e'; write values as 1, -0.5 or 2.5e-3"),
    ("", "1 1:nan\n", ":1:3: the value in '1:nan' is not a finite number; leave missing values out of the row"),
    ("", "1 1:NaN 2:1\n", ":1:3: the value in '1:NaN' is not a finite number; leave missing values out of the row"),
    ("", "1 1:inf\n", ":1:3: the value in '1:inf' is not a finite number; leave missing values out of the row"),
    (
        "",
        "1 1:-Infinity\n",
        ":1:3: the value in '1:-Infinity' is not a finite number; leave missing values out of the row",
    ),
    (
        "",
        "1 1:1e39\n",
        ":1:3: the value in '1:1e39' is too large for a 32-bit float; use --precision f64, or scale the data",
    ),
    (
        "",
        "1 1:-3.5e38\n",
        ":1:3: the value in '1:-3.5e38' is too large for a 32-bit float; use --precision f64, or scale the data",
    ),
    ("", "1 1:1e400\n", ":1:3: the value in '1:1e400' is not a finite number; leave missing values out of the row"),
    (
        "--precision f64",
        "1 1:1e400\n",
        ":1:3: the value in '1:1e400' is not a finite number; leave missing values out of the row",
    ),
    // duplicates
    (
        "",
        "1 1:1\n1 4:1 7:2 4:3\n",
        ":2:11: feature 4 appears twice in this row; correct the file, or use --duplicates sum or --duplicates last",
    ),
    (
        "",
        "1 3:0 3:1\n",
        ":1:7: feature 3 appears twice in this row; correct the file, or use --duplicates sum or --duplicates last",
    ),
    (
        "--duplicates sum",
        "1 3:3e38 3:3e38\n",
        ":1:10: the values of feature 3 add up to more than a 32-bit float can hold; use --precision f64, or correct the file",
    ),
    (
        "--duplicates sum --precision f64",
        "1 3:1e308 3:1e308\n",
        ":1:11: the values of feature 3 add up to more than a 64-bit float can hold; correct the file",
    ),
    // groups
    ("", "1 qid: 1:1\n", ":1:3: expected a whole number after qid:, found 'qid:'; number the groups from 1 on"),
    ("", "1 qid:x 1:1\n", ":1:3: expected a whole number after qid:, found 'qid:x'; number the groups from 1 on"),
    ("", "1 qid:-1 1:1\n", ":1:3: expected a whole number after qid:, found 'qid:-1'; number the groups from 1 on"),
    ("", "1 qid:1.5 1:1\n", ":1:3: expected a whole number after qid:, found 'qid:1.5'; number the groups from 1 on"),
    ("", "1 qid:1 qid:2 1:1\n", ":1:9: a second qid: in this row; keep one qid: per row"),
    (
        "--skip-groups",
        "1 qid:x 1:1\n",
        ":1:3: expected a whole number after qid:, found 'qid:x'; number the groups from 1 on",
    ),
    (
        "",
        "1 sid:1 1:1\n",
        ":1:3: expected index:value, found 'sid:1'; write entries as index:value with a whole number before the colon",
    ),
    (
        "",
        "qid:1 1 1:1\n",
        ":1:1: a row must begin with a label, but this one begins with 'qid:1'; a libsvm line is 'label index:value index:value …'; for tables use --format csv",
    ),
    // bytes that are no text
    ("", "1 1:\u{0}1\n", ":1:5: expected a number after the colon in '1:\\u{0}1'; write values as 1, -0.5 or 2.5e-3"),
    (
        "",
        "\u{0}\u{0}\u{0}\u{0}",
        ":1:1: expected a number as label, found '\\u{0}\\u{0}\\u{0}\\u{0}'; a libsvm line is 'label index:value index:value …'; for tables use --format csv",
    ),
    (
        "",
        "1 ä:1\n",
        ":1:3: expected index:value, found 'ä:1'; write entries as index:value with a whole number before the colon",
    ),
    (
        "",
        "{\"label\": 1, \"x\": 2}\n",
        ":1:1: a row must begin with a label, but this one begins with '{\"label\":'; a libsvm line is 'label index:value index:value …'; for tables use --format csv",
    ),
];
