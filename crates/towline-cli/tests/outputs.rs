//! Nothing is lost: what a run writes never takes the place of anything that it was not asked to replace.
#[path = "outputs/append.rs"]
mod append;
#[path = "outputs/inputs.rs"]
mod inputs;
#[path = "outputs/names.rs"]
mod names;
#[path = "outputs/numbers.rs"]
mod numbers;
#[path = "outputs/runs.rs"]
mod runs;
mod workbench;

use workbench::Workbench;

/// A folder with `a.svm`, its store `a.tow` and a model `m.towm`.
fn bench() -> Workbench {
    let bench = Workbench::new();
    bench.file("a.svm", rows(400));
    bench.ok("pack a.svm -o a.tow -q");
    bench.ok("train a.tow -o m.towm -q");
    bench
}

/// Rows of two classes that a model tells apart at once.
fn rows(rows: usize) -> String {
    let row = |i: usize| match i % 2 {
        0 => format!("1 {}:1 30:{}\n", 1 + i * 7 % 14, i % 5),
        _ => format!("-1 {}:1 30:{}\n", 15 + i * 5 % 14, i % 3),
    };
    (0..rows).map(row).collect()
}

/// Names in the folder that no user has made up.
fn made_up(bench: &Workbench) -> Vec<String> {
    let names = bench.contents().into_keys().map(|name| name.display().to_string());
    names.filter(|name| name.contains("towline-")).collect()
}
