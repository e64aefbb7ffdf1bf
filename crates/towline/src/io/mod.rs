//! How tables of other programs become stores.
pub mod input;
pub mod pack;
