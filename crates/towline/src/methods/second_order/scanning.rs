//! Rows that are gone through again and again, and when that has to end.
use crate::block::Row;
use crate::engine::{Pace, Status, TrainError, Watch};

/// Rows that can be gone through again and again, in the same order.
pub trait Rows {
    /// Calls `visit` with the number, values, target and weight of each row that has a part in the objective.
    fn scan(&mut self, visit: impl FnMut(usize, Row, f64, f64)) -> Result<(), TrainError>;

    /// Calls `visit` for the rows with these numbers, which ascend, with their place among them.
    fn scan_some(&mut self, numbers: &[u32], visit: impl FnMut(usize, Row)) -> Result<(), TrainError>
    where
        Self: Sized,
    {
        scan_and_choose(self, numbers, visit)
    }

    /// How many there are at most.
    fn most(&self) -> usize;

    /// Whether they are in memory, so that there is room for some numbers of each of them as well.
    fn are_in_memory(&self) -> bool {
        true
    }

    /// The run has to end: scans go on for a while from now on, to find out what has come of it.
    fn begin_end(&mut self) {}

    /// What says that the run has to end.
    fn watch(&self) -> Option<&Watch> {
        None
    }

    /// What waits for one more scan may have it although the run has to end.
    fn let_end(&mut self) {
        if self.watch().is_some_and(|watch| watch.look().is_some()) {
            self.begin_end();
        }
    }
}

/// Goes over all rows to visit some.
pub fn scan_and_choose<R: Rows>(
    rows: &mut R,
    numbers: &[u32],
    mut visit: impl FnMut(usize, Row),
) -> Result<(), TrainError> {
    let mut place = 0;
    rows.scan(|i, row, _, _| {
        if numbers.get(place) == Some(&(i as u32)) {
            visit(place, row);
            place += 1;
        }
    })
}

/// Looks at the limits of the run during scans.
#[derive(Clone)]
pub struct Scanning {
    watch: Watch,
    /// What a row costs, in values.
    unit: u64,
    is_end: bool,
}

impl Scanning {
    /// For rows that cost about as much as this many values.
    pub fn new(watch: &Watch, unit: u64) -> Self {
        Scanning { watch: watch.clone(), unit, is_end: false }
    }

    /// The same for models of this many outputs, where matrices have a block for each pair of them.
    pub fn with_outputs(self, outputs: u64) -> Self {
        Scanning { unit: self.unit.saturating_mul(outputs * (outputs + 1) / 2), ..self }
    }

    /// The run has to end: scans go on for a while from now on.
    pub fn begin_end(&mut self) {
        self.is_end = true;
    }

    /// The run goes on after all.
    pub fn go_on(&mut self) {
        self.is_end = false;
    }

    /// The run goes on with other limits.
    pub fn go_on_within(&mut self, watch: &Watch) {
        (self.is_end, self.watch) = (false, watch.clone());
    }

    /// What is looked at.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Counts rows of one scan.
    pub fn rows(&self) -> Counted<'_> {
        Counted { scanning: self, pace: self.watch.pace(self.unit) }
    }
}

/// Rows of a scan, counted.
pub struct Counted<'a> {
    scanning: &'a Scanning,
    pace: Pace<'a>,
}

impl Counted<'_> {
    /// The next row comes; an error if the run has to end.
    #[inline(always)]
    pub fn next(&mut self) -> Result<(), TrainError> {
        match self.pace.step() {
            None => Ok(()),
            Some(status) => self.end(status),
        }
    }

    #[cold]
    fn end(&self, status: Status) -> Result<(), TrainError> {
        let Scanning { watch, is_end, .. } = self.scanning;
        if *is_end && watch.lets_end(status) { Ok(()) } else { Err(TrainError::Stopped(status)) }
    }
}
