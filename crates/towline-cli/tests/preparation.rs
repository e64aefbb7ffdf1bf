//! Preparation of tables: what becomes of rare features, absent numbers, dates and products, and that a model remembers it.

use crate::workbench::Workbench;
use crate::workbench::random::Random;

/// Reviews whose words are seen 1, 2, 3, … times, with a city that is seen once among others.
fn reviews() -> String {
    let mut text = String::from("y,city,body\n");
    for row in 0..12 {
        let words: Vec<String> = (0..12).filter(|word| *word >= row).map(|word| format!("w{word}")).collect();
        text += &format!("{},{},{} one{row}\n", row % 2, if row == 3 { "Lima" } else { "Rome" }, words.join(" "));
    }
    text
}

/// Names of all features of a store's rows.
pub fn features(bench: &Workbench, store: &str) -> Vec<String> {
    let rows = bench.ok(&format!("cat {store}"));
    let entries = rows.lines().flat_map(|line| line.split(' ').skip(1));
    let mut names: Vec<String> = entries.map(|entry| entry.rsplit_once(':').unwrap().0.to_string()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The first rows of a file have the same scores in the file and alone.
fn scored_alone(bench: &Workbench, model: &str, file: &str) {
    let together = bench.ok(&format!("predict {model} {file} --scores"));
    let text = std::fs::read_to_string(bench.path(file)).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    for (row, expected) in rows.lines().zip(together.lines()).take(30) {
        bench.file("one.csv", format!("{header}\n{row}\n"));
        assert_eq!(bench.ok(&format!("predict {model} one.csv --scores")).trim(), expected, "{row}");
    }
}

#[test]
fn rare_words_and_levels_are_no_features() {
    let bench = Workbench::new();
    bench.file("a.csv", reviews());
    bench.ok("pack a.csv -o a.tow -q --text body:min=10,binary --category city");
    assert_eq!(features(&bench, "a.tow"), ["body:w10", "body:w11", "body:w9", "city=Lima", "city=Rome"]);
    bench.ok("pack a.csv -o most.tow -q --text body:counts --max-features 2 --category city");
    assert_eq!(features(&bench, "most.tow"), ["body:w10", "body:w11", "city=Lima", "city=Rome"]);
    assert!(bench.ok("info most.tow").contains("body: text, words=1-1,max=2,counts"));
    bench.ok("pack a.csv -o min.tow -q --text body --category city --min-count 11");
    assert_eq!(features(&bench, "min.tow"), ["body:w10", "body:w11", "city=Rome"]);
    // Rows that are added have the same bounds.
    bench.file("b.csv", "y,city,body\n1,Rome,w11 new\n0,Oslo,w11 new\n");
    for store in ["min.tow", "most.tow"] {
        let before = features(&bench, store);
        bench.ok(&format!("pack b.csv -o {store} -q --append"));
        assert!(!features(&bench, store).contains(&"body:new".to_string()), "{store}");
        assert_eq!(features(&bench, store).contains(&"city=Oslo".to_string()), store == "most.tow");
        assert!(before.iter().all(|name| features(&bench, store).contains(name)));
    }
    for store in ["a.tow", "min.tow", "most.tow"] {
        bench.ok(&format!("train {store} -o m.towm -q --restart"));
        scored_alone(&bench, "m.towm", "a.csv");
    }
}

#[test]
fn words_that_are_rare_in_test_rows_count_there() {
    let bench = Workbench::new();
    let mut text = String::from("y,body\n");
    (0..60).for_each(|row| text += &format!("{}.5,{} common\n", row % 3, ["low", "mid", "high"][row % 3]));
    bench.file("a.csv", text);
    bench.file("few.csv", "y,body\n0.5,low common\n2.5,high common\n");
    bench.ok("pack a.csv -o a.tow -q --text body:min=10");
    let summary = bench.ok(
        "train a.tow -o m.towm --loss squared -C 100 --tolerance 1e-9 --trace t.jsonl --test few.csv --test-every 0 --json",
    );
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let trace = std::fs::read_to_string(bench.path("t.jsonl")).unwrap();
    let mut lines = trace.lines().rev().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let last = lines.find_map(|line| line["test"]["rmse"].as_f64()).unwrap();
    let expected = summary["test"]["rmse"].as_f64().unwrap();
    assert!((last - expected).abs() < 1e-3 && expected < 0.1, "{last} {expected}");
}

#[test]
fn a_file_is_prepared_by_train_as_by_pack() {
    let bench = Workbench::new();
    bench.file("a.csv", reviews());
    bench.ok("train a.csv -o m.towm -q --scale none --min-count 11 --text body");
    assert_eq!(features(&bench, "a.csv.tow").len(), 3);
    let other = bench.run("train a.csv -o m.towm -q --text body");
    assert_eq!(other.code, Some(1));
    assert!(
        other.stderr.contains("was packed with '--text body:words=1-1,tf-idf --scale none --min-count 11'"),
        "{}",
        other.stderr
    );
    bench.ok("train a.csv -o m.towm -q --scale none --min-count 11 --text body --restart");
    let late = bench.run("train a.csv.tow -o m.towm -q --scale none");
    assert!(late.stderr.contains("--scale: a.csv.tow is packed already; say it to towline pack"), "{}", late.stderr);
    let stream = bench.run("train a.csv --stream -o m.towm -q --min-count 2");
    assert!(stream.stderr.contains("--min-count goes with packing"), "{}", stream.stderr);
}

/// Orders with users of whom most are rare, a number with gaps, and a day.
fn orders(rows: usize, seed: u64) -> String {
    let mut random = Random(seed);
    let mut text = String::from("paid,user,item,size,age,day\n");
    for row in 0..rows {
        let user = if row % 3 == 0 { format!("once{row}") } else { format!("u{}", row % 3) };
        let item = ["pen", "ink"][(2.0 * random.fraction()) as usize];
        let (size, age) = (random.fraction(), [1, 1, 1, 2, 50][row % 5]);
        let shown = if row % 7 == 0 { String::new() } else { age.to_string() };
        let both = f64::from(u8::from(user == "u1" && item == "pen"));
        let paid = size * f64::from(age) + 4.0 * both + 0.01 * random.fraction();
        text += &format!("{paid:.4},{user},{item},{size:.4},{shown},2024-{:02}-{:02}\n", 1 + row % 12, 1 + row % 28);
    }
    text
}

#[test]
fn rare_levels_are_one_and_so_are_those_that_training_has_not_seen() {
    let bench = Workbench::new();
    bench.file("a.csv", orders(300, 1));
    bench.ok("pack a.csv -o a.tow -q --label paid --category user --column user:rare=5");
    let users: Vec<String> = features(&bench, "a.tow").into_iter().filter(|name| name.starts_with("user")).collect();
    assert_eq!(users, ["user=(rare)", "user=u1", "user=u2"]);
    let rows = bench.ok("cat a.tow");
    let is_rare = |line: &&str| line.split(' ').any(|entry| entry == "user=(rare):1");
    assert_eq!(rows.lines().filter(is_rare).count(), 100);
    assert!(bench.ok("info a.tow").contains("user: category, 2 levels in at least 5 rows"));
    bench.ok("train a.tow -o m.towm -q");
    scored_alone(&bench, "m.towm", "a.csv");
    // A level that is new has the score of one that is rare.
    let scores = |user: &str| {
        bench.file("one.csv", format!("paid,user,item,size,age,day\n0,{user},pen,0.5,2,2024-01-01\n"));
        bench.ok("predict m.towm one.csv")
    };
    assert_eq!(scores("never"), scores("once3"));
    assert_ne!(scores("never"), scores("u2"));
    // Rows that are added are read in the same way.
    bench.file("b.csv", orders(30, 2));
    bench.ok("pack b.csv -o a.tow -q --append");
    let again: Vec<String> = features(&bench, "a.tow").into_iter().filter(|name| name.starts_with("user")).collect();
    assert_eq!(again, users);
    for (rules, message) in [
        ("size:rare=5", "'rare' is for categories, and column 'size' holds numbers"),
        ("user:impute=mean", "'impute' is for numbers and dates, and column 'user' holds text"),
    ] {
        let wrong = bench.run(&format!("pack a.csv -o b.tow -q --label paid --category user --column {rules}"));
        assert!(wrong.stderr.contains(message) && wrong.code == Some(4), "{}", wrong.stderr);
    }
    let scaled = bench.run("pack a.csv -o b.tow -q --label paid --category user --column user:rare=5 --scale standard");
    assert!(scaled.stderr.contains("use --scale auto"), "{}", scaled.stderr);
    // A day is taken apart by no database alike.
    let sql = bench.run("export m.towm --to sql -o m.sql");
    assert!(sql.stderr.contains("SQL does not take dates apart"), "{}", sql.stderr);
}

#[test]
fn absent_numbers_are_what_a_rule_says() {
    let bench = Workbench::new();
    bench.file("a.csv", orders(350, 3));
    let ignored = "--label paid --ignore user,item,day";
    // Of the ages 1, 1, 1, 2 and 50 the mean is 11.
    for (rule, value) in [("mean", 11.0), ("median", 1.0), ("most-frequent", 1.0), ("zero", 0.0), ("33.5", 33.5)] {
        bench.ok(&format!("pack a.csv -o a.tow -q --force --scale none {ignored} --column age:impute={rule}"));
        let rows = bench.ok("cat a.tow");
        let absent: Vec<&str> = rows.lines().filter(|line| line.contains("age=:1")).collect();
        assert_eq!(absent.len(), 50);
        for line in absent {
            let age =
                line.split(' ').find_map(|entry| entry.strip_prefix("age:")).map_or(0.0, |age| age.parse().unwrap());
            assert!(f64::abs(age - value) < 0.2, "{rule}: {line}");
        }
        bench.ok(&format!("pack a.csv -o a.tow -q --force {ignored} --column age:impute={rule}"));
        bench.ok("train a.tow -o m.towm -q --restart");
        scored_alone(&bench, "m.towm", "a.csv");
    }
    bench.ok(&format!("pack a.csv -o all.tow -q {ignored} --column *:impute=median"));
    assert!(bench.ok("info all.tow").contains("age: number, median 1 where absent"), "{}", bench.ok("info all.tow"));
}

#[test]
fn columns_are_multiplied() {
    let bench = Workbench::new();
    bench.file("a.csv", orders(400, 5));
    bench.file("test.csv", orders(100, 6));
    let plain = "--label paid --category user --min-count 5 --ignore day";
    bench.ok(&format!("train a.csv -o plain.towm -q {plain} -C 100"));
    bench.ok(&format!("pack a.csv -o a.tow -q {plain} --interact user*item --interact size*age"));
    bench.ok("train a.tow -o m.towm -q -C 100");
    let names = features(&bench, "a.tow");
    for name in ["user=u1*item=pen", "size*age"] {
        assert!(names.contains(&name.to_string()), "{names:?}");
    }
    let rmse = |model: &str| -> f64 {
        let said = bench.ok(&format!("eval {model} test.csv"));
        said.lines().find(|line| line.starts_with("RMSE")).unwrap().split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    assert!(rmse("m.towm") < 0.8 * rmse("plain.towm"), "{} {}", rmse("m.towm"), rmse("plain.towm"));
    scored_alone(&bench, "m.towm", "test.csv");
    let wrong = bench.run("pack a.csv -o b.tow -q --label paid --interact user*day");
    assert!(
        wrong.stderr.contains("numbers and categories are multiplied, and column 'day' holds dates"),
        "{}",
        wrong.stderr
    );
    // Which levels are rare is known after their products were made.
    let rare = bench.run(&format!("pack a.csv -o b.tow -q {plain} --interact user*item --column user:rare=5"));
    assert!(rare.stderr.contains("column 'user' is multiplied, so that 'rare' comes too late"), "{}", rare.stderr);
}

#[test]
fn parts_of_dates_go_round() {
    let bench = Workbench::new();
    bench.file("a.csv", "y,day\n1.5,2024-01-01\n2.5,2024-04-02\n3.5,2024-12-04\n0.5,2024-07-01\n");
    bench.ok("pack a.csv -o a.tow -q --keep-order --scale none --column day:cyclic");
    let rows = bench.ok("cat a.tow");
    // April is a quarter of a year after January.
    let second = rows.lines().nth(1).unwrap();
    assert!(second.contains("day.month.sin:1 ") || second.ends_with("day.month.sin:1"), "{second}");
    assert!(!rows.contains("day.month=") && !rows.contains("hour"), "{rows}");
    bench.ok("train a.tow -o m.towm -q");
    scored_alone(&bench, "m.towm", "a.csv");
}

#[test]
fn a_schema_file_has_all_rules() {
    let bench = Workbench::new();
    bench.file("a.csv", orders(300, 7));
    let rules =
        "--category user --column user:rare=5 --column age:impute=median --column day:cyclic --interact size*item";
    let schema = bench.ok(&format!("schema a.csv --label paid {rules}"));
    bench.file("table.toml", &schema);
    bench.ok("pack a.csv -o a.tow -q --schema table.toml");
    bench.ok(&format!("pack a.csv -o b.tow -q --label paid {rules}"));
    assert_eq!(bench.ok("cat a.tow"), bench.ok("cat b.tow"));
    let stream = bench.run("train a.csv --stream -o m.towm -q --label paid --column user:rare=5");
    assert!(stream.stderr.contains("--column user:rare=5 goes with packing"), "{}", stream.stderr);
}

#[test]
fn levels_and_words_are_hashed() {
    let bench = Workbench::new();
    bench.file("a.csv", reviews());
    bench.ok("pack a.csv -o a.tow -q --text body:words=1-2 --category city --column *:hash=4");
    let names = features(&bench, "a.tow");
    let of = |prefix: &str| names.iter().filter(|name| name.starts_with(prefix)).count();
    assert!(
        of("body:#") == 16 && (1..=2).contains(&of("city=#")) && names.len() == of("body:#") + of("city=#"),
        "{names:?}"
    );
    bench.ok("train a.tow -o m.towm -q");
    scored_alone(&bench, "m.towm", "a.csv");
    bench.file("b.svm", "1 1:1\n-1 2:1\n");
    let numbered = bench.run("pack b.svm -o b.tow -q --column *:hash=4");
    assert!(numbered.stderr.contains("rules of columns are for tables"), "{}", numbered.stderr);
    let both = bench.run("pack a.csv -o b.tow -q --category city --column city:hash=4,rare=2");
    assert!(both.stderr.contains("put together by 'rare' or by 'hash', not by both"), "{}", both.stderr);
}

#[test]
fn powers_of_numbers_are_features() {
    let bench = Workbench::new();
    bench.file("a.csv", orders(350, 8));
    bench.ok(
        "pack a.csv -o raw.tow -q --scale none --label paid --ignore user,item,day --column age:powers=3,impute=median",
    );
    let rows = bench.ok("cat raw.tow");
    assert!(rows.lines().any(|line| line.contains("age^2:2500 ") || line.ends_with("age^2:2500")), "{rows}");
    // The median is 1, and so are its powers.
    let absent = rows.lines().find(|line| line.contains("age=:1")).unwrap();
    assert!(
        ["age:1", "age^2:1", "age^3:1"].iter().all(|entry| absent.split(' ').any(|found| found == *entry)),
        "{absent}"
    );
    bench.ok("pack a.csv -o a.tow -q --label paid --ignore user,item,day --column age:powers=2");
    bench.ok("train a.tow -o m.towm -q");
    scored_alone(&bench, "m.towm", "a.csv");
    bench.file("b.csv", "y,age,age^2\n1.5,2,3\n2.5,3,4\n");
    let clash = bench.run("pack b.csv -o b.tow -q --column age:powers=2");
    assert!(clash.stderr.contains("'age^2' is a column itself"), "{}", clash.stderr);
}

#[test]
fn words_of_a_file_are_left_out() {
    let bench = Workbench::new();
    bench.file("stop.txt", "w10\nW11\n");
    bench.file("a.csv", reviews());
    bench.ok("pack a.csv -o a.tow -q --text body:min=9,counts --ignore city --column body:stop=stop.txt");
    assert_eq!(features(&bench, "a.tow"), ["body:w8", "body:w9"]);
    bench.ok("train a.tow -o m.towm -q");
    let pieces = bench.run("pack a.csv -o b.tow -q --text body:chars=3 --ignore city --column body:stop=stop.txt");
    assert!(pieces.stderr.contains("'stop' is for texts that are cut into words"), "{}", pieces.stderr);
    // The model knows the words itself.
    std::fs::remove_file(bench.path("stop.txt")).unwrap();
    scored_alone(&bench, "m.towm", "a.csv");
}

#[test]
fn numbers_are_cut_into_bins() {
    let bench = Workbench::new();
    let rows: Vec<String> = ["17.5,1.5", "18,2.5", "34,3.5", "35,4.5", ",5.5", "99,6.5"]
        .iter()
        .cycle()
        .take(60)
        .map(|row| row.to_string())
        .collect();
    bench.file("a.csv", format!("age,y\n{}\n", rows.join("\n")));
    bench.ok("pack a.csv -o a.tow -q --label y --column age:bins=18/35 --keep-order");
    let cells = bench.ok("cat a.tow");
    let levels: Vec<&str> = cells.lines().take(6).filter_map(|row| row.split(' ').nth(1)).collect();
    assert_eq!(levels, ["age=..18:1", "age=18..35:1", "age=18..35:1", "age=35..:1", "age=:1", "age=35..:1"], "{cells}");
    bench.ok("train a.tow -o m.towm -q");
    scored_alone(&bench, "m.towm", "a.csv");
    let both = bench.run("pack a.csv -o b.tow -q --label y --column age:bins=18/35,powers=2");
    assert!(both.stderr.contains("neither powers nor"), "{}", both.stderr);
}

#[test]
fn info_says_what_is_in_columns() {
    let bench = Workbench::new();
    let mut text = String::from("price,city,body,y\n");
    for row in 0..40 {
        let price = if row % 4 == 0 { String::new() } else { format!("${}", 10 * (row % 4)) };
        let city = if row % 10 == 0 { "Oslo" } else { "Rome" };
        text += &format!("{price},{city},one two three word{row} again,{}\n", row % 2);
    }
    bench.file("a.csv", text);
    bench.ok("pack a.csv -o a.tow -q --label y");
    let shown = bench.ok("info a.tow --columns");
    let line = |name: &str| shown.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{shown}"));
    let words = |name: &str| line(name).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words("price"), "price amount 1 25.0 % 10 to 30, mean 20");
    assert_eq!(words("city"), "city category 2 0.0 % Rome, Oslo");
    assert!(words("body").contains(" 44 "), "{shown}");
    let json: serde_json::Value = serde_json::from_str(&bench.ok("info a.tow --columns --json")).unwrap();
    assert_eq!(json["columns"][0]["absent"], 10);
    assert_eq!(json["columns"][0]["range"]["most"].as_f64().unwrap().round(), 30.0);
    bench.file("b.svm", "1 1:1\n-1 2:1\n");
    bench.ok("pack b.svm -o b.tow -q");
    assert!(bench.run("info b.tow --columns").stderr.contains("stores of tables"));
}
