//! The file of a model: written piece by piece, read and checked as a whole.
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use super::{Features, Header, MAGIC, Model, ModelError, VERSION};
use crate::budget::{Budget, Reservation};
use crate::objective::Targets;
use crate::output::{Inputs, Kind, OutputFile};

impl Model {
    /// Writes the model so that the file is whole or not there.
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        self.save_to(&mut OutputFile::open(path, Kind::Model, &Inputs::none())?)
    }

    /// The same at a place that has been claimed, once or more often.
    pub fn save_to(&self, place: &mut OutputFile) -> Result<(), ModelError> {
        let path = place.path().to_path_buf();
        let unfit = |problem: String| ModelError::Unfit { path: path.clone(), problem };
        self.check_finite().map_err(unfit)?;
        let header = serde_json::to_vec(&self.header).map_err(|error| unfit(error.to_string()))?;
        Ok(place.write(|out| self.write(&header, out))?)
    }

    /// Whatever is written can be read: numbers in memory may have grown beyond all bounds.
    fn check_finite(&self) -> Result<(), String> {
        if self.weights.iter().chain(&self.header.intercepts).any(|weight| !weight.is_finite()) {
            return Err("a weight is not a finite number".into());
        }
        // JSON has no words for other numbers, and the reader would miss them.
        let text = serde_json::to_vec(&self.header).map_err(|error| error.to_string())?;
        let read = serde_json::from_slice::<Header>(&text);
        read.map(|_| ()).map_err(|_| "its objective, or what was found of it, is not a finite number".into())
    }

    /// Reads a model and checks all of it.
    pub fn load(path: &Path) -> Result<Model, ModelError> {
        Model::load_within(path, &Budget::unlimited()).map(|(model, _)| model)
    }

    /// The same within a budget; what is paid for the model is to be held as long as it is.
    pub fn load_within(path: &Path, budget: &Budget) -> Result<(Model, Reservation), ModelError> {
        let io = |source| ModelError::Io { path: path.to_path_buf(), action: "read it", source };
        let mut bytes = Vec::new();
        let mut file = File::open(path).map_err(io)?;
        (&file).take(MAGIC.len() as u64).read_to_end(&mut bytes).map_err(io)?;
        // What is no model, or a file of holes, may have any size.
        let size = file.metadata().map_err(io)?.len();
        // The file, and what becomes of it.
        let mut paid = budget.reserve_few("the model", if bytes == MAGIC { size.saturating_mul(2) } else { 0 })?;
        if bytes == MAGIC && bytes.try_reserve_exact(usize::try_from(size).unwrap_or(usize::MAX)).is_err() {
            return Err(damaged(path, format!("its {size} bytes are more than memory holds")));
        } else if bytes == MAGIC {
            file.read_to_end(&mut bytes).map_err(io)?;
        }
        let model = Model::from_bytes(&bytes).map_err(|problem| damaged(path, problem))?;
        drop(bytes);
        paid.resize(model.resident_bytes())?;
        Ok((model, paid))
    }

    /// The file as bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let header = serde_json::to_vec(&self.header)?;
        let mut bytes = Vec::new();
        self.write(&header, &mut bytes).expect("memory takes any bytes");
        Ok(bytes)
    }

    /// Writes the file piece by piece, with its header as JSON: a second model in memory might be too much.
    fn write(&self, header: &[u8], out: &mut dyn Write) -> std::io::Result<()> {
        let mut out = Checked { out, piece: Vec::with_capacity(PIECE_BYTES), checksum: 0 };
        out.put(&MAGIC)?;
        out.put(&(header.len() as u64).to_le_bytes())?;
        out.put(header)?;
        out.put(&(self.features.len() as u64).to_le_bytes())?;
        match &self.features {
            Features::Numbered(numbers) => numbers.iter().try_for_each(|number| out.put(&number.to_le_bytes()))?,
            Features::Named(names) => {
                let mut end = 0u64;
                for name in names {
                    end += name.len() as u64;
                    out.put(&end.to_le_bytes())?;
                }
                names.iter().try_for_each(|name| out.put(name.as_bytes()))?;
            }
        }
        self.weights.iter().try_for_each(|weight| out.put(&weight.to_le_bytes()))?;
        out.finish()
    }

    /// The reverse of [`Model::to_bytes`]; says what is wrong with bytes that are no model.
    pub fn from_bytes(bytes: &[u8]) -> Result<Model, String> {
        let early = || "it ends too early".to_string();
        if !bytes.starts_with(&MAGIC) {
            return Err("this is not a Towline model".into());
        }
        let (body, checksum) = bytes.split_last_chunk::<4>().ok_or_else(early)?;
        if crc32c::crc32c(body) != u32::from_le_bytes(*checksum) {
            return Err("checksum mismatch".into());
        }
        let mut rest = &body[MAGIC.len()..];
        let mut take = |n: u64| -> Result<&[u8], String> {
            let n = usize::try_from(n).map_err(|_| early())?;
            let (taken, after) = rest.split_at_checked(n).ok_or_else(early)?;
            rest = after;
            Ok(taken)
        };
        let length = first_u64(take(8)?);
        let header: Header =
            serde_json::from_slice(take(length)?).map_err(|error| format!("its header is damaged: {error}"))?;
        if header.version != VERSION {
            return Err(format!("model format version {}; this program reads version {VERSION}", header.version));
        }
        if header.hash_bits.is_some_and(|bits| !(1..=31).contains(&bits)) {
            return Err("its number of hash bits is not between 1 and 31".into());
        }
        if let Targets::Classes { classes, .. } | Targets::OneOf { classes, .. } = &header.objective.targets
            && !classes.is_whole()
        {
            return Err("its classes have not one label, name and weight each".into());
        }
        if header.intercepts.is_empty() || header.intercepts.len() != header.outputs() {
            return Err("it has not as many intercepts as outputs".into());
        }
        let count = first_u64(take(8)?);
        let size = count.checked_mul(8).ok_or_else(early)?;
        let numbers: Vec<u64> = take(size)?.as_chunks::<8>().0.iter().map(|&b| u64::from_le_bytes(b)).collect();
        let mut names = Vec::new();
        if header.named_features {
            let text = std::str::from_utf8(take(numbers.last().copied().unwrap_or(0))?)
                .map_err(|_| "a name is not UTF-8".to_string())?;
            let mut start = 0;
            for &end in &numbers {
                names.push(text.get(start..end as usize).ok_or_else(|| "the names overlap".to_string())?.to_string());
                start = end as usize;
            }
        } else if !numbers.is_sorted_by(|a, b| a < b) {
            return Err("its features are not in order".into());
        }
        let size = size.checked_mul(header.intercepts.len() as u64).ok_or_else(early)?;
        let weights: Vec<f64> = take(size)?.as_chunks::<8>().0.iter().map(|&b| f64::from_le_bytes(b)).collect();
        if !rest.is_empty() {
            return Err("it has bytes left over".into());
        }
        if weights.iter().chain(&header.intercepts).any(|w| !w.is_finite()) {
            return Err("a weight is not finite".into());
        }
        let features = if header.named_features { Features::Named(names) } else { Features::Numbered(numbers) };
        Ok(Model { header, features, weights })
    }
}

/// Bytes that are written at a time.
const PIECE_BYTES: usize = 64 << 10;

/// Writes bytes and, in the end, their checksum.
struct Checked<'a> {
    out: &'a mut dyn Write,
    piece: Vec<u8>,
    checksum: u32,
}

impl Checked<'_> {
    fn put(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if self.piece.len() + bytes.len() > PIECE_BYTES {
            self.flush()?;
        }
        self.piece.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.checksum = crc32c::crc32c_append(self.checksum, &self.piece);
        self.out.write_all(&self.piece)?;
        self.piece.clear();
        Ok(())
    }

    fn finish(mut self) -> std::io::Result<()> {
        self.flush()?;
        self.out.write_all(&self.checksum.to_le_bytes())
    }
}

fn first_u64(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|k| bytes[k]))
}

fn damaged(path: &Path, problem: String) -> ModelError {
    ModelError::Damaged { path: path.to_path_buf(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::ALL;
    use crate::objective::{Classes, Multiclass, Objective};
    use crate::trainer::{Cost, Status};

    fn model(names: &[&str], intercepts: usize) -> Model {
        let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
        let classes = Classes { labels: vec![1.0, 2.0, 3.0], names, weights: vec![1.0; 3] };
        let targets = Targets::Classes { classes, multiclass: Multiclass::OneVsRest };
        let header = Header {
            version: VERSION,
            created_by: String::new(),
            objective: Objective::new(ALL[0], 1.0, targets),
            status: Status::Converged,
            certificate: None,
            certificates: Vec::new(),
            cost: Cost::default(),
            baseline: None,
            rows: 3,
            features: 1,
            intercepts: vec![0.0; intercepts],
            unit_rows: false,
            named_features: false,
            hash_bits: None,
            fourier: None,
        };
        Model { header, features: Features::Numbered(vec![4]), weights: vec![0.5; intercepts] }
    }

    #[test]
    fn classes_without_a_name_and_outputs_without_a_class_are_refused() {
        let read = |model: Model| Model::from_bytes(&model.to_bytes().unwrap());
        let whole = model(&["a", "b", "c"], 3);
        assert_eq!(read(whole.clone()), Ok(whole));
        assert!(read(model(&["a"], 3)).unwrap_err().contains("name and weight"));
        assert!(read(model(&["a", "b", "c"], 2)).unwrap_err().contains("intercepts"));
    }

    #[test]
    fn a_model_is_paid_for_while_it_is_read_and_while_it_is_held() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.towm");
        let many = Model {
            features: Features::Numbered((0..40_000).collect()),
            weights: vec![0.5; 120_000],
            ..model(&["a", "b", "c"], 3)
        };
        many.save(&path).unwrap();
        // More than a piece, so that the checksum goes on from one to the next.
        assert_eq!(std::fs::read(&path).unwrap(), many.to_bytes().unwrap());
        let budget = Budget::new(4 << 20);
        let (read, paid) = Model::load_within(&path, &budget).unwrap();
        assert_eq!((read, paid.bytes()), (many, 1_280_000));
        assert!(budget.peak_bytes() > 2 * 1_280_000);
        drop(paid);
        assert_eq!(budget.free_bytes(), 4 << 20);
        let refused = Model::load_within(&path, &Budget::new(1_500_000)).map(drop).unwrap_err();
        assert!(matches!(refused, ModelError::Budget(_)), "{refused}");
    }
}
