//! Losses, regularizers, and orders of visits: nothing here knows of a store.
pub mod loss;
pub mod order;
pub mod penalty;
