//! The dual variables of many models in one file.
//!
//! ```text
//! "TOWDUALS" │ 0 u64 │ slot │ slot │ dual variables, weights and tables, in any order, with gaps
//!
//! slot     number u64 │ first byte of a table u64 │ its bytes u64 │ its CRC-32C u32 │ CRC-32C of the slot u32
//! table    JSON: classes that models share, and for each model its name, header, first byte, bytes and CRC-32C
//! ```
//! What is written goes to places that no table speaks of. Then the table, a sync, and the slot that is not the newest,
//! and a sync: whatever
//! happens, one of the two slots leads to models that are whole. A file per model would take two syncs and two renames
//! for each of them.
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::classes::Classes;
use crate::engine::duals::checkpoint::{Body, Checkpoint, CheckpointError, CheckpointHeader, damaged};
use crate::objective::Targets;
use crate::output::{self, DUALS_MAGIC as MAGIC, Kind};

mod taken_places;

use taken_places::TakenPlaces;

const SLOT_BYTES: u64 = 32;
const SLOTS_BEGIN: u64 = 16;
/// Where anything else may begin.
const HEAD_BYTES: u64 = SLOTS_BEGIN + 2 * SLOT_BYTES;
/// What was saved becomes what another run would find after this time, at the latest.
const COMMIT_AFTER: Duration = Duration::from_secs(10);
/// A table has about four hundred bytes a model.
const LARGEST_ENTRY: u64 = 4 << 10;

/// A file of dual variables of many models.
#[derive(Debug)]
pub struct Checkpoints {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// None until the first model is saved, if there is nothing to go on from.
    file: Option<Arc<File>>,
    room: TakenPlaces,
    /// The number of the newest slot.
    newest: u64,
    table: Option<Range<u64>>,
    entries: BTreeMap<String, Entry>,
    /// Places that nobody needs any more once the table is a new one.
    outdated: Vec<Range<u64>>,
    is_changed: bool,
    committed: Instant,
}

/// A model in the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    header: CheckpointHeader,
    /// Which of the shared classes its targets have, if they have any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    classes: Option<u32>,
    begin: u64,
    bytes: u64,
    checksum: u32,
}

#[derive(Default, Serialize, Deserialize)]
struct Table {
    classes: Vec<Classes>,
    models: BTreeMap<String, Entry>,
}

impl Checkpoints {
    /// A file that will replace what is at `path` when the first model is saved.
    pub fn new(path: &Path) -> Arc<Self> {
        Checkpoints::with(path, None, Table::default(), (0, None), TakenPlaces::new(HEAD_BYTES))
    }

    fn with(
        path: &Path,
        file: Option<Arc<File>>,
        table: Table,
        (newest, place): (u64, Option<Range<u64>>),
        room: TakenPlaces,
    ) -> Arc<Self> {
        let state = State {
            file,
            room,
            newest,
            table: place,
            entries: table.models,
            outdated: Vec::new(),
            is_changed: false,
            committed: Instant::now(),
        };
        Arc::new(Checkpoints { path: path.to_path_buf(), state: Mutex::new(state) })
    }

    /// Opens the file of an earlier run with at most so many models, each of at most so many dual variables and
    /// weights, and checks all of it.
    /// `None` if there is no file, or one of a single model.
    pub fn open(path: &Path, models: u64, numbers: u64) -> Result<Option<Arc<Self>>, CheckpointError> {
        let io = |source| CheckpointError::Io { path: path.to_path_buf(), action: "read it", source };
        let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
        let file = match File::options().read(true).write(true).custom_flags(flags).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(error)),
        };
        let known = file.metadata().map_err(io)?;
        if !known.is_file() {
            return Err(damaged(path, "it is not a plain file".into()));
        }
        if !Checkpoints::is_one(&file).map_err(io)? {
            return Ok(None);
        }
        let file = Arc::new(file);
        let (table, newest) = read(&file, known.len(), models, numbers).map_err(|error| damaged(path, error))?;
        let mut room = TakenPlaces::new(HEAD_BYTES);
        let places = table.models.values().map(Entry::place).chain(newest.1.clone());
        places.for_each(|place| room.take(place));
        // Runs read what they start from while they write.
        room.keep_all();
        Ok(Some(Checkpoints::with(path, Some(file), table, newest, room)))
    }

    /// Whether this is such a file, by its first bytes.
    pub(crate) fn is_one(file: &File) -> io::Result<bool> {
        let mut head = [0; 16];
        Ok(file.read_at(&mut head, 0)? == 16 && head[..8] == MAGIC && head[8..] == [0; 8])
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is known of the model of this name.
    pub fn get(&self, name: &str) -> Option<Checkpoint> {
        let state = self.state();
        let entry = state.entries.get(name)?;
        Some(entry.checkpoint(state.file.as_ref()?))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Of a thread that panicked nothing was committed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, source: io::Error) -> CheckpointError {
        CheckpointError::Io { path: self.path.clone(), action: "write it", source }
    }

    /// Writes what is known of a model, to be found by others once it is committed.
    pub(crate) fn put(&self, name: &str, body: &Body) -> Result<(), CheckpointError> {
        let (file, begin) = {
            let mut state = self.state();
            (self.file(&mut state)?, state.room.place(body.bytes()))
        };
        let mut checksum = 0;
        let mut written = || -> io::Result<()> {
            let mut out = BufWriter::with_capacity(64 << 10, WriteAt { file: &file, at: begin });
            body.write(&mut |bytes: &[u8]| {
                checksum = crc32c::crc32c_append(checksum, bytes);
                out.write_all(bytes)
            })?;
            out.flush()
        };
        let written = written().map_err(|error| self.failed(error));
        let mut state = self.state();
        if let Err(error) = written {
            state.room.give_back(begin..begin + body.bytes());
            return Err(error);
        }
        let entry = Entry { header: body.header.clone(), classes: None, begin, bytes: body.bytes(), checksum };
        if let Some(before) = state.entries.insert(name.to_string(), entry) {
            state.outdated.push(before.place());
        }
        state.is_changed = true;
        if state.committed.elapsed() > COMMIT_AFTER {
            return self.commit_now(&mut state);
        }
        Ok(())
    }

    /// Makes everything that was put what another run finds.
    pub fn commit(&self) -> Result<(), CheckpointError> {
        let mut state = self.state();
        if state.is_changed { self.commit_now(&mut state) } else { Ok(()) }
    }

    /// The file, which is a new one at first.
    fn file(&self, state: &mut State) -> Result<Arc<File>, CheckpointError> {
        if let Some(file) = &state.file {
            return Ok(file.clone());
        }
        let mut head = MAGIC.to_vec();
        head.resize(HEAD_BYTES as usize, 0);
        output::replace(&self.path, Kind::Duals, |out| out.write_all(&head))?;
        let path = output::resolved(&self.path)?;
        let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC;
        let file = File::options().read(true).write(true).custom_flags(flags).open(path);
        let file = Arc::new(file.map_err(|error| self.failed(error))?);
        state.file = Some(file.clone());
        Ok(file)
    }

    fn commit_now(&self, state: &mut State) -> Result<(), CheckpointError> {
        let file = self.file(state)?;
        let text = table_of(&state.entries).map_err(|error| self.failed(error))?;
        let begin = state.room.place(text.len() as u64);
        let place = begin..begin + text.len() as u64;
        let mut write = || -> io::Result<()> {
            file.write_all_at(&text, begin)?;
            file.sync_data()?;
            let number = state.newest + 1;
            file.write_all_at(&slot(number, &place, crc32c::crc32c(&text)), slot_begin(number))?;
            file.sync_data()?;
            state.newest = number;
            Ok(())
        };
        write().map_err(|error| self.failed(error))?;
        // Whatever the other slot still leads to, nobody looks at it.
        let State { outdated, room, .. } = state;
        outdated.drain(..).chain(state.table.replace(place)).for_each(|place| room.give_back(place));
        (state.is_changed, state.committed) = (false, Instant::now());
        Ok(())
    }
}

impl Entry {
    fn place(&self) -> Range<u64> {
        self.begin..self.begin + self.bytes
    }

    fn checkpoint(&self, file: &Arc<File>) -> Checkpoint {
        let weights_begin = self.begin + self.bytes - 8 * self.header.weights;
        Checkpoint { header: self.header.clone(), file: file.clone(), begin: self.begin, weights_begin }
    }

    /// Whether it lies within the file, and what is there is whole.
    fn check(&self, file: &Arc<File>, size: u64, numbers: u64) -> Result<(), Box<dyn std::error::Error>> {
        self.header.check()?;
        let end = self.begin.checked_add(self.bytes).filter(|&end| end <= size && self.begin >= HEAD_BYTES);
        let weights = self.header.weights.checked_mul(8).filter(|&weights| weights <= self.bytes);
        let (Some(end), Some(_)) = (end, weights) else { return Err("it ends too early".into()) };
        // A pair has sixteen bytes.
        if self.bytes > numbers.saturating_mul(16).saturating_add(8) {
            return Err("it has more dual variables and weights than the store has rows and columns".into());
        }
        if checksum_of(file, self.begin..end)? != self.checksum {
            return Err("checksum mismatch".into());
        }
        match self.checkpoint(file).is_sound()? {
            true => Ok(()),
            false => Err("its dual variables are damaged".into()),
        }
    }
}

struct WriteAt<'a> {
    file: &'a File,
    at: u64,
}

impl Write for WriteAt<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write_at(bytes, self.at)?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Slots take turns.
fn slot_begin(number: u64) -> u64 {
    SLOTS_BEGIN + SLOT_BYTES * (number % 2)
}

fn slot(number: u64, table: &Range<u64>, checksum: u32) -> Vec<u8> {
    let mut slot = Vec::with_capacity(SLOT_BYTES as usize);
    [number, table.start, table.end - table.start].iter().for_each(|part| slot.extend(part.to_le_bytes()));
    slot.extend(checksum.to_le_bytes());
    slot.extend(crc32c::crc32c(&slot).to_le_bytes());
    slot
}

/// What a slot says: its number, and where its table is with which checksum.
type Slot = (u64, Range<u64>, u32);

/// Reads a slot, unless it is empty.
fn read_slot(bytes: &[u8; SLOT_BYTES as usize]) -> Result<Option<Slot>, &'static str> {
    if *bytes == [0; SLOT_BYTES as usize] {
        return Ok(None);
    }
    let part = |at: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[at + k]));
    let small = |at: usize| u32::from_le_bytes(std::array::from_fn(|k| bytes[at + k]));
    let end = part(8).checked_add(part(16));
    match end {
        Some(end) if crc32c::crc32c(&bytes[..28]) == small(28) => Ok(Some((part(0), part(8)..end, small(24)))),
        _ => Err("checksum mismatch"),
    }
}

/// The table as text. Classes that many models share are in it once.
fn table_of(entries: &BTreeMap<String, Entry>) -> io::Result<Vec<u8>> {
    let mut table = Table::default();
    for (name, entry) in entries {
        let mut entry = entry.clone();
        if let Targets::OneOf { classes, .. } = &mut entry.header.objective.targets {
            let known = table.classes.iter().position(|known| known == classes);
            let number = known.unwrap_or(table.classes.len());
            let own = std::mem::replace(classes, Classes::new(Vec::new(), Vec::new(), Vec::new()));
            if known.is_none() {
                table.classes.push(own);
            }
            entry.classes = Some(number as u32);
        }
        table.models.insert(name.clone(), entry);
    }
    Ok(serde_json::to_vec(&table)?)
}

type Newest = (u64, Option<Range<u64>>);

/// Reads all of a file. An error is one of the system or a description of the damage.
fn read(file: &Arc<File>, size: u64, models: u64, numbers: u64) -> Result<(Table, Newest), Box<dyn std::error::Error>> {
    let mut head = [0; HEAD_BYTES as usize];
    file.read_exact_at(&mut head, 0)?;
    let mut slots = Vec::new();
    for bytes in head[SLOTS_BEGIN as usize..].as_chunks().0 {
        slots.extend(read_slot(bytes)?);
    }
    let Some((number, place, checksum)) = slots.into_iter().max_by_key(|slot| slot.0) else {
        return Ok((Table::default(), (0, None)));
    };
    let bytes = place.end - place.start;
    if place.start < HEAD_BYTES || place.end > size {
        return Err("it ends too early".into());
    }
    if bytes > (models + 1).saturating_mul(LARGEST_ENTRY) {
        return Err("it is of more models than this run has".into());
    }
    let mut text = vec![0; bytes as usize];
    file.read_exact_at(&mut text, place.start)?;
    if crc32c::crc32c(&text) != checksum {
        return Err("checksum mismatch".into());
    }
    let mut table: Table = serde_json::from_slice(&text).map_err(|error| format!("its table is damaged: {error}"))?;
    for entry in table.models.values_mut() {
        if let (Some(number), Targets::OneOf { classes, .. }) =
            (entry.classes.take(), &mut entry.header.objective.targets)
        {
            let shared = table.classes.get(number as usize).filter(|shared| shared.is_whole());
            *classes = shared.ok_or("its classes are damaged")?.clone();
        }
        entry.check(file, size, numbers)?;
    }
    Ok((table, (number, Some(place))))
}

fn checksum_of(file: &File, place: Range<u64>) -> io::Result<u32> {
    let (mut piece, mut at, mut checksum) = (vec![0; 64 << 10], place.start, 0);
    while at < place.end {
        let bytes = (place.end - at).min(piece.len() as u64) as usize;
        file.read_exact_at(&mut piece[..bytes], at)?;
        checksum = crc32c::crc32c_append(checksum, &piece[..bytes]);
        at += bytes as u64;
    }
    Ok(checksum)
}

#[cfg(test)]
mod tests;
