//! Damages or forges files of a store, a model and dual variables, one after the other, and reads them in one process.
//!
//! ```text
//! damaged FOLDER flip|forge SEED COUNT
//! ```
//! FOLDER has `a.tow` with an index, `m.towm` and `m.towm.duals`, and may have `k.towm.duals` of several models. A file
//! that was flipped, cut or made longer is found out, or reads as
//! before. One that was forged under right checksums is refused or makes sense: nothing panics, and what is trained on
//! it has a true certificate. Prints a line for
//! each that is wrong, and at the end how many were tried. `benchmarks/faults.py` runs it.
use std::collections::hash_map::DefaultHasher;
use std::error::Error;
use std::hash::Hasher;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde_json::Value;
use towline::block::Block;
use towline::budget::Budget;
use towline::index::{self, IndexManifest};
use towline::loss::{AnyLoss, Loss};
use towline::model::Model;
use towline::objective::{Objective, Targets};
use towline::store::{self, BlockId, BlockStore, DiskStore, ReadBuffers};
use towline::trainer::{Checkpoint, Checkpoints, StoreFingerprint, TrainOptions, train};

type Told<T> = Result<T, Box<dyn Error>>;

fn main() -> Told<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [folder, kind, seed, count] = &words[..] else { return Err("damaged FOLDER flip|forge SEED COUNT".into()) };
    let folder = Path::new(folder);
    std::panic::set_hook(Box::new(|_| {}));
    let mut files = Vec::new();
    list(folder, &mut files)?;
    let pristine: Vec<(PathBuf, Vec<u8>)> =
        files.into_iter().map(|path| std::fs::read(&path).map(|bytes| (path, bytes))).collect::<Result<_, _>>()?;
    let (first, count): (u64, u64) = (seed.parse()?, count.parse()?);
    let whole: Vec<Option<u64>> = pristine.iter().map(|(path, _)| read(folder, path, false).ok()).collect();
    assert!(whole.iter().all(Option::is_some), "the folder is not whole");
    let mut wrong = 0;
    for seed in first..first + count {
        let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(seed));
        let number = random.below(pristine.len() as u64) as usize;
        let (path, bytes) = &pristine[number];
        let changed: Vec<PathBuf> = if kind == "flip" {
            std::fs::write(path, random.damage(bytes))?;
            vec![path.clone()]
        } else {
            forge(folder, path, bytes, &mut random)?
        };
        let is_forged = kind == "forge";
        let outcome = catch_unwind(AssertUnwindSafe(|| read(folder, path, is_forged)));
        let problem = match outcome {
            Err(_) => Some("panics".to_string()),
            Ok(Err(error)) if error.to_string().starts_with("FALSE") => Some(error.to_string()),
            Ok(Ok(found)) if !is_forged && Some(found) != whole[number] => Some("reads as something else".to_string()),
            Ok(_) => None,
        };
        if let Some(problem) = problem {
            wrong += 1;
            println!("WRONG seed {seed}: {}: {problem}", path.display());
        }
        for path in &changed {
            let known = pristine.iter().find(|(known, _)| known == path);
            known.map_or(Ok(()), |(path, bytes)| std::fs::write(path, bytes))?;
        }
        if (seed - first) % 1000 == 999 {
            println!("AT {}", seed + 1);
        }
    }
    println!("DONE {count} {wrong}");
    Ok(())
}

fn list(folder: &Path, into: &mut Vec<PathBuf>) -> Told<()> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            list(&path, into)?;
        } else if path.components().any(|part| part.as_os_str() == "a.tow")
            || path.extension().is_some_and(|ending| ending == "towm" || ending == "duals")
        {
            into.push(path);
        }
    }
    Ok(())
}

struct Random(Xoshiro256PlusPlus);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0.next_u64() % limit.max(1)
    }

    /// A flipped bit, a cut, or more bytes.
    fn damage(&mut self, bytes: &[u8]) -> Vec<u8> {
        let (mut bytes, at) = (bytes.to_vec(), self.below(bytes.len() as u64) as usize);
        match self.below(8) {
            0 => bytes.truncate(at),
            1 => bytes.extend((0..1 + self.below(40)).map(|_| self.below(256) as u8).collect::<Vec<_>>()),
            _ if bytes.is_empty() => bytes.push(0),
            _ => bytes[at] ^= 1 << self.below(8),
        }
        bytes
    }

    /// Some bytes in `place` become others.
    fn change(&mut self, bytes: &mut [u8], place: std::ops::Range<usize>) {
        for _ in 0..1 + self.below(4) {
            if place.is_empty() {
                return;
            }
            let at = place.start + self.below(place.len() as u64) as usize;
            let numbers = [0, 1, 0xff, 0x7f, 0x80, self.below(256) as u8];
            bytes[at] = numbers[self.below(6) as usize];
        }
    }

    /// Changes a number, a word or a list in JSON.
    fn change_json(&mut self, mut node: &mut Value) {
        loop {
            let size = match node {
                Value::Array(items) => items.len(),
                Value::Object(fields) => fields.len(),
                _ => 0,
            };
            if size == 0 || self.below(12) == 0 {
                break;
            }
            let at = self.below(size as u64) as usize;
            node = match node {
                Value::Array(items) => &mut items[at],
                Value::Object(fields) => fields.iter_mut().nth(at).map(|field| field.1).expect("there are this many"),
                _ => unreachable!("it has items"),
            };
        }
        let numbers = [0u64, 1, 2, 255, 1 << 31, 1 << 32, 1 << 53, 1 << 63, u64::MAX];
        *node = match self.below(9) {
            0 => Value::Null,
            1 => Value::from("x".repeat(1 + self.below(300) as usize)),
            2 => Value::Array(Vec::new()),
            3 => Value::from(true),
            4 => Value::from([-1.0, 0.5, 1e308, 5e-324][self.below(4) as usize]),
            _ => Value::from(numbers[self.below(9) as usize]),
        };
    }
}

/// Writes a file with changes under checksums that are right again; which files have changed.
fn forge(folder: &Path, path: &Path, bytes: &[u8], random: &mut Random) -> Told<Vec<PathBuf>> {
    let mut bytes = bytes.to_vec();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut changed = vec![path.to_path_buf()];
    if name == "manifest.json" || name == "index.json" {
        let mut whole: Value = serde_json::from_slice(&bytes)?;
        random.change_json(&mut whole["manifest"]);
        bytes = envelope(&whole["manifest"])?;
    } else if name.ends_with(".duals") && bytes[8..16] == [0; 8] {
        forge_checkpoints(&mut bytes, random)?;
    } else if name.ends_with(".towm") || name.ends_with(".duals") {
        let length = u64::from_le_bytes(bytes[8..16].try_into()?) as usize;
        match random.below(2) {
            0 => {
                let mut header: Value = serde_json::from_slice(&bytes[16..16 + length])?;
                random.change_json(&mut header);
                let text = serde_json::to_vec(&header)?;
                let rest = bytes.split_off(16 + length);
                bytes.truncate(8);
                bytes.extend((text.len() as u64).to_le_bytes());
                bytes.extend(text);
                bytes.extend(rest);
            }
            _ => {
                let end = bytes.len() - 4;
                random.change(&mut bytes, 16 + length..end);
            }
        }
        let body = bytes.len() - 4;
        let checksum = crc32c::crc32c(&bytes[..body]).to_le_bytes();
        bytes[body..].copy_from_slice(&checksum);
    } else if bytes.starts_with(b"TOWB") {
        forge_block(&mut bytes, random);
    } else {
        let end = bytes.len();
        random.change(&mut bytes, 0..end);
        changed.extend(sign(folder, &name, &bytes)?);
    }
    std::fs::write(path, bytes)?;
    Ok(changed)
}

fn envelope(manifest: &Value) -> Told<Vec<u8>> {
    let text = serde_json::to_string(manifest)?;
    Ok(format!("{{\"crc32c\":\"{:08x}\",\"manifest\":{text}}}\n", crc32c::crc32c(text.as_bytes())).into_bytes())
}

/// Puts the size and the checksum of a file where manifests name it.
fn sign(folder: &Path, name: &str, bytes: &[u8]) -> Told<Vec<PathBuf>> {
    let mut files = Vec::new();
    list(folder, &mut files)?;
    files.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    for path in &files {
        let mut whole: Value = serde_json::from_slice(&std::fs::read(path)?)?;
        sign_in(&mut whole["manifest"], name, bytes);
        std::fs::write(path, envelope(&whole["manifest"])?)?;
    }
    Ok(files)
}

fn sign_in(node: &mut Value, name: &str, bytes: &[u8]) {
    if node["name"].as_str().is_some_and(|known| known == name || known.ends_with(&format!("/{name}"))) {
        node["bytes"] = Value::from(bytes.len());
        node["checksum"] = Value::from(crc32c::crc32c(bytes));
    }
    match node {
        Value::Array(items) => items.iter_mut().for_each(|item| sign_in(item, name, bytes)),
        Value::Object(fields) => fields.iter_mut().for_each(|field| sign_in(field.1, name, bytes)),
        _ => {}
    }
}

/// Sections of a block, whose sizes and checksums begin at byte 40.
const SECTIONS: usize = 7;

/// Changes the first block of a file, and makes its checksums right.
fn forge_block(bytes: &mut [u8], random: &mut Random) {
    let header = store::format::HEADER_BYTES;
    let size = |bytes: &[u8], section: usize| {
        let at = 40 + 12 * section;
        u64::from_le_bytes(std::array::from_fn(|k| bytes[at + k])) as usize
    };
    let sizes: Vec<usize> = (0..SECTIONS).map(|section| size(bytes, section)).collect();
    let end = header + sizes.iter().sum::<usize>();
    if end > bytes.len() {
        return;
    }
    match random.below(4) {
        0 => random.change(bytes, 8..40),
        _ => random.change(bytes, header..end),
    }
    let mut begin = header;
    for (section, size) in sizes.into_iter().enumerate() {
        let checksum = crc32c::crc32c(&bytes[begin..begin + size]).to_le_bytes();
        bytes[40 + 12 * section + 8..][..4].copy_from_slice(&checksum);
        begin += size;
    }
    let checksum = crc32c::crc32c(&bytes[..header - 4]).to_le_bytes();
    bytes[header - 4..header].copy_from_slice(&checksum);
}

/// Changes the table of many models, which goes to the end, and the slot that leads to it.
fn forge_checkpoints(bytes: &mut Vec<u8>, random: &mut Random) -> Told<()> {
    let number = |bytes: &[u8], at: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[at + k]));
    let newest = [16, 48].into_iter().max_by_key(|&slot| number(bytes, slot)).unwrap_or(16);
    let (begin, length) = (number(bytes, newest + 8) as usize, number(bytes, newest + 16) as usize);
    let mut table: Value = serde_json::from_slice(&bytes[begin..begin + length])?;
    random.change_json(&mut table);
    let text = serde_json::to_vec(&table)?;
    let place = bytes.len() as u64;
    bytes.extend(&text);
    bytes[newest + 8..newest + 16].copy_from_slice(&place.to_le_bytes());
    bytes[newest + 16..newest + 24].copy_from_slice(&(text.len() as u64).to_le_bytes());
    bytes[newest + 24..newest + 28].copy_from_slice(&crc32c::crc32c(&text).to_le_bytes());
    let checksum = crc32c::crc32c(&bytes[newest..newest + 28]).to_le_bytes();
    bytes[newest + 28..newest + 32].copy_from_slice(&checksum);
    Ok(())
}

/// Reads what this file is a part of; a digest of what was found.
fn read(folder: &Path, path: &Path, is_forged: bool) -> Told<u64> {
    let mut digest = DefaultHasher::new();
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("towm") => digest.write(&Model::load_within(path, &Budget::new(64 << 20))?.0.to_bytes()?),
        Some("duals") => read_duals(path, &mut digest)?,
        _ => read_store(&folder.join("a.tow"), &mut digest, is_forged)?,
    }
    Ok(digest.finish())
}

fn read_duals(path: &Path, digest: &mut DefaultHasher) -> Told<()> {
    let mut add = |found: Checkpoint| -> Told<()> {
        let mut values = vec![0.0; found.count() as usize];
        found.duals()?.next(&mut values)?;
        values.iter().chain(&found.weights()?).for_each(|value| digest.write_u64(value.to_bits()));
        digest.write(&serde_json::to_vec(&found.header)?);
        Ok(())
    };
    const NUMBERS: u64 = 10_000;
    if let Some(found) = Checkpoint::open(path, NUMBERS)? {
        return add(found);
    }
    let all = Checkpoints::open(path, 16, NUMBERS)?.ok_or("there is nothing")?;
    let names = (0..16).map(|model| model.to_string());
    names.filter_map(|name| all.get(&name)).try_for_each(add)
}

fn read_store(path: &Path, digest: &mut DefaultHasher, is_forged: bool) -> Told<()> {
    let budget = Budget::new(64 << 20);
    let store = Arc::new(DiskStore::open_within(path, &budget)?);
    let mut faults = store::verify(&store, &budget, |_| {})?;
    let here = StoreFingerprint::of(store.manifest());
    if IndexManifest::read(store.path())?.is_some_and(|index| index.is_of(&here)) {
        faults.extend(index::verify(&store, &budget, |_| {})?);
    }
    if let Some(fault) = faults.first() {
        return Err(fault.to_string().into());
    }
    let rows = rows(&store)?;
    for i in 0..rows.rows() {
        digest.write(format!("{:?} {:?}", rows.info(i), rows.row(i).iter().collect::<Vec<_>>()).as_bytes());
    }
    let features = store.features(&budget)?;
    (0..features.len() as u32).for_each(|column| digest.write(format!("{:?}", features.name(column)).as_bytes()));
    if is_forged { check_certificate(&store, &rows, &budget) } else { Ok(()) }
}

fn rows(store: &DiskStore) -> Told<Block> {
    let shape = store.shape();
    let (mut rows, mut buffers) = (Block::new(shape.layout, shape.columns as usize), ReadBuffers::default());
    for id in 0..store.blocks().len() as u32 {
        store.read(BlockId(id), &mut buffers, &mut rows)?;
    }
    Ok(rows)
}

/// What a short training on a store that was accepted says of its model is true.
fn check_certificate(store: &Arc<DiskStore>, rows: &Block, budget: &Budget) -> Told<()> {
    let labels = &store.manifest().labels;
    let loss = AnyLoss::named("squared-hinge")?;
    let objective = Objective::new(loss, 1.0, Targets::binary(labels, None)?);
    let options = TrainOptions { max_passes: 20, threads: 1, ..TrainOptions::new(objective.clone()) };
    let trained = train(store.clone(), &options, budget, &mut ())?;
    let mut value = 0.5 * trained.weights.iter().map(|w| w * w).sum::<f64>();
    for i in 0..rows.rows() {
        let (y, c) = objective.row(&rows.info(i));
        value += c * objective.loss.value(y, rows.row(i).dot(&trained.weights));
    }
    let certificate = &trained.certificate;
    let noise = 1e-6 * value.abs().max(1.0);
    let is_true = !value.is_finite()
        || (value - certificate.objective).abs() <= noise && certificate.dual_objective <= value + noise;
    if is_true { Ok(()) } else { Err(format!("FALSE certificate: {value} is {certificate:?}").into()) }
}
