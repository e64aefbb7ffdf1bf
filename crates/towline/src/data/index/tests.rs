//! The forest against plain scans, and against damage.
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::bits::RowBits;
use crate::block::Block;
use crate::budget::Budget;
use crate::input::{Input, Progress};
use crate::loss::AnyLoss;
use crate::objective::{Objective, Targets};
use crate::pack::{PackOptions, pack};
use crate::store::writer::Existing;
use crate::store::{BlockId, BlockStore, DiskStore, ReadBuffers};
use proptest::prelude::*;

const COLUMNS: u64 = 12;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn signed(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// Rows around a few centres, some of them many times, some empty.
fn text(rows: usize, seed: u64) -> String {
    let mut random = Random(seed);
    let centres: Vec<Vec<f64>> = (0..5).map(|_| (0..COLUMNS).map(|_| random.signed().abs()).collect()).collect();
    let mut text: String = "1".to_string() + &(1..=COLUMNS).map(|j| format!(" {j}:1")).collect::<String>() + "\n";
    for i in 1..rows {
        text += if random.next().is_multiple_of(2) { "1" } else { "-1" };
        let centre = &centres[random.next() as usize % centres.len()];
        let noise = if random.next().is_multiple_of(3) { 0.0 } else { 0.3 };
        if i % 50 != 0 {
            for (j, mean) in centre.iter().enumerate() {
                let value = ((mean + noise * random.signed()) as f32 * 8.0).round() / 8.0;
                if value != 0.0 {
                    text += &format!(" {}:{value}", j + 1);
                }
            }
        }
        text.push('\n');
    }
    text
}

fn store(folder: &Path, rows: usize, seed: u64) -> Arc<DiskStore> {
    let (input, path) = (folder.join("rows.svm"), folder.join("rows.tow"));
    std::fs::write(&input, text(rows, seed)).unwrap();
    let options = PackOptions { block_bytes: Some(4000), ..PackOptions::default() };
    pack(&[Input::File(input)], &path, &options, &Budget::unlimited(), &Progress::default()).unwrap();
    Arc::new(DiskStore::open(path).unwrap())
}

fn options(seed: u64) -> IndexOptions {
    IndexOptions { tree_rows: 150, fan_out: 4, leaf_bytes: 1500, seed, ..IndexOptions::default() }
}

fn indexed(folder: &Path, rows: usize, seed: u64) -> (Arc<DiskStore>, Arc<Forest>) {
    let store = store(folder, rows, seed);
    build(&store, &options(seed), &Budget::unlimited(), |_| {}).unwrap().unwrap();
    let forest = Forest::open(&store, &Budget::unlimited()).unwrap();
    (store, Arc::new(forest))
}

/// All rows of a store, in order.
fn all(store: &dyn BlockStore) -> Block {
    let mut block = Block::new(store.shape().layout, store.shape().columns as usize);
    let mut buffers = ReadBuffers::default();
    (0..store.blocks().len() as u32).for_each(|id| store.read(BlockId(id), &mut buffers, &mut block).unwrap());
    block
}

fn objective(bias: f64) -> Objective {
    let names = ["-1".to_string(), "1".to_string()];
    let targets = Targets::Binary { positive: 1.0, names, weights: [1.0, 1.0] };
    let loss = AnyLoss::named("hinge").unwrap();
    Objective { bias, ..Objective::new(loss, 1.0, targets) }
}

fn weights(random: &mut Random, length: f64) -> Vec<f64> {
    (0..=COLUMNS).map(|_| random.signed() * length).collect()
}

#[test]
fn every_row_is_in_one_leaf() {
    let folder = tempfile::tempdir().unwrap();
    let (store, forest) = indexed(folder.path(), 1000, 1);
    assert!(verify(&store, &Budget::unlimited(), |_| {}).unwrap().is_empty());
    assert!(forest.manifest().trees >= 6 && forest.manifest().leaves > 50, "{:?}", forest.manifest());
    let rows = all(&*store);
    let (mut leaves, mut buffers) = (Block::new(forest.layout(), forest.columns()), ReadBuffers::default());
    for number in (0..forest.nodes().len() as u32).filter(|&number| forest.nodes()[number as usize].is_leaf()) {
        forest.read(number, &mut buffers, &mut leaves).unwrap();
    }
    assert_eq!(rows.rows(), leaves.rows());
    for (i, &position) in leaves.ids().iter().enumerate() {
        let position = position as usize;
        assert!(leaves.row(i).iter().eq(rows.row(position).iter()), "row {position}");
        assert_eq!(leaves.labels()[i], rows.labels()[position]);
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), 400, 2);
    let files = || {
        build(&store, &options(5), &Budget::unlimited(), |_| {}).unwrap().unwrap();
        let read = |name: &str| std::fs::read(store.path().join("index").join(name)).unwrap();
        [read("index.json"), read("nodes.tab"), read("pages.dat")]
    };
    assert_eq!(files(), files());
}

#[test]
fn a_small_budget_makes_smaller_trees_and_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), 3000, 3);
    let options = IndexOptions { tree_rows: 3000, fan_out: 4, leaf_bytes: 1500, ..IndexOptions::default() };
    let budget = Budget::new(1_700_000);
    let built = build(&store, &options, &budget, |_| {}).unwrap().unwrap();
    assert!(budget.peak_bytes() <= 1_700_000);
    assert!(built.manifest.trees > 1, "{:?}", built.manifest);
    let error = build(&store, &options, &Budget::new(10_000), |_| {}).unwrap_err();
    assert!(matches!(error, crate::store::StoreError::Budget(_)), "{error}");
    assert_eq!(Forest::open(&store, &Budget::unlimited()).unwrap().manifest(), &built.manifest, "the old one stays");
    assert!(!store.path().join("index.partial").exists());
}

#[test]
fn the_bounds_of_a_node_hold() {
    let folder = tempfile::tempdir().unwrap();
    let (store, forest) = indexed(folder.path(), 800, 4);
    let rows = all(&*store);
    let mut random = Random(9);
    let mut narrow = 0;
    for _ in 0..20 {
        let w = weights(&mut random, 3.0);
        let length = w[..COLUMNS as usize].iter().map(|w| w * w).sum::<f64>().sqrt();
        for (number, node) in forest.nodes().iter().enumerate().filter(|(_, node)| !node.is_leaf()) {
            let mut pivots = Block::new(forest.layout(), forest.columns());
            forest.read(number as u32, &mut ReadBuffers::default(), &mut pivots).unwrap();
            for (k, child) in node.children().enumerate() {
                let child = &forest.nodes()[child as usize];
                if !child.is_leaf() {
                    continue;
                }
                let pivot = pivots.row(k);
                let (low, high) = bounds::margins(child, pivot.dot(&w), pivot.sq_norm().sqrt(), length);
                narrow += usize::from(high - low < length);
                let mut page = Block::new(forest.layout(), forest.columns());
                let at = forest.nodes().iter().position(|node| node == child).unwrap() as u32;
                forest.read(at, &mut ReadBuffers::default(), &mut page).unwrap();
                for &position in page.ids() {
                    let z = rows.row(position as usize).dot(&w);
                    assert!((low..=high).contains(&z), "{z} is not between {low} and {high}");
                }
            }
        }
    }
    assert!(narrow > 100, "bounds that say nothing always hold");
}

/// Rows that satisfy (10), by a plain scan.
fn plain(rows: &Block, question: &Question) -> Vec<u64> {
    let constant = |w: &[f64]| question.objective.bias() * w[w.len() - 1];
    let matters = |i: usize| {
        let (y, _) = question.objective.of_row(&rows.info(i));
        let margin = |w: &[f64]| y * (rows.row(i).dot(w) + constant(w));
        margin(question.reference) >= question.threshold && margin(question.weights) < 1.0
    };
    (0..rows.rows()).filter(|&i| matters(i)).map(|i| i as u64).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_search_finds_what_a_scan_finds(seed in 0u64..1000, bias in 0u8..2, wanted in 1u64..80, length in 1u8..6) {
        let folder = tempfile::tempdir().unwrap();
        let (store, forest) = indexed(folder.path(), 500, seed);
        let rows = all(&*store);
        let mut random = Random(seed);
        let objective = objective(f64::from(bias));
        let (w, reference) = (weights(&mut random, f64::from(length)), weights(&mut random, f64::from(length)));
        let question = Question { weights: &w, reference: &reference, objective: &objective, threshold: -1.0, wanted, far: 1.0, sampled: false };
        let expected = plain(&rows, &question);
        let budget = Budget::new(1 << 20);
        let mut search = Search::new(forest.clone(), seed, &budget).unwrap();
        let mut pages = PageCache::new(forest, &budget).unwrap();
        let mut found = Vec::new();
        loop {
            let before = found.len() as u64;
            let answer = search.ask(&question, &mut pages, || true, |page, i| {
                found.push(page.ids()[i]);
                true
            }).unwrap();
            prop_assert_eq!(answer.found, found.len() as u64 - before);
            prop_assert!(answer.found <= wanted && answer.found <= answer.looked);
            if answer.exhausted {
                break;
            }
            prop_assert_eq!(answer.found, wanted);
        }
        // Each of them, once, and nothing else.
        let mut sorted = found.clone();
        sorted.sort_unstable();
        prop_assert_eq!(&sorted, &expected);
        // What was far off comes back, what is active does not.
        let other: Vec<f64> = w.iter().map(|w| w * 0.1).collect();
        let question = Question { weights: &other, ..question };
        let mut active = RowBits::new(500);
        expected.iter().for_each(|&position| active.set(position, true));
        search.recover(Some(&active));
        let mut more = expected;
        while !search.ask(&question, &mut pages, || true, |page, i| { more.push(page.ids()[i]); true }).unwrap().exhausted {}
        let mut wanted = plain(&rows, &question);
        wanted.extend(found);
        wanted.sort_unstable();
        wanted.dedup();
        more.sort_unstable();
        prop_assert_eq!(more, wanted);
    }
}

#[test]
fn what_is_settled_is_not_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let (_store, forest) = indexed(folder.path(), 600, 7);
    let budget = Budget::unlimited();
    let mut search = Search::new(forest.clone(), 0, &budget).unwrap();
    let mut pages = PageCache::new(forest.clone(), &budget).unwrap();
    let objective = objective(0.0);
    let w = vec![0.0; COLUMNS as usize + 1];
    let question = Question {
        weights: &w,
        reference: &w,
        objective: &objective,
        threshold: -1.0,
        wanted: 10_000,
        far: 1.0,
        sampled: false,
    };
    // At w = 0 every row matters.
    let first = search.ask(&question, &mut pages, || true, |_, _| true).unwrap();
    assert_eq!((first.found, first.looked, first.exhausted), (600, 600, true));
    let read = pages.bytes_read();
    assert_eq!(read, forest.manifest().pages.bytes, "every page once");
    assert_eq!(search.ask(&question, &mut pages, || true, |_, _| true).unwrap().looked, 0);
    assert_eq!(pages.bytes_read(), read);
    // A cache that has to let everything go reads again.
    let small = Budget::new(200_000);
    let mut pages = PageCache::new(forest, &small).unwrap();
    let hog = small.reserve("others", small.free_bytes()).unwrap();
    for _ in 0..2 {
        search.recover(None);
        search.ask(&question, &mut pages, || true, |_, _| true).unwrap();
    }
    assert_eq!(pages.bytes_read(), 2 * read);
    assert_eq!(pages.held_bytes(), 0);
    drop(hog);
}

#[test]
fn a_sample_ends_a_search_that_finds_little() {
    let folder = tempfile::tempdir().unwrap();
    let (store, forest) = indexed(folder.path(), 2000, 8);
    let budget = Budget::unlimited();
    let objective = objective(0.0);
    let w = weights(&mut Random(3), 1.0);
    let mut search = Search::new(forest.clone(), 0, &budget).unwrap();
    let mut pages = PageCache::new(forest, &budget).unwrap();
    let mut question = Question {
        weights: &w,
        reference: &w,
        objective: &objective,
        threshold: -1.0,
        wanted: 20,
        far: 1.0,
        sampled: false,
    };
    let all = plain(&all(&*store), &question).len() as u64;
    let mut found = 0;
    while found + 15 < all {
        question.wanted = (all - 15 - found).min(20);
        found += search.ask(&question, &mut pages, || true, |_, _| true).unwrap().found;
    }
    question.wanted = 400;
    question.sampled = true;
    let answer = search.ask(&question, &mut pages, || true, |_, _| true).unwrap();
    assert!(answer.found < 400 && !answer.exhausted && answer.looked < 2000, "{answer:?}");
}

#[test]
fn every_flipped_byte_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = indexed(folder.path(), 40, 10);
    let mut random = Random(11);
    let mut checked = BTreeMap::new();
    for name in ["index.json", "nodes.tab", "pages.dat"] {
        let path = store.path().join("index").join(name);
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (random.next() % 8);
            std::fs::write(&path, &bytes).unwrap();
            let faults = verify(&store, &Budget::unlimited(), |_| {}).unwrap();
            assert!(!faults.is_empty(), "{name}: byte {at}");
            *checked.entry(name).or_insert(0) += 1;
        }
        for cut in [0, whole.len() / 2, whole.len() - 2] {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert!(!verify(&store, &Budget::unlimited(), |_| {}).unwrap().is_empty(), "{name} cut to {cut}");
        }
        std::fs::write(&path, &whole).unwrap();
    }
    assert!(checked["pages.dat"] > 1000 && verify(&store, &Budget::unlimited(), |_| {}).unwrap().is_empty());
}

#[test]
fn a_forged_table_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (_store, forest) = indexed(folder.path(), 300, 12);
    let mut random = Random(13);
    let mut table = Vec::new();
    forest.nodes().iter().for_each(|node| node.write(&mut table));
    let bytes = forest.manifest().pages.bytes;
    assert_eq!(nodes::parse(&table, bytes, 300).unwrap(), forest.nodes());
    // Bytes behind a checksum that holds: whatever is accepted is a tree.
    for _ in 0..3000 {
        let mut forged = table.clone();
        let at = random.next() as usize % forged.len();
        forged[at] = random.next() as u8;
        if let Ok(nodes) = nodes::parse(&forged, bytes, 300) {
            for (number, node) in nodes.iter().enumerate() {
                assert!(node.children().all(|child| nodes[child as usize].parent == number as u32));
            }
        }
    }
}

#[test]
fn an_index_of_other_rows_is_refused_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = indexed(folder.path(), 200, 14);
    let more = folder.path().join("more.svm");
    std::fs::write(&more, text(50, 15)).unwrap();
    let append = PackOptions { existing: Existing::Append, block_bytes: Some(4000), ..PackOptions::default() };
    let budget = Budget::unlimited();
    pack(&[Input::File(more)], store.path(), &append, &budget, &Progress::default()).unwrap();
    let grown = Arc::new(DiskStore::open(store.path()).unwrap());
    let error = Forest::open(&grown, &budget).unwrap_err().to_string();
    assert!(error.contains("generation 1 with 200 rows, and the store is at generation 2 with 250"), "{error}");
    assert!(error.contains("`index("), "{error}");
    build(&grown, &options(1), &budget, |_| {}).unwrap().unwrap();
    assert_eq!(Forest::open(&grown, &budget).unwrap().rows(), 250);
    std::fs::remove_dir_all(grown.path().join("index")).unwrap();
    assert!(Forest::open(&grown, &budget).unwrap_err().to_string().contains("it has no index"));
}
