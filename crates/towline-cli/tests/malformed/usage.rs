//! Inputs and arguments that cannot work, and what is said about them.
use crate::workbench::Workbench;

/// Makes ready what the case is about, and has the arguments, the exit code and all of standard error.
pub type Case = (fn(&Workbench), &'static str, i32, &'static str);

const ROWS: &str = "1 1:1 2:2\n-1 2:3 3:1\n1 1:0.5\n";

fn nothing(_: &Workbench) {}

fn rows(bench: &Workbench) {
    bench.file("in.svm", ROWS);
}

fn store(bench: &Workbench) {
    rows(bench);
    bench.ok("pack in.svm -o out.tow --quiet");
}

fn packed(bench: &Workbench, name: &str, bytes: Vec<u8>) {
    bench.file(name, &bytes[..bytes.len() - 9]);
}

fn text() -> Vec<u8> {
    ROWS.repeat(1000).into_bytes()
}

pub const CASES: &[Case] = &[
    // inputs
    (
        nothing,
        "pack gone.svm -o out.tow",
        1,
        "towline: gone.svm: cannot open it: No such file or directory (os error 2)\n",
    ),
    (
        |bench| _ = std::fs::create_dir(bench.path("folder")),
        "pack folder -o out.tow",
        4,
        "towline: folder: this is a folder; name the files in it, or use a glob such as 'folder/*.svm'\n",
    ),
    (
        |bench| _ = bench.file("empty.svm", ""),
        "pack empty.svm -o out.tow",
        4,
        "towline: empty.svm: no rows; a store needs at least one\n",
    ),
    (
        |bench| _ = bench.file("remarks.svm", "# a\n\n# b\n"),
        "pack remarks.svm -o out.tow",
        4,
        "towline: remarks.svm: no rows; a store needs at least one\n",
    ),
    (nothing, "pack - -o out.tow", 4, "towline: standard input: no rows; a store needs at least one\n"),
    (
        rows,
        "pack in.svm gone.svm -o out.tow",
        1,
        "towline: gone.svm: cannot open it: No such file or directory (os error 2)\n",
    ),
    (
        rows,
        "pack part-*.svm -o out.tow",
        1,
        "towline: no file matches 'part-*.svm'; check the folder and the pattern\n",
    ),
    (
        rows,
        "pack in[.svm -o out.tow",
        1,
        "towline: 'in[.svm' is not a pattern: Pattern syntax error near position 2: invalid range pattern\n",
    ),
    (rows, "pack - in.svm - -o out.tow", 1, "towline: standard input is named twice; it can be read only once\n"),
    (rows, "pack - -o out.tow --weights -", 1, "towline: standard input is named twice; it can be read only once\n"),
    (
        |bench| packed(bench, "cut.gz", super::gzip(&text())),
        "pack cut.gz -o out.tow",
        4,
        "towline: cut.gz: the gzip data is damaged or ends too early (incomplete deflate stream); copy or download the file again\n",
    ),
    (
        |bench| packed(bench, "cut.bz2", super::bzip2(&text())),
        "pack cut.bz2 -o out.tow",
        4,
        "towline: cut.bz2: the bzip2 data is damaged or ends too early (decompression not finished but EOF reached); copy or download the file again\n",
    ),
    (
        |bench| packed(bench, "cut.zst", super::zstd(&text())),
        "pack cut.zst -o out.tow",
        4,
        "towline: cut.zst: the Zstandard data is damaged or ends too early (incomplete frame); copy or download the file again\n",
    ),
    (
        |bench| _ = bench.file("odd.gz", b"\x1f\x8bnot gzip at all"),
        "pack odd.gz -o out.tow",
        4,
        "towline: odd.gz: the gzip data is damaged or ends too early (invalid gzip header); copy or download the file again\n",
    ),
    // weights
    (
        |b| {
            rows(b);
            b.file("w", "1\n2\n");
        },
        "pack in.svm -o out.tow --weights w",
        4,
        "towline: w: only 2 weights, but there are more rows; write one weight per row, in the order of the rows\n",
    ),
    (
        |b| {
            rows(b);
            b.file("w", "1\n2\n3\n4\n");
        },
        "pack in.svm -o out.tow --weights w",
        4,
        "towline: w: more weights than rows (3); write one weight per row, in the order of the rows\n",
    ),
    (
        |b| {
            rows(b);
            b.file("w", "1\nheavy\n3\n");
        },
        "pack in.svm -o out.tow --weights w",
        4,
        "towline: w:2: expected a weight, found 'heavy'; a weight is a number that is 0 or more\n",
    ),
    (
        |b| {
            rows(b);
            b.file("w", "1\n-2\n3\n");
        },
        "pack in.svm -o out.tow --weights w",
        4,
        "towline: w:2: expected a weight, found '-2'; a weight is a number that is 0 or more\n",
    ),
    (
        |b| {
            rows(b);
            b.file("w", "1\ninf\n3\n");
        },
        "pack in.svm -o out.tow --weights w",
        4,
        "towline: w:2: expected a weight, found 'inf'; a weight is a number that is 0 or more\n",
    ),
    (
        |b| {
            rows(b);
            b.file("w", "1\n\n3\n");
        },
        "pack in.svm -o out.tow --weights w",
        4,
        "towline: w:2: expected a weight, found ''; a weight is a number that is 0 or more\n",
    ),
    (
        |b| {
            rows(b);
            b.file("w", "1 2\n3\n");
        },
        "pack in.svm -o out.tow --weights w",
        4,
        "towline: w:1: expected a weight, found '1 2'; a weight is a number that is 0 or more\n",
    ),
    (
        rows,
        "pack in.svm -o out.tow --weights gone",
        1,
        "towline: gone: cannot open it: No such file or directory (os error 2)\n",
    ),
    // outputs
    (
        store,
        "pack in.svm -o out.tow",
        1,
        "towline: out.tow: exists already; use --force to replace it or --append to add rows\n",
    ),
    (
        |b| {
            rows(b);
            b.file("out.tow", "a file");
        },
        "pack in.svm -o out.tow",
        1,
        "towline: out.tow: there is something else already, not a store; choose another name, or remove it yourself\n",
    ),
    (
        |b| {
            rows(b);
            b.file("out.tow", "a file");
        },
        "pack in.svm -o out.tow --force",
        1,
        "towline: out.tow: there is something else already, not a store; choose another name, or remove it yourself\n",
    ),
    (
        |b| {
            rows(b);
            b.file("out.tow/photo", "dear");
        },
        "pack in.svm -o out.tow --force",
        1,
        "towline: out.tow: there is something else already, not a store; choose another name, or remove it yourself\n",
    ),
    (
        rows,
        "pack in.svm -o gone/out.tow",
        1,
        "towline: gone: cannot write a store into this folder: No such file or directory (os error 2)\n",
    ),
    (
        rows,
        "pack in.svm -o out.tow --append",
        1,
        "towline: out.tow: this is not a Towline store (there is nothing there); make one with 'towline pack INPUT -o STORE'\n",
    ),
    (
        |b| {
            rows(b);
            b.file("out.tow", "a file");
        },
        "pack in.svm -o out.tow --append",
        1,
        "towline: out.tow: this is not a Towline store (it is a file, not a folder); make one with 'towline pack INPUT -o STORE'\n",
    ),
    (
        |b| {
            rows(b);
            b.file("out.tow/photo", "dear");
        },
        "pack in.svm -o out.tow --append",
        1,
        "towline: out.tow: this is not a Towline store (it has no manifest.json); make one with 'towline pack INPUT -o STORE'\n",
    ),
    (
        store,
        "pack in.svm -o out.tow --append --precision f64",
        4,
        "towline: the store was packed with --precision f32; append with the same precision\n",
    ),
    (
        store,
        "pack in.svm -o out.tow --append --scale rows",
        4,
        "towline: the store was packed with --scale none; append with the same --scale\n",
    ),
    (
        |b| {
            store(b);
            b.file("bad.svm", "1 1:1\n1 1:x\n");
        },
        "pack bad.svm -o out.tow --append",
        4,
        "towline: bad.svm:2:5: expected a number after the colon in '1:x'; write values as 1, -0.5 or 2.5e-3\n",
    ),
    // scaling that cannot work
    (
        |b| _ = b.file("far.svm", "1 7:1e308\n1 7:-1e308\n"),
        "pack far.svm -o out.tow --scale minmax --precision f64",
        4,
        "towline: the values of feature 7 are too far apart or too close together to be scaled; use --scale rows, or scale the data before packing\n",
    ),
    (
        |b| _ = b.file("far.svm", "1 7:1e200\n1 7:-1e200\n"),
        "pack far.svm -o out.tow --scale standard --precision f64",
        4,
        "towline: the values of feature 7 are too far apart or too close together to be scaled; use --scale rows, or scale the data before packing\n",
    ),
    (
        |b| _ = b.file("dense.svm", (0..40).map(|i| format!("1 {i}:-1\n")).collect::<String>()),
        "pack dense.svm -o out.tow --scale minmax",
        4,
        "towline: --scale minmax would turn 40 values into about 1600: 40 features have negative values, so that 0 moves; use --scale standard or --scale rows, which keep zeros\n",
    ),
    // arguments
    (
        rows,
        "pack in.svm -o out.tow --memory lots",
        2,
        "error: invalid value 'lots' for '--memory <MEMORY>': 'lots' is not a size; write it as 512M, 1.5G or a number of bytes\n\nFor more information, try '--help'.\n",
    ),
    (
        rows,
        "pack in.svm -o out.tow --memory -5M",
        2,
        "error: invalid value '-5M' for '--memory <MEMORY>': '-5M' is not a size; write it as 512M, 1.5G or a number of bytes\n\nFor more information, try '--help'.\n",
    ),
    (
        rows,
        "pack in.svm -o out.tow --block-size 4X",
        2,
        "error: invalid value '4X' for '--block-size <BLOCK_SIZE>': '4X' is not a size; write it as 512M, 1.5G or a number of bytes\n\nFor more information, try '--help'.\n",
    ),
    (
        rows,
        "pack in.svm -o out.tow --block-size 0",
        2,
        "error: invalid value '0' for '--block-size <BLOCK_SIZE>': blocks have at least 1.0 KiB\n\nFor more information, try '--help'.\n",
    ),
    (
        rows,
        "pack in.svm -o out.tow --threads 0",
        2,
        "error: invalid value '0' for '--threads <THREADS>': '0' is not a whole number from 1 to 512\n\nFor more information, try '--help'.\n",
    ),
    (
        rows,
        "pack in.svm -o out.tow --threads many",
        2,
        "error: invalid value 'many' for '--threads <THREADS>': 'many' is not a whole number from 1 to 512\n\nFor more information, try '--help'.\n",
    ),
    (
        rows,
        "pack in.svm -o out.tow --index-base 2",
        2,
        "error: invalid value '2' for '--index-base <INDEX_BASE>'\n  [possible values: auto, 0, 1]\n\nFor more information, try '--help'.\n",
    ),
    (
        rows,
        "pack in.svm -o out.tow --duplicates first",
        2,
        "error: invalid value 'first' for '--duplicates <DUPLICATES>'\n  [possible values: error, sum, last]\n\nFor more information, try '--help'.\n",
    ),
    (
        rows,
        "pack in.svm -o out.tow --scale log",
        2,
        "error: invalid value 'log' for '--scale <SCALE>'\n  [possible values: auto, none, rows, minmax, standard]\n\nFor more information, try '--help'.\n",
    ),
    (
        rows,
        "pack in.svm -o out.tow --precision f16",
        2,
        "error: invalid value 'f16' for '--precision <PRECISION>'\n  [possible values: f32, f64]\n\nFor more information, try '--help'.\n",
    ),
    (
        rows,
        "pack in.svm -o out.tow --seed -1",
        2,
        "error: invalid value '-1' for '--seed <SEED>': invalid digit found in string\n\nFor more information, try '--help'.\n",
    ),
    (
        rows,
        "pack in.svm -o out.tow --seed 1 --keep-order",
        2,
        "error: the argument '--seed <SEED>' cannot be used with '--keep-order'\n\nUsage: towline pack --output <STORE> --seed <SEED> <INPUT>...\n\nFor more information, try '--help'.\n",
    ),
    (
        rows,
        "pack in.svm -o out.tow --force --append",
        2,
        "error: the argument '--force' cannot be used with '--append'\n\nUsage: towline pack --output <STORE> --force <INPUT>...\n\nFor more information, try '--help'.\n",
    ),
    (
        rows,
        "pack in.svm",
        2,
        "error: the following required arguments were not provided:\n  --output <STORE>\n\nUsage: towline pack --output <STORE> <INPUT>...\n\nFor more information, try '--help'.\n",
    ),
    (
        rows,
        "pack -o out.tow",
        2,
        "error: the following required arguments were not provided:\n  <INPUT>...\n\nUsage: towline pack --output <STORE> <INPUT>...\n\nFor more information, try '--help'.\n",
    ),
    (
        rows,
        "pakc in.svm -o out.tow",
        2,
        "error: unrecognized subcommand 'pakc'\n\n  tip: a similar subcommand exists: 'pack'\n\nUsage: towline <COMMAND>\n\nFor more information, try '--help'.\n",
    ),
    (
        nothing,
        "completions tcsh",
        2,
        "error: invalid value 'tcsh' for '<SHELL>'\n  [possible values: bash, elvish, fish, powershell, zsh]\n\n  tip: a similar value exists: 'zsh'\n\nFor more information, try '--help'.\n",
    ),
    (|b| _ = b.file("pages", "a file"), "man pages", 1, "towline: cannot create pages: File exists (os error 17)\n"),
];
