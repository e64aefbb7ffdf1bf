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
use workbench::random::{Random, Table, Values};

/// A folder with `a.svm`, its store `a.tow` and a model `m.towm`.
fn bench() -> Workbench {
    let bench = Workbench::new();
    bench.file("a.svm", rows(400));
    bench.ok("pack a.svm -o a.tow -q");
    bench.ok("train a.tow -o m.towm -q");
    bench
}

fn rows(rows: u64) -> String {
    let table = Table { rows, features: 30, row_values: 5, values: Values::Counts, dense: false, groups: false };
    table.text(&mut Random(71))
}

/// Names in the folder that no user has made up.
fn made_up(bench: &Workbench) -> Vec<String> {
    let names = bench.contents().into_keys().map(|name| name.display().to_string());
    names.filter(|name| name.contains("towline-")).collect()
}
