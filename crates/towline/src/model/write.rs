//! Writing a model with the names of a store's features, in the memory of its weights and little more.
//!
//! The names come by in the order of columns. A model lists feature numbers in ascending order, and where they do not
//! fit into memory, they are sorted on disk.
use std::io;
use std::path::Path;

use super::file::{Checked, check_finite};
use super::runs::{Kept, SortedRuns, least_bytes};
use super::{Data, Header, MAGIC, ModelError, Reporting};
use crate::budget::{Budget, Reservation};
use crate::engine::{RunRecord, Trained};
use crate::objective::Objective;
use crate::output::OutputFile;
use crate::store::features::{Columns, FeatureName, Scaling};
use crate::store::{BlockStore, DiskStore, StoreError};

/// What writing a model of this many columns takes besides the weights, at least.
pub fn writing_bytes(columns: u64) -> u64 {
    least_bytes(columns)
}

/// Writes models of a store.
pub struct ModelWriter<'a> {
    store: &'a DiskStore,
    budget: &'a Budget,
    reporting: Reporting,
    run: Option<Box<RunRecord>>,
    /// Taken before a run, so that there is room for it in the end.
    paid: Reservation,
}

impl<'a> ModelWriter<'a> {
    /// Sets aside what writing takes.
    pub fn new(store: &'a DiskStore, budget: &'a Budget) -> Result<Self, ModelError> {
        let paid = budget.reserve("the model on its way to disk", writing_bytes(store.shape().columns))?;
        Ok(ModelWriter { store, budget, reporting: Reporting::default(), run: None, paid })
    }

    /// The same with what is told of the models.
    pub fn reporting(mut self, reporting: Reporting) -> Self {
        self.reporting = reporting;
        self
    }

    /// The same with how the models came about.
    pub fn run(mut self, run: Option<Box<RunRecord>>) -> Self {
        self.run = run;
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
            run: self.run.clone(),
            ..Header::of(trained, objective, Data::of(self.store.manifest()), intercepts)
        };
        let unfit = |problem: String| ModelError::Unfit { path: path.clone(), problem };
        let text = check_finite(&header).map_err(unfit)?;
        if !weights.are_finite() {
            return Err(unfit("a weight is not a finite number".into()));
        }
        let mut trouble = None;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let written = place.write(|out| {
            let mut out = Checked::new(out);
            out.put(&MAGIC)?;
            out.put(&(text.len() as u64).to_le_bytes())?;
            out.put(&text)?;
            out.put(&count.to_le_bytes())?;
            let body = match header.named_features {
                true => self.write_named(&weights, &mut out),
                false => self.write_numbered(&weights, count, folder, &mut out),
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

    fn write_numbered(
        &mut self,
        weights: &Weights,
        count: u64,
        folder: &Path,
        out: &mut Checked,
    ) -> Result<(), WriteError> {
        // Half of all that is left may be taken.
        let wanted = count * size_of::<Kept>() as u64;
        let most = wanted.min(self.paid.bytes() + self.budget.free_bytes() / 2);
        let _more = self
            .budget
            .reserve("the model on its way to disk", most.saturating_sub(self.paid.bytes()))
            .map_err(StoreError::from)?;
        let mut runs = SortedRuns::new(folder, (count, self.columns()?.is_scaled()), most.max(self.paid.bytes()));
        self.each_kept(weights, |column, name, scaling| match name {
            FeatureName::Number(number) => runs.add(Kept { number, factor: scaling.factor, column }),
            FeatureName::Name(_) => Ok(()),
        })?;
        runs.end()?;
        let mut last = None;
        runs.each(|one| {
            if last.replace(one.number) == Some(one.number) {
                let problem = "two columns have the same feature";
                return Err(StoreError::damaged(self.store.path(), problem).into());
            }
            Ok::<_, WriteError>(out.put(&one.number.to_le_bytes())?)
        })?;
        runs.each(|one| Ok(weights.put(one.column, one.factor, out)?))
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
