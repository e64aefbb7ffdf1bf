//! Who holds how many bytes.
//!
//! Every structure that grows with the data asks the [`Budget`] first and keeps the [`Reservation`] beside the buffer that
//! it pays for, so that freeing the buffer gives the bytes back. A refused reservation is an ordinary error that says what
//! was wanted, by whom, and what would do.
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
}

#[derive(Debug, Default)]
struct Ledger {
    held_bytes: u64,
    peak_bytes: u64,
    holders: BTreeMap<&'static str, u64>,
}

/// The budget is too small for what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the memory budget of {limit_bytes} bytes is too small: {purpose} needs {wanted_bytes} bytes and only {free_bytes} are free; \
     use --memory {least_bytes} or more"
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
    /// The least budget with which this reservation would have succeeded.
    pub least_bytes: u64,
}

impl Budget {
    /// A budget of `limit_bytes`.
    pub fn new(limit_bytes: u64) -> Self {
        Budget { ledger: Arc::default(), limit_bytes }
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

    /// Takes nothing yet for `purpose`, to grow later.
    pub fn open(&self, purpose: &'static str) -> Reservation {
        Reservation { budget: self.clone(), purpose, bytes: 0 }
    }

    /// The whole budget.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// What nobody holds at the moment.
    pub fn free_bytes(&self) -> u64 {
        self.limit_bytes - self.lock().held_bytes
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
            return Err(BudgetError {
                purpose: self.purpose,
                wanted_bytes: bytes - self.bytes,
                free_bytes: limit_bytes.saturating_sub(ledger.held_bytes),
                limit_bytes,
                least_bytes: held,
            });
        }
        ledger.held_bytes = held;
        ledger.peak_bytes = ledger.peak_bytes.max(held);
        let share = ledger.holders.entry(self.purpose).or_default();
        *share = *share - self.bytes + bytes;
        self.bytes = bytes;
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
    fn a_huge_request_does_not_wrap_around() {
        let budget = Budget::new(100);
        let _a = budget.reserve("a", 1).unwrap();
        assert!(budget.reserve("b", u64::MAX).is_err());
    }
}
