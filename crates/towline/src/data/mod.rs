//! Rows in memory and on disk: blocks, stores, the index, features that are made of others.
pub mod block;
pub mod fourier;
pub mod hashing;
pub mod index;
pub mod schema;
pub mod store;
