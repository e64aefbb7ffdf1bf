//! `towline report`, and `--report` of `train`, `cv` and `path`, as a user sees them.
use crate::workbench::Workbench;

/// Rows of a table whose columns have names that pages stumble over.
fn table(rows: usize, seed: usize) -> String {
    let mut text = "label,<script>alert(1)</script>,\"a \"\"quoted\"\" name\",🚀,عربى,same\n".to_string();
    for k in 0..rows {
        let random = |j: usize| ((k * 5 + j + seed) * 2_654_435_761 % 1_000_003) as f64 / 1_000_003.0 - 0.5;
        let label = if random(0) - random(1) + 0.3 * random(2) > 0.0 { "yes" } else { "no" };
        text += &format!("{label},{},{},{},{},3\n", random(0), random(1), random(2), random(3));
    }
    text
}

fn page(bench: &Workbench, name: &str) -> String {
    std::fs::read_to_string(bench.path(name)).unwrap()
}

fn has_sections(page: &str, ids: &[&str]) {
    for id in ids {
        assert!(page.contains(&format!("<section id=\"{id}\">")), "{id}");
    }
}

#[test]
fn training_draws_a_page_with_everything() {
    let bench = Workbench::new();
    bench.file("a.csv", table(300, 1));
    bench.file("t.csv", table(200, 9));
    let said = bench.ok("train a.csv --label label --test t.csv --test-every 0 --report a.html --memory 64M");
    assert!(said.contains("a.html: "), "{said}");
    let text = page(&bench, "a.html");
    has_sections(&text, &["head", "convergence", "memory", "model", "rows", "data"]);
    assert!(text.contains("towline train a.csv --label label --test t.csv"), "the command");
    assert!(text.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && !text.contains("<script>alert"));
    assert!(text.contains("test accuracy") && text.contains("Most wrong") && text.contains("same in all rows"));
    // The model carries its steps, so that the page can be drawn again.
    let said = bench.ok("report a.towm --test t.csv -o again.html --costs 1:9");
    assert!(said.contains("again.html"), "{said}");
    let again = page(&bench, "again.html");
    has_sections(&again, &["head", "convergence", "memory", "model", "rows", "data"]);
    assert!(again.contains("test accuracy") && again.contains("9 for a miss"));
}

#[test]
fn several_models_are_laid_over_each_other() {
    let bench = Workbench::new();
    bench.file("a.csv", table(300, 1));
    bench.file("t.csv", table(100, 5));
    bench.ok("train a.csv --label label -o hinge.towm --loss hinge -q");
    bench.ok("train a.csv --label label -o logistic.towm --loss logistic -q --trace t.jsonl");
    bench.ok("report hinge.towm logistic.towm --test t.csv --trace t.jsonl --trace t.jsonl -o both.html");
    let text = page(&bench, "both.html");
    assert!(text.contains("hinge.towm: area") && text.contains("logistic.towm: area"));
    let said = bench.run("report hinge.towm logistic.towm --test - -o both.html");
    assert!(said.code == Some(1) && said.stderr.contains("only once"), "{}", said.stderr);
}

#[test]
fn paths_and_validations_have_pages() {
    let bench = Workbench::new();
    bench.file("a.csv", table(200, 1));
    bench.ok("cv a.csv --label label -C 0.01..10 --report cv.html --refit -o m.towm -q");
    let text = page(&bench, "cv.html");
    has_sections(&text, &["head", "validation", "model", "data"]);
    assert!(text.contains("least C within one standard error") && text.contains("fold 5"));
    bench
        .ok("path a.csv --label label --loss squared-hinge --penalty l1 --points 8 --test a.csv --report path.html -q");
    let text = page(&bench, "path.html");
    has_sections(&text, &["head", "convergence", "path"]);
    assert!(text.contains("Weights along λ"));
}

#[test]
fn numbers_classes_and_streams_have_pages() {
    let bench = Workbench::new();
    let numbers: String = (0..200).map(|k| format!("{} 1:{} 2:{}\n", k % 13, k % 7, k % 13)).collect();
    bench.file("n.svm", numbers);
    bench.ok("train n.svm --loss squared --report n.html --test n.svm -q");
    let text = page(&bench, "n.html");
    assert!(text.contains("Residuals against predictions") && text.contains("nearly is the number to predict"));
    let classes: String = (0..300).map(|k| format!("{} {}:1 {}:0.5\n", k % 4, 1 + k % 4, 5 + k % 3)).collect();
    bench.file("c.svm", classes);
    bench.ok("train c.svm --multiclass ovr --task classification --report c.html --test c.svm -q");
    let text = page(&bench, "c.html");
    assert!(
        text.contains("Features by class") && text.contains("Confusion matrix") && text.contains("No row is wrong")
    );
    bench.ok("train c.svm --stream --report s.html -o s.towm -q");
    assert!(page(&bench, "s.html").contains("one pass over a stream"));
}

#[test]
fn outputs_are_safe_and_errors_name_what_to_do() {
    let bench = Workbench::new();
    bench.file("a.csv", table(100, 1));
    bench.ok("train a.csv --label label -q");
    bench.file("notes.html", "<!DOCTYPE html><p>mine</p>");
    for (line, part) in [
        ("report a.towm -o notes.html", "a report of ours"),
        ("report a.towm -o a.towm", "a.towm"),
        ("report a.towm --test none.csv", "none.csv"),
        ("report a.towm --trace a.csv", "no line of a trace"),
        ("train a.csv --label label --report a.csv -q", "a.csv"),
    ] {
        let said = bench.run(line);
        assert!(said.code == Some(1) && said.stderr.contains(part), "{line}: {}", said.stderr);
    }
    assert_eq!(page(&bench, "notes.html"), "<!DOCTYPE html><p>mine</p>");
    // A report replaces a report.
    bench.ok("report a.towm");
    bench.ok("report a.towm");
    assert!(page(&bench, "a.html").contains("No labelled rows were given"));
    let said = bench.run("report a.towm --test a.csv --memory 1M");
    assert!(said.code != Some(0) && said.stderr.contains("--memory"), "{}", said.stderr);
}
