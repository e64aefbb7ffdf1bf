//! Tables as people have them: what columns are, how they are prepared, and that a model remembers it.

use crate::workbench::Workbench;
use crate::workbench::random::Random;

/// Money, dates, gaps, an identifier, codes that look like numbers, and a price that follows from them.
fn shop(rows: usize, seed: u64) -> String {
    let mut random = Random(seed);
    let mut text = String::from("id,income,age,joined,member,zip,review,price\n");
    for row in 0..rows {
        let income = 1000.0 + 90_000.0 * random.fraction();
        let age = 18 + (60.0 * random.fraction()) as u32;
        let (month, day) = (1 + (12.0 * random.fraction()) as u32, 1 + (28.0 * random.fraction()) as u32);
        let member = random.fraction() < 0.4;
        let zip = ["01001", "02002", "03003"][(3.0 * random.fraction()) as usize];
        let words: Vec<&str> =
            (0..6).map(|_| ["good", "bad", "kind", "rude", "warm"][(5.0 * random.fraction()) as usize]).collect();
        let liked = words.iter().filter(|word| **word == "good").count() as f64;
        let price = income / 1000.0 + f64::from(age) + f64::from(member) * 10.0 + 5.0 * liked;
        let shown = if random.fraction() < 0.1 { String::new() } else { age.to_string() };
        let thousands = (income / 1000.0) as u32;
        let rest = income - f64::from(thousands) * 1000.0;
        text += &format!(
            "k{row}q{seed},\"${thousands},{rest:06.2}\",{shown},{month:02}/{day:02}/2024,{},{zip},{},{price:.2}\n",
            if member { "yes" } else { "no" },
            words.join(" ")
        );
    }
    text
}

fn rmse(evaluation: &str) -> f64 {
    let line = evaluation.lines().find(|line| line.starts_with("RMSE")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_raw_table_trains_well_without_options() {
    let bench = Workbench::new();
    bench.file("shop.csv", shop(3000, 1));
    bench.file("test.csv", shop(500, 2));
    bench.ok("train shop.csv --label price --category zip -o m.towm");
    // Of what is left, most is the age where it is absent: its deviation is 17 in a tenth of the rows.
    let found = rmse(&bench.ok("eval m.towm test.csv"));
    assert!(found < 7.5, "{found}");
    let info = bench.ok("info shop.csv.tow");
    for column in
        ["id: left out", "income: amount", "joined: date", "member: yes or no", "zip: category", "review: text"]
    {
        assert!(info.contains(column), "{column}: {info}");
    }
}

#[test]
fn a_model_remembers_how_columns_were_read() {
    let bench = Workbench::new();
    bench.file("shop.csv", shop(600, 1));
    bench.file("test.csv", shop(60, 2));
    bench.ok("pack shop.csv -o shop.tow -q --label price --category zip");
    bench.ok("train shop.tow -o m.towm -q");
    let together = bench.ok("predict m.towm test.csv");
    // Alone, a row shows nothing of what its column is.
    let text = std::fs::read_to_string(bench.path("test.csv")).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    for (row, expected) in rows.lines().zip(together.lines()).take(20) {
        bench.file("one.csv", format!("{header}\n{row}\n"));
        assert_eq!(bench.ok("predict m.towm one.csv").trim(), expected, "{row}");
    }
    let refused = bench.run("predict m.towm test.csv --category zip");
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("--category: columns are read as those that are known already"),
        "{}",
        refused.stderr
    );
}

#[test]
fn files_with_other_columns_are_refused_or_noted() {
    let bench = Workbench::new();
    bench.file("a.csv", "y,size,city\n1,2,Rome\n0,1,Oslo\n1,3,Rome\n0,2,Oslo\n");
    bench.ok("train a.csv -o m.towm -q");
    bench.file("none.csv", "a,b\n1,2\n");
    for policy in ["", "--columns note"] {
        let said = bench.run(&format!("predict m.towm none.csv {policy}"));
        assert_eq!(said.code, Some(4));
        assert!(
            said.stderr.contains("none.csv: it has none of the known columns: no columns 'size', 'city'"),
            "{}",
            said.stderr
        );
    }
    bench.file("few.csv", "b,city\n1,Rome\n");
    let said = bench.run("predict m.towm few.csv");
    assert_eq!(said.code, Some(4));
    assert!(said.stderr.contains("few.csv: it has no column 'size'; add what is missing"), "{}", said.stderr);
    assert!(said.stderr.contains("--columns note"), "{}", said.stderr);
    let noted = bench.run("predict m.towm few.csv --columns note");
    assert_eq!(noted.code, Some(0));
    assert!(noted.stderr.contains("few.csv lacks column 'size', whose cells are all absent"), "{}", noted.stderr);
    bench.file("more.csv", "city,size,new\nLima,2,7\n");
    let more = bench.run("predict m.towm more.csv");
    assert_eq!(more.code, Some(0), "{}", more.stderr);
    assert!(more.stderr.contains("column 'new' left out"), "{}", more.stderr);
    assert!(more.stderr.contains("1 cells and words were never seen in training"), "{}", more.stderr);
}

#[test]
fn rows_that_are_added_are_read_like_those_before() {
    let bench = Workbench::new();
    bench.file("a.csv", "y,x\n1,a\n0,3\n1,a\n");
    bench.file("b.csv", "y,x\n0,3\n1,4\n");
    bench.ok("pack a.csv -o s.tow -q");
    bench.ok("pack b.csv -o s.tow -q --append");
    // x=a, x=3 and x=4, and no number x.
    assert!(bench.ok("info s.tow").contains("3 seen, named"));
    let refused = bench.run("pack b.csv -o s.tow -q --append --repeat --number x");
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("--number: columns are read as those that are known already"));
}

#[test]
fn units_of_columns_do_not_matter() {
    let bench = Workbench::new();
    let mut random = Random(5);
    let (mut metres, mut kilometres) = (String::from("y,far,near\n"), String::from("y,far,near\n"));
    for _ in 0..400 {
        let (far, near) = (random.fraction() * 9000.0, random.fraction() - 0.5);
        let label = if far / 9000.0 + near + 0.3 * (random.fraction() - 0.5) > 0.5 { "yes" } else { "no" };
        metres += &format!("{label},{far:.3},{near:.6}\n");
        kilometres += &format!("{label},{:.6},{near:.6}\n", far / 1000.0);
    }
    bench.file("m.csv", metres);
    bench.file("km.csv", kilometres);
    bench.ok("train m.csv --loss logistic -o m.towm -q --tolerance 1e-8");
    bench.ok("train km.csv --loss logistic -o km.towm -q --tolerance 1e-8");
    let scores = |model: &str, file: &str| -> Vec<f64> {
        let text = bench.ok(&format!("predict {model} {file} --scores"));
        text.lines().map(|line| line.parse().unwrap()).collect()
    };
    for (a, b) in scores("m.towm", "m.csv").iter().zip(scores("km.towm", "km.csv")) {
        assert!((a - b).abs() < 1e-3 * (1.0 + a.abs()), "{a} {b}");
    }
}

/// Standardizing by hand and training without scaling must lead to the same model.
#[test]
fn standardized_numbers_are_what_the_definition_says() {
    let bench = Workbench::new();
    let mut random = Random(8);
    let rows: Vec<[f64; 3]> = (0..300)
        .map(|_| {
            let a = 50.0 + 3.0 * random.fraction();
            let rare = if random.fraction() < 0.2 { 7.0 * random.fraction() } else { 0.0 };
            [a, rare, 2.0 * a - rare + random.fraction()]
        })
        .collect();
    let standardized = |column: usize| {
        let mean = rows.iter().map(|row| row[column]).sum::<f64>() / 300.0;
        let variance = rows.iter().map(|row| (row[column] - mean).powi(2)).sum::<f64>() / 300.0;
        move |value: f64| (value - mean) / variance.sqrt()
    };
    let (first, second) = (standardized(0), standardized(1));
    let (mut raw, mut by_hand) = (String::from("y,a,rare\n"), String::from("y,a,rare\n"));
    for [a, rare, y] in &rows {
        raw += &format!("{y},{a},{rare}\n");
        by_hand += &format!("{y},{},{}\n", first(*a), second(*rare));
    }
    bench.file("raw.csv", raw);
    bench.file("hand.csv", by_hand);
    bench.ok("pack raw.csv -o raw.tow -q --precision f64");
    bench.ok("pack hand.csv -o hand.tow -q --precision f64 --scale none");
    for store in ["raw", "hand"] {
        bench.ok(&format!("train {store}.tow -o {store}.towm -q -C 0.01 --tolerance 1e-9"));
    }
    let objective = |model: &str| {
        let text = bench.ok(&format!("info {model}.towm"));
        let line = text.lines().find(|line| line.starts_with("value")).unwrap().to_string();
        line.split_whitespace().nth(1).unwrap().trim_end_matches(',').parse::<f64>().unwrap()
    };
    assert!((objective("raw") - objective("hand")).abs() < 1e-6 * objective("hand"));
    let predict = |model: &str, file: &str| -> Vec<f64> {
        let text = bench.ok(&format!("predict {model}.towm {file}"));
        text.lines().map(|line| line.parse().unwrap()).collect()
    };
    for (a, b) in predict("raw", "raw.csv").iter().zip(predict("hand", "hand.csv")) {
        assert!((a - b).abs() < 1e-4 * (1.0 + b.abs()), "{a} {b}");
    }
}

#[test]
fn absent_numbers_are_the_mean_and_marked() {
    let bench = Workbench::new();
    let mut text = String::from("y,x\n");
    for k in 0..40 {
        text += &format!("{},{}\n", k % 7, if k % 4 == 0 { String::new() } else { (k % 5 + 1).to_string() });
    }
    bench.file("a.csv", &text);
    bench.ok("pack a.csv -o a.tow -q");
    assert!(bench.ok("info a.tow").contains("2 seen, named"), "x and its mark");
    bench.ok("train a.tow -o a.towm -q --task regression");
    // With the mark at 0 and the mean in its place, a score is that of the mean; the mark adds its weight.
    let weights = bench.ok("export a.towm --to text");
    let weight = |name: &str| -> f64 {
        let line = weights.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
        line.split_whitespace().last().unwrap().parse().unwrap()
    };
    bench.file("absent.csv", "x\n\"\"\n0\n");
    let scores: Vec<f64> = bench.ok("predict a.towm absent.csv").lines().map(|line| line.parse().unwrap()).collect();
    let present: Vec<f64> = (0..40).filter(|k| k % 4 != 0).map(|k| f64::from(k % 5 + 1)).collect();
    let mean = present.iter().sum::<f64>() / present.len() as f64;
    let expected = scores[1] + weight("x") * mean + weight("x=");
    assert!((scores[0] - expected).abs() < 1e-5, "{scores:?} {expected}");
}

#[test]
fn a_schema_can_be_printed_edited_and_used() {
    let bench = Workbench::new();
    bench.file("shop.csv", shop(200, 3));
    let schema = bench.ok("schema shop.csv --label price");
    assert!(schema.contains("label = [\"price\"]"), "{schema}");
    bench.file("same.toml", &schema);
    bench.ok("pack shop.csv -o plain.tow -q --label price");
    bench.ok("pack shop.csv -o same.tow -q --schema same.toml");
    let features = |store: &str| {
        let text = bench.ok(&format!("info {store}.tow"));
        text.lines().find(|line| line.starts_with("features")).unwrap().to_string()
    };
    assert_eq!(features("plain"), features("same"));
    let edited = schema.replace("name = \"age\"\nkind = \"number\"", "name = \"age\"\nkind = \"category\"");
    assert_ne!(edited, schema);
    bench.file("edited.toml", edited);
    bench.ok("pack shop.csv -o edited.tow -q --schema edited.toml");
    assert_ne!(features("plain"), features("edited"));
    bench.file("wrong.toml", "label = [\"price\"]\ncolums = []\n");
    let refused = bench.run("pack shop.csv -o w.tow -q --schema wrong.toml");
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("wrong.toml") && refused.stderr.contains("colums"), "{}", refused.stderr);
}

/// Counts over their length, times ln((1 + n)/(1 + m)) + 1, over what that makes of the length of rows.
#[test]
fn words_are_weighted_by_how_rare_they_are() {
    let bench = Workbench::new();
    bench.file("a.csv", "y,body\n1,the cat the dog\n0,the bird\n1,a fox and the cow\n");
    bench.ok("pack a.csv -o a.tow -q --keep-order --text body");
    let rows = bench.ok("cat a.tow");
    let found: Vec<f64> = rows.lines().next().unwrap().split(' ').skip(1).map(value).collect();
    let length = (4.0f64 + 1.0 + 1.0).sqrt();
    let rare = (4.0f64 / 2.0).ln() + 1.0;
    // `the` is in three rows, each of six other words of more than a letter in one.
    let rows_length = ((3.0 + 6.0 * rare * rare) / 9.0).sqrt();
    let expected = [2.0 / length, rare / length, rare / length].map(|value| value / rows_length);
    let mut found = found;
    found.sort_by(f64::total_cmp);
    let mut expected = expected.to_vec();
    expected.sort_by(f64::total_cmp);
    for (a, b) in found.iter().zip(&expected) {
        assert!((a - b).abs() < 1e-6, "{found:?} {expected:?}");
    }
    bench.ok("pack a.csv -o pairs.tow -q --text body:words=1-2,counts,min=2");
    // Of all words and pairs, only `the` is in two rows.
    let kept: usize = bench.ok("cat pairs.tow").lines().map(|line| line.split(' ').count() - 1).sum();
    assert_eq!(kept, 3, "{}", bench.ok("cat pairs.tow"));
}

fn value(entry: &str) -> f64 {
    entry.rsplit_once(':').unwrap().1.parse().unwrap()
}

#[test]
fn a_store_beside_its_file_belongs_to_it_however_that_is_named() {
    let bench = Workbench::new();
    bench.file("shop.csv", shop(300, 1));
    bench.ok("train shop.csv --label price -o m.towm");
    for same in ["./shop.csv --label price", "shop.csv --label price --number age"] {
        bench.ok(&format!("train {same} -o m.towm --restart"));
    }
    let refused = bench.run("train shop.csv --label price --category zip -o m.towm --restart");
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(refused.stderr.contains("--category zip"), "{}", refused.stderr);
    bench.file("shop.csv", shop(301, 1));
    let changed = bench.run("train ./shop.csv --label price -o m.towm --restart");
    assert!(changed.stderr.contains("has changed since"), "{}", changed.stderr);
}

#[test]
fn the_loss_of_classes_follows_from_the_columns() {
    let bench = Workbench::new();
    let rows = |text: bool| -> String {
        let mut random = Random(3);
        let cell = |random: &mut Random| match text {
            true => ["red", "blue", "old", "new", "big"]
                .map(|word| if random.fraction() < 0.6 { word } else { "x" })
                .join(" "),
            false => format!("{:.3}", random.fraction()),
        };
        let lines = (0..60).map(|row| format!("{},{}\n", ["no", "yes"][row % 2], cell(&mut random)));
        std::iter::once("y,about\n".to_string()).chain(lines).collect()
    };
    for (name, text, loss) in [("numbers", false, "logistic"), ("words", true, "squared-hinge")] {
        bench.file(&format!("{name}.csv"), rows(text));
        bench.ok(&format!("train {name}.csv --label y {} -o {name}.towm", if text { "--text about" } else { "" }));
        let info = bench.ok(&format!("info {name}.towm"));
        assert!(info.contains(&format!("{loss} loss")), "{info}");
    }
    bench.file("rows.svm", "+1 1:1 2:0.5\n-1 1:-1 3:0.2\n+1 2:1\n-1 3:1\n");
    bench.ok("train rows.svm -o rows.towm");
    assert!(bench.ok("info rows.towm").contains(" hinge loss"));
}

#[test]
fn a_header_with_numbers_among_its_names() {
    let bench = Workbench::new();
    bench.file("a.csv", "y,2019,2020\nno,1.5,2\nyes,3,4.5\nno,1,2.5\n");
    bench.ok("pack a.csv -o a.tow -q --label y");
    assert!(bench.ok("info a.tow").contains("2020: number"));
}
