//! Reading a model: its checksum first, then piece by piece, so that nothing is there twice.
use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

use super::{FIRST_VERSION, Features, Header, MAGIC, Model, ModelError, NAME_BYTES, VERSION};
use crate::budget::{Budget, BudgetError, Reservation};
use crate::objective::Targets;
use crate::schema::Schema;

/// Bytes that are read at a time.
const PIECE_BYTES: usize = 64 << 10;

impl Model {
    /// Reads a model and checks all of it.
    pub fn load(path: impl AsRef<Path>) -> Result<Model, ModelError> {
        Model::load_within(path.as_ref(), &Budget::unlimited()).map(|(model, _)| model)
    }

    /// The same within a budget; what is paid for the model is to be held as long as it is.
    pub fn load_within(path: &Path, budget: &Budget) -> Result<(Model, Reservation), ModelError> {
        let io = |source| ModelError::Io { path: path.to_path_buf(), action: "read it", source };
        let mut file = File::open(path).map_err(io)?;
        if file.metadata().map_err(io)?.is_dir() {
            let is_store = path.join("manifest.json").is_file();
            return Err(ModelError::Folder { path: path.to_path_buf(), is_store });
        }
        // What is no model, or a file of holes, may have any size.
        let mut mark = Vec::new();
        (&file).take(MAGIC.len() as u64).read_to_end(&mut mark).map_err(io)?;
        let size = file.metadata().map_err(io)?.len();
        let mut paid = budget.reserve_few("the model", if mark == MAGIC { size } else { 0 })?;
        if mark == MAGIC {
            file.rewind().map_err(io)?;
        }
        match read(&mut file, size, mark == MAGIC, &mut paid) {
            Ok(model) => Ok((model, paid)),
            Err(Trouble::Io(error)) => Err(io(error)),
            Err(Trouble::Budget(refused)) => Err(refused.into()),
            Err(Trouble::Damaged(problem)) => Err(ModelError::Damaged { path: path.to_path_buf(), problem }),
        }
    }

    /// How many scores the model in a file gives a row, by its header alone; none where that cannot be read.
    pub(crate) fn outputs_in(path: &Path) -> Option<u64> {
        let mut file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|known| known.is_file()))?;
        let size = file.metadata().ok()?.len();
        let mut mark = [0; MAGIC.len()];
        file.read_exact(&mut mark).ok().filter(|()| mark == MAGIC)?;
        let mut body = Body { source: file, left: size.checked_sub(MAGIC.len() as u64)? };
        let length = body.u64().ok().filter(|&length| length <= HEADER_BYTES)?;
        Some(parse_header(&body.take(length).ok()?).ok()?.intercepts.len() as u64)
    }

    /// The reverse of [`Model::to_bytes`]; says what is wrong with bytes that are no model.
    pub fn from_bytes(bytes: &[u8]) -> Result<Model, String> {
        let mut paid = Budget::unlimited().open("the model");
        let found = read(&mut io::Cursor::new(bytes), bytes.len() as u64, bytes.starts_with(&MAGIC), &mut paid);
        found.map_err(|trouble| match trouble {
            Trouble::Io(error) => error.to_string(),
            Trouble::Budget(refused) => refused.to_string(),
            Trouble::Damaged(problem) => problem,
        })
    }
}

/// A header of a few thousand classes is not longer.
const HEADER_BYTES: u64 = 1 << 20;

enum Trouble {
    Io(io::Error),
    Budget(BudgetError),
    Damaged(String),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Trouble::Io(error)
    }
}

impl From<BudgetError> for Trouble {
    fn from(error: BudgetError) -> Self {
        Trouble::Budget(error)
    }
}

fn damaged<T>(problem: impl Into<String>) -> Result<T, Trouble> {
    Err(Trouble::Damaged(problem.into()))
}

/// Reads a model of `size` bytes from its beginning, and grows `paid` to what it takes.
fn read(source: &mut (impl Read + Seek), size: u64, is_model: bool, paid: &mut Reservation) -> Result<Model, Trouble> {
    if !is_model {
        return damaged("this is not a Towline model");
    }
    // The mark, two lengths and the checksum.
    let Some(body) = size.checked_sub(4).filter(|&body| body >= MAGIC.len() as u64) else {
        return damaged("it ends too early");
    };
    check(source, body)?;
    source.seek(io::SeekFrom::Start(MAGIC.len() as u64))?;
    let source = BufReader::with_capacity(PIECE_BYTES, source);
    let mut body = Body { source, left: body - MAGIC.len() as u64 };
    let length = body.u64()?;
    let header = parse_header(&body.take(length)?)?;
    let count = body.u64()?;
    let outputs = header.intercepts.len() as u64;
    let numbers = body.numbers(count)?;
    let mut names = Vec::new();
    if header.named_features {
        paid.grow_few(size.saturating_add(count.saturating_mul(NAME_BYTES as u64)))?;
        names = body.names(&numbers)?;
    } else if !numbers.is_sorted_by(|a, b| a < b) {
        return damaged("its features are not in order");
    }
    let Some(all) = count.checked_mul(outputs) else { return damaged("it ends too early") };
    let weights: Vec<f64> = body.many(all, f64::from_le_bytes)?;
    if body.left > 0 {
        return damaged("it has bytes left over");
    }
    if weights.iter().chain(&header.intercepts).any(|w| !w.is_finite()) {
        return damaged("a weight is not finite");
    }
    let features = if header.named_features { Features::Named(names) } else { Features::Numbered(numbers) };
    let model = Model { header, features, weights };
    paid.resize(model.resident_bytes())?;
    Ok(model)
}

/// Holds the first `body` bytes against the checksum behind them.
fn check(source: &mut impl Read, body: u64) -> Result<(), Trouble> {
    let (mut checksum, mut left, mut piece) = (0, body, vec![0; PIECE_BYTES]);
    while left > 0 {
        let count = left.min(PIECE_BYTES as u64) as usize;
        source.read_exact(&mut piece[..count])?;
        checksum = crc32c::crc32c_append(checksum, &piece[..count]);
        left -= count as u64;
    }
    let mut stored = [0; 4];
    source.read_exact(&mut stored)?;
    if u32::from_le_bytes(stored) == checksum { Ok(()) } else { damaged("checksum mismatch") }
}

fn parse_header(text: &[u8]) -> Result<Header, Trouble> {
    let header: Header = match serde_json::from_slice(text) {
        Ok(header) => header,
        Err(error) => return damaged(format!("its header is damaged: {error}")),
    };
    if !(FIRST_VERSION..=VERSION).contains(&header.version) {
        let found = header.version;
        return damaged(format!(
            "model format version {found}; this program reads versions {FIRST_VERSION} to {VERSION}"
        ));
    }
    if let Some(Err(problem)) = header.schema.as_ref().map(Schema::check) {
        return damaged(format!("its schema is wrong: {problem}"));
    }
    if header.hash_bits.is_some_and(|bits| !(1..=31).contains(&bits)) {
        return damaged("its number of hash bits is not between 1 and 31");
    }
    if let Targets::Classes { classes, .. } | Targets::OneOf { classes, .. } = &header.objective.targets
        && !classes.is_whole()
    {
        return damaged("its classes have not one label, name and weight each");
    }
    if header.intercepts.is_empty() || header.intercepts.len() != header.outputs() {
        return damaged("it has not as many intercepts as outputs");
    }
    if !header.reporting.is_whole(header.intercepts.len()) {
        return damaged("its calibration does not fit to it");
    }
    Ok(header)
}

/// What comes before the checksum.
struct Body<R> {
    source: R,
    left: u64,
}

impl<R: Read> Body<R> {
    /// Says how many bytes are taken; what is not there is not asked for.
    fn claim(&mut self, bytes: Option<u64>) -> Result<usize, Trouble> {
        let Some(left) = bytes.and_then(|bytes| self.left.checked_sub(bytes)) else {
            return damaged("it ends too early");
        };
        let bytes = self.left - left;
        self.left = left;
        usize::try_from(bytes).or_else(|_| damaged(format!("its {bytes} bytes are more than memory holds")))
    }

    fn take(&mut self, bytes: u64) -> Result<Vec<u8>, Trouble> {
        let mut taken = vec![0; self.claim(Some(bytes))?];
        self.source.read_exact(&mut taken)?;
        Ok(taken)
    }

    fn u64(&mut self) -> Result<u64, Trouble> {
        Ok(self.many(1, u64::from_le_bytes)?[0])
    }

    fn numbers(&mut self, count: u64) -> Result<Vec<u64>, Trouble> {
        self.many(count, u64::from_le_bytes)
    }

    fn many<T>(&mut self, count: u64, from: impl Fn([u8; 8]) -> T) -> Result<Vec<T>, Trouble> {
        let bytes = self.claim(count.checked_mul(8))?;
        let mut numbers = Vec::new();
        if numbers.try_reserve_exact(bytes / 8).is_err() {
            return damaged(format!("its {bytes} bytes are more than memory holds"));
        }
        let mut number = [0; 8];
        for _ in 0..bytes / 8 {
            self.source.read_exact(&mut number)?;
            numbers.push(from(number));
        }
        Ok(numbers)
    }

    fn names(&mut self, ends: &[u64]) -> Result<Vec<String>, Trouble> {
        let (mut names, mut start) = (Vec::with_capacity(ends.len()), 0);
        for &end in ends {
            let Some(length) = end.checked_sub(start) else { return damaged("the names overlap") };
            match String::from_utf8(self.take(length)?) {
                Ok(name) => names.push(name),
                Err(_) => return damaged("a name is not UTF-8"),
            }
            start = end;
        }
        Ok(names)
    }
}
