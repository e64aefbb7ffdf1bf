//! Who holds how many bytes.
//!
//! Every structure that grows with the data asks the [`Budget`] first and keeps the [`Reservation`] beside the buffer
//! that it pays for, so that freeing the buffer gives the bytes back. A refused reservation is an ordinary error that
//! says what was wanted, by whom, and what would do.
//!
//! ```
//! use towline::budget::Budget;
//!
//! let budget = Budget::new(1 << 20);
//! let held = budget.reserve("resident rows", 800_000).unwrap();
//! let refused = budget.reserve("read-ahead", 800_000).unwrap_err();
//! assert_eq!(refused.least_bytes, 1_600_000);
//! drop(held);
//! assert!(budget.reserve("read-ahead", 800_000).is_ok());
//! ```
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// More than any machine has, and far enough below the largest number for sums.
const UNLIMITED: u64 = u64::MAX / 4;

/// The bytes that a run may hold, shared by all of its parts.
#[derive(Clone, Debug)]
pub struct Budget {
    ledger: Arc<Mutex<Ledger>>,
    limit_bytes: u64,
    program_bytes: u64,
}

/// What is few.
const FEW_BYTES: u64 = 1 << 20;

/// What the program itself holds of a budget of the whole process.
const PROGRAM: &str = "the program itself";

#[derive(Debug, Default)]
struct Ledger {
    held_bytes: u64,
    peak_bytes: u64,
    /// What a run is known to ask for later.
    coming_bytes: u64,
    holders: BTreeMap<&'static str, u64>,
}

impl Ledger {
    /// Someone holds `to` bytes instead of `from`.
    fn change(&mut self, purpose: &'static str, from: u64, to: u64) {
        self.held_bytes = (self.held_bytes - from).saturating_add(to);
        self.peak_bytes = self.peak_bytes.max(self.held_bytes);
        let share = self.holders.entry(purpose).or_default();
        *share = (*share - from).saturating_add(to);
    }
}

/// The budget is too small for what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the memory budget of {limit_bytes} bytes is too small: {purpose} needs {wanted_bytes} bytes and only {free_bytes} \
     are free; \
     use `memory({least_bytes})` or more"
)]
pub struct BudgetError {
    /// What the bytes were for.
    pub purpose: &'static str,
    /// How many were asked for.
    pub wanted_bytes: u64,
    /// How many were free.
    pub free_bytes: u64,
    /// The whole budget.
    pub limit_bytes: u64,
    /// The least budget with which this reservation would have succeeded, and what the run is known to ask for after
    /// it.
    pub least_bytes: u64,
    /// What the program itself takes of the budget.
    pub program_bytes: u64,
}

impl Budget {
    /// A budget of `limit_bytes`.
    pub fn new(limit_bytes: u64) -> Self {
        Budget { ledger: Arc::default(), limit_bytes, program_bytes: 0 }
    }

    /// A budget of `limit_bytes` for a whole process, whose program itself takes `program_bytes` whatever it does.
    /// Where that is more than there is, every reservation is refused, and told what would be enough for the program
    /// and itself.
    pub fn of_process(limit_bytes: u64, program_bytes: u64) -> Self {
        let holders = BTreeMap::from([(PROGRAM, program_bytes)]);
        let ledger = Ledger { held_bytes: program_bytes, peak_bytes: program_bytes, holders, ..Ledger::default() };
        Budget { ledger: Arc::new(Mutex::new(ledger)), limit_bytes, program_bytes }
    }

    /// A budget that refuses nothing, for tests and for callers who manage memory themselves.
    pub fn unlimited() -> Self {
        Budget::new(UNLIMITED)
    }

    /// Whether it is such a one.
    pub fn is_unlimited(&self) -> bool {
        self.limit_bytes == UNLIMITED
    }

    /// Takes `bytes` for `purpose`, or says what budget would have been enough.
    pub fn reserve(&self, purpose: &'static str, bytes: u64) -> Result<Reservation, BudgetError> {
        let mut reservation = self.open(purpose);
        reservation.resize(bytes)?;
        Ok(reservation)
    }

    /// The same, but few bytes are never refused: what a run asks for next is, and names a budget for all of it. For
    /// what comes before the large part of a run.
    pub fn reserve_few(&self, purpose: &'static str, bytes: u64) -> Result<Reservation, BudgetError> {
        if bytes > FEW_BYTES {
            return self.reserve(purpose, bytes);
        }
        let mut reservation = self.open(purpose);
        reservation.hold(bytes);
        Ok(reservation)
    }

    /// Refuses a run that will take `bytes` in the end, before it has begun.
    pub fn check(&self, purpose: &'static str, bytes: u64) -> Result<(), BudgetError> {
        self.reserve(purpose, bytes).map(drop)
    }

    /// Says that a run will ask for `bytes` later, while what comes first is asked for. Nothing is taken: a refusal in
    /// the meantime names a budget that is enough for both.
    pub fn expect(&self, bytes: u64) -> Expectation {
        let mut ledger = self.lock();
        ledger.coming_bytes = ledger.coming_bytes.saturating_add(bytes);
        Expectation { budget: self.clone(), bytes }
    }

    /// Takes nothing yet for `purpose`, to grow later.
    pub fn open(&self, purpose: &'static str) -> Reservation {
        Reservation { budget: self.clone(), purpose, bytes: 0 }
    }

    /// The whole budget.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// What the program itself takes of it.
    pub fn program_bytes(&self) -> u64 {
        self.program_bytes
    }

    /// What is there for data: by this, parts of a run choose how large they are.
    pub fn data_bytes(&self) -> u64 {
        self.limit_bytes.saturating_sub(self.program_bytes)
    }

    /// What is held at the moment, by the program itself as well.
    pub fn held_bytes(&self) -> u64 {
        self.lock().held_bytes
    }

    /// What nobody holds at the moment.
    pub fn free_bytes(&self) -> u64 {
        self.limit_bytes.saturating_sub(self.held_bytes())
    }

    /// The refusal of `wanted_bytes` beside `held_bytes` that stay.
    pub fn refusal(&self, purpose: &'static str, wanted_bytes: u64, held_bytes: u64) -> BudgetError {
        self.refuse((purpose, wanted_bytes), held_bytes, self.lock().coming_bytes)
    }

    fn refuse(&self, (purpose, wanted_bytes): (&'static str, u64), held_bytes: u64, coming_bytes: u64) -> BudgetError {
        BudgetError {
            purpose,
            wanted_bytes,
            free_bytes: self.limit_bytes.saturating_sub(held_bytes),
            limit_bytes: self.limit_bytes,
            least_bytes: held_bytes.saturating_add(wanted_bytes).saturating_add(coming_bytes),
            program_bytes: self.program_bytes,
        }
    }

    /// The most that was ever held at one time.
    pub fn peak_bytes(&self) -> u64 {
        self.lock().peak_bytes
    }

    /// Who holds what at the moment, by purpose.
    pub fn holders(&self) -> Vec<(&'static str, u64)> {
        self.lock().holders.iter().map(|(&purpose, &bytes)| (purpose, bytes)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        // The ledger is only ever changed by plain arithmetic, so a panic elsewhere cannot have left it half changed.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes that a run will ask for later; see [`Budget::expect`]. Dropped when it does.
#[derive(Debug)]
pub struct Expectation {
    budget: Budget,
    bytes: u64,
}

impl Drop for Expectation {
    fn drop(&mut self) {
        let mut ledger = self.budget.lock();
        ledger.coming_bytes = ledger.coming_bytes.saturating_sub(self.bytes);
    }
}

/// Bytes taken from a [`Budget`]; they go back when it is dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: Budget,
    purpose: &'static str,
    bytes: u64,
}

impl Reservation {
    /// How many bytes are held.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Grows or shrinks to `bytes`. On refusal the old size stays.
    pub fn resize(&mut self, bytes: u64) -> Result<(), BudgetError> {
        let limit_bytes = self.budget.limit_bytes;
        let mut ledger = self.budget.lock();
        let others = ledger.held_bytes - self.bytes;
        let held = others.saturating_add(bytes);
        if held > limit_bytes && bytes > self.bytes {
            let wanted = (self.purpose, bytes - self.bytes);
            return Err(self.budget.refuse(wanted, ledger.held_bytes, ledger.coming_bytes));
        }
        ledger.change(self.purpose, self.bytes, bytes);
        self.bytes = bytes;
        Ok(())
    }

    /// Grows or shrinks to `bytes` without a question.
    fn hold(&mut self, bytes: u64) {
        self.budget.lock().change(self.purpose, self.bytes, bytes);
        self.bytes = bytes;
    }

    /// The same as [`grow_to`](Self::grow_to), but few bytes are never refused: see [`Budget::reserve_few`].
    pub fn grow_few(&mut self, bytes: u64) -> Result<(), BudgetError> {
        if bytes > FEW_BYTES {
            return self.grow_to(bytes);
        }
        self.hold(bytes.max(self.bytes));
        Ok(())
    }

    /// Grows to `bytes` if that is more than is held now.
    pub fn grow_to(&mut self, bytes: u64) -> Result<(), BudgetError> {
        if bytes > self.bytes { self.resize(bytes) } else { Ok(()) }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // Shrinking is never refused.
        let _ = self.resize(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_leaves_the_ledger_as_it_was() {
        let budget = Budget::new(100);
        let mut a = budget.reserve("a", 60).unwrap();
        let error = a.resize(130).unwrap_err();
        assert_eq!((error.wanted_bytes, error.free_bytes, error.least_bytes), (70, 40, 130));
        assert_eq!(budget.free_bytes(), 40);
        assert_eq!(budget.holders(), [("a", 60)]);
    }

    #[test]
    fn dropping_gives_back_and_the_peak_stays() {
        let budget = Budget::new(100);
        let a = budget.reserve("a", 60).unwrap();
        let b = budget.reserve("b", 40).unwrap();
        drop((a, b));
        assert_eq!((budget.free_bytes(), budget.peak_bytes()), (100, 100));
    }

    #[test]
    fn the_program_itself_is_part_of_what_is_enough() {
        for limit in [10, 70] {
            let budget = Budget::of_process(limit, 50);
            assert_eq!(
                (budget.data_bytes(), budget.free_bytes()),
                (limit.saturating_sub(50), limit.saturating_sub(50))
            );
            let refused = budget.reserve("a", 30).unwrap_err();
            assert_eq!((refused.least_bytes, refused.program_bytes), (80, 50));
            assert_eq!(refused.free_bytes, limit.saturating_sub(50));
        }
        assert!(Budget::of_process(80, 50).reserve("a", 30).is_ok());
    }

    #[test]
    fn few_bytes_are_refused_with_what_comes_after_them() {
        let budget = Budget::new(100);
        let few = budget.reserve_few("few", 300).unwrap();
        assert_eq!(budget.free_bytes(), 0);
        assert_eq!(budget.reserve("many", 1000).unwrap_err().least_bytes, 1300);
        assert!(budget.check("many", 1).is_err());
        assert!(budget.reserve_few("many", 2 << 20).is_err());
        drop(few);
        assert!(budget.check("many", 100).is_ok());
        assert_eq!(budget.free_bytes(), 100);
    }

    #[test]
    fn what_is_expected_is_part_of_what_is_enough() {
        let budget = Budget::new(100);
        let coming = budget.expect(500);
        assert_eq!((budget.free_bytes(), budget.reserve("first", 120).unwrap_err().least_bytes), (100, 620));
        let first = budget.reserve("first", 60).unwrap();
        assert_eq!(budget.refusal("second", 70, budget.held_bytes()).least_bytes, 630);
        drop(coming);
        assert_eq!(budget.reserve("second", 500).unwrap_err().least_bytes, 560);
        drop(first);
    }

    #[test]
    fn a_huge_request_does_not_wrap_around() {
        let budget = Budget::new(100);
        let _a = budget.reserve("a", 1).unwrap();
        assert!(budget.reserve("b", u64::MAX).is_err());
    }
}
