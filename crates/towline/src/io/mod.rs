//! How tables of other programs become stores, and how tables are written.
pub mod input;
pub mod pack;
pub mod table_out;
