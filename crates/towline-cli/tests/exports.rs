//! Exported models give the scores of `predict` in the programs that they are for.

use std::process::{Command, Stdio};

use crate::workbench::Workbench;

/// A table with numbers, text with quotes, and cells that are missing.
fn table() -> String {
    let mut text = "id,age,in come,town,\"says \"\"hi\"\"\",class\n".to_string();
    let towns = ["Rome", "L'Aquila", "Zürich", ""];
    for i in 0..240u32 {
        let (age, income) = (20 + i * 7 % 50, (i * 13 % 40) as f64 / 4.0);
        let town = towns[(i * 5 % 7 % 4) as usize];
        let age_cell = if i % 11 == 0 { String::new() } else { age.to_string() };
        let class = match (age + i % 9, town) {
            (_, "Zürich") => "b",
            (age, _) if age > 45 => "c",
            _ => "a",
        };
        text += &format!("{i},{age_cell},{income},{town},{},{class}\n", if i % 3 == 0 { "yes\\no?" } else { "no" });
    }
    text
}

/// Rules of which more is made than numbers and levels: powers, rare levels, bins, and products of all of them.
const RULES: [&str; 4] = [
    "--multiclass softmax --column age:powers=3,impute=median --column *:rare=100",
    "--loss logistic --column *:bins=2.5/30/60",
    "--loss logistic --interact 2*3 --interact 2*4 --interact 4*5 --interact 4*3",
    "--multiclass softmax --column 2:bins=30/50 --interact 2*4 --interact 3*2",
];

/// A bench with the table, a model `m.towm` of it, and the scores that the model gives.
fn trained(options: &str) -> (Workbench, Vec<Vec<f64>>) {
    let bench = Workbench::new();
    bench.file("t.csv", table());
    bench.ok(&format!("train t.csv --label class --ignore id {options} -o m.towm -q"));
    let scores = bench.ok("predict m.towm t.csv --scores");
    let scores = scores.lines().map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect()).collect();
    (bench, scores)
}

fn run(command: &mut Command, input: &str) -> String {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn assert_scores(printed: &str, expected: &[Vec<f64>]) {
    let found: Vec<Vec<f64>> = printed
        .lines()
        .map(|line| line.split(' ').map(|word| word.parse().unwrap_or_else(|_| panic!("{line}"))).collect())
        .collect();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.len(), expected.len());
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * (1.0 + b.abs());
        assert!(found.iter().zip(expected).all(near), "{found:?} {expected:?}");
    }
}

/// Reads the table into a database, empty cells as NULL, and prints the scores of all rows.
const DATABASE: &str = r#"
import csv, sqlite3, sys
rows = list(csv.reader(open("t.csv", encoding="utf-8")))
def cell(name, text):
    return None if text == "" else float(text) if name in ("age", "in come") else text
def check(connect, execute):
    names = ", ".join('"%s" %s' % (name.replace('"', '""'), "DOUBLE" if name in ("age", "in come") else "TEXT") for name in rows[0])
    execute("CREATE TABLE t (%s)" % names)
    for row in rows[1:]:
        execute("INSERT INTO t VALUES (%s)" % ",".join("?" * len(row)), [cell(*pair) for pair in zip(rows[0], row)])
    return execute("SELECT " + open("m.sql", encoding="utf-8").read() + " FROM t ORDER BY CAST(id AS INTEGER)").fetchall()
connection = sqlite3.connect(":memory:")
found = [check(connection, connection.execute)]
try:
    import duckdb
    connection = duckdb.connect()
    found.append(check(connection, connection.execute))
except ImportError:
    pass
for rows in found[1:]:
    assert all(abs(a - b) <= 1e-9 * (1 + abs(b)) for pair in zip(rows, found[0]) for a, b in zip(*pair))
for row in found[0]:
    print(*map(repr, row))
"#;

#[test]
fn sql_scores_rows_in_a_database() {
    let options = ["--loss logistic", "--positive b --loss hinge", "--multiclass softmax"];
    for options in options.into_iter().chain(RULES) {
        let (bench, scores) = trained(options);
        bench.ok("export m.towm --to sql -o m.sql");
        let printed = run(python().current_dir(bench.path("")).arg("-"), DATABASE);
        assert_scores(&printed, &scores);
    }
}

#[test]
fn sql_of_numbered_features_and_of_many() {
    let bench = Workbench::new();
    // More features than a database allows an expression to be deep.
    let many: String = (1..=1500).map(|i| format!(" {i}:1")).collect();
    bench.file("t.svm", format!("1{many}\n-1 1:1 3:-2\n1 2:1\n-1 700:3\n"));
    bench.ok("train t.svm --loss squared -o m.towm -q");
    let text = bench.ok("export m.towm --to sql");
    assert!(text.contains("COALESCE(\"f1500\", 0) * "), "{text}");
    bench.file("m.sql", text);
    let script = r#"
import sqlite3
connection = sqlite3.connect(":memory:")
connection.execute("CREATE TABLE t (%s)" % ", ".join("f%d DOUBLE" % i for i in range(1, 1501)))
for row in [dict.fromkeys(range(1, 1501), 1.0), {1: 1, 3: -2}, {2: 1}, {700: 3}]:
    connection.execute("INSERT INTO t (%s) VALUES (%s)" % (", ".join("f%d" % i for i in row), ", ".join(str(v) for v in row.values())))
for row in connection.execute("SELECT " + open("m.sql").read() + " FROM t"):
    print(*map(repr, row))
"#;
    let expected: Vec<Vec<f64>> =
        bench.ok("predict m.towm t.svm --scores").lines().map(|line| vec![line.parse().unwrap()]).collect();
    // SQLite has 2,000 columns at most, which is enough here.
    let printed = run(Command::new("python3").current_dir(bench.path("")).arg("-"), script);
    assert_scores(&printed, &expected);
}

#[test]
fn a_c_header_scores_rows() {
    let program = r#"
#include <stdio.h>
#include <stdlib.h>
#include "m.h"
int main(void) {
    static char line[1 << 16];
    while (fgets(line, sizeof line, stdin)) {
        long places[64]; double values[64]; size_t count = 0;
        char *rest = line;
        for (char *word; (word = strsep(&rest, "\t\n")) != NULL && *word; ) {
            char *value = strrchr(word, ':');
            *value = 0;
            values[count] = atof(value + 1);
            places[count++] = LOOK_UP(word);
        }
        double scores[TOWLINE_OUTPUTS];
        towline_score(places, values, count, scores);
        for (int k = 0; k < TOWLINE_OUTPUTS; k++) printf("%s%.17g", k ? " " : "", scores[k]);
        printf("\n");
        fprintf(stderr, "%s\n", towline_names[towline_class(scores)]);
    }
    return 0;
}
"#;
    for options in ["--loss logistic", "--multiclass softmax"] {
        let (bench, scores) = trained(options);
        bench.ok("export m.towm --to c -o m.h");
        bench.file("main.c", program);
        let mut compile = Command::new("cc");
        compile.current_dir(bench.path("")).args(["-std=gnu11", "-Wall", "-Werror", "-Wno-unused-function"]);
        run(compile.args(["-DLOOK_UP(word)=towline_feature(word)", "main.c", "-o", "score", "-lm"]), "");
        let header: serde_json::Value = serde_json::from_str(&bench.ok("export m.towm --to json")).unwrap();
        let columns = header["schema"]["columns"].as_array().unwrap();
        let age = columns.iter().find(|column| column["name"] == "age").unwrap()["impute"].as_f64().unwrap();
        let said = std::fs::read_to_string(bench.path("m.h")).unwrap();
        assert!(said.contains(&format!("\"age\" is {age:e} where it is absent, and \"age=\" is 1")), "{said}");
        let text = table();
        let mut cells = String::new();
        for line in text.lines().skip(1) {
            let row: Vec<&str> = line.split(',').collect();
            let mut words = Vec::new();
            match row[1] {
                "" => words.extend([format!("age:{age}"), "age=:1".to_string()]),
                number => words.push(format!("age:{number}")),
            }
            words.push(format!("in come:{}", row[2]));
            words.push(format!("town={}:1", row[3]));
            words.push(format!("says \"hi\"={}:1", row[4]));
            cells += &(words.join("\t") + "\n");
        }
        let mut score = Command::new(bench.path("score"));
        let output = {
            let mut child = score.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), cells.as_bytes()).unwrap();
            child.wait_with_output().unwrap()
        };
        assert_scores(&String::from_utf8(output.stdout).unwrap(), &scores);
        let classes = String::from_utf8(output.stderr).unwrap();
        assert_eq!(classes, bench.ok("predict m.towm t.csv"));
    }
    // Numbers are found by search, and a model without a weight is a header, too.
    let bench = Workbench::new();
    bench.file("t.svm", "1 7:1 9:2\n-1 9:-1 12:3\n");
    bench.ok("train t.svm -o m.towm -q");
    bench.ok("export m.towm --to c -o m.h");
    bench.file(
        "main.c",
        "#include \"m.h\"\nint main(void) { return towline_feature(9) == 1 && towline_feature(8) == -1 && \
         towline_feature(99) == -1 ? 0 : 1; }\n",
    );
    run(Command::new("cc").current_dir(bench.path("")).args(["main.c", "-o", "look", "-lm"]), "");
    run(&mut Command::new(bench.path("look")), "");
}

#[test]
fn a_c_header_tells_what_features_are_made_of() {
    let (bench, _) = trained("--loss logistic --column age:powers=2 --column *:rare=100");
    let text = bench.ok("export m.towm --to c");
    assert!(text.contains("/* \"age^2\" is power 2 of \"age\""), "{text}");
    assert!(text.contains("is 1 where \"says \\\"hi\\\"\" is there, and none of these. */\n"), "{text}");
    assert!(text.contains("static const char *const towline_levels_4[2] = {\n    \"no\", NULL,\n};"), "{text}");
    let (bench, _) = trained("--loss logistic --column age:bins=30/50 --interact age*town");
    let text = bench.ok("export m.towm --to c");
    assert!(text.contains("/* \"age=30..50\" is 1 where \"age\" is from 3e1 below 5e1. */"), "{text}");
    assert!(text.contains("/* \"age*town\": "), "{text}");
}

#[test]
fn liblinear_has_a_table_of_names_beside_it() {
    let (bench, _) = trained("--positive b --loss logistic");
    let refused = bench.run("export m.towm --to liblinear");
    assert!(refused.code == Some(1) && refused.stderr.contains("-o"), "{refused:?}");
    bench.ok("export m.towm --to liblinear -o m.liblinear");
    let model = std::fs::read_to_string(bench.path("m.liblinear")).unwrap();
    let names = std::fs::read_to_string(bench.path("m.liblinear.names")).unwrap();
    assert!(model.contains("\nlabel 2 1\n"), "{model}");
    assert!(names.starts_with("label\t1\tnot b\nlabel\t2\tb\nfeature\t1\t"), "{names}");
    let features = names.lines().filter(|line| line.starts_with("feature\t")).count();
    assert!(model.contains(&format!("nr_feature {features}\n")), "{model}");
    // Each weight stands at the place of its name.
    let weights: Vec<&str> = model.lines().skip_while(|line| *line != "w").skip(1).collect();
    let text = bench.ok("export m.towm --to text");
    for (line, weight) in names.lines().filter(|line| line.starts_with("feature\t")).zip(weights) {
        let name = line.splitn(3, '\t').nth(2).unwrap();
        assert!(text.lines().any(|line| line == format!("{name}\t{}", weight.trim())), "{name} {weight}");
    }
}

#[test]
fn what_cannot_be_said_is_refused() {
    let bench = Workbench::new();
    bench.file("t.svm", "1 1:1 2:1\n-1 2:3\n");
    bench.ok("pack t.svm -o unit.tow --scale rows -q");
    bench.ok("train unit.tow -o m.towm -q");
    for format in ["sql", "c"] {
        let said = bench.run(&format!("export m.towm --to {format}"));
        assert!(said.code == Some(1) && said.stderr.contains("unit length"), "{said:?}");
    }
    let (bench, _) = trained("--loss logistic --column town:hash=3");
    for format in ["sql", "c"] {
        let said = bench.run(&format!("export m.towm --to {format}"));
        assert!(said.code == Some(1) && said.stderr.contains("no hash function for column 'town'"), "{said:?}");
    }
}

/// Runs a graph of ONNX on the table, and prints the scores; asserts labels and probabilities on the way.
const ONNX: &str = r#"
import csv, sys
try:
    import numpy, onnxruntime
except ImportError:
    print("no onnxruntime")
    sys.exit()
session = onnxruntime.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])
rows = list(csv.reader(open("t.csv", encoding="utf-8")))
inputs = {}
for given in session.get_inputs():
    cells = [row[rows[0].index(given.name)] for row in rows[1:]]
    if given.type == "tensor(string)":
        inputs[given.name] = numpy.array(cells, dtype=object).reshape(-1, 1)
    else:
        inputs[given.name] = numpy.array([float(cell) if cell else numpy.nan for cell in cells]).reshape(-1, 1)
names = [output.name for output in session.get_outputs()]
found = dict(zip(names, session.run(names, inputs)))
assert list(found["label"]) == open("labels.txt", encoding="utf-8").read().split("\n")[:-1]
expected = [[float(x) for x in line.split()] for line in open("probabilities.txt")]
if expected:
    chances = found["probabilities"]
    assert chances.shape[1] == len(set(found["label"]) | set("ab")) or chances.shape[1] == 2
    chances = chances[:, 1:] if chances.shape[1] == 2 else chances
    assert numpy.allclose(chances, expected, rtol=0, atol=1e-12), abs(chances - expected).max()
else:
    assert "probabilities" not in found
for row in found["scores"]:
    print(*map(repr, map(float, row)))
"#;

fn python() -> Command {
    Command::new(std::env::var("TOWLINE_PYTHON").unwrap_or("python3".into()))
}

#[test]
fn onnx_scores_rows() {
    for (options, has_probabilities) in [
        ("--loss logistic", true),
        ("--positive b --loss hinge", false),
        ("--positive b --loss logistic", true),
        ("--multiclass softmax", true),
        ("--loss hinge --calibrate 3", true),
    ]
    .into_iter()
    .chain(RULES.map(|rules| (rules, true)))
    {
        let (bench, scores) = trained(options);
        bench.ok("export m.towm --to onnx -o m.onnx");
        let reading = "";
        bench.file("labels.txt", bench.ok(&format!("predict m.towm t.csv {reading}")));
        let probabilities = match has_probabilities {
            true => bench.ok(&format!("predict m.towm t.csv {reading} --probabilities")),
            false => String::new(),
        };
        bench.file("probabilities.txt", probabilities);
        let printed = run(python().current_dir(bench.path("")).arg("-"), ONNX);
        if printed.trim() == "no onnxruntime" {
            eprintln!("skipped: set TOWLINE_PYTHON to a Python with onnxruntime");
            return;
        }
        assert_scores(&printed, &scores);
        // It is replaced by the like, and nothing else is.
        bench.ok("export m.towm --to onnx -o m.onnx");
        assert!(bench.run("export m.towm --to onnx -o t.csv").code != Some(0));
    }
    let (bench, _) = trained("--loss hinge --calibrate 3 --calibration isotonic");
    let said = bench.run("export m.towm --to onnx -o m.onnx");
    assert!(said.code == Some(1) && said.stderr.contains("platt"), "{said:?}");
}

#[test]
fn onnx_of_numbered_features() {
    let bench = Workbench::new();
    bench.file("t.svm", "1.5 1:1 7:2\n-1 3:0.5\n4 1:3 3:1\n");
    bench.ok("train t.svm --loss squared -o m.towm -q");
    bench.ok("export m.towm --to onnx -o m.onnx");
    let script = r#"
try:
    import numpy, onnxruntime
except ImportError:
    raise SystemExit(print("no onnxruntime"))
session = onnxruntime.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])
rows = numpy.zeros((3, 8))
rows[0, 1], rows[0, 7], rows[1, 3], rows[2, 1], rows[2, 3] = 1, 2, 0.5, 3, 1
for row in session.run(["prediction"], {"features": rows})[0]:
    print(*map(repr, map(float, row)))
"#;
    let printed = run(python().current_dir(bench.path("")).arg("-"), script);
    let expected: Vec<Vec<f64>> =
        bench.ok("predict m.towm t.svm").lines().map(|line| vec![line.parse().unwrap()]).collect();
    if printed.trim() != "no onnxruntime" {
        assert_scores(&printed, &expected);
    }
}

#[test]
fn predictions_carry_columns_of_the_input() {
    let (bench, scores) = trained("--positive b --loss logistic");
    let reading = "";
    let labels: Vec<String> = bench.ok(&format!("predict m.towm t.csv {reading}")).lines().map(String::from).collect();
    let text = bench.ok(&format!("predict m.towm t.csv {reading} --keep id,town"));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines.len()), ("id,town,prediction", 241));
    for (i, (line, row)) in lines[1..].iter().zip(table().lines().skip(1)).enumerate() {
        let cells: Vec<&str> = row.split(',').collect();
        assert_eq!(*line, format!("{i},{},{}", cells[3], labels[i]));
    }
    // A column of numbers is kept as it was written, and still counts for the model.
    let text = bench.ok(&format!("predict m.towm t.csv {reading} --keep age,town --scores"));
    assert!(text.starts_with("age,town,score\n"), "{text}");
    for ((line, row), score) in text.lines().skip(1).zip(table().lines().skip(1)).zip(&scores) {
        let cells: Vec<&str> = row.split(',').collect();
        assert_eq!(line, format!("{},{},{}", cells[1], cells[3], score[0]));
    }
    bench.ok(&format!("predict m.towm t.csv {reading} --keep id --probabilities -o p.csv"));
    bench.ok(&format!("predict m.towm t.csv {reading} --keep id --probabilities -o p.csv"));
    assert!(std::fs::read_to_string(bench.path("p.csv")).unwrap().starts_with("id,probability b\n0,"));
    // What is written is read again: the ids are numbers there.
    for name in ["p.parquet", "p.arrow"] {
        bench.ok(&format!("predict m.towm t.csv {reading} --keep id --scores -o {name}"));
        bench.ok(&format!("pack {name} -o {name}.tow -q --label score --keep-order"));
        let again = bench.ok(&format!("cat {name}.tow"));
        assert!(again.starts_with(&scores[0][0].to_string()), "{again}");
        let said = bench.run(&format!("predict m.towm t.csv {reading} --scores -o {name}"));
        assert!(said.code != Some(0), "nothing says that the table may be replaced: {said:?}");
    }
    bench.file("r.svm", "1 1:1\n-1 2:1\n");
    bench.ok("train r.svm -o r.towm -q");
    for (line, word) in [
        ("predict m.towm - --keep id", "only once"),
        ("predict r.towm r.svm --keep id", "no columns"),
        ("predict m.towm t.csv --keep nothing", "nothing"),
    ] {
        let said = bench.run(line);
        assert!(said.code != Some(0) && said.stderr.contains(word), "{line}: {said:?}");
    }
}
