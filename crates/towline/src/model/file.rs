//! The file of a model, written piece by piece.
use std::io::Write;
use std::path::Path;

use super::{Features, Header, MAGIC, Model, ModelError};
use crate::output::{Inputs, Kind, OutputFile};

impl Model {
    /// Writes the model so that the file is whole or not there.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), ModelError> {
        self.save_to(&mut OutputFile::open(path.as_ref(), Kind::Model, &Inputs::none())?)
    }

    /// The same at a place that has been claimed, once or more often.
    pub fn save_to(&self, place: &mut OutputFile) -> Result<(), ModelError> {
        let path = place.path().to_path_buf();
        let unfit = |problem: String| ModelError::Unfit { path: path.clone(), problem };
        if self.weights.iter().any(|weight| !weight.is_finite()) {
            return Err(unfit("a weight is not a finite number".into()));
        }
        let header = check_finite(&self.header).map_err(unfit)?;
        Ok(place.write(|out| self.write(&header, out))?)
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
        let mut out = Checked::new(out);
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
}

/// The text of a header that can be read: numbers in memory may have grown beyond all bounds.
pub(super) fn check_finite(header: &Header) -> Result<Vec<u8>, String> {
    if header.intercepts.iter().any(|intercept| !intercept.is_finite()) {
        return Err("a weight is not a finite number".into());
    }
    // JSON has no words for other numbers, and the reader would miss them.
    let text = serde_json::to_vec(header).map_err(|error| error.to_string())?;
    let read = serde_json::from_slice::<Header>(&text);
    read.map(|_| text).map_err(|_| "its objective, or what was found of it, is not a finite number".into())
}

/// Bytes that are written at a time.
const PIECE_BYTES: usize = 64 << 10;

/// Writes bytes and, in the end, their checksum.
pub(super) struct Checked<'a> {
    out: &'a mut dyn Write,
    piece: Vec<u8>,
    checksum: u32,
}

impl<'a> Checked<'a> {
    pub fn new(out: &'a mut dyn Write) -> Self {
        Checked { out, piece: Vec::with_capacity(PIECE_BYTES), checksum: 0 }
    }

    pub fn put(&mut self, bytes: &[u8]) -> std::io::Result<()> {
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

    pub fn finish(mut self) -> std::io::Result<()> {
        self.flush()?;
        self.out.write_all(&self.checksum.to_le_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::engine::{Cost, Status};
    use crate::loss::AnyLoss;
    use crate::model::calibration::{Calibration, CalibrationMethod, Curve};
    use crate::model::{NAME_BYTES, VERSION};
    use crate::objective::{Classes, Multiclass, Objective, Targets};

    fn model(names: &[&str], intercepts: usize) -> Model {
        let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
        let classes = Classes::new(vec![1.0, 2.0, 3.0], names, vec![1.0; 3]);
        let targets = Targets::Classes { classes, multiclass: Multiclass::OneVsRest };
        let header = Header {
            version: VERSION,
            created_by: String::new(),
            objective: Objective::new(AnyLoss::named("hinge").unwrap(), 1.0, targets),
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
            reporting: Default::default(),
            schema: None,
            run: None,
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
        // Read piece by piece: there is no second copy.
        assert!((1_280_000..1_500_000).contains(&budget.peak_bytes()), "{}", budget.peak_bytes());
        drop(paid);
        assert_eq!(budget.free_bytes(), 4 << 20);
        let refused = Model::load_within(&path, &Budget::new(1_200_000)).map(drop).unwrap_err();
        assert!(matches!(refused, ModelError::Budget(_)), "{refused}");

        let names = (0..40_000).map(|number| format!("{number}")).collect();
        let header = Header { named_features: true, ..many_header(3) };
        let named = Model { header, features: Features::Named(names), weights: vec![0.5; 120_000] };
        named.save(&path).unwrap();
        let size = path.metadata().unwrap().len();
        // The file, and names that take more room than their letters.
        let room = size + 40_000 * NAME_BYTES as u64;
        let refused = Model::load_within(&path, &Budget::new(room - 1)).map(drop).unwrap_err();
        assert!(matches!(refused, ModelError::Budget(_)), "{refused}");
        assert_eq!(Model::load_within(&path, &Budget::new(room)).unwrap().0, named);
    }

    #[test]
    fn a_calibration_is_kept_and_one_that_does_not_fit_is_refused() {
        let read = |model: &Model| Model::from_bytes(&model.to_bytes().unwrap());
        let mut model = model(&["a", "b", "c"], 3);
        // Without one, files are as they were before there was any.
        assert!(!String::from_utf8_lossy(&model.to_bytes().unwrap()).contains("reporting"));
        let curve = Curve::Sigmoid { slope: 1.5, offset: -0.25 };
        let knots = Curve::Knots { scores: vec![-1.0, 2.0], chances: vec![0.1, 0.9] };
        let calibration = |curves| Some(Calibration { method: CalibrationMethod::Platt, folds: 3, curves });
        model.header.reporting.calibration = calibration(vec![curve.clone(), knots, curve.clone()]);
        assert_eq!(read(&model), Ok(model.clone()));
        let falling = Curve::Knots { scores: vec![0.0, 1.0], chances: vec![0.9, 0.1] };
        for curves in [vec![curve.clone()], vec![curve.clone(), curve, falling]] {
            model.header.reporting.calibration = calibration(curves);
            assert!(read(&model).unwrap_err().contains("calibration"));
        }
    }

    fn many_header(outputs: usize) -> Header {
        model(&["a", "b", "c"], outputs).header
    }
}
