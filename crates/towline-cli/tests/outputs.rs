//! Nothing is lost: what a run writes never takes the place of anything that it was not asked to replace.
mod append;
mod inputs;
mod names;
mod numbers;
mod runs;

use std::process::Child;

use crate::workbench::Workbench;

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

/// Waits until the program has made something with this ending in its name, which it does within a minute or never.
fn wait_for(bench: &Workbench, child: &mut Child, ending: &str) {
    let begin = std::time::Instant::now();
    while made_up(bench).iter().all(|name| !name.ends_with(ending)) {
        assert!(child.try_wait().unwrap().is_none(), "the program has ended before");
        assert!(begin.elapsed().as_secs() < 60, "there is no {ending}");
        std::thread::yield_now();
    }
}

/// Names in the folder that no user has made up. Files come and go meanwhile.
fn made_up(bench: &Workbench) -> Vec<String> {
    let endings = [".towline-new", ".towline-lock", ".towline-unfinished"];
    let (mut folders, mut found) = (vec![bench.path(".")], Vec::new());
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let name = path.strip_prefix(bench.path(".")).unwrap().display().to_string();
            found.extend(endings.iter().any(|ending| name.contains(ending)).then_some(name));
            if path.symlink_metadata().is_ok_and(|known| known.is_dir()) {
                folders.push(path);
            }
        }
    }
    found
}
