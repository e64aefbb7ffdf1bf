//! Towline trains linear models exactly on data that does not fit in memory, inside a memory budget that it keeps.
pub mod block;
pub mod budget;
pub mod input;
pub mod loss;
pub mod machine;
mod nearby;
pub mod pack;
pub mod store;
