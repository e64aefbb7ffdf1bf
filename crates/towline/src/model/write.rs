//! Writing a model with the names of a store's features, in the memory of its weights and little more.
//!
//! The names come by in the order of columns, as often as needed. A model lists feature numbers in ascending order: as
//! many as memory holds are picked in each round, the least of those that have not been written.
use std::io;

use super::file::{Checked, check_finite};
use super::{Data, Header, MAGIC, ModelError, Reporting};
use crate::budget::{Budget, Reservation};
use crate::engine::Trained;
use crate::objective::Objective;
use crate::output::OutputFile;
use crate::store::features::{Columns, FeatureName, Scaling};
use crate::store::{BlockStore, DiskStore, StoreError};

/// What putting features in order takes at least, where there are many.
const ORDER_BYTES: u64 = 1 << 20;

/// What writing a model of so many columns takes besides the weights, at least.
pub fn writing_bytes(columns: u64) -> u64 {
    ORDER_BYTES.min(2 * columns.saturating_mul(size_of::<Kept>() as u64))
}

/// Writes models of a store.
pub struct ModelWriter<'a> {
    store: &'a DiskStore,
    budget: &'a Budget,
    reporting: Reporting,
    /// Taken before a run, so that there is room for it in the end.
    paid: Reservation,
}

/// A feature that has weights.
#[derive(Clone, Copy)]
struct Kept {
    number: u64,
    factor: f64,
    column: u32,
}

impl<'a> ModelWriter<'a> {
    /// Sets aside what writing takes.
    pub fn new(store: &'a DiskStore, budget: &'a Budget) -> Result<Self, ModelError> {
        let paid = budget.reserve("the model on its way to disk", writing_bytes(store.shape().columns))?;
        Ok(ModelWriter { store, budget, reporting: Reporting::default(), paid })
    }

    /// The same with what is told of the models.
    pub fn reporting(mut self, reporting: Reporting) -> Self {
        self.reporting = reporting;
        self
    }

    /// Writes the weights of a training run: of one model with one output or several, or of one model per class.
    /// Returns what is known of the model besides its weights, and how many features have one.
    pub fn write(
        &mut self,
        trained: &[Trained],
        objective: &Objective,
        place: &mut OutputFile,
    ) -> Result<(Header, u64), ModelError> {
        let weights = Weights::new(trained, objective);
        let path = place.path().to_path_buf();
        let failed = |error: StoreError| match error {
            StoreError::Budget(refused) => refused.into(),
            error => ModelError::Store(error),
        };
        let (intercepts, count) = self.look(&weights).map_err(failed)?;
        let header = Header {
            reporting: self.reporting.clone(),
            ..Header::of(trained, objective, Data::of(self.store.manifest()), intercepts)
        };
        let unfit = |problem: String| ModelError::Unfit { path: path.clone(), problem };
        let text = check_finite(&header).map_err(unfit)?;
        if !weights.are_finite() {
            return Err(unfit("a weight is not a finite number".into()));
        }
        let mut trouble = None;
        let written = place.write(|out| {
            let mut out = Checked::new(out);
            out.put(&MAGIC)?;
            out.put(&(text.len() as u64).to_le_bytes())?;
            out.put(&text)?;
            out.put(&count.to_le_bytes())?;
            let body = match header.named_features {
                true => self.write_named(&weights, &mut out),
                false => self.write_numbered(&weights, count, &mut out),
            };
            match body {
                Ok(()) => out.finish(),
                Err(WriteError::Io(error)) => Err(error),
                Err(WriteError::Store(error)) => {
                    trouble = Some(error);
                    Err(io::ErrorKind::Other.into())
                }
            }
        });
        match trouble {
            Some(error) => Err(failed(error)),
            None => written.map(|()| (header, count)).map_err(ModelError::from),
        }
    }

    /// The intercepts, to which shifts of features have been added, and the number of features with weights.
    fn look(&self, weights: &Weights) -> Result<(Vec<f64>, u64), StoreError> {
        let mut intercepts = weights.intercepts();
        let mut count = 0;
        if !self.columns()?.is_scaled() {
            count = (0..weights.columns).filter(|&column| weights.has_any(column)).count() as u64;
            return Ok((intercepts, count));
        }
        self.each_kept(weights, |column, _, scaling| {
            weights.shift(column, scaling, &mut intercepts);
            count += 1;
            Ok::<_, StoreError>(())
        })?;
        Ok((intercepts, count))
    }

    fn columns(&self) -> Result<Columns<'_>, StoreError> {
        self.store.feature_columns(self.budget)
    }

    /// Calls `each` with the columns that have weights, in order.
    fn each_kept<E: From<StoreError>>(
        &self,
        weights: &Weights,
        mut each: impl FnMut(u32, FeatureName, Scaling) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut columns = self.columns()?;
        for column in 0..weights.columns as u32 {
            let Some((name, scaling)) = columns.next()? else {
                let problem = "it has fewer features than the model";
                return Err(StoreError::damaged(self.store.path(), problem).into());
            };
            if weights.has_any(column as usize) {
                each(column, name, scaling.unwrap_or(Scaling::NONE))?;
            }
        }
        Ok(())
    }

    fn write_named(&self, weights: &Weights, out: &mut Checked) -> Result<(), WriteError> {
        let mut end = 0;
        self.each_kept(weights, |_, name, _| {
            end += if let FeatureName::Name(name) = name { name.len() as u64 } else { 0 };
            Ok::<_, WriteError>(out.put(&end.to_le_bytes())?)
        })?;
        self.each_kept(weights, |_, name, _| match name {
            FeatureName::Name(name) => Ok::<_, WriteError>(out.put(name.as_bytes())?),
            FeatureName::Number(_) => Ok(()),
        })?;
        self.each_kept(weights, |column, _, scaling| Ok::<_, WriteError>(weights.put(column, scaling.factor, out)?))
    }

    fn write_numbered(&mut self, weights: &Weights, count: u64, out: &mut Checked) -> Result<(), WriteError> {
        // All that is left may be taken; twice as many as are kept of a round are held.
        let wanted = 2 * count * size_of::<Kept>() as u64;
        let more = wanted.min(self.budget.free_bytes() / 2);
        let paid = self.budget.reserve("the model on its way to disk", more).map_err(StoreError::from)?;
        let room = (((self.paid.bytes() + paid.bytes()) / 2 / size_of::<Kept>() as u64).min(count)).max(1) as usize;
        let mut kept: Vec<Kept> = Vec::with_capacity(2 * room);
        for is_number in [true, false] {
            let (mut written, mut last) = (0, None);
            while written < count {
                // A round that holds all of them serves for numbers and weights.
                if kept.len() as u64 != count {
                    self.pick(weights, last, room, &mut kept)?;
                }
                for one in &kept {
                    match is_number {
                        true => out.put(&one.number.to_le_bytes())?,
                        false => weights.put(one.column, one.factor, out)?,
                    }
                }
                let Some(largest) = kept.last() else {
                    return Err(StoreError::damaged(self.store.path(), "two columns have the same feature").into());
                };
                (written, last) = (written + kept.len() as u64, Some(largest.number));
            }
        }
        Ok(())
    }

    /// Fills `kept` with the features of the `room` least numbers above `last`, in order.
    fn pick(&self, weights: &Weights, last: Option<u64>, room: usize, kept: &mut Vec<Kept>) -> Result<(), StoreError> {
        kept.clear();
        let mut most = u64::MAX;
        self.each_kept(weights, |column, name, scaling| {
            let FeatureName::Number(number) = name else { return Ok(()) };
            if last.is_some_and(|last| number <= last) || number > most {
                return Ok(());
            }
            kept.push(Kept { number, factor: scaling.factor, column });
            if kept.len() == 2 * room {
                most = kept.select_nth_unstable_by_key(room - 1, |one| one.number).1.number;
                kept.truncate(room);
            }
            Ok::<_, StoreError>(())
        })?;
        kept.sort_unstable_by_key(|one| one.number);
        kept.truncate(room);
        Ok(())
    }
}

enum WriteError {
    Io(io::Error),
    Store(StoreError),
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        WriteError::Io(error)
    }
}

impl From<StoreError> for WriteError {
    fn from(error: StoreError) -> Self {
        WriteError::Store(error)
    }
}

/// The weights of all models of a run, by column.
pub(super) struct Weights<'a> {
    trained: &'a [Trained],
    width: usize,
    bias: f64,
    pub columns: usize,
    pub outputs: usize,
}

impl<'a> Weights<'a> {
    pub fn new(trained: &'a [Trained], objective: &Objective) -> Self {
        let width = objective.width();
        let columns = trained.first().map_or(0, |model| model.weights.len() / width).saturating_sub(1);
        Weights { trained, width, bias: objective.bias, columns, outputs: trained.len() * width }
    }

    pub fn get(&self, column: usize, output: usize) -> f64 {
        self.trained[output / self.width].weights[column * self.width + output % self.width]
    }

    /// Whether a column has a weight other than 0.
    pub fn has_any(&self, column: usize) -> bool {
        (0..self.outputs).any(|output| self.get(column, output) != 0.0)
    }

    fn are_finite(&self) -> bool {
        self.trained.iter().flat_map(|model| &model.weights).all(|weight| weight.is_finite())
    }

    /// What the constant feature adds to each output.
    pub fn intercepts(&self) -> Vec<f64> {
        (0..self.outputs).map(|output| self.get(self.columns, output) * self.bias).collect()
    }

    /// Takes from the intercepts what the shift of a column has added to its values.
    pub fn shift(&self, column: u32, Scaling { shift, factor }: Scaling, intercepts: &mut [f64]) {
        for (output, intercept) in intercepts.iter_mut().enumerate() {
            *intercept -= self.get(column as usize, output) * factor * shift;
        }
    }

    fn put(&self, column: u32, factor: f64, out: &mut Checked) -> io::Result<()> {
        (0..self.outputs).try_for_each(|output| out.put(&(self.get(column as usize, output) * factor).to_le_bytes()))
    }
}
