//! The order of rows and columns, and what it does not depend on.
use crate::workbench::random::{Random, Table, Values};
use crate::workbench::{Workbench, contents, sorted_lines};

fn bench_with_rows(rows: u64) -> (Workbench, String) {
    let table = Table { rows, features: 400, row_values: 30, values: Values::Counts, dense: false, groups: true };
    let text = table.text(&mut Random(7));
    let bench = Workbench::new();
    bench.file("in.svm", &text);
    (bench, text)
}

#[test]
fn shuffled_rows_are_the_same_rows() {
    let (bench, text) = bench_with_rows(3000);
    bench.ok("pack in.svm -o out.tow --quiet --block-size 16k");
    let shuffled = bench.ok("cat out.tow");
    assert_ne!(shuffled, text);
    assert_eq!(sorted_lines(&shuffled), sorted_lines(&text));
}

#[test]
fn the_seed_decides_and_nothing_else_does() {
    // Enough rows that the smaller budgets cannot hold them.
    let (bench, _) = bench_with_rows(60_000);
    let pack = |options: &str| {
        bench.ok(&format!("pack in.svm -o out.tow --force --quiet --block-size 64k {options}"));
        contents(&bench.path("out.tow"))
    };
    let expected = pack("--seed 3 --memory 1G --threads 2");
    for options in [
        "--threads 1 --memory 1G",
        "--threads 3 --memory 1G",
        "--threads 2 --memory +12M",
        "--threads 1 --memory +10M",
        "--threads 3 --memory +16M",
    ] {
        // Whole stores may differ in a million bytes; nobody wants to see them.
        assert!(pack(&format!("--seed 3 {options}")) == expected, "{options}");
    }
    let rows = bench.ok("cat out.tow");
    assert!(pack("--seed 4") != expected);
    let others = bench.ok("cat out.tow");
    assert!(rows != others, "another seed is another order");
    assert!(sorted_lines(&rows) == sorted_lines(&others));
}

#[test]
fn rows_in_order_do_not_depend_on_budget_or_threads_either() {
    let (bench, text) = bench_with_rows(60_000);
    let mut stores = Vec::new();
    for options in ["--threads 2 --memory 1G", "--threads 1 --memory +10M", "--threads 3 --memory +16M"] {
        bench.ok(&format!("pack in.svm -o out.tow --force --quiet --block-size 64k --keep-order {options}"));
        assert!(bench.ok("cat out.tow") == text, "{options}");
        stores.push(contents(&bench.path("out.tow")));
    }
    assert!(stores.iter().all(|store| store == &stores[0]));
}

#[test]
fn numbering_columns_by_frequency_changes_no_row() {
    let (bench, text) = bench_with_rows(2000);
    bench.ok("pack in.svm -o renumbered.tow --quiet --keep-order");
    bench.ok("pack in.svm -o plain.tow --quiet --keep-order --no-renumber");
    assert_eq!(bench.ok("cat renumbered.tow"), text);
    assert_eq!(bench.ok("cat plain.tow"), text);
    let blocks = |store: &str| std::fs::read(bench.path(store).join("blocks/00000.blk")).unwrap();
    assert_ne!(blocks("renumbered.tow"), blocks("plain.tow"), "but the columns in the store");
}
