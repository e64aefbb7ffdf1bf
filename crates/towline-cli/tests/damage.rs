//! Stores whose files are damaged by accident, or forged under correct checksums: what is wrong is found or does no
//! harm; nothing panics, and nothing asks for memory that the budget has not granted.
mod workbench;

use std::alloc::{GlobalAlloc, Layout as MemoryLayout, System};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use towline::block::{Block, RowInfo};
use towline::budget::Budget;
use towline::fourier::FourierMap;
use towline::input::libsvm::Precision;
use towline::input::{Input, Progress};
use towline::pack::{FourierKept, PackOptions, pack};
use towline::store::features::FeatureMap;
use towline::store::manifest::Scale;
use towline::store::writer::Existing;
use towline::store::{BlockId, BlockStore, DiskStore, ReadBuffers, StoreError, verify};
use workbench::random::{Random, Table, Values};
use workbench::{Workbench, contents, forge};

/// Remembers the largest piece of memory that anybody asked for.
struct Watched;

static LARGEST_REQUEST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: MemoryLayout) -> *mut u8 {
        LARGEST_REQUEST.fetch_max(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: MemoryLayout) {
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: MemoryLayout, size: usize) -> *mut u8 {
        LARGEST_REQUEST.fetch_max(size, Ordering::Relaxed);
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// The stores have a few kilobytes; whoever reads them needs no more than this.
const BUDGET_BYTES: u64 = 4 << 20;

/// What a user sees of a store: every row with its features by name.
type Contents = Vec<(RowInfo, Vec<(String, u64)>)>;

/// Reads everything, as `verify` and then `cat` do.
fn read(path: &Path) -> Result<Contents, String> {
    let store = DiskStore::open(path).map_err(|error| error.to_string())?;
    let budget = Budget::new(BUDGET_BYTES);
    let faults = verify(&store, &budget, |_| {}).map_err(|error| error.to_string())?;
    if let Some(fault) = faults.first() {
        return Err(fault.to_string());
    }
    rows(&store, &budget).map_err(|error| format!("verify found nothing, but {error}"))
}

fn rows(store: &DiskStore, budget: &Budget) -> Result<Contents, StoreError> {
    let features = FeatureMap::read(store.path(), store.manifest(), budget)?;
    let mut block = Block::new(store.shape().layout, store.shape().columns as usize);
    let mut rows = Vec::new();
    for id in 0..store.blocks().len() as u32 {
        block.clear();
        store.read(BlockId(id), &mut ReadBuffers::default(), &mut block)?;
        for i in 0..block.rows() {
            let entries = block.row(i).iter().map(|(column, v)| (features.name(column).to_string(), v.to_bits()));
            rows.push((block.info(i), entries.collect()));
        }
    }
    Ok(rows)
}

/// Small stores of every layout.
fn stores(bench: &Workbench) -> Vec<PathBuf> {
    let mut random = Random(21);
    let mut stores = Vec::new();
    let sparse = Table { rows: 60, features: 30, row_values: 8, values: Values::Ones, dense: false, groups: false };
    let layouts = [
        ("ones", sparse, Scale::None, Precision::F32),
        ("unit", sparse, Scale::Rows, Precision::F32),
        ("counts", Table { values: Values::Counts, groups: true, ..sparse }, Scale::None, Precision::F32),
        ("floats", Table { values: Values::Floats, features: u64::MAX, ..sparse }, Scale::None, Precision::F32),
        ("dense", Table { values: Values::Floats, features: 5, dense: true, ..sparse }, Scale::Minmax, Precision::F32),
        ("doubles", Table { values: Values::Doubles, ..sparse }, Scale::Standard, Precision::F64),
    ];
    for (name, table, scale, precision) in layouts {
        let store = bench.path(&format!("{name}.tow"));
        // The second generation is half as large and may bring new features.
        for (existing, rows) in [(Existing::Refuse, table.rows), (Existing::Append, table.rows / 2)] {
            let input = bench.file("in.svm", Table { rows, ..table }.text(&mut random));
            let mut options = PackOptions { existing, scale, precision, block_bytes: Some(1500), ..Default::default() };
            options.read.libsvm.precision = precision;
            pack(&[Input::File(input)], &store, &options, &Budget::unlimited(), &Progress::default()).unwrap();
        }
        stores.push(store);
    }
    stores.push(made_features(bench, &mut random));
    stores
}

/// Every file of a store with its contents.
fn files(store: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    contents(store).into_iter().filter_map(|(name, bytes)| Some((store.join(name), bytes?))).collect()
}

/// A place in one of `files`, any byte of them as likely as any other.
fn anywhere(files: &[(PathBuf, Vec<u8>)], random: &mut Random) -> (usize, usize) {
    let mut at = random.below(files.iter().map(|(_, bytes)| bytes.len() as u64).sum()) as usize;
    for (k, (_, bytes)) in files.iter().enumerate() {
        if at < bytes.len() {
            return (k, at);
        }
        at -= bytes.len();
    }
    unreachable!("the place is below the sum of all sizes")
}

/// One test at a time makes stores and damages them: the largest request is that of the whole process.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `damage` and makes sure that it did not make anybody ask for much memory.
fn modestly(damage: impl FnOnce()) {
    LARGEST_REQUEST.store(0, Ordering::Relaxed);
    damage();
    let largest = LARGEST_REQUEST.load(Ordering::Relaxed) as u64;
    assert!(largest <= 2 * BUDGET_BYTES, "somebody asked for {largest} bytes at once");
}

#[test]
fn ten_thousand_flipped_bits_are_found_or_harmless() {
    let _alone = alone();
    const FLIPS: usize = 10_000;
    let bench = Workbench::new();
    let stores = stores(&bench);
    let mut random = Random(22);
    modestly(|| {
        for store in &stores {
            let (whole, files) = (read(store).unwrap(), files(store));
            for _ in 0..FLIPS.div_ceil(stores.len()) {
                let (file, at) = anywhere(&files, &mut random);
                let (path, bytes) = &files[file];
                let bit = random.below(8);
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                std::fs::write(path, damaged).unwrap();
                if let Ok(rows) = read(store) {
                    assert!(rows == whole, "bit {bit} of byte {at} in {} changed rows unseen", path.display());
                }
                std::fs::write(path, bytes).unwrap();
            }
            assert!(read(store).unwrap() == whole);
        }
    });
}

#[test]
fn a_file_of_any_other_length_is_found() {
    let _alone = alone();
    let bench = Workbench::new();
    for store in stores(&bench) {
        for (path, bytes) in files(&store) {
            // Every length of the small files, and every one of the first block file.
            for length in 0..bytes.len() {
                std::fs::write(&path, &bytes[..length]).unwrap();
                // Without its final newline a manifest says the same.
                let harmless = path.ends_with("manifest.json") && length == bytes.len() - 1;
                assert_eq!(read(&store).is_ok(), harmless, "{} cut to {length} bytes", path.display());
            }
            std::fs::write(&path, [&bytes[..], b"x"].concat()).unwrap();
            assert!(read(&store).is_err(), "{} with a byte more", path.display());
            std::fs::write(&path, bytes).unwrap();
        }
    }
}

/// A store whose rows are made when they are read.
fn made_features(bench: &Workbench, random: &mut Random) -> PathBuf {
    let table = Table { rows: 40, features: 30, row_values: 8, values: Values::Counts, dense: false, groups: false };
    let (input, store) = (bench.file("in.svm", table.text(random)), bench.path("made.tow"));
    let options = PackOptions {
        fourier: Some(FourierMap::new(25, 0.5, 1).unwrap()),
        fourier_kept: FourierKept::Seed,
        block_bytes: Some(1500),
        ..Default::default()
    };
    pack(&[Input::File(input)], &store, &options, &Budget::unlimited(), &Progress::default()).unwrap();
    store
}

/// Puts other bytes into a few places.
fn scribble(bytes: &mut [u8], random: &mut Random) {
    for _ in 0..1 + random.below(3) {
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] = match random.below(4) {
            0 => 0,
            1 => 255,
            2 => bytes[at].wrapping_add(1),
            _ => random.next() as u8,
        };
    }
}

#[test]
fn forged_blocks_neither_panic_nor_take_memory() {
    let _alone = alone();
    let bench = Workbench::new();
    let mut random = Random(23);
    for store in stores(&bench) {
        // A store of one block, so that the block is the file.
        let whole = DiskStore::open(&store).unwrap();
        let first = whole.blocks()[0].stored_bytes as usize;
        let path = store.join("blocks/00000.blk");
        let bytes = std::fs::read(&path).unwrap();
        modestly(|| {
            for _ in 0..500 {
                let mut forged = bytes.clone();
                scribble(&mut forged[..first], &mut random);
                forge::sign_block(&mut forged[..first]);
                std::fs::write(&path, forged).unwrap();
                // It may be read, since its checksums are right; it may not do anything else.
                let _ = read(&store);
                let _ = DiskStore::open(&store).unwrap().encodings();
            }
        });
        std::fs::write(&path, bytes).unwrap();
    }
}

#[test]
fn forged_tables_and_maps_neither_panic_nor_take_memory() {
    let _alone = alone();
    let bench = Workbench::new();
    let mut random = Random(24);
    for store in stores(&bench) {
        let files = files(&store);
        modestly(|| {
            for round in 0..300 {
                let list = ["table", "feature_maps"][round % 2];
                forge::listed_file(&store, list, |bytes| scribble(bytes, &mut random));
                let _ = read(&store);
                files.iter().for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
            }
        });
    }
}

/// Every number of a manifest, one after the other, with what an attacker would write there.
#[test]
fn forged_manifests_neither_panic_nor_take_memory() {
    let _alone = alone();
    let bench = Workbench::new();
    for store in stores(&bench) {
        let path = store.join("manifest.json");
        let whole = std::fs::read(&path).unwrap();
        let mut numbers = Vec::new();
        forge::manifest(&store, |manifest| collect_numbers(manifest, String::new(), &mut numbers));
        assert!(numbers.len() > 20);
        modestly(|| {
            for number in &numbers {
                for value in [0, 1, 1 << 31, (1 << 32) - 1, 1 << 40, i64::MAX as u64, u64::MAX - 1, u64::MAX] {
                    std::fs::write(&path, &whole).unwrap();
                    forge::manifest(&store, |manifest| *manifest.pointer_mut(number).unwrap() = value.into());
                    let _ = read(&store);
                }
            }
        });
    }
}

fn collect_numbers(value: &serde_json::Value, path: String, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Number(_) => found.push(path),
        serde_json::Value::Array(items) => {
            items.iter().enumerate().for_each(|(k, item)| collect_numbers(item, format!("{path}/{k}"), found));
        }
        serde_json::Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| collect_numbers(field, format!("{path}/{name}"), found));
        }
        _ => {}
    }
}
